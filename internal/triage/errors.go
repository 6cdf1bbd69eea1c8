package triage

import (
	"errors"
	"fmt"
	"strings"
)

// Code is a stable name of what went wrong, and the error that says so:
// errors.Is(err, triage.ErrPlanChanged). Errors of the queues keep their own.
type Code string

// The errors that callers tell apart.
const (
	ErrPlanNotFound Code = "plan-not-found"   // or older than PlanFor
	ErrPlanUsed     Code = "plan-used"        // each is executed once
	ErrPlanChanged  Code = "plan-changed"     // see ChangedError
	ErrNothing      Code = "nothing-selected" // no letter
	ErrUnsupported  Code = "not-supported"    // by the source that the letters are in
	ErrInvalid      Code = "invalid-argument" // the text names the field
)

func (c Code) Error() string { return strings.ReplaceAll(string(c), "-", " ") }

// CodeOf returns the code that err wraps, or "".
func CodeOf(err error) Code {
	code, _ := errors.AsType[Code](err)
	return code
}

// ChangedError says that a selection is not what it was when it was planned.
// It is ErrPlanChanged.
type ChangedError struct{ Planned, Now int64 }

// Error names both counts.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the plan changed: %d letters were planned, %d are there now", e.Planned, e.Now)
}

func (e *ChangedError) Unwrap() error { return ErrPlanChanged }

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrInvalid)...)
}
