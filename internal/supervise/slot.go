package supervise

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fleet"
	"github.com/bezoar-dev/bezoar/internal/proc"
)

// State is where a worker's process stands.
type State string

// The states.
const (
	Down     State = "down"     // waiting to be started again
	Starting State = "starting" // not ready yet
	Ready    State = "ready"
	Draining State = "draining" // gets no new work
	Stopping State = "stopping" // has been told to end
)

// WorkerStatus is how one worker stands, for people.
type WorkerStatus struct {
	Name     string     `json:"name"`
	State    State      `json:"state"`
	PID      int        `json:"pid,omitempty"`
	Port     int        `json:"port,omitempty"`
	Epoch    uint64     `json:"epoch,omitempty"`
	Since    time.Time  `json:"since"` // when the state began
	Up       time.Time  `json:"up"`    // when this life became ready; zero when it is not
	Restarts int64      `json:"restarts"`
	LastEnd  *fleet.End `json:"last_end,omitempty"`
	// LastError is why the last try to start it failed; "" since it is ready.
	LastError string `json:"last_error,omitempty"`
}

// stableAfter is how long a worker must have been up for its next restart to be
// quick again.
const stableAfter = 10 * time.Second

// slot is the place of one worker across its lives.
type slot struct {
	s        *Supervisor
	name     string
	replaces chan chan error // a rolling restart asks for a new life
	starts   int             // owned by the goroutine of run

	mu   sync.Mutex // guards what follows
	life *life      // the newest that was ready
	st   WorkerStatus
}

func newSlot(s *Supervisor, name string) *slot {
	return &slot{
		s: s, name: name, replaces: make(chan chan error),
		st: WorkerStatus{Name: name, State: Down, Since: time.Now()},
	}
}

// run keeps one worker running until ctx ends.
func (w *slot) run(ctx context.Context, fail context.CancelCauseFunc) {
	fails := 0
	var asked chan error // a rolling restart that waits for the next life
	for ctx.Err() == nil {
		l, err := w.bring(ctx, false)
		if asked != nil {
			asked <- err
		}
		switch {
		case err == nil:
			if w.serve(ctx, l) >= stableAfter {
				fails = 0
			}
		case ctx.Err() != nil:
			return
		case proc.Hopeless(err) && !w.s.proven.Load():
			fail(fmt.Errorf("%w: %w", errCommand, err))
			return
		default:
			w.note(func(st *WorkerStatus) { st.LastError = err.Error() })
			w.s.log.Warn("worker did not start", "worker", w.name, "tries", fails+1, "why", err)
		}
		asked = w.rest(ctx, w.s.cfg.Backoff.Wait(fails, rand.Float64()))
		fails++
	}
	if asked != nil {
		asked <- ctx.Err()
	}
}

// rest waits before the next start. A rolling restart ends the wait: whoever
// asks has a new build.
func (w *slot) rest(ctx context.Context, wait time.Duration) chan error {
	w.enter(Down, nil)
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	case asked := <-w.replaces:
		return asked
	}
	return nil
}

// bring starts a process and waits until it is ready, beside another or not. On
// error nothing is left of it.
func (w *slot) bring(ctx context.Context, beside bool) (*life, error) {
	w.starts++
	n := w.starts
	l, err := w.s.launch(w.name, n)
	if err != nil {
		return nil, err
	}
	w.s.proven.Store(true)
	if n > 1 {
		w.note(func(st *WorkerStatus) { st.Restarts++ })
	}
	if !beside {
		w.enter(Starting, l)
	}
	if err := w.s.awaitReady(ctx, l); err != nil {
		return nil, err
	}
	return l, nil
}

// serve opens l and sees it, and whatever replaces it, to the end. It returns
// how long the last of them was up.
func (w *slot) serve(ctx context.Context, l *life) time.Duration {
	w.open(l)
	for {
		began := time.Now()
		if next := w.tend(ctx, l); next != nil {
			l = next
			continue
		}
		w.ended(l)
		return time.Since(began)
	}
}

