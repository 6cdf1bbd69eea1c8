package taskrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/child"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/state/startlog"
)

// Errors of a [Runner].
var (
	ErrVoid    = errors.New("the attempt must not start any more")
	ErrStopped = errors.New("the runner has stopped")
)

// Runner runs attempts. It implements [flow.Executor]. Create it with [Open].
type Runner struct {
	cfg     Config
	lock    io.Closer
	lives   *lives
	journal *journal
	child   *child.Runner

	mu       sync.Mutex // guards the fields below
	attempts map[int64]*attempt
	stopped  bool
	running  sync.WaitGroup
}

var _ flow.Executor = (*Runner)(nil)

type attempt struct {
	spec   flow.Spec
	cancel context.CancelCauseFunc
	log    *logFile
	done   chan struct{}
	ending flow.Ending // valid once done is closed
	err    error       // likewise: why the ending could not be stored
}

// Open opens a state directory, and kills processes that an earlier process left. The caller must call Run and Close.
func Open(ctx context.Context, c Config) (_ *Runner, err error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("taskrun: %w", err)
	}
	c = c.withDefaults()
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, fmt.Errorf("taskrun: %w", err)
	}
	r := &Runner{cfg: c, attempts: map[int64]*attempt{}}
	for _, dir := range []string{"", "logs", "rings"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("make the state directory: %w", err)
		}
	}
	if r.lock, err = startlog.Own(c.Dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.lives, err = openLives(c.Dir); err != nil {
		return nil, err
	}
	if r.journal, err = openJournal(c.Dir); err != nil {
		return nil, err
	}
	if r.child, err = child.New(child.Config{
		PerJob: true, Environ: c.Environ, Inherit: c.Inherit, User: c.User, Mark: r.mark(), Log: c.Log,
	}); err != nil {
		return nil, err
	}
	r.clear(ctx)
	return r, nil
}

// Jobs identifies the child processes of this directory.
func (r *Runner) Jobs() guardian.Jobs {
	return guardian.Jobs{Mark: r.mark(), Cells: r.child.Cells()}
}

func (r *Runner) mark() string { return "flow-" + nameOf(r.cfg.Dir) }

// clear kills processes that earlier lives left, and puts their logs in order. Absent repeats what fails here.
func (r *Runner) clear(ctx context.Context) {
	n, err := r.lives.prove(ctx)
	if n > 0 {
		r.cfg.Log.Info("killed processes that an earlier process left", "processes", n)
	}
	if err != nil {
		r.cfg.Log.Warn("processes that an earlier process left may still run: its attempts wait", "err", err)
	}
	marks, _ := filepath.Glob(filepath.Join(r.cfg.Dir, "rings", "*"))
	for _, mark := range marks {
		if filepath.Ext(mark) == ".new" {
			_ = os.Remove(mark)
			continue
		}
		if err := straightenLeft(filepath.Join(r.cfg.Dir, "logs", filepath.Base(mark)), mark); err != nil {
			r.cfg.Log.Warn("cannot put a log in order", "log", filepath.Base(mark), "err", err)
		}
	}
	if err := os.RemoveAll(filepath.Join(r.cfg.Dir, "out")); err != nil {
		r.cfg.Log.Warn("cannot remove outputs of interrupted attempts", "err", err)
	}
	if err := r.makeOut(); err != nil {
		r.cfg.Log.Warn("attempts cannot write outputs", "err", err)
	}
}

// lookEvery is how often the runner checks for old logs and a full journal.
const lookEvery = time.Minute

// Run lets attempts run. When ctx ends it stops all of them, as interrupted, and returns when no process of any is left. It
// can be called once.
func (r *Runner) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	go func() { ended <- r.child.Run(base) }()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case err := <-ended:
			ended <- err
			done = true
		case <-ctx.Done():
			done = true
		case now := <-tick.C:
			r.upkeep(now)
		}
	}
	r.mu.Lock()
	r.stopped = true
	for _, a := range r.attempts {
		a.cancel(&child.Stop{Class: bezoar.Interrupted, Why: "Bezoar stops"})
	}
	r.mu.Unlock()
	r.running.Wait()
	stop()
	return <-ended
}

// upkeep drops old logs and turns a full journal.
func (r *Runner) upkeep(now time.Time) {
	if r.journal.full() {
		r.mu.Lock()
		running := slices.Collect(maps.Keys(r.attempts))
		r.mu.Unlock()
		if err := r.journal.turn(running); err != nil {
			r.cfg.Log.Warn("cannot shorten the journal of attempts", "err", err)
		}
	}
	for _, dir := range []string{"logs", "sift"} {
		dir = filepath.Join(r.cfg.Dir, dir)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			r.cfg.Log.Warn("cannot remove old logs", "err", err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > keepLog && !r.runs(e.Name()) {
				_ = os.Remove(filepath.Join(dir, e.Name()))
			}
		}
	}
}

func (r *Runner) runs(log string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for token := range r.attempts {
		if logName(token) == log {
			return true
		}
	}
	return false
}

