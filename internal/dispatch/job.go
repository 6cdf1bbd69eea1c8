package dispatch

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Work is what the dispatcher needs to know of a piece of work. It never sees
// the wire: not the protocol, not the bytes.
type Work struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint
	Client      bezoar.Fingerprint // zero when callers are not told apart
	Traits      blame.Traits       // what the caller sent in finer grain; nil: nothing is known. Readable until the call returns
	// Replayable says that the work may run again after its first byte has
	// left: an idempotent method, an Idempotency-Key, or a route that says
	// replay: all, with a body that is held whole.
	Replayable bool
	Rule       *blame.Rule   // of conviction; nil means the ledger's; must outlive the call
	Retry      *Retry        // bounds and budget; nil means the dispatcher's
	Off        bool          // no quarantine: never isolated, refused or replayed
	Route      string        // for verdicts and events
	Timeout    time.Duration // until the answer begins; 0 means the dispatcher's default

	// Deadline is the caller's own: no wait or attempt starts or continues past it.
	// Zero means none.
	Deadline time.Time
	Caller   uint64         // a hash of who calls; 0 when callers are not told apart
	Shard    int            // of how many workers the caller's shard is; 0 means the whole fleet
	Cells    int            // fixed parts of the fleet, one of which is the caller's; 0 means none
	Overflow fleet.Overflow // when the caller may use other workers
	Sticky   uint64         // a hash that chooses the worker, in place of the caller's shard, while that takes work; 0: load chooses
	Budget   *CallerBudgets // of retries, by Caller, beside Retry's; nil means none
}

// Job is one piece of work on its wire. The dispatcher calls Connect and Send
// from one goroutine, in pairs, once per attempt.
type Job interface {
	// Connect readies a connection to t.Worker: one kept alive or a fresh one.
	// No byte of the work may leave. An error costs the worker, not the work.
	Connect(ctx context.Context, t *Target) error
	// Drop closes what Connect readied when Send is not going to follow.
	Drop()
	// Send sends the work over what Connect readied, exactly once, and streams
	// the answer to the caller. It returns when the answer is complete or
	// something failed, and has put back or closed the connection by then. It
	// returns by t.Deadline (when not zero) unless the answer has begun.
	Send(ctx context.Context, t *Target) Result
	// Gone reports whether nobody wants the answer any more. It is asked once a
	// second while the work waits for a worker.
	Gone() bool
	// Sample describes the work in one line of at most 200 bytes, without
	// secrets, for people: "GET /search?q=…". Called rarely.
	Sample() string
	// Keep returns the redacted, bounded copy of the work for a dead letter.
	// Called only when the work is set aside.
	Keep() bezoar.Request
}

// Target is where one attempt goes.
type Target struct {
	Worker   *fleet.Worker
	Epoch    uint64
	Lane     bool      // alone in the lane
	Deadline time.Time // by when the answer must begin; zero means never
	By       time.Time // the caller's own deadline; zero means none
	Attempt  int       // which delivery of the work this is, from 1

	sent   time.Time
	took   time.Duration // from then to Begun; 0 before
	ledger *ledger.Ledger
	ticket blame.Ticket
	began  *atomic.Bool // for the lane; nil in the fleet
	fleet  *fleet.Fleet
	stream bool
}

// Begun must be called by Send when the head of the answer has arrived whole,
// before it is passed on.
func (t *Target) Begun(now time.Time) {
	if t.ledger != nil {
		t.ledger.Begun(now, t.ticket)
	}
	if t.began != nil {
		t.began.Store(true)
		return
	}
	t.took = now.Sub(t.sent)
}

// Stream may be called by Send, after Begun, when the answer is a stream: it may go on
// for as long as it likes, and is no work for the worker meanwhile.
func (t *Target) Stream() {
	if t.fleet != nil && !t.stream {
		t.stream = t.fleet.Stream(t.Worker)
	}
}

// endStream ends what Stream began.
func (t *Target) endStream() {
	if t.stream {
		t.stream = false
		t.fleet.EndStream(t.Worker)
	}
}

// Fault says what stopped an attempt.
type Fault int

// The faults.
const (
	NoFault     Fault = iota
	Unsent            // the connection failed before the kernel took one byte of the work
	BrokenConn        // EOF, reset or a short answer after the first byte left
	BadAnswer         // the worker answered, but not in its protocol
	OverdueHead       // the answer had not begun by Target.Deadline
	CallerGone        // the caller hung up or its upload failed
	Unfit             // the work cannot be sent to any worker, and nothing of it was
)

// Result is how one attempt ended, as the wire saw it.
type Result struct {
	Fault  Fault
	Begun  bool      // part of the answer has reached the caller: nothing can be replayed
	Status int       // of the answer, 0 when there was none
	Err    error     // the cause, for logs
	At     time.Time // when all of the answer had been sent; zero where that was not noted
}

// Kind is what became of the work.
type Kind int

// The kinds of [Answer].
const (
	Answered    Kind = iota // the answer has been streamed to the caller
	Refused                 // quarantined; Verdict says why
	Unavailable             // no worker, or the lane is full: come back later
	Failed                  // it broke and may not run again (502)
	TimedOut                // overdue (504)
	Aborted                 // the caller is gone
	Cut                     // the answer broke after it had begun: hang up on the caller
)

// The rules that refuse work, for [Answer].Rule.
const (
	RuleQuarantine  = "quarantine"
	RuleUnavailable = "unavailable" // no worker could be had in time
	RuleLane        = "lane"        // it must run alone, and the lane is full
	RuleDuplicate   = "duplicate"   // an identical copy goes first, and takes long
	RulePace        = "pace"        // what it belongs to has killed: unproven work of it runs slowly
	RuleBudget      = "retry_budget"
	RuleDeadline    = "deadline" // the caller's
)

// Answer is the dispatcher's last word on a piece of work.
type Answer struct {
	Kind       Kind
	Verdict    *bezoar.Verdict // for Refused
	RetryAfter time.Duration   // for Refused and Unavailable
	Reason     string          // for people; names the rule
	Rule       string          // which rule refused it, one of the Rule words; "" when none did
	Attempts   int             // deliveries made
	Crashed    bool            // the last attempt ended with the death of its worker
	Result     Result          // of the last attempt
}
