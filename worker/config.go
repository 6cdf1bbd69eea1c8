package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/budget"
	"github.com/bezoar-dev/bezoar/policy/outage"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// What zero means in a Config.
const (
	DefaultConcurrency = 4
	DefaultTimeout     = 5 * time.Minute
	DefaultVisibility  = 30 * time.Second
	DefaultDrain       = 30 * time.Second
)

// The bounds of a Config.
const (
	MaxConcurrency = 1000
	MinVisibility  = 2 * time.Second
	maxTimeout     = queue.MaxVisibility - 10*time.Minute // the lease must outlive it
)

// Config says which messages a worker takes, what runs on them, and how. Source and one of
// Handler and Command are required.
type Config struct {
	Source Source
	// Handler works on a message in this process. Use it for trusted code only: a panic is
	// caught, but code that kills or exhausts the process takes the worker with it, and
	// Timeout only ends the context.
	Handler func(ctx context.Context, m Message) error
	Command Command // works on messages in child processes

	Concurrency int           // messages at a time; 1 to 1,000, default 4
	Timeout     time.Duration // for one message; default 5 min
	Visibility  time.Duration // how long a lease lasts, from each heartbeat; 2 s to 12 h, default 30 s
	Heartbeat   time.Duration // how often a lease is extended; at most half of Visibility, which is the default
	Drain       time.Duration // how long running messages may go on when Run is to end; default 30 s, below 0: not at all

	// State is a directory for this worker alone. The worker records there what it is
	// about to run. Without it, a crash leaves no record of what was running.
	State string
	// Shared is a directory that workers on one machine may share: the secret
	// by which payloads are recognised, and the facts about payloads and
	// downstreams. Default State; without either, both are in memory.
	Shared string

	Name       string // of this worker, for people; default: the host and the process id
	Downstream string // the group that all messages depend on; if its breaker is open, the worker receives nothing

	// How endings are judged where the queue does not judge itself.
	Poison  poison.Config
	Outage  outage.Config
	Breaker breaker.Config
	Retry   backoff.Config
	Budget  budget.Config

	Observe func(Event)  // called for every message that has ended, one call at a time; must not block
	Log     *slog.Logger // nil discards
}

// policies is how messages of a queue that does not judge itself are judged.
func (c Config) policies() judge.LocalConfig {
	return judge.LocalConfig{
		Downstream: c.Downstream, Poison: c.Poison, Outage: c.Outage, Breaker: c.Breaker, Retry: c.Retry, Budget: c.Budget, Log: c.Log,
	}
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	var errs faults.List
	c = c.withDefaults()
	errs.If(c.Source == nil, "Source: is missing")
	errs.If((c.Handler == nil) == (len(c.Command.Args) == 0), "Handler, Command: one of them is required, and only one")
	errs.If(c.Concurrency < 1 || c.Concurrency > MaxConcurrency, "Concurrency is %d, want 1 to %d", c.Concurrency, MaxConcurrency)
	errs.If(c.Timeout < 0 || c.Timeout > maxTimeout, "Timeout is %v, want 0 to %v", c.Timeout, maxTimeout)
	errs.If(c.Visibility < MinVisibility || c.Visibility > queue.MaxVisibility, "Visibility is %v, want %v to %v", c.Visibility, MinVisibility, queue.MaxVisibility)
	errs.If(c.Heartbeat <= 0 || c.Heartbeat > c.Visibility/2, "Heartbeat is %v, want more than 0 and at most half of Visibility, %v", c.Heartbeat, c.Visibility/2)
	if err := c.policies().ValidatePolicies(); err != nil {
		errs = append(errs, err)
	}
	if len(c.Command.Args) > 0 {
		if err := c.Command.validate(); err != nil {
			errs.Add("Command: %w", err)
		}
	}
	return errors.Join(errs...)
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, value time.Duration) {
		*d = cmp.Or(*d, value)
	}
	c.Concurrency = cmp.Or(c.Concurrency, DefaultConcurrency)
	def(&c.Timeout, DefaultTimeout)
	def(&c.Visibility, DefaultVisibility)
	def(&c.Heartbeat, c.Visibility/2)
	def(&c.Drain, DefaultDrain)
	c.Drain = max(c.Drain, 0)
	c.Shared = cmp.Or(c.Shared, c.State)
	if c.Name == "" {
		c.Name = defaultName()
	}
	if c.Observe == nil {
		c.Observe = func(Event) {}
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Retry = c.Retry.WithDefaults()
	return c
}
