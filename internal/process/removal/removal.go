package removal

import (
	"context"
	"sync"
)

// Removal is the state of one worker. Call [Removal.Begin] first: before that, Remove, Keep and Removing do nothing. All
// methods may be called concurrently.
type Removal struct {
	mu       sync.Mutex // guards the fields below
	removing bool
	base     context.Context    //nolint:containedctx // of everything
	active   context.Context    //nolint:containedctx // base, until Remove
	cancel   context.CancelFunc // ends active; nil before Begin
	keep     context.CancelFunc // ends Drain; nil while Drain does not run
}

// Begin makes the worker active until ctx ends.
func (t *Removal) Begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base = ctx
	t.active, t.cancel = context.WithCancel(ctx)
}

// Remove ends the context of the worker.
func (t *Removal) Remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.removing = true
		t.cancel()
	}
}

// Keep cancels Remove.
func (t *Removal) Keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.removing {
		return
	}
	t.removing = false
	t.active, t.cancel = context.WithCancel(t.base)
	if t.keep != nil {
		t.keep()
	}
}

// Removing reports whether Remove was called and not cancelled by Keep.
func (t *Removal) Removing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removing
}

// Context returns a context that ends with Remove, or when the context of Begin ends.
func (t *Removal) Context() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
}

// Drain calls finish with a context that ends with Keep, but not with the context of Begin. It reports false if Keep was
// called before finish returned.
func (t *Removal) Drain(finish func(ctx context.Context)) bool {
	ctx, keep := context.WithCancel(context.Background())
	defer keep()
	t.mu.Lock()
	t.keep = keep
	if t.active.Err() == nil {
		keep()
	}
	t.mu.Unlock()
	finish(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep = nil
	return ctx.Err() == nil
}
