package flow

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/faults"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Config configures an Engine. Store and Node are required.
type Config struct {
	Store     Store
	Executor  Executor              // runs attempts; nil: only [Functions] run, in this process
	Functions Functions             // tasks that are functions
	Node      string                // name of this node, the same after a restart
	Labels    []string              // of this node; see Task.RunsOn
	Slots     int                   // attempts at once on this node; default 8
	Works     bool                  // run attempts only and plan nothing
	Pools     map[string]int        // sizes of pools that definitions do not set
	Flows     []Definition          // their schedules start runs
	Breaker   breaker.Config        // of each downstream, if Judge is nil
	Judge     *judge.Judge          // judges the downstreams; nil: a judge that knows only this engine's attempts
	Letters   Letters               // nil: dead letters are only in the runs
	Pager     Pager                 // nil: pages go to the log
	Lease     time.Duration         // how long a node may be silent before others take over; default 15 s
	Poll      time.Duration         // how often the engine reads what other nodes did; default 500 ms
	Keep      time.Duration         // how long runs are kept after their end; default 30 days
	KeepKeys  time.Duration         // how long a side effect is remembered; its run is kept at least as long; default 400 days
	Renewed   func(until time.Time) // called with the time until which each lease lasts at least, by this machine's clock; may be nil
	Log       *slog.Logger          // nil discards
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	c.Slots = cmp.Or(c.Slots, 8)
	c.Lease = cmp.Or(c.Lease, 15*time.Second)
	c.Poll = cmp.Or(c.Poll, 500*time.Millisecond)
	c.Keep = cmp.Or(c.Keep, 30*24*time.Hour)
	c.KeepKeys = cmp.Or(c.KeepKeys, 400*24*time.Hour)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Renewed == nil {
		c.Renewed = func(time.Time) {}
	}
	c.Breaker.Node = ""
	return c
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs faults.List
	errs.If(c.Store == nil, "Store: missing")
	errs.If(c.Node == "", "Node: missing")
	errs.If(c.Slots < 0, "Slots: %d is negative", c.Slots)
	errs.If(c.Lease < time.Second, "Lease: %v, want at least 1s", c.Lease)
	errs.If(c.Poll < 0 || c.Poll > c.Lease/3, "Poll: %v, want at most a third of Lease (%v)", c.Poll, c.Lease)
	errs.If(c.Keep < time.Minute, "Keep: %v, want at least 1m", c.Keep)
	errs.If(c.KeepKeys < c.Keep, "KeepKeys: %v, want at least Keep (%v)", c.KeepKeys, c.Keep)
	if err := c.Breaker.Validate(); err != nil {
		errs.Add("Breaker: %w", err)
	}
	for i := range c.Flows {
		if err := c.Flows[i].Validate(); err != nil {
			errs.Add("Flows: %s: %w", c.Flows[i].Name, err)
		}
	}
	return errors.Join(errs...)
}

// Letters stores the dead letters of flows beside all other dead letters.
type Letters interface {
	// Put stores a letter. It stores a letter with the same ID only once.
	Put(ctx context.Context, l Letter) error
	// Settle marks a letter as handled, because its instance was retried, skipped or cancelled. A missing letter is not an
	// error.
	Settle(ctx context.Context, id, why string) error
}

// Letter is the dead letter of an instance. It waits for a person.
type Letter struct {
	ID       string // made of run, task, index and attempt
	Flow     string
	Run      string
	Task     string
	Index    int
	Item     string
	Attempt  int
	Params   map[string]string
	Why      string // with the arithmetic
	Failures []task.Failure
	Ending   Ending // of the last attempt, without rows
	At       time.Time
}

// Pager notifies people of incidents. The engine calls Page again after an error, and possibly after a crash of Bezoar.
type Pager interface {
	Page(ctx context.Context, i Incident) error
}

// The kinds of incidents.
const (
	KindDeadLetter = "dead-letter" // instances with one failure group wait for a person
	KindDeadline   = "deadline"    // a run cannot keep its deadline, or did not
	KindTimeout    = "timeout"     // a timeout is below the p99 of runs that succeed
	KindFailure    = "failure"     // a run ended FAILED
	KindBackfill   = "backfill"    // a backfill has halted
)

// Incident is one cause of failures in a run. People are notified of it once.
type Incident struct {
	Kind   string    `json:"kind"`
	Flow   string    `json:"flow"`
	Run    string    `json:"run"`
	Group  string    `json:"group"`          // the failure group; there is one page for each
	Task   string    `json:"task,omitempty"` // of the first instance
	Index  int       `json:"index"`
	Item   string    `json:"item,omitempty"`
	Class  string    `json:"class,omitempty"`
	Reason string    `json:"reason,omitempty"` // from the attempt
	Why    string    `json:"why"`              // the decision, with the arithmetic
	Dead   int       `json:"dead,omitempty"`   // instances with this group
	Held   int       `json:"held,omitempty"`   // instances that wait because of them
	Letter string    `json:"letter,omitempty"`
	Due    time.Time `json:"due"`
	At     time.Time `json:"at"`
	Hooks  []Hook    `json:"-"` // of the definition
}
