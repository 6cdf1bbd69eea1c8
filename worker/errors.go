package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Error is what a Handler returns to say more than that it failed.
type Error struct {
	Class      bezoar.Class
	After      time.Duration // the downstream asked for so much patience
	Downstream string        // the group that failed
	Failure    string        // what failed, in words that are the same each time; "": found out from Err
	Rows       []Row         // only these lines of the body are bad
	Err        error
}

// Row is one bad line of a body.
type Row struct {
	Index  int // from 0
	Reason string
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Class.String()
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Transient says that err may have passed next time.
func Transient(err error) error { return &Error{Class: bezoar.Transient, Err: err} }

// Throttled says that a downstream asked for patience; 0 means that it did not
// say how much.
func Throttled(err error, after time.Duration) error {
	return &Error{Class: bezoar.Throttled, After: after, Err: err}
}

// Outage says that a downstream is not there; "" is the worker's own.
func Outage(err error, downstream string) error {
	return &Error{Class: bezoar.Outage, Downstream: downstream, Err: err}
}

// Invalid says that the message itself is malformed: it is a dead letter at once.
func Invalid(err error) error { return &Error{Class: bezoar.Invalid, Err: err} }

// InvalidRows says that some lines of the body are malformed and all others are
// done: these lines alone become dead letters.
func InvalidRows(rows ...Row) error {
	return &Error{Class: bezoar.Done, Rows: rows, Err: fmt.Errorf("%d rows are invalid", len(rows))}
}

// SpawnError says that the command could not be started: the worker has
// stopped, and no message is to blame.
type SpawnError struct {
	Command string
	Err     error
}

func (e *SpawnError) Error() string { return fmt.Sprintf("start %s: %v", e.Command, e.Err) }
func (e *SpawnError) Unwrap() error { return e.Err }

// CommandError says that it is the command and not the messages: the first runs
// all failed alike, none had read its message, and none had worked. The worker
// has stopped, and no message is to blame.
type CommandError struct {
	Command string
	Runs    int
	Reason  string // of each
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("it is the command %s, not the messages: the first %d runs all failed without reading their message: %s", e.Command, e.Runs, e.Reason)
}

var (
	errLost        = errors.New("the lease was lost")
	errInterrupted = errors.New("the worker stops")
)
