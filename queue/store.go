package queue

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/marks"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

// Store keeps queues and messages. What a method has stored survives kill -9 once the method has returned nil. Every method
// is safe for concurrent use and honours ctx. When ctx ends during a write, the write may or may not have happened. The
// suite in queue/queuetest is the complete contract.
//
// The store's own clock, at the time of the write, decides about every lease, delay, retention and window. Unknown queue
// ids give ErrQueueNotFound.
type Store interface {
	Definitions
	Messages
	Upkeep
	Moves
	Letters
	Cases
	Marks
}

// Definitions stores the queues themselves.
type Definitions interface {
	// CreateQueue stores q under a new ID. If the name is taken, it returns the queue that
	// has it, and ErrQueueExists.
	CreateQueue(ctx context.Context, q Queue) (Queue, error)
	// Queue returns a queue by its name, or ErrQueueNotFound.
	Queue(ctx context.Context, name string) (Queue, error)
	// UpdateQueue replaces settings and tags if q.Version is still current. Otherwise it returns ErrConflict.
	UpdateQueue(ctx context.Context, q Queue) (Queue, error)
	// DeleteQueue removes a queue and everything in it.
	DeleteQueue(ctx context.Context, id int64) error
	// Queues lists queues by name.
	Queues(ctx context.Context, q ListQuery) ([]Queue, error)
	// Shared reports whether other processes use the same store. If so, receives have to
	// poll for what they sent.
	Shared() bool
}

// ListQuery narrows a list of queues.
type ListQuery struct {
	Prefix     string
	After      string // only names after this one
	DeadLetter string // only queues that name this dead-letter queue; "": all
	Limit      int    // 1 to 1,000; 0 means 1,000
}

// Messages stores messages and their deliveries.
type Messages interface {
	// Send stores all entries or none. If the DedupKey of an entry was sent within
	// DedupWindow, or earlier in the same call, it stores nothing for that entry and
	// returns the Sent of the first one.
	Send(ctx context.Context, queue int64, entries []Entry) ([]Sent, error)
	// SetAside stores parts of messages as dead letters of the queue, all or none.
	// DedupKey works as in Send.
	SetAside(ctx context.Context, queue int64, p Policy, parts []Part) ([]Sent, error)
	// Receive leases up to c.Max messages.
	Receive(ctx context.Context, queue int64, c Claim) (Claimed, error)
	// Delete ends deliveries. It returns an error or nil for each receipt: see
	// [Engine.Delete].
	Delete(ctx context.Context, queue int64, fifo bool, receipts []Receipt) ([]error, error)
	// Change changes or ends leases: see [Engine.ChangeVisibility] and
	// [Engine.Release].
	Change(ctx context.Context, queue int64, p Policy, changes []Change) ([]error, error)
	// Peek returns messages with a larger sequence than after, in order, without receiving
	// them.
	Peek(ctx context.Context, queue, after int64, limit int) ([]Message, error)
	// Amend changes or deletes one message that is no dead letter, by hand. The error is
	// ErrMessageGone, or ErrConflict while it is in flight.
	Amend(ctx context.Context, queue int64, a Amendment) error
	// Purge removes everything that was sent before the call.
	Purge(ctx context.Context, queue int64) error
	Counts(ctx context.Context, queue int64) (Counts, error)
}

// Entry is a checked message on its way into the store.
type Entry struct {
	SendInput
	ID       string
	Delay    time.Duration
	FIFO     bool
	DedupKey string             // "" for none
	Payload  bezoar.Fingerprint // of the body, by the rules of the queue; zero: not recognised
}

// TxStore is a [Store] that sends in transactions of its database that others have
// begun.
type TxStore interface {
	// SendTx is Send within tx, which the caller ends.
	SendTx(ctx context.Context, tx any, queue int64, entries []Entry) ([]Sent, error)
}

// Amendment changes or deletes one message.
type Amendment struct {
	Sequence int64
	ID       string // the message must have this ID
	Delete   bool
	Force    bool  // delete it even if it is in flight
	Entry    Entry // Body, Attributes, System and Payload replace those of the message, which then counts as never received
}

// Part is an entry that goes to the dead-letter queue at once.
type Part struct {
	Entry
	Outcome Outcome
}

// Policy holds the settings that a store needs to end a lease.
type Policy struct {
	FIFO bool
	// DeadLetter is the queue for messages that are set aside. The store creates it when
	// it is needed and missing: see [ImplicitQueue].
	DeadLetter  string
	Implicit    bool          // the queue names no dead-letter queue: only verdicts set messages aside, and never letters
	MaxReceives int           // set a message aside after so many receives; 0: never
	Poison      poison.Config // applies to all messages but dead letters
	KeepExpired bool          // set messages aside that are older than the retention
}

// Claim says which messages to lease.
type Claim struct {
	Policy
	Max        int
	Visibility time.Duration
	Retention  time.Duration
	Worker     string
}

// Claimed is the result of a Claim.
type Claimed struct {
	Messages []Message
	// Next is the time until another message becomes visible without any call, if nothing
	// was leased; negative if none will.
	Next time.Duration
	// Due says that the receives of some messages are used up, so that Sweep has work.
	Due bool
	// Held says that visible messages wait for a copy that is in flight. They can be
	// received when it has ended.
	Held   bool
	Queues []string // that gained messages, because some were set aside
}

