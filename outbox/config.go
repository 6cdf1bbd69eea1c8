package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Config says how a [Relay] works. Store, Owner and Sinks are required.
type Config struct {
	Name  string // of the outbox, for logs; default outbox
	Store Store
	// Owner names this process, such as host:pid. It is unique among the processes
	// that relay this outbox: one takes over from another of its name at once.
	Owner string
	// Sinks are asked in this order: an event goes to the first that wants its
	// topic. Events that none wants stay where they are.
	Sinks []Route

	Lease      time.Duration  // how long a relay may be silent, much the same for all of an outbox; default 15 s
	ParkAfter  int            // attempts that count against an event; default 5
	Keep       time.Duration  // how long delivered events are kept; default 24 h
	Events     int            // in one batch at most; default 1,000
	Bytes      int64          // in one batch at most; default 4 MiB
	PollBusy   time.Duration  // how often a relay looks after it found something; default 5 ms
	PollIdle   time.Duration  // how often it looks when nothing has come for a while; default 30 ms
	Retry      backoff.Config // of an event; default 1 s to 5 min
	Pause      backoff.Config // of a sink whose place is away; default 250 ms to 30 s
	SendFor    time.Duration  // how long a sink may take for a batch; default 1 min
	Grace      time.Duration  // how long a batch may go on when Run is to end; default 10 s
	Stalled    time.Duration  // without progress until the alarm; default 1 min
	Wake       bool           // listen for notifications too, if the store can
	Feed       Feed           // nil: poll only
	FeedMemory int64          // bytes of records of the feed that are kept at most; default 64 MiB
	Log        *slog.Logger   // nil discards
}

// Route is a sink and what goes there.
type Route struct {
	Name   string   // for people; without secrets
	Topics []string // each a topic, or the beginning of topics and *: orders.*
	Sink   Sink
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	orDefault(&c.Name, "outbox")
	orDefault(&c.Lease, 15*time.Second)
	orDefault(&c.ParkAfter, 5)
	orDefault(&c.Keep, 24*time.Hour)
	orDefault(&c.Events, 1000)
	orDefault(&c.Bytes, 4<<20)
	orDefault(&c.PollBusy, 5*time.Millisecond)
	orDefault(&c.PollIdle, max(30*time.Millisecond, c.PollBusy))
	orDefault(&c.Pause.Base, 250*time.Millisecond)
	orDefault(&c.Pause.Cap, max(30*time.Second, c.Pause.Base))
	orDefault(&c.Pause.Strategy, backoff.EqualJitter)
	orDefault(&c.SendFor, time.Minute)
	orDefault(&c.Grace, 10*time.Second)
	orDefault(&c.Stalled, time.Minute)
	orDefault(&c.FeedMemory, 64<<20)
	c.Retry = c.Retry.WithDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Store == nil {
		fault("Store: missing")
	}
	if c.Owner == "" {
		fault("Owner: missing")
	}
	if len(c.Sinks) == 0 {
		fault("Sinks: missing; an event goes nowhere")
	}
	for i, r := range c.Sinks {
		if r.Name == "" || r.Sink == nil || len(r.Topics) == 0 {
			fault("Sinks[%d]: needs Name, Topics and Sink", i)
		}
		for _, t := range r.Topics {
			if err := ValidatePattern(t); err != nil {
				fault("Sinks[%d].Topics: %w", i, err)
			}
		}
	}
	for _, d := range []struct {
		name string
		of   time.Duration
		min  time.Duration
	}{
		{"Lease", c.Lease, time.Second},
		{"Keep", c.Keep, time.Minute},
		{"PollBusy", c.PollBusy, time.Millisecond},
		{"PollIdle", c.PollIdle, c.PollBusy},
		{"SendFor", c.SendFor, time.Millisecond},
		{"Grace", c.Grace, 0},
		{"Stalled", c.Stalled, time.Second},
	} {
		if d.of < d.min {
			fault("%s: %v is less than %v", d.name, d.of, d.min)
		}
	}
	if c.ParkAfter < 1 || c.ParkAfter > 1000 {
		fault("ParkAfter: %d is not from 1 to 1000", c.ParkAfter)
	}
	if c.Events < 1 || c.Events > 10_000 {
		fault("Events: %d is not from 1 to 10000", c.Events)
	}
	if c.Bytes < 1 {
		fault("Bytes: %d is less than 1", c.Bytes)
	}
	if err := c.Retry.Validate(); err != nil {
		fault("Retry: %w", err)
	}
	if err := c.Pause.Validate(); err != nil {
		fault("Pause: %w", err)
	}
	return errors.Join(errs...)
}

// ValidatePattern says what is wrong with a pattern of a [Route].
func ValidatePattern(pattern string) error {
	if ok, err := regexp.MatchString(`^([A-Za-z0-9._-]+|[A-Za-z0-9._-]*\*)$`, pattern); err != nil || !ok {
		return fmt.Errorf("%.100q is no topic; letters, digits, dots, dashes and underscores, and one * at the end", pattern)
	}
	return nil
}
