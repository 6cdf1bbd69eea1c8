package queue

import "time"

// MoveState is where a move task stands.
type MoveState string

// The states. Only MoveRunning changes.
const (
	MoveRunning   MoveState = "running"
	MoveCompleted MoveState = "completed"
	MoveCancelled MoveState = "cancelled"
	MoveFailed    MoveState = "failed"
)

// MaxMoveRate bounds a move task's messages each second; it is also the rate
// of a task that names none.
const MaxMoveRate = 500

// MoveTask sends dead letters on: each gets a new ID, the time of the move as
// its time of sending, and no receives. It moves what was in the source when it
// started and is not in flight when its turn comes. Its progress is kept in the
// same transaction as each move: it goes on after a crash where it was.
type MoveTask struct {
	ID          string
	Source      string
	Destination string // "" means the queue each letter came from
	Rate        int    // messages each second, 1 to MaxMoveRate
	State       MoveState
	Failure     string // why it failed
	Started     time.Time
	Moved       int64
	ToMove      int64 // when it started
}
