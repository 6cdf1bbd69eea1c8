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

// The words of the policy, so that users import one package.
type (
	// Signal is what is measured of a worker.
	Signal = policy.Signal
	// Rules say when workers are restarted.
	Rules = policy.Config
	// Limits are what a worker may take; what is 0 is not looked at.
	Limits = policy.Limits
	// Sample is what was measured of one worker at one moment.
	Sample = policy.Sample
	// Breach is a limit that a worker exceeds.
	Breach = policy.Breach
	// State is where a worker, or the whole fleet, stands.
	State = policy.State
	// WorkerStatus is how the watch over one worker stands.
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

// Off as Config.MinUptime lets a worker be restarted however young it is.
const Off = policy.Off

// Worker is one worker of a fleet at one moment.
type Worker struct {
	Name    string
	PID     int       // 0 while it has no process
	Life    uint64    // differs from one process of the worker to the next
	Up      time.Time // when this life became ready; zero: it is not
	Serving bool      // it gets work
}

// Target is a fleet whose workers can be restarted one by one.
type Target interface {
	// Workers returns all workers, those that are down too. It does not wait.
	Workers() []Worker
	// Restart replaces one worker and returns when the new process serves and the
	// old one has ended, or an error when the old one goes on. It takes work away
	// from the old process first, and stops waiting when ctx ends.
	Restart(ctx context.Context, worker, why string) error
}

// Config says what is watched and when it is restarted. The zero value, with a
// Target, looks at file descriptors alone.
type Config struct {
	Name   string // of the fleet, in logs and statistics; default "fleet"
	Target Target
	// Held says why nothing may be restarted now, such as a rollout; "" when it
	// may. nil: it always may. It does not wait.
	Held func() string

	Rules

	// Interval is between samples, spread by a fifth: 50 ms to 1 min, at most For/3,
	// and Window/96 when growth is limited. Default For/6, up to 5 s.
	Interval time.Duration
	Patience time.Duration // with one restart; default 5 min

	// Sample measures a worker in place of the kernel's numbers. One at a time.
	Sample  func(w Worker) (Sample, error)
	Observe func(Event) // is told of every change, by Run, one at a time; nil: nobody is
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

// slowest is how far apart samples may be.
func (c *Config) slowest() time.Duration {
	most := min(time.Minute, c.For/3)
	if c.Limits.Growth > 0 {
		most = min(most, c.Window/96)
	}
	return most
}

// minInterval bounds what sampling may cost.
const minInterval = 50 * time.Millisecond

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List

	errs = append(errs, c.Rules.Validate())
	errs.If(c.Interval < minInterval || c.Interval > c.slowest(), "interval is %v, want %v to %v (a third of for; a 96th of window for growth)",
		c.Interval, minInterval, c.slowest())
	errs.If(c.Patience < time.Second || c.Patience > 24*time.Hour, "patience is %v, want 1s to 24h", c.Patience)
	return errors.Join(errs...)
}
