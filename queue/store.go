package queue

import (
	"context"
	"time"
)

// Store keeps queues and messages. What a method has returned nil for survives
// kill -9. Every method is safe for concurrent use and honours ctx; when ctx
// ends during a write, the write may or may not have happened. The suite in
// queue/queuetest says exactly what an implementation owes.
//
// Every lease, delay, retention and window is judged by the store's own clock,
// at the time of the write. Unknown queue ids are ErrQueueNotFound.
type Store interface {
	Definitions
	Messages
	Upkeep
	Moves
}

// Definitions keeps the queues themselves.
type Definitions interface {
	// CreateQueue stores q under a new ID. When the name is taken it returns
	// the queue that has it, and ErrQueueExists.
	CreateQueue(ctx context.Context, q Queue) (Queue, error)
	// Queue returns one by its name, or ErrQueueNotFound.
	Queue(ctx context.Context, name string) (Queue, error)
	// UpdateQueue replaces settings and tags if q.Version is still current,
	// else it returns ErrConflict.
	UpdateQueue(ctx context.Context, q Queue) (Queue, error)
	// DeleteQueue removes a queue and all that is in it.
	DeleteQueue(ctx context.Context, id int64) error
	// Queues lists queues by name.
	Queues(ctx context.Context, q ListQuery) ([]Queue, error)
	// Shared reports whether other processes use the same store, so that
	// they have to be asked for what they sent.
	Shared() bool
}

// ListQuery narrows a list of queues.
type ListQuery struct {
	Prefix     string
	After      string // names beyond this one
	DeadLetter string // those that name this dead-letter queue; "" for all
	Limit      int    // 1 to 1,000; 0 means 1,000
}

// Messages moves messages through their lives.
type Messages interface {
	// Send stores all entries or none. Where an entry's DedupKey was sent
	// within DedupWindow, also earlier in the same call, nothing is stored
	// and the first one's Sent is returned.
	Send(ctx context.Context, queue int64, entries []Entry) ([]Sent, error)
	// Receive leases up to c.Max messages.
	Receive(ctx context.Context, queue int64, c Claim) (Claimed, error)
	// Delete ends deliveries. The first result has an error or nil for each
	// receipt: see [Engine.Delete].
	Delete(ctx context.Context, queue int64, fifo bool, receipts []Receipt) ([]error, error)
	// Change changes or ends leases: see [Engine.ChangeVisibility] and
	// [Engine.Release].
	Change(ctx context.Context, queue int64, p Policy, changes []Change) ([]error, error)
	// Peek returns messages without touching them, in the order of their
	// sequence, beyond after.
	Peek(ctx context.Context, queue, after int64, limit int) ([]Message, error)
	// Purge empties a queue of all that was sent before the call.
	Purge(ctx context.Context, queue int64) error
	Counts(ctx context.Context, queue int64) (Counts, error)
}

// Entry is a message on its way into the store; everything is checked.
type Entry struct {
	SendInput
	ID       string
	Delay    time.Duration
	FIFO     bool
	DedupKey string // "" for none
}

// Policy is what a store has to know of a queue's settings in order to end a
// lease.
type Policy struct {
	FIFO        bool
	DeadLetter  string // an existing queue, or ""
	MaxReceives int    // 0 without dead-letter queue
}

// Claim says what to lease.
type Claim struct {
	Policy
	Max        int
	Visibility time.Duration
	Retention  time.Duration
	Worker     string
}

// Claimed is what was leased.
type Claimed struct {
	Messages []Message
	// Next is when, from now, another message becomes visible by the mere
	// passing of time, if nothing was leased; negative when none will.
	Next time.Duration
	// Due says that messages were found whose receives are used up, and
	// that Sweep has work.
	Due bool
}

// Upkeep does what time brings about. Each call does a bounded part.
type Upkeep interface {
	// Sweep sends messages whose last lease is over to their dead-letter
	// queues, at most limit, and returns the names of queues that gained any.
	Sweep(ctx context.Context, limit int) (Swept, error)
	// Expire removes at most limit messages of a queue that are older than
	// retention.
	Expire(ctx context.Context, queue int64, retention time.Duration, limit int) (int, error)
	// Clean removes at most limit leftovers: of purged and deleted queues,
	// and of deduplication.
	Clean(ctx context.Context, limit int) (int, error)
}

// Swept is what one Sweep did.
type Swept struct {
	Moved  int
	Queues []string      // that gained messages
	Next   time.Duration // until the next one is due; negative when none is
}

// Moves keeps move tasks.
type Moves interface {
	// StartMove stores t as running, with an ID, and what there is to move
	// frozen. ErrMoveRunning if its source has a running one.
	StartMove(ctx context.Context, t MoveTask) (MoveTask, error)
	// StepMove moves up to limit messages of a running task whose turn it
	// is, within its rate.
	StepMove(ctx context.Context, id string, limit int) (Step, error)
	// CancelMove ends a running task, or returns ErrMoveNotFound or
	// ErrMoveNotRunning.
	CancelMove(ctx context.Context, id string) (MoveTask, error)
	// Moves lists tasks of a source, the newest first; source "" means all
	// that are running. The newest 10 of a source are kept.
	Moves(ctx context.Context, source string, limit int) ([]MoveTask, error)
}

// Step is one step of a move task.
type Step struct {
	Task   MoveTask
	Queues []string      // that gained messages
	Next   time.Duration // until the rate allows the next step
}
