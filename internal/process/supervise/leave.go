package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// errLeft means that a worker is removed or being removed.
var errLeft = errors.New("the worker was removed from the settings")

// excuse returns the reason why a request to w has failed.
func (w *slot) excuse(err error) error {
	if err != nil && w.Removing() {
		return errLeft
	}
	return err
}

// drain stops new work for a life and waits for its work, for at most Drain, or until ctx ends.
func (w *slot) drain(ctx context.Context, l *life) {
	w.enter(Draining, l)
	w.s.reg.Drain(w.name)
	if w.finish(ctx, l, func(ctx context.Context) error { return w.s.reg.Idle(ctx, w.name) }) {
		w.enter(Stopping, l)
	}
}

// finish waits for l's work, for at most Drain. It reports false if ctx ended before.
func (w *slot) finish(ctx context.Context, l *life, idle func(context.Context) error) bool {
	var watch sync.WaitGroup
	defer watch.Wait()
	timed, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began := time.Now()
	watch.Go(func() {
		for timed.Err() == nil {
			changed, bound := w.s.change(), w.s.drainOf(l)
			select {
			case <-time.After(bound - time.Since(began)):
				cancel(fmt.Errorf("it has had %v", bound))
			case <-changed:
			case <-timed.Done():
			}
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

// drainOf returns how long l may take for its work. A shorter time in new settings also applies to processes that began
// with older ones.
func (s *Supervisor) drainOf(l *life) time.Duration {
	return min(s.settingsFor(l).Drain, s.cfg.Load().Drain)
}

// retireBeside lets another life take the place of l, which still finishes its work. The returned function waits until l
// has nothing in flight, for at most Drain; with last, that counts from when active ends, because the work of a process
// that hangs has deadlines of its own.
func (w *slot) retireBeside(active context.Context, l *life, last bool) (finish func()) {
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
		if last && w.s.reg.Retired(active, w.name, epoch) == nil {
			return
		}
		w.finish(context.Background(), l, func(ctx context.Context) error { return w.s.reg.Retired(ctx, w.name, epoch) })
	})
	return func() { <-done }
}

// stopBeside stops a replaced life once it has finished its work.
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

// retire drains l. It reports false if the settings contain w again.
func (w *slot) retire(l *life) bool {
	return w.Drain(func(ctx context.Context) { w.drain(ctx, l) })
}

// resume undoes a drain. v must not be watching.
func (w *slot) resume(v *healthLoop) {
	w.s.reg.Resume(w.name)
	if v.out {
		return // it stays drained because it is unhealthy
	}
	w.enter(Ready, v.l)
}
