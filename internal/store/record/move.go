package record

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/queue"
)

// canaryEvery is how often a task looks whether its canary has ended.
const canaryEvery = 250 * time.Millisecond

// How many move tasks are remembered.
const (
	KeptMoves  = 10   // of kind MoveSQS, of each source
	KeptTriage = 1000 // of all other kinds
)

// MaxLooked is how many letters one step of a task looks into that goes by what is
// within them.
const MaxLooked = 256

// BeginMove fills in what StartMove decides by itself, except what there is to
// move. last is the newest sequence number.
func BeginMove(t queue.MoveTask, last, now int64) queue.MoveTask {
	t.State, t.Started, t.Ended, t.Failure = queue.MoveRunning, Time(now), time.Time{}, ""
	t.Moved, t.Done, t.Dead, t.Forgiven = 0, 0, 0, 0
	t.Selection.Queue = cmp.Or(t.Selection.Queue, t.Source)
	t.Selection.Last = cmp.Or(t.Selection.Last, last)
	return t
}

// Turn says what a running task does now: how many messages it may move, at
// most limit, and when its next step is. next is when the last step allowed
// this one. A task that too many failed of halts.
func Turn(t *queue.MoveTask, next, now int64, limit int) (n int, then int64) {
	if t.Drained {
		DrainMove(t, now)
		return 0, now + canaryEvery.Microseconds()
	}
	most, halt := t.Plan()
	if halt {
		t.State, t.Failure = queue.MoveHalted, t.TooMany()
		return 0, now
	}
	if n, then = Pace(next, now, t.Rate, limit); n == 0 {
		return 0, then
	}
	if most == 0 {
		return 0, now + canaryEvery.Microseconds()
	}
	if most > 0 && int64(n) > most {
		n = int(most)
		then = now + int64(n)*1_000_000/int64(t.Rate)
	}
	return n, then
}

// Pace says how many messages a move task may move now, and when its next step
// is. next is when the last step allowed this one. A step moves what 100 ms
// allow, at least one message.
func Pace(next, now int64, rate, limit int) (n int, then int64) {
	if next > now {
		return 0, next
	}
	n = min(max(rate/10, 1), limit)
	return n, now + int64(n)*1_000_000/int64(rate)
}

// ChangeMove applies c to a task that is not over.
func ChangeMove(t *queue.MoveTask, c queue.MoveChange, now int64) error {
	if !t.State.Live() {
		return fmt.Errorf("move task %s is %s: %w", t.ID, t.State, queue.ErrMoveNotRunning)
	}
	switch c.State {
	case "":
	case queue.MoveRunning:
		if t.State == queue.MoveHalted {
			t.Forgiven = t.Dead
		}
		t.State, t.Failure = queue.MoveRunning, ""
	case queue.MovePaused:
		if t.State == queue.MoveRunning { // what has halted stays so: it moves nothing anyway
			t.State = queue.MovePaused
		}
	case queue.MoveCancelled:
		EndMove(t, queue.MoveCancelled, t.Failure, now)
	default:
		return fmt.Errorf("move task %s: State: %.20q is not a state to change to: %w", t.ID, c.State, queue.ErrInvalid)
	}
	if c.Rate < 0 || c.Rate > queue.MaxTriageRate {
		return fmt.Errorf("move task %s: Rate: %d is not within 1 to %d: %w", t.ID, c.Rate, queue.MaxTriageRate, queue.ErrInvalid)
	}
	if c.Rate > 0 {
		t.Rate = c.Rate
	}
	return nil
}

// DrainMove ends a task that has nothing left to move, unless it waits for what
// it sent.
func DrainMove(t *queue.MoveTask, now int64) {
	if end, failure := t.Drain(); end != "" {
		EndMove(t, end, failure, now)
	}
}

// EndMove ends a task.
func EndMove(t *queue.MoveTask, state queue.MoveState, failure string, now int64) {
	t.State, t.Failure, t.Ended = state, failure, Time(now)
}

// MoveTo is the queue that a task sends a message to, "" for nowhere.
func MoveTo(t *queue.MoveTask, l *queue.Letter) string {
	switch {
	case t.Kind == queue.MoveDiscard:
		return queue.TrashQueue
	case t.Kind == queue.MoveRestore:
		if l != nil && l.Discarded != nil {
			return l.Discarded.From
		}
		return ""
	case t.Destination != "":
		return t.Destination
	case l != nil:
		return l.Origin
	}
	return ""
}

// MayMove says whether a message of a FIFO queue, or of a standard one, can go
// to a queue of the kind. The trash takes all; what comes from there needs a
// group to be in a FIFO queue.
func MayMove(t *queue.MoveTask, from, to bool, group string) bool {
	switch t.Kind {
	case queue.MoveDiscard:
		return true
	case queue.MoveRestore:
		return !to || group != ""
	case queue.MoveSQS, queue.MoveRedrive:
	}
	return from == to
}

// MoveFailure is why a task cannot go on.
func MoveFailure(message, to string) string {
	if to == "" {
		return fmt.Sprintf("message %s came from no queue: name a destination", message)
	}
	return fmt.Sprintf("the destination %q of message %s is gone, or of the other kind", to, message)
}

// MayReplace says why a letter, in its state now, is not replaced, or nil.
func MayReplace(r queue.Replacement, l *queue.Letter, seq int64, state *lease.Lease, now int64) error {
	switch {
	case l.Discarded != nil:
		return fmt.Errorf("letter %.64q is in the trash: %w", r.Letter, queue.ErrLetterNotFound)
	case seq != r.Receipt.Sequence || state.Generation != r.Receipt.Generation:
		return fmt.Errorf("letter %.64q has changed since it was read: %w", r.Letter, queue.ErrConflict)
	case state.Locks(now):
		return fmt.Errorf("letter %.64q is in flight: %w", r.Letter, queue.ErrConflict)
	}
	return nil
}
