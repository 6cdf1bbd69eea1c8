package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/faults"
)

// Registry is what ExternalWorkers reports to; a [fleet.Fleet].
type Registry interface {
	Add(worker string)
	SetWeight(worker string, weight int) // of a worker that was added
	Remove(worker string) error          // that is down
	Up(worker, addr string) (epoch uint64)
	Drain(worker string)
	Resume(worker string)
	Idle(ctx context.Context, worker string) error
	Down(worker string, epoch uint64, end fleet.End)
	// Sick is told after every look while health checks fail, and Well once when
	// they succeed again. Whether that keeps work away is the registry's decision.
	Sick(worker string, epoch uint64, why string) (out bool)
	Well(worker string, epoch uint64)
}

// Health says how workers are asked how they are.
type Health struct {
	Path     string        // "" means that an open port is a well worker
	GRPC     string        // instead of Path: see [Probe.GRPC]
	Interval time.Duration // between looks at a worker that is up, ±20 %; default 1 s
	Timeout  time.Duration // of one look; default 1 s
}

// MaxWorkers bounds the workers of one ExternalWorkers.
const MaxWorkers = 4096

// Config describes workers that somebody else starts.
type Config struct {
	Name    string         // the fleet, for logs
	Workers []string       // "http://host:port", "https://host:port" or "unix:/path", at most MaxWorkers
	Weights map[string]int // of some of Workers, by their text; the others have 1
	Health  Health
	HTTP2   bool          // is what workers speak
	Drain   time.Duration // for work in flight on a worker that is taken out; default 30 s
	// Resolve is the time between two lookups of workers' host names, ±20 %;
	// default 5 s. Every address of a name is a worker of its own.
	Resolve time.Duration
	// TLS makes the settings of one connection to a worker with https, by its host
	// name; nil: those of the system.
	TLS func(host string) *tls.Config
	// Resized, when set, is told how many workers there are when a lookup has
	// changed that. New and Update say it by Size.
	Resized  func(workers int)
	Registry Registry

	tellAfter time.Duration // default tellAfter
	// Conns, when set, tells how the wire's own connections of one epoch fare:
	// how many stand, and how many broke since the last call. It must look: an
	// idle connection whose end nobody has noticed does not stand.
	Conns func(worker string, epoch uint64) (alive, broken int)
	Log   *slog.Logger // nil discards

	lookup lookupFunc // nil: the system's
}

func (c Config) withDefaults() Config {
	c.Health.Interval = cmp.Or(c.Health.Interval, time.Second)
	c.Health.Timeout = cmp.Or(c.Health.Timeout, DefaultTimeout)
	c.Drain = cmp.Or(c.Drain, 30*time.Second)
	c.Resolve = cmp.Or(c.Resolve, 5*time.Second)
	if c.lookup == nil {
		c.lookup = systemLookup
	}
	c.tellAfter = cmp.Or(c.tellAfter, tellAfter)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Registry == nil, "registry is missing")
	errs.If(len(c.Workers) == 0, "workers is empty, want at least one http://host:port")
	errs.If(len(c.Workers) > MaxWorkers, "workers has %d entries, want at most %d", len(c.Workers), MaxWorkers)
	seen := make(map[string]bool, len(c.Workers))
	for i, w := range c.Workers {
		addr, err := ParseWorker(w)
		if err != nil {
			errs.Add("workers[%d]: %w", i, err)
		} else if seen[addr] {
			errs.Add("workers[%d]: %s is listed twice", i, addr)
		}
		seen[addr] = true
	}
	errs.If(c.Drain < 0, "drain is %v, want more than 0", c.Drain)
	errs.If(c.Resolve < 0, "resolve is %v, want more than 0", c.Resolve)
	errs = append(errs, c.Health.validate()...)
	return errors.Join(errs...)
}

func (h Health) probe() Probe {
	return Probe{Path: h.Path, GRPC: h.GRPC, Timeout: h.Timeout}
}

func (h Health) validate() []error {
	var errs faults.List
	errs.In(CheckPath(h.Path), "health.path")
	errs.If(h.Interval < 0, "health.interval is %v, want more than 0", h.Interval)
	errs.If(h.Timeout < 0, "health.timeout is %v, want more than 0", h.Timeout)
	return errs
}

// CheckPath reports whether path can be asked for in a health request. The
// empty path can.
func CheckPath(path string) error {
	switch {
	case path == "":
		return nil
	case path[0] != '/':
		return fmt.Errorf("%.60q does not begin with /", path)
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("%.60q has a space or control character; write it as %%20", path)
	}
	return nil
}
