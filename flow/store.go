package flow

import (
	"context"
	"errors"
	"time"
)

// Errors of a [Store].
var (
	ErrNotFound = errors.New("not found")
	ErrExists   = errors.New("the run exists already")
	ErrFenced   = errors.New("another node has taken over")
	ErrOver     = errors.New("the run is over")
)

// Store keeps runs. When a method returns nil, its changes survive kill -9. All methods
// are safe for concurrent use. The clock of the store decides when leases end. The suite
// in flow/flowtest defines what an implementation must do.
type Store interface {
	Runs
	Nodes
	Attempts
}

// Runs stores runs and their instances.
type Runs interface {
	// CreateRun stores a run with its instances, all or nothing. If another run has its
	// Key, the error is ErrExists.
	CreateRun(ctx context.Context, r Run, all []Instance) error
	Run(ctx context.Context, id string) (Run, error)
	// ListRuns returns runs, the newest first, without their definitions.
	ListRuns(ctx context.Context, q RunQuery) ([]Run, error)
	// Instances returns a run's instances in their order: by task, then index.
	Instances(ctx context.Context, run string) ([]Instance, error)
	// Apply writes a batch, all or nothing. The error is ErrFenced unless the lease of the
	// node and its hold of every run in the batch are current.
	Apply(ctx context.Context, h Hold, b Batch) (Applied, error)
	// Order stores an order for the owner of a run. A retry of a failed or cancelled run
	// opens it again: the run is RUNNING, and no node holds it. Other orders for a run
	// that is over get ErrOver.
	Order(ctx context.Context, o Order) error
	// Orders returns the orders of the runs that node holds, the oldest first.
	Orders(ctx context.Context, node string) ([]Order, error)
	// Forget deletes runs that ended more than age ago, with their instances, attempts and
	// orders: the oldest first, at most limit. It returns how many. Side effects stay
	// known.
	Forget(ctx context.Context, age time.Duration, limit int) (int, error)
	// ForgetEffects forgets side effects that an attempt took more than age ago, and
	// whose run is forgotten: the oldest first, at most limit. It returns how many.
	ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error)
}

// Nodes stores leases.
type Nodes interface {
	// Renew takes or renews the lease of a node. Epoch 0 begins a new life of the node,
	// even if another process renews its lease. A node that begins a life, or that lost
	// its lease, gets a new epoch and holds no run. A life that was replaced gets
	// ErrFenced.
	Renew(ctx context.Context, n Node, ttl time.Duration) (Node, error)
	// Leave ends a lease: other nodes may take over at once.
	Leave(ctx context.Context, n Node) error
	ListNodes(ctx context.Context) ([]Node, error)
	// Take gives the node runs that no node holds, at most max, each with a new epoch.
	// These are runs that are not over, and runs that are over and have pages that were
	// not sent. Attempts on nodes whose lease is over become lost.
	Take(ctx context.Context, n Node, max int) ([]Run, error)
}

// Attempts hands attempts to nodes.
type Attempts interface {
	// Offers claims intended attempts that name no node, whose labels this node has, and
	// that are not to be stopped; at most max.
	Offers(ctx context.Context, n Node, max int) ([]Attempt, error)
	// Report stores the starts and ends of attempts on this node that another node
	// planned. It takes only State, Started, Ended and Ending. If an attempt is over or
	// lost, a report of its end changes nothing.
	Report(ctx context.Context, n Node, all []Attempt) error
	// ListAttempts returns attempts in the order of their tokens.
	ListAttempts(ctx context.Context, q AttemptQuery) ([]Attempt, error)
}

// Hold is the right of a node to change runs.
type Hold struct {
	Node  string
	Epoch int64            // of the node
	Runs  map[string]int64 // run → epoch
}

// Node is a process that plans runs or runs attempts.
type Node struct {
	Name   string
	Epoch  int64
	Labels []string
	Slots  int
	Plans  bool // it plans runs; else it only runs attempts
	Seen   time.Time
	Until  time.Time // of the lease, by the store's clock
}

// Batch is a set of changes that are applied together. It may be applied twice, when the
// result of the first time is unknown.
type Batch struct {
	Runs      []Run      // State, Why, Deadline, Ended, Pages and Version change; the rest stays
	Instances []Instance // replaced, or added
	// Begin are attempts to record as intended, after End. The store records only as many
	// attempts of a pool or a key as slots are free; it counts slots from attempts that
	// are not over. It does not record an attempt whose Effect another attempt has.
	// Attempts that are not recorded are missing from Applied.Begun, and their instances
	// do not change. An instance has one attempt N: if it exists already, Applied.Begun
	// has it, and nothing is written.
	Begin []Attempt
	// End are attempts that are over. The store takes State, Started, Ended and Ending,
	// and ignores attempts that were over before. The Effect of an attempt is done if its
	// class is Done, free if it never started (SpawnFailed), and stays taken otherwise.
	End  []Attempt
	Stop []Stop   // attempts that are to end and are not over
	Free []string // effects that may happen again because a person said so; applied before Begin
	Done []int64  // orders that were carried out
}

// Applied says which attempts of a batch were begun.
type Applied struct {
	Begun []Attempt // with their tokens
	Taken []Effect  // effects that another attempt has; those attempts were not begun
}

// Effect is a side effect that happens at most once for its key.
type Effect struct {
	Key   string
	Token int64 // of the attempt that claimed it
	Run   string
	Task  string
	Index int
	Done  bool
	// Output of the attempt, if Done.
	Output []byte
}

// Order is an instruction of a person for a run.
type Order struct {
	ID     int64
	Run    string
	Verb   Verb
	Task   string // "": all tasks that the verb applies to
	Index  int    // -1: all
	Group  string // only instances with this failure group
	Set    map[string]string
	Who    string
	Reason string
	At     time.Time
}

// Verb is the action of an order.
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
	Before   string // only older ids
	Limit    int    // 1 to 1,000; 0 means 100
}

// AttemptQuery narrows a list of attempts.
type AttemptQuery struct {
	Run   string
	Task  string // "": all
	Index int    // with Task; -1: all
	Node  string // only attempts on this node that are not over
	Open  bool   // only attempts that are not over
	After int64  // only larger tokens
	Limit int    // 0 means 10,000
}
