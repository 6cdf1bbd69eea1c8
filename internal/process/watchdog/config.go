package watchdog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// Names of the policy, so that users import one package.
type (
	// Signal is a measurement of a worker.
	Signal = policy.Signal
	// Rules say when workers are restarted.
	Rules = policy.Config
	// Limits are the limits of a worker; 0 means not watched.
	Limits = policy.Limits
	// Sample holds the measurements of one worker at one moment.
	Sample = policy.Sample
	// Breach is a limit that a worker exceeds.
	Breach = policy.Breach
	// State is the state of a worker or of the whole fleet.
	State = policy.State
	// WorkerStatus is the state of the watch over one worker.
	WorkerStatus = policy.WorkerStatus
)

// The signals and the states.
const (
	Memory      = policy.Memory
	Growth      = policy.Growth
	Descriptors = policy.Descriptors
	Threads     = policy.Threads

	Down       = policy.Down
	OK         = policy.OK
	Over       = policy.Over
	Due        = policy.Due
	Restarting = policy.Restarting
	GaveUp     = policy.GaveUp
)

// Off as Config.MinUptime permits a restart of a worker of any age.
const Off = policy.Off

// Worker is one worker of a fleet at one moment.
type Worker struct {
	Name    string
	PID     int       // 0 without a process
	Life    uint64    // differs from one process of the worker to the next
	Up      time.Time // when this life became ready; zero: not ready
	Serving bool      // it gets work
}

// Target is a fleet whose workers can be restarted one by one.
type Target interface {
	// Workers returns all workers, also those that are down. It does not block.
	Workers() []Worker
	// Restart replaces one worker and returns when the new process serves and the old one has ended, or an error if the old
	// one continues. It takes work away from the old process first, and stops waiting when ctx ends.
	Restart(ctx context.Context, worker, why string) error
}

// Config sets what is watched and when a worker is restarted. The zero value with a Target watches only file descriptors.
type Config struct {
	Name   string // of the fleet, in logs and statistics; default "fleet"
	Target Target
	// Held returns why no worker may be restarted now, such as a rollout; "": restarts are permitted. nil: they always are.
	// It must not block.
	Held func() string

	Rules

	// Interval is the time between samples, ±20 %: 50 ms to 1 min, at most For/3, and Window/96 if growth is limited.
	// Default For/6, at most 5 s.
	Interval time.Duration
	Patience time.Duration // for one restart; default 5 min

	// Sample replaces the kernel's measurements. It is called one at a time.
	Sample  func(w Worker) (Sample, error)
	Observe func(Event) // called by Run for every change, one at a time; may be nil
	Log     *slog.Logger
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Name = cmp.Or(c.Name, "fleet")
	c.Rules = c.Rules.WithDefaults()
	if c.Interval == 0 {
		c.Interval = min(c.For/6, 5*time.Second, c.slowest())
	}
	c.Patience = cmp.Or(c.Patience, 5*time.Minute)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// slowest returns the longest permitted Interval.
func (c *Config) slowest() time.Duration {
	most := min(time.Minute, c.For/3)
	if c.Limits.Growth > 0 {
		most = min(most, c.Window/96)
	}
	return most
}

// minInterval limits the cost of sampling.
const minInterval = 50 * time.Millisecond

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs = append(errs, c.Rules.Validate())
	errs.If(c.Interval < minInterval || c.Interval > c.slowest(), "interval is %v, want %v to %v (a third of for; a 96th of window for growth)",
		c.Interval, minInterval, c.slowest())
	errs.If(c.Patience < time.Second || c.Patience > 24*time.Hour, "patience is %v, want 1s to 24h", c.Patience)
	return errors.Join(errs...)
}
