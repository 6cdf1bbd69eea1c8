package sift

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// How far runs grow and shrink.
const (
	firstPiece  = 16 // rows tried behind a suspect, times the rows that passed before it
	patience    = 8  // runs that work at a limit until it is doubled
	maxPatience = 1024
	streak      = 3 // rows convicted in a row, with nothing that worked: ask whether it is the command
	inVain      = 6 // single rows tried before anything has worked: then it is
)

type sifter struct {
	cfg    Config
	proven chan struct{} // closed when a run has worked

	calls sync.Mutex // serialises the calls of Finish, SetAside and Progress

	mu       sync.Mutex // guards what follows; never held across a call
	next     int        // rows before it were handed out
	closed   rowSet     // finished, set aside, or being tried elsewhere
	limit    int        // the most rows of a run, while more failed together; 0 for none
	good     int        // runs in a row that worked at the limit
	patience int
	works    int      // runs that have worked, here or before
	streak   int      // convictions since then
	held     []Letter // of the streak: not told before something works
	convicts int      // in all
	vain     []int    // single rows that were tried before anything worked
	suspects int
	sum      Summary
}

// Run runs all rows. It returns nil when every row is finished or set aside, the error of
// ctx if that ended first, and a CommandError, OutageError, StartError or LettersError if
// it cannot go on. A next Run continues from Config.Done and from what Finish and SetAside
// were told.
func Run(ctx context.Context, cfg Config) (Summary, error) {
	if err := cfg.Validate(); err != nil {
		return Summary{}, fmt.Errorf("sift: %w", err)
	}
	s := &sifter{cfg: cfg.withDefaults(), proven: make(chan struct{}), patience: patience}
	for _, d := range cfg.Done {
		s.closed.add(d)
	}
	s.sum.Rows, s.sum.Before = cfg.Rows, s.closed.rows(cfg.Rows)
	if s.sum.Before > 0 || cfg.Blame {
		s.works = 1
		close(s.proven)
	}
	err := s.all(ctx)
	if err == nil {
		err = s.tell(func() error { return s.release() })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sum, err
}

// all works on all batches. The first worker goes alone until something has
// worked: a wrong command is not to run Parallel times.
func (s *sifter) all(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards errs
		errs []error
	)
	work := func() {
		for {
			b := s.take()
			if b.Len() == 0 {
				return
			}
			err := ctx.Err()
			if err == nil {
				err = s.sift(ctx, pieces{b})
			}
			if err != nil {
				mu.Lock()
				errs = append(errs, err)
				mu.Unlock()
				cancel(err)
				return
			}
		}
	}
	over := make(chan struct{})
	for range s.cfg.Parallel - 1 {
		wg.Go(func() {
			select {
			case <-s.proven:
				work()
			case <-over:
			}
		})
	}
	work()
	close(over)
	wg.Wait()
	// What a cancelled run says is no news.
	for _, err := range errs {
		if !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// take hands out the next batch; an empty one when there is none.
func (s *sifter) take() Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.closed.free(s.next, s.cfg.Rows)
	most := s.cfg.Batch
	if s.limit > 0 {
		most = min(most, s.limit)
	}
	free.To = min(free.To, free.From+most)
	if free.Len() > 0 {
		free.To = min(free.To, max(free.From+1, s.cfg.Fit(free.From, free.To)))
		s.sum.Batches++
	}
	s.next = free.To
	return BatchOf(free)
}

// try runs b, again while it fails for now and attempts are left.
func (s *sifter) try(ctx context.Context, b Batch, attempts int) (Outcome, error) {
	for n := 0; ; n++ {
		o := s.cfg.Run(ctx, b)
		if o.failed() {
			o.drop()
		}
		s.mu.Lock()
		s.sum.Runs++
		if o.failed() {
			s.sum.Failed++
		}
		works := s.works
		s.mu.Unlock()
		if o.failed() {
			if err := s.tell(func() error { return nil }); err != nil {
				return o, err
			}
		}
		switch {
		case !o.failed():
			return o, nil
		case ctx.Err() != nil:
			return o, ctx.Err()
		case o.Class == bezoar.SpawnFailed && (works == 0 || n+1 >= attempts):
			return o, &StartError{o.Failure}
		case !o.transient() && o.Class != bezoar.SpawnFailed || n+1 >= attempts:
			return o, nil
		}
		if err := s.wait(ctx, n, o); err != nil {
			return o, err
		}
	}
}

func (s *sifter) wait(ctx context.Context, n int, o Outcome) error {
	wait := max(s.cfg.Backoff.Wait(n, rand.Float64()), min(o.RetryAfter, MaxRetryAfter))
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	s.sum.Retries++
	s.mu.Unlock()
	return nil
}

func (o Outcome) drop() {
	if o.Output != nil {
		_ = o.Output.Close()
	}
}

// tell makes calls of the Config, and says how far things are.
func (s *sifter) tell(do func() error) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	if err := do(); err != nil {
		return err
	}
	s.mu.Lock()
	p := Progress{
		Rows: s.sum.Rows, Done: s.sum.Before + s.sum.Done, Letters: s.sum.Letters, Suspects: s.suspects,
		Runs: s.sum.Runs, Failed: s.sum.Failed,
	}
	s.mu.Unlock()
	s.cfg.Progress(p)
	return nil
}

