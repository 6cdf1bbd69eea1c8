package record

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
)

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

// MoveFailure is why a task cannot go on.
func MoveFailure(message, to string) string {
	if to == "" {
		return fmt.Sprintf("message %s came from no queue: name a destination", message)
	}
	return fmt.Sprintf("the destination %q of message %s is gone, or of the other kind", to, message)
}

// NewID names a message that a store makes itself: a random UUID.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
