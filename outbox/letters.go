package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// State is where an event is on its way; see the package comment.
type State string

// The states of an event that is not delivered. In flight is not among them: an
// event in flight is ready until it is settled.
const (
	Ready    State = "ready"
	Retrying State = "retrying"
	Parked   State = "parked"
	Behind   State = "behind"
)

// Letters are what people do with events that are not delivered. They need no
// lease: a relay may work meanwhile, or none.
type Letters interface {
	// Waiting returns events that are not delivered, in the order of their
	// positions.
	Waiting(ctx context.Context, q Query) ([]Waiting, error)
	// Count counts the events that Waiting would return without a limit.
	Count(ctx context.Context, q Query) (int64, error)
	// Find returns the event with this ID, if it is not delivered, or ErrNotFound.
	Find(ctx context.Context, id string) (Waiting, error)
	// Retry makes parked and retrying events ready, with Blamed 1 if they were
	// parked: each is sent alone, and has ParkAfter-1 attempts left. It returns
	// how many it changed; others are passed over.
	Retry(ctx context.Context, positions []int64) (int, error)
	// Skip discards parked and retrying events: what is behind them goes on. It
	// returns how many; others are passed over.
	Skip(ctx context.Context, positions []int64) (int, error)
	// Edit replaces the type, the headers and the payload of a parked event, which
	// stays parked, and keeps its ID. It is ErrNotFound, ErrNotParked or ErrGone.
	Edit(ctx context.Context, position int64, e Edit) error
}

// Query chooses events. The zero value of a field chooses all.
type Query struct {
	State State
	Topic string
	Key   string
	After int64 // a position: only later ones
	Limit int   // default 100
	// Bare leaves the headers and the payload out.
	Bare bool
}

// Waiting is an event that is not delivered.
type Waiting struct {
	Record
	State     State
	Blamed    int       // attempts that counted against it
	NotBefore time.Time // of a retrying one
	Parked    time.Time // of a parked one
	Evidence  *Evidence // of the last failure; nil: none
	InFlight  bool
	// Behind counts the events of its key that are known to wait for it, if it is
	// parked or retrying.
	Behind int64
}

// FaultGone is the [Record] Fault of an event whose row was deleted by somebody, while
// it waited. Its ID is @ and its position; it can only be skipped.
const FaultGone = "its row is not in the database any more"

// GoneAt reads the ID of an event whose row was deleted.
func GoneAt(id string) (position int64, ok bool) {
	digits, ok := strings.CutPrefix(id, "@")
	position, err := strconv.ParseInt(digits, 10, 64)
	return position, ok && err == nil
}

// ReadEvidence reads evidence as a database has it, whatever somebody made of it.
func ReadEvidence(text []byte) *Evidence {
	var e Evidence
	if err := json.Unmarshal(text, &e); err != nil {
		return &Evidence{Class: bezoar.Bug.String(), Reason: fmt.Sprintf("the evidence cannot be read: %v", err)}
	}
	return &e
}

// Edit is what becomes of an event. A nil field stays as it was.
type Edit struct {
	Type    *string
	Headers map[string]string // replaces all
	Payload []byte
}

// Validate reports everything that no event may have.
func (e Edit) Validate() error {
	event := Event{Topic: "any", Headers: e.Headers, Payload: e.Payload}
	if e.Type != nil {
		event.Type = *e.Type
	}
	return event.Validate()
}

// Reports tell what is in an outbox. They need no lease.
type Reports interface {
	Identity(ctx context.Context) (Identity, error)
	Status(ctx context.Context) (Status, error)
	// Verify reads the events that are kept, from After on, and looks for gaps and
	// inversions of the sequences of keys.
	Verify(ctx context.Context, q VerifyQuery) (Proof, error)
}

// Identity says which outbox it is.
type Identity struct {
	ID      string // a UUID, made with the outbox
	Version int    // of its schema
	Made    time.Time
}

// Status is an outbox at a moment. Counts stop at [CountLimit] for each topic and
// state.
type Status struct {
	Identity
	Now    time.Time // by the database's clock
	Lease  Lease     // Epoch 0: no relay was there yet
	Topics []TopicStatus
	Flight []FlightStatus
}

// CountLimit bounds what a [Status] counts.
const CountLimit = 1_000_000

// TopicStatus counts a topic's events that are not delivered.
type TopicStatus struct {
	Topic    string
	Ready    int64 // with those in flight
	Retrying int64
	Parked   int64
	Behind   int64
	Oldest   time.Time // when the first of all these was written
}

// FlightStatus is a flight, for people.
type FlightStatus struct {
	ID     int64
	Epoch  int64
	Topic  string
	Events int
	Since  time.Time
}

// VerifyQuery says what to verify.
type VerifyQuery struct {
	Topic string // "": all
	Limit int    // of findings; default 100
}

// Proof is what Verify found.
type Proof struct {
	Events int64 // read
	Keys   int64
	// Findings are faults of the outbox itself: it has none unless somebody changed
	// its tables.
	Findings []Finding
}

// Finding is a fault in the order of a key.
type Finding struct {
	Topic    string
	Key      string
	Kind     string // gap, inversion, missing (an event without its payload)
	Position int64
	Sequence int64 // that was found, or, after a key's last event, the next that will be given
	Expected int64
}
