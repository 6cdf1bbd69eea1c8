package task

import "slices"

// State is the state of one task of a run.
type State string

// The states. The stores have a CHECK constraint with this list.
const (
	Pending        State = "PENDING"         // something that it needs is not over
	Ready          State = "READY"           // waits for a slot
	Running        State = "RUNNING"         // an attempt is written down
	Success        State = "SUCCESS"         //
	Failed         State = "FAILED"          // and that is permitted, or the deadline is over
	UpstreamFailed State = "UPSTREAM_FAILED" // something that it needs failed for good
	Retrying       State = "RETRYING"        // waits for its next attempt
	Sensing        State = "SENSING"         // waits for its next look
	DeadLetter     State = "DEAD_LETTER"     // waits for a person
	Held           State = "HELD"            // something that it needs, or a sibling with the same cause, waits for a person
	Skipped        State = "SKIPPED"         // a person permitted that it never ran, or failed
	Cancelled      State = "CANCELLED"       //
	Interrupted    State = "INTERRUPTED"     // the infrastructure ended its attempt; it waits for the next one
)

// States lists all states.
func States() []State {
	return []State{
		Pending, Ready, Running, Success, Failed, UpstreamFailed, Retrying, Sensing, DeadLetter, Held, Skipped, Cancelled, Interrupted,
	}
}

// Known reports whether s is a state.
func (s State) Known() bool { return slices.Contains(States(), s) }

// Over reports whether a task has ended and waits for nobody.
func (s State) Over() bool {
	switch s {
	case Success, Failed, UpstreamFailed, Skipped, Cancelled:
		return true
	default:
		return false
	}
}

// Lets reports whether tasks that need a task in this state may run.
func (s State) Lets(permitted bool) bool {
	return s == Success || s == Skipped || s == Failed && permitted
}