// finish tells of a run that worked: its rows are done, but for those that it
// blames itself, which are set aside.
func (s *sifter) finish(b Batch, o Outcome) error {
	defer o.drop()
	blamed, letters := blames(b, o)
	rest := b.without(blamed)
	return s.tell(func() error {
		if err := s.release(); err != nil {
			return err
		}
		for _, l := range letters {
			if err := s.setAside(l); err != nil {
				return err
			}
		}
		if rest.Len() > 0 {
			if err := s.cfg.Finish(rest, o); err != nil {
				return fmt.Errorf("finish rows %v: %w", rest, err)
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range b.spans {
			s.closed.add(x)
		}
		s.sum.Done += rest.Len()
		s.works++
		if s.works == 1 {
			close(s.proven)
		}
		s.streak = 0
		if s.limit == 0 || b.Len() < s.limit {
			return nil
		}
		if s.good++; s.good >= s.patience {
			s.good, s.limit = 0, 2*s.limit
			if s.limit >= s.cfg.Batch {
				s.limit = 0
			}
		}
		return nil
	})
}

// release sets aside what was held back. s.calls is held.
func (s *sifter) release() error {
	s.mu.Lock()
	held := s.held
	s.held, s.streak = nil, 0
	s.mu.Unlock()
	for _, l := range held {
		if err := s.setAside(l); err != nil {
			return err
		}
	}
	return nil
}

// setAside tells of a guilty row. s.calls is held.
func (s *sifter) setAside(l Letter) error {
	s.mu.Lock()
	full := s.sum.Letters >= s.cfg.MaxLetters
	s.mu.Unlock()
	if full {
		return &LettersError{s.cfg.MaxLetters}
	}
	if err := s.cfg.SetAside(l); err != nil {
		return fmt.Errorf("set row %d aside: %w", l.Row+1, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.add(Span{l.Row, l.Row + 1})
	s.sum.Letters++
	s.convicts++
	return nil
}

// blames are the rows that a run names, and letters for them. Indexes that the
// batch does not have are not believed.
func blames(b Batch, o Outcome) ([]int, []Letter) {
	var set rowSet
	var letters []Letter
	for _, f := range o.Rows {
		if f.Index < 0 || f.Index >= b.Len() {
			continue
		}
		row := b.Row(f.Index)
		if set.free(row, row+1).Len() == 0 {
			continue // named twice
		}
		set.add(Span{row, row + 1})
		l := Letter{Row: row, Class: o.Class, Failure: o.Failure, Runs: 1, Reported: true}
		if l.Class == bezoar.Done {
			l.Class = bezoar.Invalid
		}
		if f.Reason != "" {
			l.Failure = Failure{Reason: f.Reason, Detail: o.Failure.Detail}
		}
		letters = append(letters, l)
	}
	var rows []int
	for _, x := range set.spans {
		for r := x.From; r < x.To; r++ {
			rows = append(rows, r)
		}
	}
	return rows, letters
}
