package fleet

import (
	"context"
	"time"
)

// endPatience bounds the wait for a Down that a keeper says it has called.
const endPatience = 2 * time.Second

// Settle asks the keeper what happened to w, and returns once that is known. Concurrent calls with the same doubt share one
// check.
func (f *Fleet) Settle(ctx context.Context, w *Worker, doubt Doubt) Health {
	f.mu.Lock()
	k := f.keeper
	c := w.check
	if c != nil && c.doubt == doubt {
		f.mu.Unlock()
		select {
		case <-c.done:
			return c.health
		case <-w.ended:
			return Gone
		}
	}
	if _, ended := w.End(); ended || k == nil {
		f.mu.Unlock()
		if ended {
			return Gone
		}
		return Alive
	}
	c = &check{doubt: doubt, done: make(chan struct{})}
	w.check = c
	f.mu.Unlock()

	c.health = k.Check(context.WithoutCancel(ctx), w.name, w.epoch, doubt)
	if c.health == Gone {
		// Down may be running in another goroutine; its judgement counts.
		select {
		case <-w.ended:
		case <-time.After(endPatience):
		}
	} else if _, ended := w.End(); ended {
		c.health = Gone
	}
	f.mu.Lock()
	if w.check == c {
		w.check = nil
	}
	f.mu.Unlock()
	close(c.done)
	return c.health
}

// Kill ends w's life because it hangs, and waits until it has ended.
func (f *Fleet) Kill(ctx context.Context, w *Worker, why string) {
	f.mu.Lock()
	k := f.keeper
	f.mu.Unlock()
	if k == nil {
		return
	}
	k.Kill(w.name, w.epoch, why)
	select {
	case <-w.ended:
	case <-ctx.Done():
	}
}
