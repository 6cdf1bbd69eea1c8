package supervise

import (
	"context"
	"errors"
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
	bound := w.s.settingsFor(l).Drain
	timed, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	err := w.s.reg.Idle(timed, w.name)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.s.log.Warn("worker stops with work in flight", "worker", w.name, "drain", bound, "why", err)
	}
	w.enter(Stopping, l)
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
