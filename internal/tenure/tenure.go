package tenure

import (
	"context"
	"sync"
)

// Removal is one place's. [Tenure.Begin] comes before everything else but Ending,
// End and Renew, which do nothing before it. All methods may be called
// concurrently.
type Removal struct {
	mu       sync.Mutex // guards what follows
	removing bool
	base     context.Context    //nolint:containedctx // of everything
	active   context.Context    //nolint:containedctx // base, until told to go
	cancel   context.CancelFunc // ends stay; nil before Begin
	keep     context.CancelFunc // ends Wait; nil when nobody waits
}

// Begin begins it. It ends with ctx.
func (t *Removal) Begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base = ctx
	t.active, t.cancel = context.WithCancel(ctx)
}

// Remove tells whoever works here to go.
func (t *Removal) Remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.removing = true
		t.cancel()
	}
}

// Keep takes back End.
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

// Removing reports whether End was called and not taken back.
func (t *Removal) Removing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.removing
}

// Context ends when whoever works here has to go, or everything ends.
func (t *Removal) Context() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active
}

// Drain calls finish, whose context ends when the tenure is renewed, and not when
// everything ends. It reports false when it was renewed before finish returned.
func (t *Removal) Drain(finish func(ctx context.Context)) bool {
	ctx, remain := context.WithCancel(context.Background())
	defer remain()
	t.mu.Lock()
	t.keep = remain
	if t.active.Err() == nil {
		remain()
	}
	t.mu.Unlock()
	finish(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.keep = nil
	return ctx.Err() == nil
}
