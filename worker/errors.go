package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Error is an error of a Handler with more information than that it failed.
type Error struct {
	Class      bezoar.Class
	After      time.Duration // how long the downstream asked to wait
	Downstream string        // the group that failed
	Failure    string        // names the failure, the same words each time; "": found out from Err
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

// Transient says that the same message may succeed next time.
func Transient(err error) error { return &Error{Class: bezoar.Transient, Err: err} }

// Throttled says that a downstream asked to wait for a time. 0 means that it gave no time.
func Throttled(err error, after time.Duration) error {
	return &Error{Class: bezoar.Throttled, After: after, Err: err}
}

// Outage says that a downstream is not available. "" means the downstream of the worker,
// Config.Downstream.
func Outage(err error, downstream string) error {
	return &Error{Class: bezoar.Outage, Downstream: downstream, Err: err}
}

// Invalid marks err as the fault of the message: the message is malformed, and becomes a
// dead letter at once.
func Invalid(err error) error { return &Error{Class: bezoar.Invalid, Err: err} }

// InvalidRows says that some lines of the body are malformed and all others are done. Only
// these lines become dead letters.
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

// CommandError says that the command is at fault and not the messages: the first runs all
// failed in the same way, none of them read its message, and none succeeded. The worker
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