// Close releases the state directory. Run must have returned.
func (r *Runner) Close() error {
	var errs []error
	if r.journal != nil {
		errs = append(errs, r.journal.close())
	}
	return errors.Join(append(errs, r.lock.Close())...)
}

// Start starts an attempt, unless its token was started before.
func (r *Runner) Start(ctx context.Context, s flow.Spec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.attempts[s.Token] != nil:
		return nil
	case r.stopped:
		return ErrStopped
	}
	fresh, err := r.journal.begin(s.Token)
	if err != nil {
		return err
	}
	if !fresh {
		if r.journal.isVoid(s.Token) {
			return fmt.Errorf("start attempt %d: %w", s.Token, ErrVoid)
		}
		return nil // an earlier life started it; Wait returns how it ended
	}
	a := &attempt{spec: s, done: make(chan struct{}), log: &logFile{
		path: r.logPath(s.Token), mark: filepath.Join(r.cfg.Dir, "rings", logName(s.Token)), limit: maxLog,
	}}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	a.cancel = cancel
	r.attempts[s.Token] = a
	r.running.Go(func() { r.attend(ctx, a) })
	return nil
}

// attend runs an attempt to its end, and stores the end.
func (r *Runner) attend(ctx context.Context, a *attempt) {
	began := time.Now()
	a.ending = r.run(ctx, a)
	if a.ending.Elapsed == 0 {
		a.ending.Elapsed = time.Since(began)
	}
	n, err := a.log.finish()
	a.ending.LogBytes = n
	if err != nil {
		r.cfg.Log.Warn("the log of an attempt is not complete", "attempt", a.spec.Token, "err", err)
	}
	a.err = r.journal.end(a.spec.Token, &a.ending)
	if a.err != nil {
		r.cfg.Log.Error("cannot store the end of an attempt", "attempt", a.spec.Token, "err", a.err)
	}
	a.cancel(nil)
	close(a.done)
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.err == nil { // otherwise the end is only in memory
		delete(r.attempts, a.spec.Token)
	}
}

// Wait waits until no process of an attempt runs, and returns its end.
func (r *Runner) Wait(ctx context.Context, token int64) (flow.Ending, error) {
	if a := r.attempt(token); a != nil {
		select {
		case <-a.done:
			return a.ending, nil
		case <-ctx.Done():
			return flow.Ending{}, ctx.Err()
		}
	}
	e, known, err := r.journal.find(token)
	switch {
	case err != nil:
		return flow.Ending{}, err
	case e != nil:
		return *e, nil
	case !known:
		return flow.Ending{}, fmt.Errorf("attempt %d: %w", token, flow.ErrNotFound)
	}
	if err := r.Absent(ctx, token); err != nil {
		return flow.Ending{}, err
	}
	return flow.Ending{Class: bezoar.Interrupted, Lost: true, Reason: "Bezoar was killed while it ran this", ExitCode: -1}, nil
}

func (r *Runner) attempt(token int64) *attempt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts[token]
}

// Stop stops an attempt that runs: SIGTERM, its grace, SIGKILL. It does not wait.
func (r *Runner) Stop(_ context.Context, token int64, class bezoar.Class, why string) error {
	if a := r.attempt(token); a != nil {
		a.cancel(&child.Stop{Class: class, Why: why})
	}
	return nil
}

// Absent stops an attempt if it runs. When it returns nil, no process of it runs or will run.
func (r *Runner) Absent(ctx context.Context, token int64) error {
	r.mu.Lock()
	a, err := r.attempts[token], error(nil)
	if a == nil {
		err = r.journal.void(token)
	}
	r.mu.Unlock()
	if a != nil {
		a.cancel(&child.Stop{Class: bezoar.Interrupted, Why: "it has to be gone"})
		select {
		case <-a.done:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("attempt %d still runs: %w", token, ctx.Err())
		}
	}
	if err != nil {
		return err
	}
	if _, err := r.lives.prove(ctx); err != nil {
		return fmt.Errorf("attempt %d: %w", token, err)
	}
	return nil
}

// Logs reads an attempt's stdout and stderr, in the order in which they were written.
func (r *Runner) Logs(ctx context.Context, token, offset int64, follow bool) (io.ReadCloser, error) {
	if offset < 0 {
		return nil, fmt.Errorf("logs of attempt %d: offset %d is negative", token, offset)
	}
	if a := r.attempt(token); a != nil {
		if reader := a.log.open(ctx, offset, follow); reader != nil {
			return reader, nil
		}
	}
	_, known, err := r.journal.find(token)
	if err == nil && !known {
		_, err = os.Stat(r.logPath(token))
	}
	if errors.Is(err, os.ErrNotExist) {
		err = flow.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("logs of attempt %d: %w", token, err)
	}
	return logAtRest(r.logPath(token), offset)
}

func (r *Runner) logPath(token int64) string {
	return filepath.Join(r.cfg.Dir, "logs", logName(token))
}

func logName(token int64) string { return strconv.FormatInt(token, 10) + ".log" }
