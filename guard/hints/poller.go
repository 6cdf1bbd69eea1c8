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

// Poller polls one backend. Create it with [New] and start it with [Poller.Run].
type Poller struct {
	cfg     Config
	running atomic.Bool

	// Used by Run only.
	indices  []index
	aliased  map[string][]string
	polled   time.Time // time of the last successful poll
	failures int
	left     int // number of indices beyond MaxIndices

	mu     sync.Mutex // guards the fields below
	status Status
}

// Status is the state of a Poller.
type Status struct {
	Polled   time.Time `json:"polled"`             // time of the last successful poll
	Indices  int       `json:"indices"`            // number of known indices
	Left     int       `json:"left,omitempty"`     // number of ignored indices beyond MaxIndices
	Fields   int       `json:"fields"`             // number of known fields
	Failures int       `json:"failures,omitempty"` // consecutive failures
	Error    string    `json:"error,omitempty"`    // error of the last request, if it failed
}

// New returns a Poller, or an error if c is invalid.
func New(c Config) (*Poller, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("poll for hints: %w", err)
	}
	return &Poller{cfg: c.WithDefaults()}, nil
}

// Status returns the state of the Poller. It is safe for concurrent use.
func (p *Poller) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// Run polls until ctx ends, and then returns nil. It logs the first of several failures,
// and retries. It may be called once.
func (p *Poller) Run(ctx context.Context) error {
	if !p.running.CompareAndSwap(false, true) {
		return errors.New("poll for hints: Run was called twice")
	}
	defer p.running.Store(false)
	for p.wait(ctx, p.round(ctx)) {
	}
	return nil
}

// round polls once and returns the wait before the next poll.
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

// leastWait is the minimum wait after a failure.
const leastWait = time.Second

// failed records the result of a poll and returns the wait after a failure.
func (p *Poller) failed(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	wait := time.Duration(0)
	if err == nil {
		if p.failures > 0 {
			p.cfg.Log.Info("polling for hints works again", "url", p.cfg.URL, "failures", p.failures)
		}
		p.failures = 0
	} else {
		if p.failures == 0 {
			p.cfg.Log.Warn("polling for hints failed", "url", p.cfg.URL, "why", err)
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

// wait returns after d, or when ctx ends. It reports whether ctx is still active.
func (p *Poller) wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
