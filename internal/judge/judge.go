package judge

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/marks"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// DefaultMax is the default of Config.Max.
const DefaultMax = 10_000

// Config says how to judge. Only Store is required.
type Config struct {
	Store  marks.Store // shared by all processes
	Shared bool        // other processes write to Store
	// Trust is how long data from a shared store are valid, and how late this process learns what others found out; 0: it
	// reads them each time.
	Trust   time.Duration
	Outage  outage.Config
	Breaker breaker.Config // Node is this process's name
	Max     int            // known queues, and known groups; default DefaultMax

	// Also is called when the marks are read, before Refresh returns. nil: nothing.
	Also func(context.Context) error
	// Changed is called without a lock when a gate may have opened. nil: nobody waits.
	Changed func()
	// Complain gets errors, without a lock. nil: they are logged.
	Complain func(ctx context.Context, doing string, err error)
	Log      *slog.Logger // nil discards
}

func (c Config) withDefaults() Config {
	c.Max = cmp.Or(c.Max, DefaultMax)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Also == nil {
		c.Also = func(context.Context) error { return nil }
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.Complain == nil {
		log := c.Log
		c.Complain = func(_ context.Context, doing string, err error) { log.Warn("cannot "+doing, "err", err) }
	}
	return c
}

// Judge knows what holds queues and groups back. It is safe for concurrent use.
type Judge struct {
	cfg  Config
	some atomic.Bool // any state exists

	mu     sync.Mutex // guards all below, and every state; never held while waiting
	queues map[string]*queueState
	groups map[string]*groupState
	read   time.Time // when the store was read; zero: never
	loaded bool      // it has been read without an error
}

func New(c Config) *Judge {
	return &Judge{cfg: c.withDefaults(), queues: map[string]*queueState{}, groups: map[string]*groupState{}}
}

// Quiet reports whether nothing ever failed, so that there is nothing to ask or to tell.
func (j *Judge) Quiet() bool { return !j.some.Load() }

// Excused reports whether a delivery that ended in class blames nobody.
func Excused(c bezoar.Class) bool { return c == bezoar.Interrupted || c == bezoar.SpawnFailed }

// BlamesDownstream reports whether a failure counts for the breaker of a group. Poison does not count: one bad message
// would stop all.
func BlamesDownstream(c bezoar.Class) bool {
	switch c {
	case bezoar.Transient, bezoar.Throttled, bezoar.Outage, bezoar.Timeout:
		return true
	case bezoar.Done, bezoar.Invalid, bezoar.Bug, bezoar.Crash, bezoar.OOM, bezoar.Interrupted, bezoar.SpawnFailed:
	}
	return false
}

// Alike returns a failure in the form that is compared with others; "" equals no other. Malformed messages fail in the same
// way without an outage, and their sender could pause the queue.
func Alike(class bezoar.Class, failure string) string {
	switch {
	case class == bezoar.Invalid:
		return ""
	case failure == "" && class == bezoar.Outage:
		return class.String()
	}
	return failure
}
