package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// Config says how an [Engine] works. Store and Node are required.
type Config struct {
	Store     Store
	Executor  Executor              // nil: [Functions] run in this process, and nothing else can
	Functions Functions             // tasks that are functions
	Node      string                // this node's name, the same in its next life
	Labels    []string              // that tasks can ask for; see Task.RunsOn
	Slots     int                   // attempts at once on this node; default 8
	Works     bool                  // it only runs attempts, and plans nothing
	Pools     map[string]int        // sizes of pools that definitions do not tell
	Flows     []Definition          // whose schedules start runs
	Breaker   breaker.Config        // of each downstream, if Judge is nil
	Judge     *judge.Judge          // knows the downstreams; nil: one that knows what this engine has seen
	Letters   Letters               // nil: dead letters are in the runs alone
	Pager     Pager                 // nil: the log is told
	Lease     time.Duration         // how long a node may be silent; default 15 s
	Poll      time.Duration         // how often the store is asked for what others did; default 500 ms
	Keep      time.Duration         // how long runs are kept after their end; default 30 days
	KeepKeys  time.Duration         // how long a side effect is known, and its run at least; default 400 days
	Renewed   func(until time.Time) // is told of each lease, and how long it lasts by this machine's clock at least; nil: nobody
	Log       *slog.Logger          // nil discards
}

// WithDefaults returns c with every zero field set to its default.
func (c Config) WithDefaults() Config {
	if c.Slots == 0 {
		c.Slots = 8
	}
	if c.Lease == 0 {
		c.Lease = 15 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 500 * time.Millisecond
	}
	if c.Keep == 0 {
		c.Keep = 30 * 24 * time.Hour
	}
	if c.KeepKeys == 0 {
		c.KeepKeys = 400 * 24 * time.Hour
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Renewed == nil {
		c.Renewed = func(time.Time) {}
	}
	c.Breaker.Node = ""
	return c
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	c = c.WithDefaults()
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Store == nil {
		fault("Store: missing")
	}
	if c.Node == "" {
		fault("Node: missing")
	}
	if c.Slots < 0 {
		fault("Slots: %d is negative", c.Slots)
	}
	if c.Lease < time.Second {
		fault("Lease: %v, want at least 1s", c.Lease)
	}
	if c.Poll < 0 || c.Poll > c.Lease/3 {
		fault("Poll: %v, want at most a third of Lease (%v)", c.Poll, c.Lease)
	}
	if c.Keep < time.Minute {
		fault("Keep: %v, want at least 1m", c.Keep)
	}
	if c.KeepKeys < c.Keep {
		fault("KeepKeys: %v, want at least Keep (%v)", c.KeepKeys, c.Keep)
	}
	if err := c.Breaker.Validate(); err != nil {
		fault("Breaker: %w", err)
	}
	for i := range c.Flows {
		if err := c.Flows[i].Validate(); err != nil {
			fault("Flows: %s: %w", c.Flows[i].Name, err)
		}
	}
	return errors.Join(errs...)
}

// Letters keeps the dead letters of flows where people deal with all dead
// letters.
type Letters interface {
	// Put stores a letter. A letter whose ID is there is not stored twice.
	Put(ctx context.Context, l Letter) error
	// Settle says that nobody has to deal with a letter any more, because its
	// instance was retried, skipped or cancelled. A letter that is not there is
	// no error.
	Settle(ctx context.Context, id, why string) error
}

// Letter is an instance that waits for a person.
type Letter struct {
	ID       string // run, task, index and attempt
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

// Pager tells people. Page is called again after an error, and after a crash of
// Bezoar at the wrong moment.
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

// Incident is one cause that people are told of once for each run.
type Incident struct {
	Kind   string    `json:"kind"`
	Flow   string    `json:"flow"`
	Run    string    `json:"run"`
	Group  string    `json:"group"`          // the failure group; one page for each
	Task   string    `json:"task,omitempty"` // of the first instance
	Index  int       `json:"index"`
	Item   string    `json:"item,omitempty"`
	Class  string    `json:"class,omitempty"`
	Reason string    `json:"reason,omitempty"` // what the attempt said
	Why    string    `json:"why"`              // what was decided, with the arithmetic
	Dead   int       `json:"dead,omitempty"`   // instances with this group
	Held   int       `json:"held,omitempty"`   // instances that wait because of them
	Letter string    `json:"letter,omitempty"`
	Due    time.Time `json:"due"`
	At     time.Time `json:"at"`
	Hooks  []Hook    `json:"-"` // of the definition
}
