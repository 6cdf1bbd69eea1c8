package record

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/internal/queue/lease"
	"github.com/bezoar-dev/bezoar/queue"
)

// canaryEvery is the interval at which a task checks whether its canary has ended.
const canaryEvery = 250 * time.Millisecond

// Numbers of move tasks that are kept.
const (
	KeptMoves  = 10   // of kind MoveSQS, per source
	KeptTriage = 1000 // of all other kinds together
)

// MaxLooked is the number of letters that one step of a task with content conditions reads.
const MaxLooked = 256

// BeginMove fills in what StartMove determines by itself, except the amount to move. last
// is the newest sequence number.
func BeginMove(t queue.MoveTask, last, now int64) queue.MoveTask {
	t.State, t.Started, t.Ended, t.Failure = queue.MoveRunning, Time(now), time.Time{}, ""
	t.Moved, t.Done, t.Dead, t.Forgiven = 0, 0, 0, 0
	t.Selection.Queue = cmp.Or(t.Selection.Queue, t.Source)
	t.Selection.Last = cmp.Or(t.Selection.Last, last)
	return t
}

// Turn returns how many messages a running task may move now, at most limit, and the time
// of its next step. next is the time that the previous step set for this one. A task with
// too many failures halts.
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

// Pace returns how many messages a move task may move now, and the time of its next step.
// next is the time that the previous step set for this one. A step moves the amount for 100
// ms, at least one message.
func Pace(next, now int64, rate, limit int) (n int, then int64) {
	if next > now {
		return 0, next
	}
	n = min(max(rate/10, 1), limit)
	return n, now + int64(n)*1_000_000/int64(rate)
}

// ChangeMove applies c to a task that has not ended.
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
		if t.State == queue.MoveRunning { // a halted task stays halted and moves nothing
			t.State = queue.MovePaused
		}
	case queue.MoveCancelled:
		EndMove(t, queue.MoveCancelled, t.Failure, now)
	default:
		return fmt.Errorf("move task %s: State: cannot change to %.20q: %w", t.ID, c.State, queue.ErrInvalid)
	}
	if c.Rate < 0 || c.Rate > queue.MaxTriageRate {
		return fmt.Errorf("move task %s: Rate: %d is not between 1 and %d: %w", t.ID, c.Rate, queue.MaxTriageRate, queue.ErrInvalid)
	}
	if c.Rate > 0 {
		t.Rate = c.Rate
	}
	return nil
}

// DrainMove ends a task with nothing left to move, unless it waits for the outcomes of what
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

// MoveTo returns the queue to which a task sends a message; empty: none.
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

// MayMove returns an error if a message of a FIFO or standard queue cannot go to a queue of
// this kind. The trash accepts all messages. A message from the trash needs a group to
// enter a FIFO queue.
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

// MoveFailure returns the reason why a task cannot continue.
func MoveFailure(message, to string) string {
	if to == "" {
		return fmt.Sprintf("message %s came from no queue: name a destination", message)
	}
	return fmt.Sprintf("the destination %q of message %s is gone, or of the other kind", to, message)
}

// MayReplace returns the reason why a letter in its current state cannot be replaced, or
// nil.
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
