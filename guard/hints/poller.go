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
	nights   nights
	polled   time.Time // when the last poll went well
	pause    time.Duration
	failures int
	left     int // indices beyond MaxIndices
	asked    int // requests of the night
	pending  int // fields

	mu     sync.Mutex // guards what follows
	status Status
}

// Status is how a Poller stands.
type Status struct {
	Polled   time.Time `json:"polled"`             // when the last poll went well
	Indices  int       `json:"indices"`            // that are known
	Left     int       `json:"left,omitempty"`     // that are not looked at: MaxIndices
	Fields   int       `json:"fields"`             // that are known
	Measured int       `json:"measured"`           // of them, at night
	Pending  int       `json:"pending,omitempty"`  // fields that the night has still to measure
	Failures int       `json:"failures,omitempty"` // in a row
	Error    string    `json:"error,omitempty"`    // of the last request, when it failed
}

// New returns a Poller.
func New(c Config) (*Poller, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("poll for hints: %w", err)
	}
	c = c.WithDefaults()
	return &Poller{cfg: c, nights: nights{}, pause: c.Pause}, nil
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
	night := p.nextNight(time.Now())
	first := p.cfg.AtStart && p.cfg.At != NoNight
	for {
		wait := p.round(ctx)
		if now := time.Now(); p.failures == 0 && ctx.Err() == nil && (first || !night.IsZero() && !now.Before(night)) {
			first, night = false, p.nextNight(now)
			p.night(ctx, now.Add(p.cfg.Night))
		}
		if !p.wait(ctx, wait) {
			return nil
		}
	}
}

// round polls once, and says how long to wait for the next.
func (p *Poller) round(ctx context.Context) time.Duration {
	if wait := p.failed(ctx, p.refresh(ctx)); wait > 0 {
		return wait
	}
	return p.spread(p.cfg.Interval, 10)
}

// spread is d, more or less by a share of it.
func (p *Poller) spread(d, share time.Duration) time.Duration {
	return d - d/share + rand.N(2*d/share+1)
}

func (p *Poller) refresh(ctx context.Context) error {
	if err := p.poll(ctx); err != nil {
		return err
	}
	p.polled = time.Now()
	return p.publish()
}

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
		wait = max(p.cfg.Backoff.Wait(p.failures, rand.Float64()), p.cfg.Pause)
		p.failures++
	}
	p.tell(err)
	return wait
}

func (p *Poller) tell(err error) {
	s := Status{Polled: p.polled, Indices: len(p.indices), Left: p.left, Pending: p.pending, Failures: p.failures}
	for i := range p.indices {
		s.Fields += len(p.indices[i].fields)
	}
	for _, of := range p.nights {
		s.Measured += len(of)
	}
	if err != nil {
		s.Error = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = s
}

// tries is how often the night asks for one field.
const tries = 3

// night measures fields until it ends or there are none left. Polls go on
// meanwhile.
func (p *Poller) night(ctx context.Context, end time.Time) {
	tasks := p.tasks()
	poll := time.Now().Add(p.cfg.Interval)
	p.asked = 0
	for i, t := range tasks {
		for try, done := 0, false; !done && try < tries; try++ {
			if !p.wait(ctx, p.spread(p.pause, 5)) {
				return
			}
			if time.Now().After(end) || p.asked >= p.cfg.MaxRequests {
				break
			}
			err := p.measureWell(ctx, t, i)
			if done = err == nil; done && time.Now().After(poll) {
				err = p.refresh(ctx)
				poll = time.Now().Add(p.cfg.Interval)
			}
			p.pending = len(tasks) - i - 1
			if wait := p.failed(ctx, err); wait > 0 && !p.wait(ctx, wait) {
				return
			}
		}
	}
	p.pending = 0
	p.failed(ctx, p.publish())
}

// someTasks is how often the night looks whether the backend is well, and tells
// what it has measured.
const someTasks = 20

func (p *Poller) measureWell(ctx context.Context, t task, i int) error {
	if i%someTasks == 0 || p.failures > 0 {
		if err := p.health(ctx); err != nil {
			return err
		}
		if err := p.publish(); err != nil {
			return err
		}
	}
	return p.measure(ctx, t)
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

// nextNight is when the night after now begins; zero: never.
func (p *Poller) nextNight(now time.Time) time.Time {
	if p.cfg.At == NoNight {
		return time.Time{}
	}
	const spread = 30 * time.Minute
	next := now.UTC().Truncate(24 * time.Hour).Add(p.cfg.At)
	for !next.After(now) {
		next = next.Add(24 * time.Hour)
	}
	return next.Add(rand.N(spread))
}
