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

// Watchdog watches one fleet. Create it with [New];
// it does nothing before [Watchdog.Run].
type Watchdog struct {
	sample  func(Worker) (Sample, error)
	restart func(context.Context, policy.Decision) error
	running atomic.Bool

	mu      sync.Mutex // guards what follows
	cfg     Config
	fleet   policy.Fleet
	unknown []string // what this system does not tell

	known map[string]State // what Observe knows; Run's own
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

// Update judges by other limits and rules from now on; what is known of the
// workers, and what was given up, stays. Name, Target and the functions of cfg are
// not looked at.
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

// Clear watches a worker again that was given up, or for "" all and the fleet.
// It reports whether there was anything to clear.
func (d *Watchdog) Clear(worker string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fleet.Clear(worker)
}

// Status is how a watchdog stands.
type Status struct {
	Name string `json:"name"`
	policy.Status
	Unknown []string `json:"unknown,omitempty"` // what this system does not tell of the workers
}

// Status returns how the watchdog stands.
func (d *Watchdog) Status() Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Status{Name: d.cfg.Name, Status: d.fleet.Status(), Unknown: slices.Clone(d.unknown)}
}

// note remembers, and says once, what this system does not tell.
func (d *Watchdog) note(what string, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if slices.Contains(d.unknown, what) {
		return
	}
	d.unknown = append(d.unknown, what)
	d.cfg.Log.Info("this is not known here, and is not watched", "watchdog", d.cfg.Name, "what", what, "why", why)
}

func (d *Watchdog) config() Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// step decides about workers with their samples.
func (d *Watchdog) step(now time.Time, s policy.Scene) (policy.Decision, policy.Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	dec := d.fleet.Step(now, s)
	return dec, d.fleet.Status()
}
