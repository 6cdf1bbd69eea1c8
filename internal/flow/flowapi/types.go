package flowapi

import (
	"context"
	"io"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// The paths of the API. {run} is a run's id.
const (
	PathFlows     = adminapi.PathFlows + "flows"                   // GET: what can be started here
	PathRuns      = adminapi.PathFlows + "runs"                    // GET ?flow= &state= &backfill= &before= &limit=; POST [Start]
	PathRun       = adminapi.PathFlows + "runs/{run}"              // GET
	PathInstances = adminapi.PathFlows + "runs/{run}/instances"    // GET ?task= &state= &limit= &offset=
	PathAttempts  = adminapi.PathFlows + "runs/{run}/attempts"     // GET ?task= &index= &after= &limit=
	PathLogs      = adminapi.PathFlows + "runs/{run}/logs/{token}" // GET ?offset= &follow=1, plain bytes
	PathOrders    = adminapi.PathFlows + "runs/{run}/orders"       // POST [Order]
)

// The bounds of the API.
const (
	MaxPage   = 1_000   // runs, instances or attempts in one answer
	MaxOrder  = 4 << 20 // bytes of an order or a start
	MaxReason = 500     // bytes of Order.Reason
	maxShown  = 20      // instances of one task in a Run
)

// Flows reads flows and gives orders. An error that is an [*adminapi.Problem] describes a faulty call.
type Flows interface {
	Flows(ctx context.Context) ([]Flow, error)
	Runs(ctx context.Context, q RunQuery) ([]Run, error)
	Run(ctx context.Context, id string) (Run, error)
	Instances(ctx context.Context, run string, q InstanceQuery) ([]Instance, error)
	Attempts(ctx context.Context, run string, q AttemptQuery) ([]Attempt, error)
	// Logs returns an attempt's log from offset on. With follow, it ends with the attempt.
	Logs(ctx context.Context, run string, token, offset int64, follow bool) (io.ReadCloser, error)
	Order(ctx context.Context, run string, o Order) (Ordered, error)
	Start(ctx context.Context, s Start) (Run, error)
}

// Flow is a flow that can be started.
type Flow struct {
	Name     string       `json:"name"`
	Tasks    int          `json:"tasks"`
	Params   []flow.Param `json:"params,omitempty"`
	Schedule string       `json:"schedule,omitempty"`
	Zone     string       `json:"zone,omitempty"`
}

// Run is one run. Lists omit Tasks and Counts.
type Run struct {
	ID       string             `json:"id"`
	Flow     string             `json:"flow"`
	State    flow.RunState      `json:"state"`
	Why      string             `json:"why,omitempty"`
	Params   map[string]string  `json:"params,omitempty"`
	Due      time.Time          `json:"due"`
	Created  time.Time          `json:"created"`
	Deadline time.Time          `json:"deadline,omitzero"`
	Ended    time.Time          `json:"ended,omitzero"`
	Backfill string             `json:"backfill,omitempty"`
	RowsOf   string             `json:"rows_of,omitempty"` // the run whose bad rows this one contains
	Node     string             `json:"node,omitempty"`    // that plans it
	Version  int64              `json:"version"`           // grows with each change
	Counts   map[task.State]int `json:"counts,omitempty"`
	Tasks    []Task             `json:"tasks,omitempty"`
	// Left is the remaining duration if tasks take as long as in the last successful run. It is missing if unknown.
	Left adminapi.Duration `json:"left,omitempty"`
}

// Over reports whether a run no longer continues by itself.
func (r *Run) Over() bool { return r.State != flow.RunRunning }

// Task is one task of a run with all its instances.
type Task struct {
	Name   string             `json:"name"`
	Kind   string             `json:"kind"` // command, function, sensor or sift
	Needs  []string           `json:"needs,omitempty"`
	Each   bool               `json:"each,omitempty"` // it has one instance for each item
	State  task.State         `json:"state"`          // of the instances, the one that says most
	Why    string             `json:"why,omitempty"`
	Counts map[task.State]int `json:"counts"`
	First  time.Time          `json:"first,omitzero"` // when the first instance ran
	Ended  time.Time          `json:"ended,omitzero"` // when the last one was over
	Usual  adminapi.Duration  `json:"usual,omitempty"`
	// Instances holds the first instances that need a person, run, or wait. [PathInstances] returns all.
	Instances []Instance `json:"instances,omitempty"`
}

// Instance is one task of a run, or one item of a task with each.
type Instance struct {
	Task     string            `json:"task"`
	Index    int               `json:"index"`
	Item     string            `json:"item,omitempty"`
	State    task.State        `json:"state"`
	Why      string            `json:"why,omitempty"`
	Since    time.Time         `json:"since"`
	First    time.Time         `json:"first,omitzero"`
	NextAt   time.Time         `json:"next_at,omitzero"`
	Attempts int               `json:"attempts,omitempty"`
	Failures []task.Failure    `json:"failures,omitempty"` // the last ones, the oldest first
	Output   string            `json:"output,omitempty"`
	Set      map[string]string `json:"set,omitempty"`
	Letter   string            `json:"letter,omitempty"`
	Group    string            `json:"group,omitempty"`
}

// Attempt is one delivery of an instance.
type Attempt struct {
	Token       int64             `json:"token"`
	Task        string            `json:"task"`
	Index       int               `json:"index"`
	N           int               `json:"n"`
	Node        string            `json:"node,omitempty"`
	State       flow.AttemptState `json:"state"`
	Intended    time.Time         `json:"intended"`
	Started     time.Time         `json:"started,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Class       *bezoar.Class     `json:"class,omitempty"` // of one that has ended
	Reason      string            `json:"reason,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
	Group       string            `json:"group,omitempty"`
	Quality     string            `json:"quality,omitempty"`
	ExitCode    int               `json:"exit_code,omitempty"`
	Elapsed     adminapi.Duration `json:"elapsed,omitempty"`
	CPU         adminapi.Duration `json:"cpu,omitempty"`
	MaxRSS      int64             `json:"max_rss,omitempty"`
	LogBytes    int64             `json:"log_bytes,omitempty"`
	Rows        int               `json:"rows,omitempty"` // bad rows that it named
}

// RunQuery narrows a list of runs.
type RunQuery struct {
	Flow     string
	State    flow.RunState
	Backfill string
	Before   string // only older ids
	Limit    int    // 1 to MaxPage; 0 means 100
}

// InstanceQuery narrows a list of instances.
type InstanceQuery struct {
	Task   string
	State  task.State
	Offset int
	Limit  int // 1 to MaxPage; 0 means 100
}

// AttemptQuery narrows a list of attempts.
type AttemptQuery struct {
	Task  string
	Index *int // with Task; nil: all
	After int64
	Limit int // 1 to MaxPage; 0 means 100
}

// Order is a request to the node that plans a run.
type Order struct {
	Verb   flow.Verb         `json:"verb"`
	Task   string            `json:"task,omitempty"`  // "": all that the verb applies to
	Index  *int              `json:"index,omitempty"` // nil: all
	Group  string            `json:"group,omitempty"` // only instances with this failure group
	Set    map[string]string `json:"set,omitempty"`   // of a retry: parameters with new values
	Rows   bool              `json:"rows,omitempty"`  // of a retry: the bad rows of the instance, each alone
	Reason string            `json:"reason,omitempty"`
	Who    string            `json:"-"` // the server takes it from the call
}

// Ordered returns the number of instances to which an order applies now.
type Ordered struct {
	Run       string `json:"run"`
	Instances int    `json:"instances"`
}

// Start is a request to start a run.
type Start struct {
	Flow   string            `json:"flow"`
	Params map[string]string `json:"params,omitempty"`
	Due    time.Time         `json:"due,omitzero"`
	Who    string            `json:"-"` // the server takes it from the call
}

// Runs is the answer to GET [PathRuns], newest first.
type Runs struct {
	Runs []Run `json:"runs"`
}

// Instances is the answer to GET [PathInstances].
type Instances struct {
	Instances []Instance `json:"instances"`
}

// Attempts is the answer to GET [PathAttempts].
type Attempts struct {
	Attempts []Attempt `json:"attempts"`
}

// List is the answer to GET [PathFlows].
type List struct {
	Flows []Flow `json:"flows"`
}
