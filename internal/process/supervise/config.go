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

// Registry receives the supervisor's reports; [fleet.Fleet] implements it.
type Registry interface {
	Members
	Witness
}

// Members holds the workers, and the lives of them that take work.
type Members interface {
	Add(worker string)
	Remove(worker string) error // of a worker that is down
	Up(worker, addr string) (epoch uint64)
	Drain(worker string)
	Resume(worker string)
	Idle(ctx context.Context, worker string) error
	// Retire stops new work for a life and lets another life take its place. The retired life ends by Down like any other.
	// Retired waits until it has nothing in flight.
	Retire(worker string, epoch uint64) bool
	Retired(ctx context.Context, worker string, epoch uint64) error
	Down(worker string, epoch uint64, end fleet.End)
}

// Witness receives the health of workers' lives.
type Witness interface {
	// Sick is called after every check while health checks fail, and Well once when they succeed again. The registry
	// decides whether it keeps work away from the worker.
	Sick(worker string, epoch uint64, why string) (out bool)
	Well(worker string, epoch uint64)
	// Bake says that a life begins or ends its bake. Proof returns how many requests a life has answered, also after its
	// end, and the reason why it does not pass, or "".
	Bake(worker string, epoch uint64, on bool)
	Proof(worker string, epoch uint64) (answered uint64, out string)
}

// Health describes the health check of workers.
type Health struct {
	Path         string        // "": a worker with an open port is ready
	GRPC         string        // replaces Path: see [probe.Probe.GRPC]
	HTTP2        bool          // the protocol of the workers
	Interval     time.Duration // between checks of a worker that is up, ±20 %; default 1 s
	Timeout      time.Duration // of one check; default 1 s
	StartTimeout time.Duration // until a worker must be ready; default 30 s
}

func (h Health) probe() probe.Probe {
	return probe.Probe{Path: h.Path, GRPC: h.GRPC, HTTP2: h.HTTP2, Timeout: h.Timeout}
}

// asks reports whether the check needs a good answer: otherwise any will do.
func (h Health) asks() bool { return h.Path != "" || h.GRPC != "" }

// MaxReplicas is the most workers of one Supervisor.
const MaxReplicas = 1024

// Config describes a command and how many copies of it should run.
type Config struct {
	Name     string   // the fleet; workers are called Name-1, Name-2 …
	Command  []string // program and arguments; {port} in an argument is replaced
	Replicas int      // default 1
	Dir      string   // working directory; "": the current one
	Env      []string // KEY=value, for every worker, added to Environ
	// Environ is the environment that workers inherit, as Inherit says; nil: this process's own.
	Environ []string
	Inherit proc.Inherit
	User    string // user of the workers, see [proc.FindUser]; "": the user of this process
	Health  Health
	Grace   time.Duration  // between SIGTERM and SIGKILL; default 5 s
	Drain   time.Duration  // for work in flight before SIGTERM; default 30 s
	Backoff backoff.Config // between restarts; default 100 ms to 5 s
	Bake    Bake           // test of each new process in a rolling restart; default: none
	Memory  int64          // bytes per worker; 0 means no limit
	// Output receives each line of each worker; nil discards. One goroutine per stream calls it. A slow Output slows its
	// worker down. line is valid only during the call.
	Output   func(worker string, stream Stream, line []byte)
	Known    *redact.Values // secrets to remove from output and evidence; nil: none
	Log      *slog.Logger   // nil discards
	Registry Registry

	tellAfter time.Duration // default tellAfter
}

// MinMemory is the smallest limit in bytes: most runtimes need more to start.
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

// Validate returns an error that names every invalid field.
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
