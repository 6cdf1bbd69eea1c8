package health

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/health"
)

// DependencyConfig says how calls to a dependency are judged. The zero value is ready.
type DependencyConfig struct {
	Optional bool               // a failure makes the whole degraded, never failing
	Rules    Rules              // Window, MinVolume, Errors, Timeouts, Latency
	Classify func(error) Result // of [Dependency.Track] and [Dependency.Wrap]; default [Classify]
}

// Validate reports every impossible field.
func (c DependencyConfig) Validate() error { return c.Rules.Validate() }

// Dependency is something that this process calls. Its methods are safe for
// concurrent use.
type Dependency struct {
	classify atomic.Pointer[func(error) Result]

	// Counted since Run looked last.
	good, failed, timeouts atomic.Uint64
	latency                [policy.Cells]atomic.Uint64

	entry   // guarded by the mutex of its Health, as what follows
	removed bool
	calls   policy.Calls
}

// Dependency returns the dependency with that name. It creates a missing one, and changes
// the configuration of an existing one. It never returns nil: with invalid rules it uses
// the default ones; with an invalid name, or if there are too many, the report does not
// show it. Both are logged, listed in Report.Faults, and degrade the whole until the same
// name gets a valid configuration. Call Validate first for settings from a file.
func (h *Health) Dependency(name string, c DependencyConfig) *Dependency {
	fault := c.Validate()
	if fault != nil {
		c.Rules = Rules{}
	}
	h.mu.Lock()
	d := h.find(name)
	if d == nil {
		d = &Dependency{entry: entry{name: name, kind: Called}}
		if err := h.room(name); err != nil {
			fault = err
		} else {
			h.deps = append(h.deps, d)
		}
	}
	d.optional = c.Optional
	d.calls.Rules = c.Rules
	classify := c.Classify
	if classify == nil {
		classify = Classify
	}
	d.classify.Store(&classify)
	delete(h.faults, name)
	if fault != nil && len(h.faults) < maxFaults {
		h.faults[name] = oneLine(fmt.Sprintf("dependency %.80q: %v", name, fault))
	}
	h.sum(time.Now())
	h.mu.Unlock()
	if fault != nil {
		h.cfg.Log.Error("dependency cannot be watched as configured", "dependency", name, "error", fault)
	}
	return d
}

// maxFaults bounds what is remembered of wrong configurations.
const maxFaults = 16

func (h *Health) find(name string) *Dependency {
	if i := slices.IndexFunc(h.deps, func(d *Dependency) bool { return d.name == name }); i >= 0 {
		return h.deps[i]
	}
	return nil
}

// Observe counts one ended call. It allocates nothing and takes no lock.
func (d *Dependency) Observe(latency time.Duration, r Result) {
	switch r {
	case Good:
		d.good.Add(1)
	case Timeout:
		d.timeouts.Add(1)
	case Failed:
		d.failed.Add(1)
		return
	default:
		return
	}
	d.latency[policy.Cell(latency)].Add(1)
}

// drain takes what was counted since the last time.
func (d *Dependency) drain(t *policy.Tally) {
	t.Good, t.Failed, t.Timeouts = d.good.Swap(0), d.failed.Swap(0), d.timeouts.Swap(0)
	for i := range d.latency {
		t.Latency[i] = 0
		if d.latency[i].Load() != 0 {
			t.Latency[i] = d.latency[i].Swap(0)
		}
	}
}

// judge looks at the calls that have ended. h.mu is held.
func (h *Health) judge(d *Dependency, now time.Time) {
	var t policy.Tally
	d.drain(&t)
	d.calls.Add(now, &t)
	r := d.calls.Step(now)
	rules := d.calls.Rules.WithDefaults()
	d.measures = append(d.measures[:0],
		Measure{Name: "calls", Value: float64(r.Calls)},
		Measure{Name: "errors", Value: r.Errors, Unit: "share", State: r.ErrorsState, Thresholds: thresholds(rules.Errors)},
		Measure{Name: "timeouts", Value: r.Timeouts, Unit: "share", State: r.TimeoutsState, Thresholds: thresholds(rules.Timeouts)},
		Measure{Name: "latency", Value: r.Latency.Seconds(), Unit: "seconds", State: r.LatencyState, Thresholds: thresholds(rules.Latency)},
	)
	detail := ""
	if r.Few {
		detail = fmt.Sprintf("fewer than %d calls in %v say nothing", rules.MinVolume, rules.Window)
	}
	h.become(&d.entry, now, r.State, detail)
}
