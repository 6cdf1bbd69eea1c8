package flow

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// RunState is where a run stands.
type RunState string

// The states of runs. Held: something waits for a person, and nothing else can
// go on.
const (
	RunRunning   RunState = "RUNNING"
	RunHeld      RunState = "HELD"
	RunSuccess   RunState = "SUCCESS"
	RunFailed    RunState = "FAILED"
	RunCancelled RunState = "CANCELLED"
)

// Run is one execution of a flow.
type Run struct {
	ID         string // time-ordered, 26 characters
	Flow       string
	Definition Definition
	Params     map[string]string
	State      RunState
	Why        string    // for people
	Due        time.Time // the time that a schedule or a backfill runs it for; else Created
	Created    time.Time
	Deadline   time.Time // absolute; zero: none
	Ended      time.Time
	Key        string // at most one run has it: flow and due time of a schedule; "": any number
	Backfill   string // the backfill that it belongs to
	Owner      string // the node that plans it
	Epoch      int64  // of the owner's hold; grows with each owner
	Version    int64  // grows with each change
	Pages      []Page // at most MaxPages
}

// Untold reports whether people have not been told yet of all pages.
func (r *Run) Untold() bool {
	return slices.ContainsFunc(r.Pages, func(p Page) bool { return !p.Sent })
}

// Page is that people are told of one failure group of a run.
type Page struct {
	Group string    `json:"group"`
	Kind  string    `json:"kind"`
	At    time.Time `json:"at"`
	Sent  bool      `json:"sent,omitempty"`
}

// Instance is one task of a run, or one item of a task with [Each].
type Instance struct {
	Run     string
	Task    string
	Index   int    // -1: the task itself, which has instances once its items are known
	Item    string // of Each
	State   task.State
	Why     string // for people
	History task.History
	NextAt  time.Time         // of RETRYING, SENSING, INTERRUPTED
	Output  []byte            // at most MaxOutput
	Set     map[string]string // what an operator changed: parameters for this instance
	Letter  string            // the dead letter that it became
	Group   string            // failure group of its last failure
	Since   time.Time         // of State
	First   time.Time         // it first ran
	Canary  int64             // the retry order that goes on with the others if this one works
}

// Attempt is one delivery of an instance to an executor.
type Attempt struct {
	Token    int64 // unique in the store and growing: the fence
	Run      string
	Task     string
	Index    int
	N        int    // of this instance, from 1
	Node     string // "": whoever has the labels may take it
	Labels   []string
	Pool     string
	Slots    int    // of the pool that it takes
	PoolSize int    // slots that the pool has
	Key      string // the concurrency key's value
	Limit    int    // attempts at a time with this Key
	Effect   string // idempotency key of a side effect
	Spec     *Spec  // of an attempt that names no node at its begin: what to run; else nil
	Stop     *Stop  // its planner wants it stopped
	State    AttemptState
	Intended time.Time // written before anything starts
	Started  time.Time
	Ended    time.Time
	Ending   Ending
}

// Stop is the wish that an attempt ends. The node that runs it carries it out.
type Stop struct {
	Token int64        `json:"token"`
	Class bezoar.Class `json:"class"`
	Why   string       `json:"why,omitempty"`
}

// AttemptState is where an attempt stands.
type AttemptState string

// The states of attempts. Lost: its node's lease ended, and nothing proves yet
// that it is gone.
const (
	AttemptIntended AttemptState = "intended"
	AttemptRunning  AttemptState = "running"
	AttemptLost     AttemptState = "lost"
	AttemptEnded    AttemptState = "ended"
)

// Ending is how an attempt ended.
type Ending struct {
	Class       bezoar.Class
	Reason      string // for people
	Fingerprint string // strict failure fingerprint
	Group       string
	Quality     string // A, B, C or D
	Downstream  string
	RetryAfter  time.Duration
	NotYet      bool // a sensor's look: what it waits for is not there
	Free        bool // Interrupted because its node stops: it costs the task nothing
	Lost        bool // Interrupted because Bezoar or its machine died
	ExitCode    int
	Output      []byte
	Rows        []Row // bad rows
	Elapsed     time.Duration
	CPU         time.Duration
	MaxRSS      int64
	LogBytes    int64
}

// Row is a row that a task called bad. If the task is done all the same, the row
// becomes a dead letter of its own.
type Row struct {
	Index  int
	Reason string
	Body   []byte
}
