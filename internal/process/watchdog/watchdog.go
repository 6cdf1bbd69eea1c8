package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// Watchdog watches one fleet. Create it with [New]; it does nothing before [Watchdog.Run]. Its methods may be called from
// several goroutines.
type Watchdog struct {
	sample  func(Worker) (Sample, error)
	restart func(context.Context, policy.Decision) error
	running atomic.Bool

	mu      sync.Mutex // guards the fields below
	cfg     Config
	fleet   policy.Fleet
	unknown []string // measurements that this system does not provide

	known map[string]State // states known to Observe; owned by Run
	alarm bool             // likewise
}

// New returns a Watchdog over cfg.Target.
func New(cfg Config) (*Watchdog, error) {
	if cfg.Target == nil {
		return nil, fmt.Errorf("watchdog: %w", errors.Join(errors.New("target is missing"), cfg.Validate()))
	}
	d, err := build(cfg)
	if err != nil {
		return nil, err
	}
	target := cfg.Target
	d.restart = func(ctx context.Context, w policy.Decision) error {
		return target.Restart(ctx, w.Worker, "watchdog: "+w.Breach.String())
	}
	if d.sample == nil {
		d.sample = (&kernel{d: d, seen: map[string]process{}}).sample
	}
	return d, nil
}

func build(cfg Config) (*Watchdog, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("watchdog %s: %w", cfg.Name, err)
	}
	d := &Watchdog{cfg: cfg.WithDefaults(), sample: cfg.Sample, known: map[string]State{}}
	d.fleet.Config = d.cfg.Rules
	return d, nil
}

// Update changes limits and rules. The state of the workers, and which are given up, is kept. Name, Target and the
// functions of cfg are ignored.
func (d *Watchdog) Update(cfg Config) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.cfg
	cfg.Name, cfg.Target, cfg.Held, cfg.Sample = now.Name, now.Target, now.Held, now.Sample
	cfg.Observe, cfg.Log = now.Observe, now.Log
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("watchdog %s: %w", now.Name, err)
	}
	d.cfg = cfg.WithDefaults()
	d.fleet.Config = d.cfg.Rules
	return nil
}

// Clear watches a given-up worker again, or for "" all workers and the fleet. It reports whether there was anything to
// clear.
func (d *Watchdog) Clear(worker string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fleet.Clear(worker)
}

// Status is the state of a watchdog.
type Status struct {
	Name string `json:"name"`
	policy.Status
	Unknown []string `json:"unknown,omitempty"` // what this system does not tell of the workers
}

// Status returns the watchdog's present state.
func (d *Watchdog) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Status{Name: d.cfg.Name, Status: d.fleet.Status(), Unknown: slices.Clone(d.unknown)}
}

// note records a missing measurement, and logs it once.
func (d *Watchdog) note(what string, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.unknown, what) {
		return
	}
	d.unknown = append(d.unknown, what)
	d.cfg.Log.Info("a measurement is not available here, and its limits are not watched", "watchdog", d.cfg.Name, "what", what, "why", why)
}

func (d *Watchdog) config() Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// step decides about the workers by their samples.
func (d *Watchdog) step(now time.Time, s policy.Scene) (policy.Decision, policy.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dec := d.fleet.Step(now, s)
	return dec, d.fleet.Status()
}
