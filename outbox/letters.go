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

// State is the state of an event; see the package comment.
type State string

// The states of an undelivered event. An event in flight counts as ready until it is
// settled.
const (
	Ready    State = "ready"
	Retrying State = "retrying"
	Parked   State = "parked"
	Behind   State = "behind"
)

// Letters lists and changes undelivered events on behalf of an operator. Its methods need
// no lease and work whether or not a relay runs.
type Letters interface {
	// Waiting returns undelivered events in the order of their positions.
	Waiting(ctx context.Context, q Query) ([]Waiting, error)
	// Count returns how many events Waiting would return without a limit.
	Count(ctx context.Context, q Query) (int64, error)
	// Find returns the undelivered event with this ID, or ErrNotFound.
	Find(ctx context.Context, id string) (Waiting, error)
	// Retry makes parked and retrying events ready and returns how many it changed. It
	// ignores events in other states. A parked event restarts with Blamed 1: it is sent
	// alone and has ParkAfter-1 attempts left.
	Retry(ctx context.Context, positions []int64) (int, error)
	// Skip discards parked and retrying events, which unblocks later events of their keys.
	// It returns how many it discarded and ignores events in other states.
	Skip(ctx context.Context, positions []int64) (int, error)
	// Edit replaces the type, the headers and the payload of a parked event. The event
	// keeps its ID and stays parked. Errors: ErrNotFound, ErrNotParked, ErrGone.
	Edit(ctx context.Context, position int64, e Edit) error
}

// Query selects events. A field with its zero value does not restrict the selection.
type Query struct {
	State State
	Topic string
	Key   string
	After int64 // only events with a higher position
	Limit int   // default 100
	// Bare omits the headers and the payload.
	Bare bool
}

// Waiting is an undelivered event.
type Waiting struct {
	Record
	State     State
	Blamed    int       // attempts that counted against the event
	NotBefore time.Time // when a retrying event is ready again
	Parked    time.Time // when a parked event was parked
	Evidence  *Evidence // of the last failure; nil if there was none
	InFlight  bool
	// Behind is the number of events of the same key that wait for this one, as far as
	// known. It is set for parked and retrying events.
	Behind int64
}

// FaultGone is the [Record] Fault of an event whose row was deleted while it waited. The ID
// of such an event is @ followed by its position. The event can only be skipped.
const FaultGone = "its row is no longer in the database"

// GoneAt parses the ID of an event whose row was deleted.
func GoneAt(id string) (position int64, ok bool) {
	digits, ok := strings.CutPrefix(id, "@")
	position, err := strconv.ParseInt(digits, 10, 64)
	return position, ok && err == nil
}

// ReadEvidence decodes evidence from the database. Invalid evidence yields an Evidence that
// says so.
func ReadEvidence(text []byte) *Evidence {
	var e Evidence
	if err := json.Unmarshal(text, &e); err != nil {
		return &Evidence{Class: bezoar.Bug.String(), Reason: fmt.Sprintf("the evidence cannot be read: %v", err)}
	}
	return &e
}

// Edit describes a change of an event. A nil field leaves the value as it is.
type Edit struct {
	Type    *string
	Headers map[string]string // replaces all headers
	Payload []byte
}

// Validate returns one error that names every invalid field, or nil.
func (e Edit) Validate() error {
	event := Event{Topic: "any", Headers: e.Headers, Payload: e.Payload}
	if e.Type != nil {
		event.Type = *e.Type
	}
	return event.Validate()
}

// Reports describes the contents of an outbox. Its methods need no lease.
type Reports interface {
	Identity(ctx context.Context) (Identity, error)
	Status(ctx context.Context) (Status, error)
	// Verify reads the stored events from After on, and looks for gaps and inversions in
	// the sequences of keys.
	Verify(ctx context.Context, q VerifyQuery) (Proof, error)
}

// Identity identifies an outbox.
type Identity struct {
	ID      string // a UUID, generated when the outbox was created
	Version int    // version of its schema
	Made    time.Time
}

// Status is a snapshot of an outbox. Counts stop at [CountLimit] for each topic and state.
type Status struct {
	Identity
	Now    time.Time // by the database's clock
	Lease  Lease     // Epoch is 0 if no relay ever ran
	Topics []TopicStatus
	Flight []FlightStatus
}

// CountLimit is the maximum of a count in [Status].
const CountLimit = 1_000_000

// TopicStatus counts the undelivered events of a topic.
type TopicStatus struct {
	Topic    string
	Ready    int64 // includes events in flight
	Retrying int64
	Parked   int64
	Behind   int64
	Oldest   time.Time // when the oldest of these events was written
}

// FlightStatus describes a flight for display.
type FlightStatus struct {
	ID     int64
	Epoch  int64
	Topic  string
	Events int
	Since  time.Time
}

// VerifyQuery selects the events to verify.
type VerifyQuery struct {
	Topic string // empty: all topics
	Limit int    // maximum number of findings; default 100
}

// Proof is the result of Verify.
type Proof struct {
	Events int64 // number of events read
	Keys   int64
	// Findings are inconsistencies of the outbox. The outbox itself does not cause any;
	// they come from changes to its tables by hand.
	Findings []Finding
}

// Finding is an error in the order of a key.
type Finding struct {
	Kind     string `json:"kind"` // gap, inversion, or missing (an event without its payload)
	Topic    string `json:"topic"`
	Key      string `json:"key"`
	Position int64  `json:"position"`
	Sequence int64  `json:"sequence"` // the sequence number found or, after a key's last event, the next number to be assigned
	Expected int64  `json:"expected"`
}
