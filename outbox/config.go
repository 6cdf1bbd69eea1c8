package outbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/policy/backoff"
)

// Config configures a [Relay]. Store, Owner and Sinks are required.
type Config struct {
	Name  string // of the outbox, used in logs; default outbox
	Store Store
	// Owner names this process, such as host:pid. It must be unique among the processes
	// that relay this outbox: a relay takes over at once from a relay with the same Owner.
	Owner string
	// Sinks lists the sinks in order of precedence: an event goes to the first one whose
	// Topics match. Events that match none stay in the outbox.
	Sinks []Route

	Lease      time.Duration  // lifetime of the lease without renewal; use about the same value in all relays of an outbox; default 15 s
	ParkAfter  int            // failures blamed on an event before it is parked, 1 to 1000; default 5
	Keep       time.Duration  // how long delivered events are kept; default 24 h
	Events     int            // maximum number of events in a batch, 1 to 10000; default 1,000
	Bytes      int64          // maximum size of a batch in bytes; default 4 MiB
	PollBusy   time.Duration  // polling interval after events were found; default 5 ms
	PollIdle   time.Duration  // polling interval when no events were found for a while; default 30 ms
	Retry      backoff.Config // waits between the attempts of one event; default 1 s to 5 min
	Pause      backoff.Config // pauses of a sink whose destination is unreachable; default 250 ms to 30 s
	SendFor    time.Duration  // time limit of one call of a sink; default 1 min
	Grace      time.Duration  // how long batches may continue after Run's context ends; default 10 s
	Stalled    time.Duration  // time without progress before the relay raises an alarm; default 1 min
	Wake       bool           // also listen for notifications, if the store supports them
	Feed       Feed           // nil: poll only
	FeedMemory int64          // maximum size in bytes of the feed's records in memory; default 64 MiB
	Log        *slog.Logger   // nil discards
}

// Route assigns topics to a sink.
type Route struct {
	Name   string   // shown in logs and metrics; must not contain secrets
	Topics []string // topics, or prefixes of topics followed by *, such as orders.*
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
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate returns one error that names every invalid field, or nil.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.If(c.Store == nil, "Store: missing")
	errs.If(c.Owner == "", "Owner: missing")
	errs.If(len(c.Sinks) == 0, "Sinks: missing; the relay needs at least one sink")
	for i, r := range c.Sinks {
		errs.If(r.Name == "" || r.Sink == nil || len(r.Topics) == 0, "Sinks[%d]: needs Name, Topics and Sink", i)
		for _, t := range r.Topics {
			errs.In(ValidatePattern(t), "Sinks[%d].Topics", i)
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
		errs.If(d.of < d.min, "%s: %v is less than the minimum, %v", d.name, d.of, d.min)
	}
	errs.If(c.ParkAfter < 1 || c.ParkAfter > 1000, "ParkAfter: %d is not between 1 and 1000", c.ParkAfter)
	errs.If(c.Events < 1 || c.Events > 10_000, "Events: %d is not between 1 and 10000", c.Events)
	errs.If(c.Bytes < 1, "Bytes: %d is less than 1", c.Bytes)
	errs.In(c.Retry.Validate(), "Retry")
	errs.In(c.Pause.Validate(), "Pause")
	return errors.Join(errs...)
}

// ValidatePattern returns an error if pattern is not a valid entry of Topics of a [Route].
func ValidatePattern(pattern string) error {
	if ok, err := regexp.MatchString(`^([A-Za-z0-9._-]+|[A-Za-z0-9._-]*\*)$`, pattern); err != nil || !ok {
		return fmt.Errorf("%.100q is not a valid topic; use letters, digits, dots, dashes and underscores, and at most one *, at the end", pattern)
	}
	return nil
}