// Upkeep does the work that becomes due with time. Each call does a bounded part.
type Upkeep interface {
	// Sweep moves at most limit messages whose last lease is over to their dead-letter queues. It returns the names of the
	// queues that gained messages.
	Sweep(ctx context.Context, limit int) (Swept, error)
	// Expire removes at most limit messages of a queue that are older than retention. With p.KeepExpired they go to the
	// dead-letter queue, unless they are letters.
	Expire(ctx context.Context, queue int64, p Policy, retention time.Duration, limit int) (int, error)
	// Clean removes at most limit leftovers: of purged and deleted queues and of deduplication, forgotten cases, expired
	// marks, and entries of the audit log beyond MaxAudit.
	Clean(ctx context.Context, limit int) (int, error)
}

// Swept is what one Sweep did.
type Swept struct {
	Moved  int
	Queues []string      // that gained messages
	Next   time.Duration // until the next one is due; negative when none is
}

// Moves stores move tasks.
type Moves interface {
	// StartMove stores t as running, with an ID, and fixes the set of letters to move: it
	// sets Selection.Last if that is 0. ErrMoveRunning: t is of kind MoveSQS, and its
	// source has a running task of that kind.
	StartMove(ctx context.Context, t MoveTask) (MoveTask, error)
	// StepMove moves up to limit messages of a running task, within its rate, its canary
	// and its limit of failures: see [MoveTask]. MoveTask.Plan has the part that needs no
	// database.
	StepMove(ctx context.Context, id string, limit int) (Step, error)
	// ChangeMove changes a task that is not over. Otherwise it returns ErrMoveNotFound or ErrMoveNotRunning.
	ChangeMove(ctx context.Context, id string, c MoveChange) (MoveTask, error)
	// Moves lists tasks, the newest first. It keeps the newest 10 of kind MoveSQS of a source, and the newest 1,000 of
	// other kinds.
	Moves(ctx context.Context, q MoveQuery) ([]MoveTask, error)
}

// MoveQuery narrows a list of tasks.
type MoveQuery struct {
	Source string // "" for all
	ID     string // one task; "" for all
	Live   bool   // only those that are running, paused or halted
	Triage bool   // all kinds but MoveSQS
	Limit  int    // 1 to 1,000; 0 means 1,000
}

// Step is the result of one step of a move task.
type Step struct {
	Task   MoveTask
	Moved  int
	Queues []string      // that gained messages
	Next   time.Duration // until the rate allows the next step
}

// Letters stores dead letters: messages that have a Letter, in any queue and in the trash.
type Letters interface {
	// Groups counts letters by cause, the newest death first.
	Groups(ctx context.Context, s Selection, limit int) ([]Group, error)
	// Letters lists letters without bodies, attributes and attempts, the newest death
	// first. after is the Sequence of the last Death of the page before; 0 means from the
	// newest on.
	Letters(ctx context.Context, s Selection, after int64, limit int) ([]Death, error)
	// Letter returns one complete letter by the ID of its message, or ErrLetterNotFound.
	Letter(ctx context.Context, id string) (Death, error)
	// CountLetters returns the number of letters, and the largest Sequence.
	CountLetters(ctx context.Context, s Selection) (n, last int64, err error)
	// Replace sends e in place of the letter, with its lineage, and moves the letter to
	// the trash, in one transaction. The error is ErrLetterNotFound, or ErrConflict if the
	// letter has another Sequence or generation than when it was read.
	Replace(ctx context.Context, r Replacement) (Sent, error)
}

// Cases stores what is known about payloads. See package poison.
type Cases interface {
	// Cases lists the cases of a queue, the latest Touched first; state < 0 means all.
	Cases(ctx context.Context, queue int64, state, limit int) ([]PayloadCase, error)
	// ChangeCase replaces one case by the result of change (nil: no case) in one
	// transaction. change may be called twice and must be pure; now is the time of the
	// store in microseconds.
	ChangeCase(ctx context.Context, queue int64, payload bezoar.Fingerprint, change func(c *poison.Case, now int64) *poison.Case) error
	// Vanish records on leases that are not over that their worker is gone, and how many
	// messages it held. LoneHolding is added if it was one of at most two workers,
	// PatientHolding if the leases are to last twice as long. Stale receipts are ignored.
	Vanish(ctx context.Context, queue int64, receipts []Receipt, holding int) error
}

// LoneHolding is added to the number of messages that a worker held if it was one of at most two workers. PatientHolding is
// added if it may be alive. ReasonVanished begins the reason of such a death.
const (
	LoneHolding    = 1 << 20
	PatientHolding = 1 << 21
	ReasonVanished = "its worker vanished"
)

// PayloadCase is one case of a queue.
type PayloadCase struct {
	Payload bezoar.Fingerprint
	poison.Case
}

// MaxCases bounds the cases of a queue. A new case replaces the one that was touched longest ago: watched cases first, then
// suspects. Quarantined cases stay. If there are only those, the new case is not kept.
const MaxCases = 10_000

// Marks stores small facts that all processes share, such as the state of a breaker, and
// the audit log. A mark that has changed meanwhile gives ErrConflict.
type Marks interface {
	marks.Store
	// Audit appends to the log. Number and At are the store's.
	Audit(ctx context.Context, e AuditEntry) (AuditEntry, error)
	// AuditLog lists entries with a number below before (0: all), the newest first.
	AuditLog(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
}

// Mark is one shared fact.
type Mark = marks.Mark

// AuditEntry records one action of a person or a program.
type AuditEntry struct {
	Number int64           `json:"number"`
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`            // who did it; at most 256 bytes
	Action string          `json:"action"`           // such as redrive.start
	Object string          `json:"object"`           // what it was done to: a queue, a letter, a task
	Detail json.RawMessage `json:"detail,omitempty"` // at most 16 KiB
	Error  string          `json:"error,omitempty"`  // why the action failed
}

// MaxAudit bounds the audit log; the oldest entries are dropped.
const MaxAudit = 100_000
