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

// Store keeps an outbox in the application's database. Every method is safe for concurrent
// use. When a method returns nil, its changes are durable. Times are by the database's
// clock. The test suite outbox/outboxtest specifies the behaviour of an implementation.
type Store interface {
	Leases
	Flights
	Letters
	Reports
	Close() error
}

// Leases manages the lease that decides which relay works.
type Leases interface {
	// Acquire takes the lease if it is free or expired, and starts a new epoch. If another
	// owner holds it, Acquire returns that owner's lease and ErrHeld. An owner that
	// acquires its own lease again, after a restart, gets a new epoch too.
	//
	// Acquire treats a lease as expired if its remaining time exceeds both one minute and
	// four times ttl: the database's clock was set back after the lease was taken.
	Acquire(ctx context.Context, owner string, ttl time.Duration) (Lease, error)
	// Renew extends the lease to ttl from now. It returns ErrFenced if epoch is not the
	// current one. If more than ttl was left, the clock was set back; Renew then shortens
	// the waits of retrying events by the difference.
	Renew(ctx context.Context, epoch int64, ttl time.Duration) (Lease, error)
	// Release ends the lease at once if epoch is the current one.
	Release(ctx context.Context, epoch int64) error
}

// Lease is the right to relay.
type Lease struct {
	Owner string
	Epoch int64     // grows with each acquisition; 0: nobody held it yet
	Until time.Time // by the database's clock
	Left  time.Duration
}

// Flights moves events from ready to delivered. Unless epoch is that of the current lease,
// every method with an epoch returns ErrFenced and changes nothing. An expired lease is
// still current until another relay takes it.
type Flights interface {
	// Ready makes retrying events ready if their wait is over. It returns the topics that
	// have ready events, in alphabetical order.
	Ready(ctx context.Context, epoch int64) ([]string, error)
	// Lost returns the unsettled flights of earlier epochs.
	Lost(ctx context.Context, epoch int64) ([]Flight, error)
	// Advance settles a flight and claims the next one, both in one transaction. done and
	// next may be nil. It returns nil if no event can be claimed.
	Advance(ctx context.Context, epoch int64, done *Settlement, next *Claim) (*Flight, error)
	// Read returns the events of a flight, in the order of refs. It omits events that no
	// longer exist.
	Read(ctx context.Context, refs []Ref) ([]Record, error)
	// Upkeep takes one small step of housekeeping: it prepares space for new events, and
	// deletes delivered events that were written more than keep ago. It never deletes
	// undelivered events.
	Upkeep(ctx context.Context, epoch int64, keep time.Duration) (Upkept, error)
}

// Claim requests a flight. The store chooses ready events of the topic in the order of
// their positions. It leaves out an event, and marks it as behind, if an earlier event of
// the same topic and key is retrying, parked or behind. So no event overtakes another event
// of its key. An event with Blamed above 0 or Attempts above 2 gets a flight of its own.
//
// A topic has at most one flight at a time: the caller settles it before it claims the
// next. If a claim finds a flight of the same epoch and topic, it removes it: the caller
// never received the answer to its earlier claim.
type Claim struct {
	Topic  string
	Events int   // maximum number of events
	Bytes  int64 // maximum size of payloads, keys and headers; the first event is always included
}

// Flight is a batch in delivery.
type Flight struct {
	ID    int64
	Epoch int64
	Topic string
	Refs  []Ref // in the order of positions
}

// Ref identifies an event and counts its deliveries.
type Ref struct {
	Position int64
	Written  time.Time
	Attempts int // earlier delivery attempts
	Blamed   int // attempts that counted against the event
}

// Settlement describes how a flight ended. Events in neither list become ready again,
// unchanged. Events that no longer exist are ignored. When the first event of a key is
// delivered, the events behind it become ready, in order.
type Settlement struct {
	Flight    int64 // ID of the flight
	Delivered []int64
	Failed    []Setback
}

// Setback is an event that was not delivered.
type Setback struct {
	Position int64
	Attempts int // new value
	Blamed   int
	Parked   bool
	Wait     time.Duration // until it is ready again; ignored if it is parked
	Evidence Evidence
}

// Evidence explains a failed delivery. It is for display.
type Evidence struct {
	Class  string    `json:"class"` // name of a [bezoar.Class], or lost: the relay died
	Reason string    `json:"reason"`
	Sink   string    `json:"sink,omitempty"`
	Relay  string    `json:"relay,omitempty"` // owner of the lease
	Epoch  int64     `json:"epoch,omitempty"`
	Time   time.Time `json:"time"`
}

// Upkept is the result of a step of Upkeep of [Flights].
type Upkept struct {
	Deleted    int64 // number of deleted events, if the store counts them
	Partitions int   // number of dropped partitions
	Moved      int64 // undelivered events moved out of a dropped partition
	More       bool  // more work is left: call Upkeep again soon
	Busy       bool  // a table was in use: call Upkeep again after a second
}

// TxSink is a sink that delivers to the outbox's own database. It delivers in the
// transaction that settles the flight, so each event is delivered exactly once.
type TxSink interface {
	Sink
	// SendTx is Send within tx, the store's transaction: pgx.Tx for PostgreSQL. If SendTx
	// returns an error, as opposed to a result for a record, the store rolls tx back.
	SendTx(ctx context.Context, tx any, records []Record) ([]error, error)
}

// TxStore is a [Store] whose transactions can include a [TxSink].
type TxStore interface {
	// Within reports whether sink can take part in this store's transactions.
	Within(ctx context.Context, sink TxSink) (bool, error)
	// AdvanceTx settles flight with the settlement that send returns, and claims the next
	// flight. If the flight is already settled, because the answer to an earlier call was
	// lost, AdvanceTx does not call send and only claims.
	AdvanceTx(ctx context.Context, epoch, flight int64, next *Claim, send func(ctx context.Context, tx any) (*Settlement, error)) (*Flight, error)
}

// Waker is a [Store] that can report new events. It is an optimization: the relay polls in
// any case.
type Waker interface {
	// Wake calls wake, which does not block, after events may have been committed. It
	// returns when ctx ends or an error occurs. If notifications cannot work here, for
	// example behind a pooler that shares sessions between transactions, the error says
	// what to change.
	Wake(ctx context.Context, wake func()) error
}

// Notebook is a [Store] that keeps the last Stats of the relay, so that they can be read
// from the database alone.
type Notebook interface {
	// Note stores s. It returns ErrFenced unless epoch is that of the current lease.
	Note(ctx context.Context, epoch int64, s Stats) error
	// Noted returns the last Stats and when they were stored, by the database's clock. The
	// time is zero if none were stored.
	Noted(ctx context.Context) (Stats, time.Time, error)
}
