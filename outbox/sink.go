package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// ErrBehind is the result of a record that a sink did not send, because an earlier
// one of its key, or the whole batch, was not delivered. It is no failure of the
// record.
var ErrBehind = errors.New("an earlier event was not delivered")

// Sink delivers records to one place. Its methods are safe for concurrent use.
type Sink interface {
	// Send delivers records, which are in the order of their positions, and has one
	// result for each: nil once the place has acknowledged it durably, ErrBehind, or
	// why it was not delivered. Records of one key are delivered in order: after one
	// that failed, those of its key are ErrBehind.
	//
	// A *[Failure] says whose fault it was. Any other error is the place's, not
	// the record's. When ctx ends, what is not acknowledged has failed with its
	// error; it may have been delivered.
	Send(ctx context.Context, records []Record) []error
	// Close waits for nothing and releases connections.
	Close() error
}

// Failure is why a sink did not take a record.
type Failure struct {
	// Class is Invalid or Bug if the record itself is refused: only these count
	// against it. Transient, Throttled, Outage and Timeout are the place's.
	Class      bezoar.Class
	Reason     string        // for people; without secrets and payloads
	RetryAfter time.Duration // as the place asked for; 0: it did not
}

func (f *Failure) Error() string { return f.Class.String() + ": " + f.Reason }
