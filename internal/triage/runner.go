package triage

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

// runner works on one run.
type runner struct {
	service *Service
	source  Source
	run
	lost bool          // somebody else works on it now
	page []queue.Death // letters read ahead
	next time.Time     // when the rate allows the next one
	put  time.Time     // when the run was written last
}

const (
	runPage   = 100              // letters read ahead
	runOne    = 90 * time.Second // for one letter; less than ownedFor
	saveEvery = time.Second      // of letters that are discarded
)

// claim takes a run that nobody works on, or returns nil.
func (svc *Service) claim(ctx context.Context, r run) (*runner, error) {
	source := svc.source(r.Task.Source)
	if source == nil || r.Task.State != queue.MoveRunning || r.Owner != "" && r.age < ownedFor {
		return nil, nil
	}
	r.Owner = svc.id
	if r.Current != "" { // its owner died over it, and nobody knows how that ended
		r.Current, r.Task.Moved, r.Task.Dead = "", r.Task.Moved+1, r.Task.Dead+1
	}
	r, err := svc.putRun(ctx, r)
	if errors.Is(err, queue.ErrConflict) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &runner{service: svc, source: source, run: r, put: time.Now()}, nil
}

// work moves letters until the run is over, stands still, belongs to somebody
// else, or ctx is over. Then anybody may go on with it.
func (w *runner) work(ctx context.Context) error {
	var err error
	for err == nil && w.mine() {
		err = w.step(ctx)
	}
	if w.lost {
		return err
	}
	w.Owner = ""
	err = errors.Join(err, w.save(ctx))
	w.service.hurry()
	return err
}

func (w *runner) mine() bool { return !w.lost && w.Task.State == queue.MoveRunning }

func (w *runner) step(ctx context.Context) error {
	if _, halt := w.Task.Plan(); halt {
		w.Task.State, w.Task.Failure = queue.MoveHalted, w.Task.TooMany()
		return nil
	}
	if len(w.page) == 0 {
		page, err := w.source.Letters(ctx, w.Task.Selection, w.Cursor, runPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			w.Task.State, w.Task.Failure = w.Task.Drain()
			w.Task.Ended = w.service.config.Now()
			return nil
		}
		w.page = page
	}
	if err := pause(ctx, time.Until(w.next)); err != nil {
		return err
	}
	w.next = time.Now().Add(time.Second / time.Duration(max(w.Task.Rate, 1)))
	if w.Task.Kind == queue.MoveDiscard {
		return w.discard(ctx)
	}
	return w.redrive(ctx)
}

// take is the next letter.
func (w *runner) take() string {
	l := w.page[0]
	w.Cursor, w.page = l.Sequence, w.page[1:]
	return l.ID
}

// redrive writes down which letter is run, and runs it.
func (w *runner) redrive(ctx context.Context) error {
	before := w.Cursor
	w.Current = w.take()
	id := w.Current
	if err := w.save(ctx); err != nil {
		w.Cursor, w.Current = before, ""
		return err
	}
	if !w.mine() { // stopped by somebody before it was run
		w.Cursor, w.Current = before, ""
		return nil
	}
	within, cancel := context.WithTimeout(ctx, runOne)
	defer cancel()
	o, err := w.source.Redrive(within, id)
	w.Current = ""
	switch {
	case errors.Is(err, queue.ErrLetterNotFound):
		return nil
	case err == nil && o.Class == bezoar.Done:
		w.Task.Done++
	default:
		w.Task.Dead++
	}
	w.Task.Moved++
	if err != nil {
		w.service.config.Log.Warn("a letter could not be redriven", "task", w.Task.ID, "letter", id, "err", err)
	}
	return nil
}

func (w *runner) discard(ctx context.Context) error {
	id := w.take()
	switch err := w.source.Discard(ctx, id); {
	case errors.Is(err, queue.ErrLetterNotFound):
	case err != nil:
		return wrap(err, "discard letter %s", id)
	default:
		w.Task.Moved++
	}
	if time.Since(w.put) < saveEvery {
		return nil
	}
	return w.save(ctx)
}

// save writes the progress down, also when ctx is over, and learns what others
// have changed meanwhile.
func (w *runner) save(ctx context.Context) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	for {
		r, err := w.service.putRun(ctx, w.run)
		if err == nil {
			w.run, w.put = r, time.Now()
			return nil
		}
		if !errors.Is(err, queue.ErrConflict) {
			return wrap(err, "save task %s", w.Task.ID)
		}
		now, err := w.service.run(ctx, w.Task.ID)
		if err != nil {
			w.lost = errors.Is(err, queue.ErrMoveNotFound)
			return wrap(err, "save task %s", w.Task.ID)
		}
		if now.Owner != w.service.id {
			w.lost = true
			return nil
		}
		w.adopt(now)
	}
}

// adopt takes over what somebody told the run to do.
func (w *runner) adopt(now run) {
	w.version = now.version
	w.Task.Rate = now.Task.Rate
	if w.Task.State == queue.MoveRunning || now.Task.State == queue.MoveCancelled {
		w.Task.State, w.Task.Ended = now.Task.State, now.Task.Ended
		w.Task.Forgiven, w.Task.Failure = now.Task.Forgiven, now.Task.Failure
	}
}
