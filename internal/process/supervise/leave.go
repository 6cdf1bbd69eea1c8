package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// errLeft means that a place is gone or about to go.
var errLeft = errors.New("the worker's place was taken away")

// excuse says why something ended that w was asked for.
func (w *slot) excuse(err error) error {
	if err != nil && w.Removing() {
		return errLeft
	}
	return err
}

// drain gives a life no new work and waits within Drain for what it has, or until
// ctx ends.
func (w *slot) drain(ctx context.Context, l *life) {
	w.enter(Draining, l)
	w.s.reg.Drain(w.name)
	if w.finish(ctx, l, func(ctx context.Context) error { return w.s.reg.Idle(ctx, w.name) }) {
		w.enter(Stopping, l)
	}
}

// finish waits within Drain for what l has. It reports false when ctx has ended
// before.
func (w *slot) finish(ctx context.Context, l *life, idle func(context.Context) error) bool {
	var watch sync.WaitGroup
	defer watch.Wait()
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	watch.Go(func() {
		for timed.Err() == nil {
			changed, bound := w.s.change(), w.s.drainOf(l)
			t := time.NewTimer(bound - time.Since(began))
			select {
			case <-t.C:
				cancel(fmt.Errorf("it has had %v", bound))
			case <-changed:
			case <-timed.Done():
			}
			t.Stop()
		}
	})
	err := idle(timed)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		w.s.log.Warn("worker stops with work in flight", "worker", w.name, "drain", w.s.drainOf(l), "why", err)
	}
	return true
}

// drainOf is how long l may take for what it has: a shorter time in new settings
// holds for processes that began with older ones, too.
func (s *Supervisor) drainOf(l *life) time.Duration {
	return min(s.settingsFor(l).Drain, s.cfg.Load().Drain)
}

// retireBeside lets another life take the place of l, in which l has what it has to
// finish. It is over with the returned function, which waits until nothing is in
// flight on l, within Drain.
func (w *slot) retireBeside(l *life) (finish func()) {
	epoch := l.epoch()
	if !w.s.reg.Retire(w.name, epoch) { // it has died
		return func() {}
	}
	w.mu.Lock()
	w.beside = append(w.beside, l)
	w.mu.Unlock()
	done := make(chan struct{})
	w.ending.Go(func() {
		defer close(done)
		w.finish(context.Background(), l, func(ctx context.Context) error { return w.s.reg.Retired(ctx, w.name, epoch) })
	})
	return func() { <-done }
}

// stopBeside stops a life in whose place another is, once it has finished.
func (w *slot) stopBeside(l *life, why, stopped string, finish func()) {
	finish()
	w.s.reg.Down(w.name, l.epoch(), planned(why))
	l.stop(stopped, min(w.s.settingsFor(l).Grace, w.s.cfg.Load().Grace))
	w.mu.Lock()
	w.beside = slices.DeleteFunc(w.beside, func(o *life) bool { return o == l })
	w.mu.Unlock()
	w.ended(l)
	if !l.end.Planned {
		w.s.lost(l)
	}
}

// retire drains l. It reports false when w is kept after all.
func (w *slot) retire(l *life) bool {
	return w.Drain(func(ctx context.Context) { w.drain(ctx, l) })
}

// resume takes back a drain. v is not watching.
func (w *slot) resume(v *healthLoop) {
	w.s.reg.Resume(w.name)
	if v.out {
		return // it stays drained for its health
	}
	w.enter(Ready, v.l)
}
