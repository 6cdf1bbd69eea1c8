package queue

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/state/marks"
)

// Code is the stable name of an error, and the error itself: errors.Is(err,
// queue.ErrQueueNotFound).
type Code string

// The errors that callers tell apart. Fronts map them to their own codes.
const (
	ErrQueueNotFound    Code = "queue-not-found"
	ErrQueueExists      Code = "queue-exists"          // with other settings
	ErrInvalid          Code = "invalid-argument"      // the text names the field
	ErrTooLarge         Code = "message-too-large"     // beyond the queue's MaxBytes
	ErrReceiptInvalid   Code = "receipt-invalid"       // not a receipt of this queue
	ErrReceiptStale     Code = "receipt-stale"         // the message was received again, or released, since
	ErrReceiptExpired   Code = "receipt-expired"       // FIFO: the lease is over
	ErrMessageGone      Code = "message-gone"          // deleted, expired, purged or moved
	ErrVisibilityTotal  Code = "visibility-beyond-max" // more than MaxVisibility since the receive
	ErrNoDeadLetter     Code = "no-dead-letter-queue"  // a rejected message has nowhere to go
	ErrMoveNotFound     Code = "move-task-not-found"
	ErrMoveRunning      Code = "move-task-running"     // one at a time for each source
	ErrMoveNotRunning   Code = "move-task-not-running" // nothing to cancel
	ErrNotDeadLetter    Code = "not-a-dead-letter-queue"
	ErrDeadLetterRefuse Code = "dead-letter-refused" // the target's allow policy does not name the source
	ErrLetterNotFound   Code = "letter-not-found"
	ErrSchema           Code = "schema-violated" // the text names rule and path
	ErrOverLimit        Code = "over-limit"      // too many messages of the queue are in flight
	ErrConflict         Code = "conflict"        // changed meanwhile by somebody else
	ErrNoTx             Code = "no-transaction"  // the store cannot send in that transaction
	ErrNoSpace          Code = "no-space"        // the disk of the store is full
	ErrNoAnswer         Code = "no-answer"       // the database of the store does not answer
)

// Error returns the code in words.
func (c Code) Error() string { return strings.ReplaceAll(string(c), "-", " ") }

// Is makes ErrConflict equal to the error of package marks.
func (c Code) Is(target error) bool { return c == ErrConflict && target == marks.ErrConflict }

// CodeOf returns the code that err wraps, or "".
func CodeOf(err error) Code {
	code, _ := errors.AsType[Code](err)
	return code
}

func invalid(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, ErrInvalid)...)
}
