package hints

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Poller asks one backend. Create it with [New]; it does nothing before
// [Poller.Run].
type Poller struct {
	cfg     Config
	running atomic.Bool

	// Run's own.
	indices  []index
	aliased  map[string][]string
	polled   time.Time // when the last poll went well
	failures int
	left     int // indices beyond MaxIndices

	mu     sync.Mutex // guards what follows
	status Status
}

// Status is how a Poller stands.
type Status struct {
	Polled   time.Time `json:"polled"`             // when the last poll went well
	Indices  int       `json:"indices"`            // that are known
	Left     int       `json:"left,omitempty"`     // that are not looked at: MaxIndices
	Fields   int       `json:"fields"`             // that are known
	Failures int       `json:"failures,omitempty"` // in a row
	Error    string    `json:"error,omitempty"`    // of the last request, when it failed
}

// New returns a Poller.
func New(c Config) (*Poller, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("poll for hints: %w", err)
	}
	return &Poller{cfg: c.WithDefaults()}, nil
}

// Status returns how the Poller stands.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Run asks until ctx ends, and then returns nil. What fails is logged once, and
// tried again.
func (p *Poller) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return errors.New("poll for hints: Run is called twice")
	}
	defer p.running.Store(false)
	for p.wait(ctx, p.round(ctx)) {
	}
	return nil
}

// round polls once, and says how long to wait for the next.
func (p *Poller) round(ctx context.Context) time.Duration {
	if wait := p.failed(ctx, p.refresh(ctx)); wait > 0 {
		return wait
	}
	d := p.cfg.Interval
	return d - d/10 + rand.N(d/5+1)
}

func (p *Poller) refresh(ctx context.Context) error {
	if err := p.poll(ctx); err != nil {
		return err
	}
	p.polled = time.Now()
	return p.publish()
}

// leastWait is the least time between a failure and the next request.
const leastWait = time.Second

// failed keeps how a request went, and says how long to wait after a failure.
func (p *Poller) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	wait := time.Duration(0)
	if err == nil {
		if p.failures > 0 {
			p.cfg.Log.Info("hints are told again", "url", p.cfg.URL, "failures", p.failures)
		}
		p.failures = 0
	} else {
		if p.failures == 0 {
			p.cfg.Log.Warn("hints are not told", "url", p.cfg.URL, "why", err)
		}
		wait = max(p.cfg.Backoff.Wait(p.failures, rand.Float64()), leastWait)
		p.failures++
	}
	p.tell(err)
	return wait
}

func (p *Poller) tell(err error) {
	s := Status{Polled: p.polled, Indices: len(p.indices), Left: p.left, Failures: p.failures}
	for i := range p.indices {
		s.Fields += len(p.indices[i].fields)
	}
	if err != nil {
		s.Error = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = s
}

// wait returns after d, and reports whether ctx goes on.
func (p *Poller) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
