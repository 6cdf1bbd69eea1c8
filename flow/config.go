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

// Validate reports every field that is at fault.
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
