package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// ErrBehind is the result of a record that a sink did not send because an earlier record of
// its key, or the whole batch, was not delivered. It does not count as a failure of the
// record.
var ErrBehind = errors.New("an earlier event was not delivered")

// Sink delivers records to one destination. Its methods are safe for concurrent use.
type Sink interface {
	// Send delivers records, which are in the order of their positions. It returns one
	// result for each record: nil once the destination has acknowledged it durably,
	// ErrBehind, or the reason for the failure. Send delivers records of one key in order:
	// after a failed record, later records of the same key get ErrBehind.
	//
	// A *[Failure] says whether the record or the destination is at fault. Any other error
	// is the destination's fault. When ctx ends, records without an acknowledgement get the
	// error of ctx; they may have been delivered.
	Send(ctx context.Context, records []Record) []error
	// Close releases connections without waiting for calls of Send.
	Close() error
}

// Failure is the reason why a sink did not accept a record.
type Failure struct {
	// Class is Invalid or Bug if the destination refused the record itself; only these
	// count against the record. Transient, Throttled, Outage and Timeout are failures of
	// the destination.
	Class      bezoar.Class
	Reason     string        // for display; must not contain secrets or payloads
	RetryAfter time.Duration // the wait that the destination requested, or 0
}

func (f *Failure) Error() string { return f.Class.String() + ": " + f.Reason }
