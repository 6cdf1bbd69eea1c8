package supervise

import (
	"context"
	"errors"
)

// errLeft means that a place is gone or about to go.
var errLeft = errors.New("the worker's place was taken away")

// enlist has w stay while ctx lasts.
func (w *slot) enlist(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.base = ctx
	w.stay, w.leave = context.WithCancel(ctx)
}

// expel tells w to finish and go.
func (w *slot) expel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.leaves {
		w.leaves = true
		w.leave()
	}
}

// invite takes back expel. A process that has not been told to end goes on.
func (w *slot) invite() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.leaves {
		return
	}
	w.leaves = false
	w.stay, w.leave = context.WithCancel(w.base)
	if w.remain != nil {
		w.remain()
	}
}

// staying ends when w has to leave, or everything ends.
func (w *slot) staying() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stay
}

func (w *slot) leaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaves
}

// excuse says why something ended that w was asked for.
func (w *slot) excuse(err error) error {
	if err != nil && w.leaving() {
		return errLeft
	}
	return err
}

// retire gives a life no new work and waits within Drain for what it has. It
// reports false when w is to stay after all.
func (w *slot) retire(l *life) bool {
	ctx, remain := context.WithCancel(context.Background())
	defer remain()
	w.mu.Lock()
	w.remain = remain
	if w.stay.Err() == nil {
		remain()
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.remain = nil
		w.mu.Unlock()
	}()
	return w.drain(ctx, l)
}

// resume takes back a drain. v is not watching.
func (w *slot) resume(v *vigil) {
	w.s.reg.Resume(w.name)
	if v.out {
		return // it stays drained for its health
	}
	w.enter(Ready, v.l)
}
