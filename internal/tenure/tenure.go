package tenure

import (
	"context"
	"sync"
)

// Tenure is one place's. [Tenure.Begin] comes before everything else but Ending,
// End and Renew, which do nothing before it. All methods may be called
// concurrently.
type Tenure struct {
	mu     sync.Mutex // guards what follows
	ending bool
	base   context.Context    //nolint:containedctx // of everything
	stay   context.Context    //nolint:containedctx // base, until told to go
	leave  context.CancelFunc // ends stay; nil before Begin
	remain context.CancelFunc // ends Wait; nil when nobody waits
}

// Begin begins it. It ends with ctx.
func (t *Tenure) Begin(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.base = ctx
	t.stay, t.leave = context.WithCancel(ctx)
}

// End tells whoever works here to go.
func (t *Tenure) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leave != nil {
		t.ending = true
		t.leave()
	}
}

// Renew takes back End.
func (t *Tenure) Renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ending {
		return
	}
	t.ending = false
	t.stay, t.leave = context.WithCancel(t.base)
	if t.remain != nil {
		t.remain()
	}
}

// Ending reports whether End was called and not taken back.
func (t *Tenure) Ending() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ending
}

// Context ends when whoever works here has to go, or everything ends.
func (t *Tenure) Context() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stay
}

// Wait calls finish, whose context ends when the tenure is renewed, and not when
// everything ends. It reports false when it was renewed before finish returned.
func (t *Tenure) Wait(finish func(ctx context.Context)) bool {
	ctx, remain := context.WithCancel(context.Background())
	defer remain()
	t.mu.Lock()
	t.remain = remain
	if t.stay.Err() == nil {
		remain()
	}
	t.mu.Unlock()
	finish(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remain = nil
	return ctx.Err() == nil
}
