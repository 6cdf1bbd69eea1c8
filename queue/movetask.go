package queue

import "time"

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
// halts; it may be resumed.
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
	dead := t.Dead - t.Forgiven
	ended := t.Done + dead
	least := int64(minJudged)
	if t.Canary > 0 {
		least = min(int64(t.Canary), max(t.ToMove, 1))
	}
	if ended >= least && float64(dead) > t.HaltAbove*float64(ended) {
		return 0, true
	}
	if t.Canary > 0 && t.Done+t.Dead < min(int64(t.Canary), t.ToMove) {
		return max(int64(t.Canary)-t.Moved, 0), false
	}
	return -1, false
}
