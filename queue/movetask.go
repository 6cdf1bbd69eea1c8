package queue

import (
	"fmt"
	"time"
)

// MoveState is where a move task stands.
type MoveState string

// The states. A task that is running, paused or halted may go on; the others
// are over.
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

// MoveKind is what a task does with letters.
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
	MaxMoveRate   = 500    // of kind MoveSQS, and its rate when none is named
	MaxTriageRate = 10_000 // of other kinds
)

// MoveTask sends dead letters on. By redrive each becomes a new message: with a
// new ID, the time of the move as its time of sending, no receives, and its
// lineage. A task moves what was there when it started (its Selection) and is
// not in flight when its turn comes. Its progress is kept in the same
// transaction as each move: it goes on after a crash where it was.
//
// A redrive with a canary moves that many first and waits until they are done or
// dead again. When more than HaltAbove of those that have ended are dead, it
// halts; it may be resumed. A redrive has completed when all that it sent has
// ended and no more than HaltAbove are dead again; with more it has failed.
type MoveTask struct {
	ID          string
	Kind        MoveKind
	Source      string // TrashQueue for MoveRestore
	Destination string // "" means the queue each letter came from
	Selection   Selection
	Rate        int     // messages each second
	Canary      int     // how many go first; 0: none
	HaltAbove   float64 // share that may be dead again, 0 to 1; 1: never halts
	State       MoveState
	Failure     string // why it failed or halted
	Actor       string // who started it
	Reason      string // and why
	Started     time.Time
	Ended       time.Time // zero while it is not over
	Moved       int64
	ToMove      int64 // when it started
	Done        int64 // of those redriven, worked
	Dead        int64 // of those redriven, dead again
	// Forgiven are the dead of before it was last resumed after a halt, which
	// do not count for HaltAbove.
	Forgiven int64
	// Drained says that nothing is left to move: a redrive that is still
	// running waits until all that it sent has ended.
	Drained bool
}

// MoveChange changes a task; zero fields change nothing.
type MoveChange struct {
	State MoveState // MovePaused, MoveRunning (to resume) or MoveCancelled
	Rate  int
}

// minJudged is how many have to have ended before HaltAbove is looked at, when
// there is no canary.
const minJudged = 5

// Plan says what a running task may do next, by its counts alone: how many
// messages it may move at most (-1: no bound of its own), or why it halts.
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

// tooMany reports whether more are dead again than the task allows.
func (t *MoveTask) tooMany() bool {
	dead := t.Dead - t.Forgiven
	return float64(dead) > t.HaltAbove*float64(t.Done+dead)
}

// TooMany says how many are dead again when these are too many.
func (t *MoveTask) TooMany() string {
	dead := t.Dead - t.Forgiven
	return fmt.Sprintf("%d of the %d that have ended are dead again, which is more than %g%%", dead, t.Done+dead, 100*t.HaltAbove)
}

// Pending says how many a drained task waits for.
func (t *MoveTask) Pending() int64 {
	if t.Kind != MoveRedrive {
		return 0
	}
	return max(t.Moved-t.Done-t.Dead, 0)
}

// Drain notes that nothing is left to move, and says how the task ends; "" while
// it waits for what it sent.
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

// Waits says what keeps a running task from going on, "" for nothing.
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
