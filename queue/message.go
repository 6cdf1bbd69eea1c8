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
	Delay      *time.Duration       // nil: the queue's; FIFO queues have only that
	Group      string               // FIFO: required; standard: a label
	Dedup      string               // FIFO: required unless the queue hashes bodies
	Priority   int                  // 0 to MaxPriority, higher first; not in FIFO queues
	Sender     string               // who, at most 256 bytes
}

// Sent acknowledges one message.
type Sent struct {
	ID        string // of the message that was there, for a duplicate
	Sequence  int64
	Duplicate bool
}

// SendResult is what became of one entry of a batch.
type SendResult struct {
	Sent
	Err error
}

// ReceiveInput says how to receive.
type ReceiveInput struct {
	Max        int            // 1 to MaxBatch; 0 means 1
	Visibility *time.Duration // nil: the queue's
	Wait       *time.Duration // nil: the queue's
	Worker     string         // who, for the attempt's record and [Engine.Vanished]; at most 256 bytes
	// Life tells one life of the Worker from its next one: where a new one
	// begins, what the one before holds has killed it. At most 64 bytes; "" if
	// the worker does not say.
	Life string
	// Attempt, unless "", tells that a receive is repeated whose answer was
	// lost, within five minutes: it returns the same messages, as far as their
	// deliveries go on, with their leases begun anew. Only the engine that
	// answered knows. At most 128 bytes.
	Attempt string
}

// Message is a message as it is received or looked at.
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
	Receipt       Receipt   // of this delivery; zero when looked at
	VisibleAt     time.Time // when the lease or the delay is over
	InFlight      bool
	Attempts      []Attempt // earlier ones that did not end well, oldest first
	Letter        *Letter   // of a dead letter
	Lineage       *Lineage  // of a message that was a dead letter before
	Payload       bezoar.Fingerprint
	Alone         bool // received as a suspect: nothing else goes to its worker meanwhile
	Damaged       bool // body and attributes are not as they were sent: the store has found a flipped bit. It is never received
}

// Outcome is how an attempt ended, as its worker or the queue tells it.
type Outcome struct {
	Class   bezoar.Class `json:"class"`
	Failure string       `json:"failure,omitempty"` // failure fingerprint
	Reason  string       `json:"reason,omitempty"`  // for people
	// Detail is how the process ended, such as "signal: killed", and Stderr
	// what it wrote last: the end of it, at most MaxStderr bytes.
	Detail string `json:"detail,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

// Attempt is one delivery that did not end in a deletion.
type Attempt struct {
	Received time.Time `json:"received"`
	Ended    time.Time `json:"ended"`
	Worker   string    `json:"worker,omitempty"`
	Life     int       `json:"life,omitempty"` // 1 is before it was first sent again, and so on; 0: the last one
	Outcome
}

// Change is what happens to one delivery before its message is done.
type Change struct {
	Receipt Receipt
	For     time.Duration // from now: the lease, or after Release the delay
	Release bool          // the delivery is over: its receipt is void
	Refund  bool          // with Release: the receive does not count
	Dead    bool          // with Release: to the dead-letter queue at once
	// Withheld, with Release, says that the message was received and not delivered: it
	// does not matter that its lease is over.
	Withheld bool
	Outcome  *Outcome // with Release: recorded as an attempt, and judged
	Holding  int      // with Outcome: see [ReleaseInput]
	Weak     bool     // likewise
	// Backoff, with Release, says how long the message waits beyond For, from
	// the number of its receives and its last wait. It must be pure.
	Backoff func(receives int, last time.Duration) time.Duration
	// Attempts and MaxAge, with Release and unless 0, set the message aside
	// when it has been received so often, or when its next delivery would
	// come later than MaxAge after its sending.
	Attempts int
	MaxAge   time.Duration
}

// Counts says how many messages a queue holds.
type Counts struct {
	Visible  int64
	InFlight int64
	Delayed  int64
	Oldest   time.Duration // age of the longest kept; 0 when empty
}

// Receipt names one delivery of one message. The zero Receipt names none.
type Receipt struct {
	Queue      int64 // Queue.ID
	Bucket     int64 // of the queue's content: a purge begins a new one
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

// ParseReceipt reads what String wrote. It finds slips and garbage; it proves
// nothing about who made it.
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
