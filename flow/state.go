package flow

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// RunState is the state of a run.
type RunState string

// The states of runs. Held: an instance waits for a person, and nothing else can continue.
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
	Due        time.Time // the time that a schedule or a backfill runs it for; otherwise Created
	Created    time.Time
	Deadline   time.Time // absolute; zero: none
	Ended      time.Time
	Key        string // unique among runs: flow and due time of a schedule; "": none
	Backfill   string // the backfill that started it; "": none
	Owner      string // the node that plans it
	Epoch      int64  // of its owner's hold; grows with each owner
	Version    int64  // grows with each change
	Pages      []Page // at most MaxPages
}

// Untold reports whether some pages have not been sent yet.
func (r *Run) Untold() bool {
	return slices.ContainsFunc(r.Pages, func(p Page) bool { return !p.Sent })
}

// Page records that people are told of one failure group of a run.
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
	Index   int    // -1: the task itself; its instances exist once its items are known
	Item    string // of Each
	State   task.State
	Why     string // for people
	History task.History
	NextAt  time.Time         // of RETRYING, SENSING, INTERRUPTED
	Output  []byte            // at most MaxOutput
	Set     map[string]string // parameters that an operator changed for this instance
	Letter  string            // the ID of its dead letter
	Group   string            // failure group of its last failure
	Since   time.Time         // of State
	First   time.Time         // when it first ran
	Canary  int64             // the retry order that continues with the other instances if this one succeeds
}

// Attempt is one delivery of an instance to an executor.
type Attempt struct {
	Token    int64 // unique in the store and growing: the fence
	Run      string
	Task     string
	Index    int
	N        int    // of this instance, from 1
	Node     string // "": any node with the labels may take it
	Labels   []string
	Pool     string
	Slots    int    // slots of the pool that it takes
	PoolSize int    // slots of the pool
	Key      string // the concurrency key's value
	Limit    int    // attempts at a time with this Key
	Effect   string // idempotency key of a side effect
	Spec     *Spec  // what to run, if the attempt names no node at its begin; else nil
	Stop     *Stop  // not nil: its planner asks it to end
	State    AttemptState
	Intended time.Time // before anything starts
	Started  time.Time
	Ended    time.Time
	Ending   Ending
}

// Stop asks for the end of an attempt. The node that runs the attempt carries it out.
type Stop struct {
	Token int64        `json:"token"`
	Class bezoar.Class `json:"class"`
	Why   string       `json:"why,omitempty"`
}

// AttemptState is the state of an attempt.
type AttemptState string

// The states of attempts. Lost: its node's lease ended, and it is not proven that the attempt is gone.
const (
	AttemptIntended AttemptState = "intended"
	AttemptRunning  AttemptState = "running"
	AttemptLost     AttemptState = "lost"
	AttemptEnded    AttemptState = "ended"
)

// Ending is the end of an attempt.
type Ending struct {
	Class       bezoar.Class
	Reason      string // for people
	Fingerprint string // strict failure fingerprint
	Group       string
	Quality     string // A, B, C or D
	Downstream  string
	RetryAfter  time.Duration
	NotYet      bool // a sensor's condition is not met yet
	Free        bool // Interrupted because its node stops: it counts against no budget
	Lost        bool // Interrupted because Bezoar or its machine died
	ExitCode    int
	Output      []byte
	Rows        []Row // bad rows
	Elapsed     time.Duration
	CPU         time.Duration
	MaxRSS      int64
	LogBytes    int64
}

// Row is a row that a task reported as bad. If the task succeeds anyway, the row becomes a
// dead letter of its own.
type Row struct {
	Index  int
	Reason string
	Body   []byte
}
