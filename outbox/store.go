package outbox

import (
	"context"
	"errors"
	"time"
)

// Errors of a [Store].
var (
	ErrHeld      = errors.New("another relay holds the lease")
	ErrFenced    = errors.New("another relay has taken over")
	ErrNotFound  = errors.New("no such event is waiting")
	ErrNotParked = errors.New("the event is not parked")
	ErrGone      = errors.New(FaultGone + ": skip it")
	ErrAbsent    = errors.New("the database has no outbox")
)

// Store keeps an outbox in the application's database. What a method has returned
// nil for survives kill -9. Every method is safe for concurrent use. Times are by
// the database's clock. The suite in outbox/outboxtest says exactly what an
// implementation owes.
type Store interface {
	Leases
	Flights
	Letters
	Reports
	Close() error
}

// Leases say which relay works.
type Leases interface {
	// Acquire takes the lease if it is free or over, and gives it a new epoch. If
	// another owner has it, Acquire returns that one's lease and ErrHeld. An owner
	// that acquires its own lease again, after a restart, gets a new epoch too. A lease
	// with more left than four times ttl, and than a minute, was taken before the
	// database's clock was set back: it is over.
	Acquire(ctx context.Context, owner string, ttl time.Duration) (Lease, error)
	// Renew makes the lease last ttl from now. It is ErrFenced if the epoch is not
	// the current one. If more than ttl was left, the clock was set back: what waits
	// for its time waits that much less.
	Renew(ctx context.Context, epoch int64, ttl time.Duration) (Lease, error)
	// Release ends the lease at once if epoch is the current one.
	Release(ctx context.Context, epoch int64) error
}

// Lease is the right to relay.
type Lease struct {
	Owner string
	Epoch int64     // grows with each owner; 0: nobody had it yet
	Until time.Time // by the database's clock
	Left  time.Duration
}

// Flights move events from ready to delivered. Every method is ErrFenced, and
// changes nothing, unless the epoch is that of the current lease. The lease need
// not be in time: as long as nobody else took it, its owner may finish.
type Flights interface {
	// Ready makes events ready whose wait is over, and returns the topics that
	// have a ready event, in their alphabetical order.
	Ready(ctx context.Context, epoch int64) ([]string, error)
	// Lost returns the flights of earlier epochs that nobody has settled.
	Lost(ctx context.Context, epoch int64) ([]Flight, error)
	// Advance settles a flight and claims the next one, both in one transaction.
	// done and next may be nil. It returns nil if there is nothing to claim.
	Advance(ctx context.Context, epoch int64, done *Settlement, next *Claim) (*Flight, error)
	// Read returns the events of a flight, in the order of refs. An event that is
	// not there any more is left out.
	Read(ctx context.Context, refs []Ref) ([]Record, error)
	// Upkeep takes one small step of housekeeping: it makes room for what comes,
	// and deletes events that were delivered, and written more than keep ago.
	// Events that are not delivered stay.
	Upkeep(ctx context.Context, epoch int64, keep time.Duration) (Upkept, error)
}

// Claim asks for a flight. The store chooses ready events of the topic in the
// order of their positions. An event of a key is left out, and becomes behind, if
// an earlier one of its topic and key is retrying, parked or behind; so no event
// overtakes another of its key. An event with Blamed above 0, or Attempts above 2,
// flies alone.
//
// One topic has at most one flight at a time: the caller settles it before it
// claims the next. A claim removes a flight of the same epoch and topic that it
// finds: its caller never got the answer.
type Claim struct {
	Topic  string
	Events int   // at most
	Bytes  int64 // of payloads, keys and headers at most; one event always goes
}

// Flight is a batch under way.
type Flight struct {
	ID    int64
	Epoch int64
	Topic string
	Refs  []Ref // in the order of positions
}

// Ref says where an event is and what is known about its deliveries.
type Ref struct {
	Position int64
	Written  time.Time
	Attempts int // deliveries that were tried before
	Blamed   int // of these, those that counted against the event
}

// Settlement says how a flight ended. What is in neither list is ready again,
// unchanged. An event that is not there any more is passed over. When the first
// event of a key is delivered, those behind it become ready, in order.
type Settlement struct {
	Flight    int64 // that is over
	Delivered []int64
	Failed    []Setback
}

// Setback is an event that was not delivered.
type Setback struct {
	Position int64
	Attempts int // from now on
	Blamed   int
	Parked   bool
	Wait     time.Duration // until it is ready again; of no meaning if it is parked
	Evidence Evidence
}

// Evidence says why a delivery failed. It is for people.
type Evidence struct {
	Class  string    `json:"class"` // of [bezoar.Class], or lost: the relay died
	Reason string    `json:"reason"`
	Sink   string    `json:"sink,omitempty"`
	Relay  string    `json:"relay,omitempty"` // the lease's owner
	Epoch  int64     `json:"epoch,omitempty"`
	Time   time.Time `json:"time"`
}

// Upkept is what a step of [Flights] Upkeep did.
type Upkept struct {
	Deleted    int64 // events, if the store counts them
	Partitions int   // that were dropped
	Moved      int64 // events that were not delivered and left a dropped partition
	More       bool  // call it again soon
	Busy       bool  // something was in use; call it again after a second
}

// TxSink is a sink whose place is in the outbox's own database: it delivers in the
// transaction that settles, so each event is delivered exactly once.
type TxSink interface {
	Sink
	// SendTx is Send within tx, which is what the store uses: pgx.Tx for PostgreSQL.
	// After an error other than those of single records tx is rolled back.
	SendTx(ctx context.Context, tx any, records []Record) ([]error, error)
}

// TxStore is a [Store] that lets a [TxSink] take part in its transactions.
type TxStore interface {
	// Within reports whether sink works in this store's transactions.
	Within(ctx context.Context, sink TxSink) (bool, error)
	// AdvanceTx is Advance with what send returns as the settlement of flight. If the
	// flight is settled already, because an earlier call succeeded whose answer was
	// lost, it does not call send, and claims.
	AdvanceTx(ctx context.Context, epoch, flight int64, next *Claim, send func(ctx context.Context, tx any) (*Settlement, error)) (*Flight, error)
}

// Waker is a [Store] that can say that events were written. It only saves time:
// the relay polls in any case.
type Waker interface {
	// Wake calls wake, which does not block, after events may have been committed,
	// until ctx ends or an error. The error says what to change if it cannot work
	// here at all, as behind a pooler that shares sessions between transactions.
	Wake(ctx context.Context, wake func()) error
}

// Notebook is a [Store] that keeps the last Stats of the relay, for people who have
// only the database.
type Notebook interface {
	// Note is ErrFenced unless the epoch is that of the current lease.
	Note(ctx context.Context, epoch int64, s Stats) error
	// Noted returns the last Stats, and when they were noted, by the database's
	// clock; the zero time: never.
	Noted(ctx context.Context) (Stats, time.Time, error)
}