func (w *slot) ended(l *life) {
	w.note(func(st *WorkerStatus) { st.LastEnd = &l.end })
	if l.end.Planned {
		w.s.log.Info("worker ended", "worker", w.name, "epoch", l.epoch, "detail", l.end.Detail)
		return
	}
	w.s.log.Warn("worker died", "worker", w.name, "epoch", l.epoch, "class", l.end.Class,
		"detail", l.end.Detail, "stderr", last(l.end.Stderr))
}

func (w *slot) open(l *life) {
	w.mu.Lock()
	w.life = l
	w.mu.Unlock()
	if l.open(w.s.cfg.Registry) {
		w.note(func(st *WorkerStatus) { st.LastError = "" })
		w.enter(Ready, l)
		w.s.log.Info("worker up", "worker", w.name, "epoch", l.epoch, "pid", l.pid, "port", l.port,
			"took", time.Since(l.began).Round(time.Millisecond))
	}
}

// tend looks after a life that is up. It returns the life that replaced it, or
// nil when it has ended.
func (w *slot) tend(ctx context.Context, l *life) *life {
	stopWatch := w.watch(l)
	defer stopWatch()
	for {
		select {
		case <-l.gone:
			return nil
		case <-ctx.Done():
			stopWatch()
			w.retire(l)
			l.stop("shut down", w.s.cfg.Grace)
			return nil
		case asked := <-w.replaces:
			next, err := w.bring(ctx, true)
			if err != nil {
				w.note(func(st *WorkerStatus) { st.LastError = err.Error() })
				asked <- err
				continue
			}
			stopWatch()
			w.handOver(l, next, asked)
			return next
		}
	}
}

// handOver puts next in the place of l and ends l beside it.
func (w *slot) handOver(l, next *life, asked chan error) {
	w.retire(l)
	w.s.cfg.Registry.Down(w.name, l.epoch, fleet.End{
		Planned: true, Class: bezoar.Interrupted,
		At: time.Now(), ExitCode: -1, Detail: "replaced by a new process",
	})
	w.open(next)
	w.s.lives.Go(func() {
		l.stop("replaced", w.s.cfg.Grace)
		w.ended(l)
		asked <- nil
	})
}

// retire gives a life no new work and waits within Drain for what it has.
func (w *slot) retire(l *life) {
	reg := w.s.cfg.Registry
	w.enter(Draining, l)
	reg.Drain(w.name)
	ctx, cancel := context.WithTimeout(context.Background(), w.s.cfg.Drain)
	defer cancel()
	if err := reg.Idle(ctx, w.name); err != nil {
		w.s.log.Warn("worker stops with work in flight", "worker", w.name, "drain", w.s.cfg.Drain, "why", err)
	}
	w.enter(Stopping, l)
}

// replaceBy asks for a new life and waits until it serves and the old one has
// ended.
func (w *slot) replaceBy(ctx context.Context) error {
	asked := make(chan error, 1)
	select {
	case w.replaces <- asked:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.s.over:
		return ErrNotRunning
	}
	select {
	case err := <-asked:
		if errors.Is(err, context.Canceled) {
			return ErrNotRunning
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find returns the life with the given epoch unless it has ended.
func (w *slot) find(epoch uint64) *life {
	l := w.current()
	if l == nil {
		return nil
	}
	<-l.opened // Up may have told the epoch to others before it returned to us
	if l.epoch != epoch {
		return nil
	}
	select {
	case <-l.gone:
		return nil
	default:
		return l
	}
}

func (w *slot) current() *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

func (w *slot) note(f func(*WorkerStatus)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.st)
}

// enter records a state; l is the life in it, nil when there is none.
func (w *slot) enter(state State, l *life) {
	w.note(func(st *WorkerStatus) {
		st.State, st.Since = state, time.Now()
		if l == nil {
			st.PID, st.Port, st.Epoch, st.Up = 0, 0, 0, time.Time{}
			return
		}
		st.PID, st.Port = l.pid, l.port
		if state == Ready && st.Epoch != l.epoch {
			st.Epoch, st.Up = l.epoch, st.Since
		}
	})
}

func (w *slot) snapshot() WorkerStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.st
}

func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
