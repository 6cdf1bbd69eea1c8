package queue

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// The bounds of one call and one message.
const (
	MaxBatch        = 256 // entries of a call
	MaxAttributes   = 10
	MaxAttempts     = 16      // kept with a message, the newest
	MaxInFlight     = 120_000 // of one queue, with the named workers of one engine
	MaxInFlightFIFO = 20_000
	maxGroup        = 128
	MaxStderr       = 2048 // bytes of Outcome.Stderr
	maxReason       = 1024
)

// Attribute is one typed value beside a message's body.
type Attribute struct {
	DataType string `json:"t"` // String, Number or Binary, perhaps with a dot and a label
	String   string `json:"s,omitempty"`
	Binary   []byte `json:"b,omitempty"` // when DataType begins with Binary
}

// SendInput is a message to be sent.
type SendInput struct {
	Body       []byte
	Attributes map[string]Attribute
	System     map[string]Attribute // for fronts, such as AWSTraceHeader; not counted in the size
	Delay      *time.Duration       // nil: that of the queue; the only choice in FIFO queues
	Group      string               // FIFO: required; standard: a label
	Dedup      string               // FIFO: required unless the queue hashes bodies
	Priority   int                  // 0 to MaxPriority, higher first; not in FIFO queues
	Sender     string               // for people; at most 256 bytes
}

// Sent acknowledges one message.
type Sent struct {
	ID        string // for a duplicate, that of the first message
	Sequence  int64
	Duplicate bool
}

// SendResult is the result of one entry of a batch.
type SendResult struct {
	Sent
	Err error
}

// ReceiveInput holds the parameters of a receive.
type ReceiveInput struct {
	Max        int            // 1 to MaxBatch; 0 means 1
	Visibility *time.Duration // nil: that of the queue
	Wait       *time.Duration // nil: that of the queue
	Worker     string         // for the record of the attempt and [Engine.Vanished]; at most 256 bytes
	// Life tells two lives of a Worker apart. When a new life begins, messages that the
	// old one holds count as having killed it. At most 64 bytes; "" if the worker does not
	// say.
	Life string
	// Attempt, unless "", marks a repeated receive whose answer was lost, within five
	// minutes. It returns the same messages, as far as their deliveries go on, and renews
	// their leases. Only the engine that answered the first one knows them. At most 128
	// bytes.
	Attempt string
}

// Message is a message that was received or peeked.
type Message struct {
	ID            string
	Body          []byte
	Attributes    map[string]Attribute
	System        map[string]Attribute
	Group         string
	Dedup         string
	Sequence      int64 // grows within a queue
	Priority      int
	Sender        string
	Sent          time.Time
	FirstReceived time.Time // zero: never
	Receives      int       // this one included
	Receipt       Receipt   // of this delivery; zero if the message was peeked
	VisibleAt     time.Time // when the lease or the delay ends
	InFlight      bool
	Attempts      []Attempt // earlier ones that failed, oldest first
	Letter        *Letter   // of a dead letter
	Lineage       *Lineage  // of a message that was a dead letter before
	Payload       bezoar.Fingerprint
	Alone         bool // it is a suspect: its worker gets nothing else meanwhile
	Damaged       bool // body and attributes differ from what was sent: the store has found a flipped bit. The message is never received
}

// Outcome says how an attempt ended, as reported by its worker or by the queue.
type Outcome struct {
	Class   bezoar.Class `json:"class"`
	Failure string       `json:"failure,omitempty"` // failure fingerprint
	Reason  string       `json:"reason,omitempty"`  // for people
	// Detail says how the process ended, such as "signal: killed". Stderr is the end of
	// its output, at most MaxStderr bytes.
	Detail string `json:"detail,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Attempt is one delivery that did not end in a deletion.
type Attempt struct {
	Received time.Time `json:"received"`
	Ended    time.Time `json:"ended"`
	Worker   string    `json:"worker,omitempty"`
	Life     int       `json:"life,omitempty"` // 1: before the message was first sent again, and so on; 0: the current life
	Outcome
}

// Change is a change of one delivery before its message is done.
type Change struct {
	Receipt Receipt
	For     time.Duration // from now: the length of the lease, or after Release the delay
	Release bool          // the delivery is over: its receipt becomes void
	Refund  bool          // with Release: do not count the receive
	Dead    bool          // with Release: move it to the dead-letter queue at once
	// Withheld, with Release, says that the message was received and not delivered. It may
	// be released even if its lease is over.
	Withheld bool
	Outcome  *Outcome // with Release: stored as an attempt, and judged
	Holding  int      // with Outcome: see [ReleaseInput]
	Weak     bool     // likewise
	// Backoff, with Release, returns how long the message waits beyond For. Its arguments
	// are the number of receives and the last wait. It must be pure.
	Backoff func(receives int, last time.Duration) time.Duration
	// Attempts and MaxAge, with Release and if not 0, set the message aside after so many
	// receives, or if its next delivery would come later than MaxAge after its sending.
	Attempts int
	MaxAge   time.Duration
}

// Counts says how many messages a queue has.
type Counts struct {
	Visible  int64
	InFlight int64
	Delayed  int64
	Oldest   time.Duration // age of the oldest message; 0 if the queue is empty
}

// Receipt identifies one delivery of one message. The zero Receipt identifies none.
type Receipt struct {
	Queue      int64 // Queue.ID
	Bucket     int64 // of the content of the queue: each purge begins a new one
	Sequence   int64
	Generation int64
}

const receiptVersion = 1

// String returns the opaque form that ParseReceipt reads.
func (r Receipt) String() string {
	raw := []byte{receiptVersion}
	for _, n := range []int64{r.Queue, r.Bucket, r.Sequence, r.Generation} {
		raw = binary.AppendUvarint(raw, uint64(n))
	}
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParseReceipt reads the result of String. It rejects typing errors and garbage. It does
// not prove who made the receipt.
func ParseReceipt(s string) (Receipt, error) {
	bad := fmt.Errorf("receipt %.80q: %w", s, ErrReceiptInvalid)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) < 9 || raw[0] != receiptVersion {
		return Receipt{}, bad
	}
	content, sum := raw[:len(raw)-4], raw[len(raw)-4:]
	if crc32.ChecksumIEEE(content) != binary.BigEndian.Uint32(sum) {
		return Receipt{}, bad
	}
	var r Receipt
	rest := content[1:]
	for _, n := range []*int64{&r.Queue, &r.Bucket, &r.Sequence, &r.Generation} {
		v, size := binary.Uvarint(rest)
		if size <= 0 || v > 1<<62 {
			return Receipt{}, bad
		}
		*n, rest = int64(v), rest[size:]
	}
	if len(rest) > 0 || r.String() != s {
		return Receipt{}, bad
	}
	return r, nil
}
