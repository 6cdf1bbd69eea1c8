package flow

import (
	"context"
	"errors"
	"time"
)

// Errors of a [Store].
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("there is such a run")
	ErrFenced   = errors.New("another node has taken over")
	ErrOver     = errors.New("the run is over")
)

// Store keeps runs. What a method has returned nil for survives kill -9. Every
// method is safe for concurrent use. Leases are judged by the store's clock. The
// suite in flow/flowtest says exactly what an implementation owes.
type Store interface {
	Runs
	Nodes
	Attempts
}

// Runs keeps runs and their instances.
type Runs interface {
	// CreateRun stores a run with its instances, all or nothing. When a run has
	// its Key, it returns ErrExists.
	CreateRun(ctx context.Context, r Run, all []Instance) error
	Run(ctx context.Context, id string) (Run, error)
	// ListRuns returns runs, the newest first, without their definitions.
	ListRuns(ctx context.Context, q RunQuery) ([]Run, error)
	// Instances returns a run's instances in their order: by task, then index.
	Instances(ctx context.Context, run string) ([]Instance, error)
	// Apply writes a batch, all or nothing. It is ErrFenced unless the node's
	// lease and its hold of every run in the batch are current.
	Apply(ctx context.Context, h Hold, b Batch) (Applied, error)
	// Order asks the owner of a run to do something. A retry of a run that failed
	// or was cancelled opens it again: it is RUNNING, and nobody holds it. Other
	// orders of a run that is over are ErrOver.
	Order(ctx context.Context, o Order) error
	// Orders returns the orders of the runs that node holds, the oldest first.
	Orders(ctx context.Context, node string) ([]Order, error)
	// Forget deletes runs that are over, and ended more than age ago, with their
	// instances, attempts and orders: the oldest first, at most limit. It returns
	// how many. Which side effects have happened stays known.
	Forget(ctx context.Context, age time.Duration, limit int) (int, error)
	// ForgetEffects forgets side effects that an attempt took more than age ago, and
	// whose run is forgotten: the oldest first, at most limit. It returns how many.
	ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Nodes keeps leases.
type Nodes interface {
	// Renew takes or renews a node's lease. Epoch 0 begins a new life of the node,
	// also if another process renews its lease. A node that begins a life, or lost
	// its lease, gets a new epoch, and holds no run any more. A life that another
	// one replaced is ErrFenced.
	Renew(ctx context.Context, n Node, ttl time.Duration) (Node, error)
	// Leave ends a lease: others may take over at once.
	Leave(ctx context.Context, n Node) error
	ListNodes(ctx context.Context) ([]Node, error)
	// Take gives the node runs that nobody holds, at most max, each with a new epoch:
	// those that are not over, and those that are over and have pages that were not
	// sent. Attempts on nodes whose lease is over become lost.
	Take(ctx context.Context, n Node, max int) ([]Run, error)
}

// Attempts hands attempts to nodes.
type Attempts interface {
	// Offers claims intended attempts that name no node, whose labels this node
	// has, and that nobody wants stopped; at most max.
	Offers(ctx context.Context, n Node, max int) ([]Attempt, error)
	// Report writes the starts and ends of attempts on this node that another node
	// planned. Only State, Started, Ended and Ending are taken. An end of an
	// attempt that is over, or lost, changes nothing.
	Report(ctx context.Context, n Node, all []Attempt) error
	// ListAttempts returns attempts in the order of their tokens.
	ListAttempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
}

// Hold is a node's right to change runs.
type Hold struct {
	Node  string
	Epoch int64            // of the node
	Runs  map[string]int64 // run → epoch
}

// Node is a process that plans or runs.
type Node struct {
	Name   string
	Epoch  int64
	Labels []string
	Slots  int
	Plans  bool // it takes runs; else it only runs attempts
	Seen   time.Time
	Until  time.Time // of the lease, by the store's clock
}

// Batch is what changes together. It may be applied twice, when nobody knows
// whether the first time came through.
type Batch struct {
	Runs      []Run      // State, Why, Deadline, Ended, Pages and Version change; the rest stays
	Instances []Instance // replaced, or added
	// Begin are attempts to be written down as intended, after End. Of those with
	// a pool or a key, only as many are written as slots are free; slots are
	// counted from attempts that are not over. One whose Effect another attempt
	// has is not written. What is not written is left out of Applied.Begun, and
	// the instance that it belongs to is left as it was. There is one attempt N
	// of an instance: if it is there, it is in Begun, and nothing is written.
	Begin []Attempt
	// End are attempts that are over: State, Started, Ended and Ending are taken.
	// One that is over already is left. Its Effect is done if its class is Done,
	// free if it was never started (SpawnFailed), and else remains taken.
	End  []Attempt
	Stop []Stop   // of attempts that are not over
	Free []string // effects that may happen again, because a person says so; before Begin
	Done []int64  // orders that were carried out
}

// Applied tells what of a batch was admitted.
type Applied struct {
	Begun []Attempt // with their tokens
	Taken []Effect  // of attempts that were not begun because of them
}

// Effect is a side effect that happens at most once for its key.
type Effect struct {
	Key   string
	Token int64 // of the attempt that has it
	Run   string
	Task  string
	Index int
	Done  bool
	// Output of the attempt, if Done.
	Output []byte
}

// Order is what a person wants of a run.
type Order struct {
	ID     int64
	Run    string
	Verb   Verb
	Task   string // "": all that the verb applies to
	Index  int    // -1: all
	Group  string // only instances with this failure group
	Set    map[string]string
	Who    string
	Reason string
	At     time.Time
}

// Verb is what an order asks for.
type Verb string

// The verbs.
const (
	VerbRetry  Verb = "retry"
	VerbSkip   Verb = "skip"
	VerbCancel Verb = "cancel"
)

// RunQuery narrows a list of runs.
type RunQuery struct {
	Flow     string
	State    RunState
	Backfill string
	Key      string
	Before   string // ids older than this one
	Limit    int    // 1 to 1,000; 0 means 100
}

// AttemptQuery narrows a list of attempts.
type AttemptQuery struct {
	Run   string
	Task  string // "": all
	Index int    // with Task; -1: all
	Node  string // not over, on this node
	Open  bool   // not over
	After int64  // tokens beyond this one
	Limit int    // 0 means 10,000
}
