package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	policy "github.com/bezoar-dev/bezoar/policy/health"
)

// ErrDegraded in the error of a check (wrapped) makes the check degraded instead of
// failing.
var ErrDegraded = errors.New("degraded")

// CheckConfig configures a check of your own.
type CheckConfig struct {
	Func     func(context.Context) error // called by Run, never for a request; one call at a time
	Interval time.Duration               // default: that of Config
	Timeout  time.Duration               // default: that of Config
	Optional bool                        // a failure makes the whole degraded, never failing
	Times    int                         // failures in a row until it counts as failed; default 2. The first run counts at once
	Calm     time.Duration               // how long it must succeed until it counts as ok again; default 0s: one success
}

// Validate reports every impossible field.
func (c CheckConfig) Validate() error {
	var errs faults.List
	errs.If(c.Func == nil, "func is nil")
	errs.If(c.Interval != 0 && (c.Interval < 100*time.Millisecond || c.Interval > 24*time.Hour), "interval is %v, want 100ms to 24h", c.Interval)
	errs.If(c.Timeout != 0 && (c.Timeout < time.Millisecond || c.Timeout > time.Hour), "timeout is %v, want 1ms to 1h", c.Timeout)
	return errors.Join(append(errs, c.limits().Validate())...)
}

// How bad what a check returns is.
const (
	well  = 0.0
	ill   = 0.5
	worst = 1.0
)

func (c CheckConfig) limits() Limits {
	return Limits{
		Degraded: Band{Upper: ill, Lower: ill}, Failing: Band{Upper: worst, Lower: worst},
		Times: c.Times, Calm: c.Calm,
	}.Or(Limits{Times: 2})
}

// Check adds a check. A check that exists when Run begins keeps the process not ready
// until it has run once.
func (h *Health) Check(name string, c CheckConfig) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("health: check %s: %w", name, err)
	}
	p := &probe{
		entry:    entry{name: name, kind: Custom, optional: c.Optional},
		interval: c.Interval, timeout: c.Timeout, gauge: policy.Gauge{Limits: c.limits()},
		look: func(ctx context.Context) sample {
			err := c.Func(ctx)
			switch {
			case err == nil:
				return sample{value: well}
			case errors.Is(err, ErrDegraded):
				return sample{value: ill, detail: strings.TrimPrefix(err.Error(), ErrDegraded.Error()+": ")} // the state says it
			}
			return sample{value: worst, detail: err.Error()}
		},
		broken: worst,
	}
	if err := h.add(p); err != nil {
		return fmt.Errorf("health: check %s: %w", name, err)
	}
	return nil
}

func (h *Health) add(p *probe) error {
	p.interval = cmp.Or(p.interval, h.cfg.Interval)
	p.timeout = cmp.Or(p.timeout, h.cfg.Timeout)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.room(p.name); err != nil {
		return err
	}
	h.probes = append(h.probes, p)
	h.nudge()
	return nil
}

// probe is a check that is made from time to time. What is not constant is
// guarded by the mutex of its Health.
type probe struct {
	entry
	interval, timeout time.Duration
	measure           string // what look returns; "" for a custom check
	look              func(context.Context) sample
	broken            float64 // the value of a look that gave none; NaN for none
	gauge             policy.Gauge

	removed bool
	out     bool      // a look is under way
	late    bool      // and had no answer in time: what it returns is dropped
	began   time.Time // when it began
	next    time.Time // when the next one, or the next word about a late one, is due
}

// sample is what a look has found.
type sample struct {
	value   float64
	detail  string
	skipped string // why there is no value, and never will be
	broken  bool   // no value this time
}

// due says when p wants Run's attention. h.mu is held.
func (p *probe) due() time.Time {
	if p.out && !p.late {
		return p.began.Add(p.timeout)
	}
	return p.next
}

// begin starts a look, or says that the one under way is late. h.mu is held.
func (h *Health) begin(ctx context.Context, p *probe, now time.Time) {
	if p.out {
		p.late = true
		p.next = now.Add(h.spread(p.interval))
		h.take(p, now, sample{broken: true, detail: fmt.Sprintf("no answer for %v, the timeout is %v", now.Sub(p.began), p.timeout)})
		return
	}
	p.out, p.late, p.began = true, false, now
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	go func() {
		defer cancel()
		s := sample{broken: true, detail: "the check ended its goroutine"}
		defer func() { h.finish(p, s, ctx.Err()) }()
		s = h.guarded(ctx, p)
	}()
}

// guarded makes one look, which may panic.
func (h *Health) guarded(ctx context.Context, p *probe) (s sample) {
	defer func() {
		if r := recover(); r != nil {
			s = sample{broken: true, detail: fmt.Sprintf("panic: %v", r)}
			h.cfg.Log.Error("health check panicked", "check", p.name, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	return p.look(ctx)
}

// finish takes what a look has found.
func (h *Health) finish(p *probe, s sample, ended error) {
	now := time.Now()
	h.mu.Lock()
	if !p.late && !errors.Is(ended, context.Canceled) { // canceled: Run ends, and that is nobody's illness
		h.take(p, now, s)
	}
	p.out, p.late = false, false
	p.next = now.Add(h.spread(p.interval))
	h.mu.Unlock()
	h.nudge()
}

// take judges a sample. h.mu is held.
func (h *Health) take(p *probe, now time.Time, s sample) {
	if p.removed {
		return
	}
	value := s.value
	if s.broken {
		value = p.broken
	}
	var state State
	switch {
	case s.skipped != "":
		state = OK
	case p.at.IsZero() && p.kind == Custom: // it was never known to be well
		state = p.gauge.Set(value)
	default:
		state = p.gauge.Step(now, value)
	}
	if s.broken && p.kind == Local {
		state = max(state, Degraded)
	}
	p.skipped = s.skipped
	if p.measure != "" && s.skipped == "" && !s.broken {
		p.measures = []Measure{{Name: p.measure, Value: value, Unit: "share", State: state, Thresholds: thresholds(p.gauge.Limits)}}
	}
	h.become(&p.entry, now, state, oneLine(s.detail))
}

// spread is d, a tenth more or less.
func (h *Health) spread(d time.Duration) time.Duration {
	return d + time.Duration((h.random()-0.5)*float64(d)/5)
}

func jitter() float64 { return rand.Float64() }
