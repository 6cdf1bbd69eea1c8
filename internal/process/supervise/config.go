package supervise

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/process/probe"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Registry is what the supervisor reports to; a [fleet.Fleet].
type Registry interface {
	Members
	Witness
}

// Members is which workers there are, and which lives of them take work.
type Members interface {
	Add(worker string)
	Remove(worker string) error // that is down
	Up(worker, addr string) (epoch uint64)
	Drain(worker string)
	Resume(worker string)
	Idle(ctx context.Context, worker string) error
	// Retire gives a life no new work and lets another take its place beside it. It
	// ends by Down like any other. Retired waits until it has nothing in flight.
	Retire(worker string, epoch uint64) bool
	Retired(ctx context.Context, worker string, epoch uint64) error
	Down(worker string, epoch uint64, end fleet.End)
}

// Witness is how the lives of workers do.
type Witness interface {
	// Sick is told after every look while health checks fail, and Well once when
	// they succeed again. Whether that keeps work away is the registry's decision.
	Sick(worker string, epoch uint64, why string) (out bool)
	Well(worker string, epoch uint64)
	// Bake is told that a life must still prove itself, and that it has. Proof
	// returns how many requests a life has answered, also after its end, and what
	// speaks against it, or "".
	Bake(worker string, epoch uint64, on bool)
	Proof(worker string, epoch uint64) (answered uint64, out string)
}

// Health says how workers are asked how they are.
type Health struct {
	Path         string        // "" means that an open port is a ready worker
	GRPC         string        // instead of Path: see [probe.Probe.GRPC]
	HTTP2        bool          // is what workers speak
	Interval     time.Duration // between looks at a worker that is up, ±20 %; default 1 s
	Timeout      time.Duration // of one look; default 1 s
	StartTimeout time.Duration // to get ready; default 30 s
}

func (h Health) probe() probe.Probe {
	return probe.Probe{Path: h.Path, GRPC: h.GRPC, HTTP2: h.HTTP2, Timeout: h.Timeout}
}

// asks reports whether only a good answer will do.
func (h Health) asks() bool { return h.Path != "" || h.GRPC != "" }

// MaxReplicas bounds the workers of one Supervisor.
const MaxReplicas = 1024

// Config describes a command and how many copies of it should run.
type Config struct {
	Name     string   // the fleet; workers are called Name-1, Name-2 …
	Command  []string // program and arguments; {port} in an argument is replaced
	Replicas int      // default 1
	Dir      string   // where they run; "" means here
	Env      []string // KEY=value, for every worker, over Environ
	// Environ is what workers inherit as Inherit says; nil means our own
	// environment.
	Environ []string
	Inherit proc.Inherit
	User    string // whom they run as, see [proc.FindUser]; "": as we do
	Health  Health
	Grace   time.Duration  // between SIGTERM and SIGKILL; default 5 s
	Drain   time.Duration  // for work in flight before SIGTERM; default 30 s
	Backoff backoff.Config // between restarts; default 100 ms to 5 s
	Bake    Bake           // what a rolling restart asks of each new process; default: nothing
	Memory  int64          // bytes per worker; 0 means no limit
	// Output gets each line of each worker; nil discards. It is called by one
	// goroutine per stream and holds its worker up when it is slow. line is
	// valid during the call.
	Output   func(worker string, stream Stream, line []byte)
	Known    *redact.Values // secrets that must not be in output and evidence; nil: none
	Log      *slog.Logger   // nil discards
	Registry Registry

	tellAfter time.Duration // default tellAfter
}

// MinMemory is the smallest limit: below it hardly a runtime starts.
const MinMemory = 4 << 20

func (c Config) withDefaults() Config {
	or := func(d *time.Duration, def time.Duration) {
		*d = cmp.Or(*d, def)
	}
	or(&c.Health.Interval, time.Second)
	or(&c.Health.Timeout, probe.DefaultTimeout)
	or(&c.Health.StartTimeout, 30*time.Second)
	or(&c.tellAfter, tellAfter)
	or(&c.Grace, 5*time.Second)
	or(&c.Drain, 30*time.Second)
	or(&c.Backoff.Base, 100*time.Millisecond)
	or(&c.Backoff.Cap, max(5*time.Second, c.Backoff.Base))
	c.Replicas = cmp.Or(c.Replicas, 1)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Output == nil {
		c.Output = func(string, Stream, []byte) {}
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Validate reports every impossible field.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs faults.List
	errs.If(c.Name == "" || strings.ContainsAny(c.Name, "/\x00\n \t"), "name is %q, want a plain word", c.Name)
	errs.If(len(c.Command) == 0 || c.Command[0] == "", "command is empty, want a program and its arguments")
	errs.If(c.Replicas < 1 || c.Replicas > MaxReplicas, "replicas is %d, want 1 to %d", c.Replicas, MaxReplicas)
	errs.If(c.Memory != 0 && c.Memory < MinMemory, "memory is %d bytes, want at least %d", c.Memory, MinMemory)
	if _, err := proc.FindUser(c.User); err != nil {
		errs.Add("user: %w", err)
	}
	errs.If(c.Registry == nil, "registry is missing")
	errs.If(c.Bake.Requests < 0, "bake.requests is %d, want 0 or more", c.Bake.Requests)
	for i, e := range c.Env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" || strings.Contains(e, "\x00") {
			errs.Add("env[%d] is not KEY=value", i) // the value may be a secret: not shown
		}
	}
	if err := probe.CheckPath(c.Health.Path); err != nil {
		errs.Add("health.path: %w", err)
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"health.interval", c.Health.Interval},
		{"health.timeout", c.Health.Timeout},
		{"health.start_timeout", c.Health.StartTimeout},
		{"grace", c.Grace},
		{"drain", c.Drain},
		{"bake.time", c.Bake.Time},
	} {
		errs.If(d.value < 0, "%s is %v, want more than 0", d.field, d.value)
	}
	if err := c.Backoff.Validate(); err != nil {
		errs.Add("backoff: %w", err)
	}
	return errors.Join(errs...)
}
