package queue

import (
	"fmt"
	"time"
)

// MoveState says where a move task is.
type MoveState string

// The states. A task that is running, paused or halted may go on; the others are final.
const (
	MoveRunning   MoveState = "running"
	MovePaused    MoveState = "paused" // by somebody
	MoveHalted    MoveState = "halted" // by itself: too many failed again
	MoveCompleted MoveState = "completed"
	MoveCancelled MoveState = "cancelled"
	MoveFailed    MoveState = "failed"
)

// Live reports whether a task in this state may go on.
func (s MoveState) Live() bool { return s == MoveRunning || s == MovePaused || s == MoveHalted }

// MoveKind says what a task does with letters.
type MoveKind string

// The kinds.
const (
	MoveSQS     MoveKind = ""        // all of a queue, one task at a time: StartMessageMoveTask
	MoveRedrive MoveKind = "redrive" // back to where they came from, or to Destination
	MoveDiscard MoveKind = "discard" // to the trash, with their letters
	MoveRestore MoveKind = "restore" // from the trash to where they were, with their letters
)

// The bounds of a task's rate, in messages each second.
const (
	MaxMoveRate   = 500    // of kind MoveSQS, and its default
	MaxTriageRate = 10_000 // of other kinds
)

// MoveTask moves dead letters.
//
// A redrive makes a new message of each letter: with a new ID, the time of the move as its
// sending time, no receives, and its lineage. A task moves letters that were there when it
// started (its Selection) and are not in flight when their turn comes. Its progress is
// stored in the same transaction as each move, so a task continues after a crash where it
// stopped.
//
// A redrive with a canary moves that many letters first, and waits until they are done or
// dead again. If more than HaltAbove of the ended ones are dead, the task halts; a person
// may resume it. A redrive is completed when all messages that it sent have ended and at
// most HaltAbove are dead again; otherwise it has failed.
type MoveTask struct {
	ID          string
	Kind        MoveKind
	Source      string // TrashQueue for MoveRestore
	Destination string // "" means the queue each letter came from
	Selection   Selection
	Rate        int     // messages each second
	Canary      int     // how many go first; 0: none
	HaltAbove   float64 // share of redriven messages that may be dead again, 0 to 1; 1: never halts
	State       MoveState
	Failure     string // why it failed or halted
	Actor       string // who started it
	Reason      string // and why
	Started     time.Time
	Ended       time.Time // zero while it is not over
	Moved       int64
	ToMove      int64 // messages to move, counted at the start
	Done        int64 // redriven messages that succeeded
	Dead        int64 // redriven messages that are dead again
	// Forgiven are dead messages from before the task was last resumed after a halt. They
	// do not count for HaltAbove.
	Forgiven int64
	// Drained says that nothing is left to move. A redrive that still runs waits until all
	// messages that it sent have ended.
	Drained bool
}

// MoveChange changes a task; zero fields change nothing.
type MoveChange struct {
	State MoveState // MovePaused, MoveRunning (to resume) or MoveCancelled
	Rate  int
}

// minJudged is how many messages must have ended before HaltAbove applies, if there is no canary.
const minJudged = 5

// Plan returns what a running task may do next, by its counts alone: how many messages it
// may move (-1: no bound of its own), or whether it halts.
func (t *MoveTask) Plan() (most int64, halt bool) {
	if t.Kind != MoveRedrive {
		return -1, false
	}
	least := int64(minJudged)
	if t.Canary > 0 {
		least = min(int64(t.Canary), max(t.ToMove, 1))
	}
	if t.Done+t.Dead-t.Forgiven >= least && t.tooMany() {
		return 0, true
	}
	if t.Canary > 0 && t.Done+t.Dead < min(int64(t.Canary), t.ToMove) {
		return max(int64(t.Canary)-t.Moved, 0), false
	}
	return -1, false
}

// tooMany reports whether more messages are dead again than the task allows.
func (t *MoveTask) tooMany() bool {
	dead := t.Dead - t.Forgiven
	return float64(dead) > t.HaltAbove*float64(t.Done+dead)
}

// TooMany returns the reason of a halt: how many messages are dead again.
func (t *MoveTask) TooMany() string {
	dead := t.Dead - t.Forgiven
	return fmt.Sprintf("%d of the %d that have ended are dead again, which is more than %g%%", dead, t.Done+dead, 100*t.HaltAbove)
}

// Pending returns how many messages a drained task waits for.
func (t *MoveTask) Pending() int64 {
	if t.Kind != MoveRedrive {
		return 0
	}
	return max(t.Moved-t.Done-t.Dead, 0)
}

// Drain records that nothing is left to move. It returns how the task ends, or "" while it
// waits for messages that it sent.
func (t *MoveTask) Drain() (end MoveState, failure string) {
	t.Drained = true
	switch {
	case t.Kind != MoveRedrive:
		return MoveCompleted, ""
	case t.Pending() > 0:
		return "", ""
	case t.tooMany():
		return MoveFailed, t.TooMany()
	}
	return MoveCompleted, ""
}

// Waits returns what a running task waits for; "" if it does not wait.
func (t *MoveTask) Waits() string {
	if t.State != MoveRunning || t.Pending() == 0 {
		return ""
	}
	if most, halt := t.Plan(); !t.Drained && (halt || most != 0) {
		return ""
	}
	what := fmt.Sprintf("%d of the %d messages that it sent: they are neither done nor dead again", t.Pending(), t.Moved)
	if !t.Drained {
		what = "its canary, " + what
	}
	return what
}
