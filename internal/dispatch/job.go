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

// Work describes a piece of work to the dispatcher. It has nothing of the wire: neither protocol nor bytes.
type Work struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint
	Client      bezoar.Fingerprint // zero if callers are not told apart
	Traits      blame.Traits       // details of what the caller sent; nil: unknown. Must be readable until the call returns
	// Replayable says that the work may run again after its first byte has left: an idempotent method, an Idempotency-Key,
	// or a route with replay: all, and a body that is held completely.
	Replayable bool
	Rule       *blame.Rule   // of conviction; nil: the ledger's; must outlive the call
	Retry      *Retry        // bounds and budget; nil: the dispatcher's
	Off        bool          // no quarantine: never isolated, refused or replayed
	Route      string        // for verdicts and events
	Timeout    time.Duration // until the answer begins; 0: the dispatcher's default

	// Deadline is the caller's: no wait or attempt starts or continues past it. Zero means none.
	Deadline time.Time
	Caller   uint64         // hash of the caller; 0 if callers are not told apart
	Shard    int            // number of workers in the caller's shard; 0: the whole fleet
	Cells    int            // number of fixed parts of the fleet, one of which is the caller's; 0: none
	Overflow fleet.Overflow // when the caller may use other workers
	Sticky   uint64         // a hash that chooses the worker instead of the caller's shard, while that worker takes work; 0: the load chooses
	Budget   *CallerBudgets // of retries, by Caller, in addition to Retry's; nil: none

	Now time.Time // the current time, if the caller has just asked the clock; zero: unknown
}

// Job is the wire of one piece of work. The dispatcher calls Connect and Send from one goroutine, in pairs, once per
// attempt.
type Job interface {
	// Connect gets a connection to t.Worker: a kept one or a new one. It must not send any byte of the work. An error is
	// the worker's fault, not the work's. If it waits, it sets t.Now to zero.
	Connect(ctx context.Context, t *Target) error
	// Drop closes the connection from Connect if Send will not follow.
	Drop()
	// Send sends the work over the connection from Connect, exactly once, and streams the answer to the caller. It returns
	// when the answer is complete or something has failed, and must have released or closed the connection by then. It
	// returns by t.Deadline (if not zero) unless the answer has begun.
	Send(ctx context.Context, t *Target) Result
	// Gone reports whether the caller has left. It is called once a second while the work waits for a worker.
	Gone() bool
	// Sample describes the work for people in one line of at most 200 bytes, without secrets: "GET /search?q=…". Called
	// rarely.
	Sample() string
	// Keep returns a redacted, bounded copy of the work for a dead letter. Called only if the work is set aside.
	Keep() bezoar.Request
}

// StreamWaiter may be implemented by a [Job]. WaitsForStream is called while the work waits for a copy whose answer has begun
// and is not complete: it uses no worker meanwhile, and may be called again.
type StreamWaiter interface{ WaitsForStream() }

// Target is the target of one attempt.
type Target struct {
	Worker   *fleet.Worker
	Epoch    uint64
	Lane     bool      // alone in the lane
	Deadline time.Time // deadline for the beginning of the answer; zero: none
	By       time.Time // the caller's deadline; zero: none
	Attempt  int       // number of this delivery, from 1
	// Now is the current time before Connect; zero: unknown. Connect sets it to zero if it waits.
	Now time.Time

	sent   time.Time
	took   time.Duration // time until Begun; 0 before
	ledger *ledger.Ledger
	ticket blame.Ticket
	began  *atomic.Bool // for the lane; nil in the fleet
	fleet  *fleet.Fleet
	stream bool
}

// Begun must be called by Send when the head of the answer has arrived completely, before it is passed on.
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

// Stream may be called by Send, after Begun, if the answer is a stream: it may go on without limit, and does not count as
// work of the worker.
func (t *Target) Stream() {
	if t.fleet != nil && !t.stream {
		t.stream = t.fleet.Stream(t.Worker)
	}
}

func (t *Target) endStream() {
	if t.stream {
		t.stream = false
		t.fleet.EndStream(t.Worker)
	}
}

// Fault says what ended an attempt.
type Fault int

// The faults.
const (
	NoFault     Fault = iota
	Unsent            // the connection failed before the kernel took any byte of the work
	BrokenConn        // EOF, reset or a short answer after the first byte left
	BadAnswer         // the worker answered, but not in its protocol
	OverdueHead       // the answer had not begun by Target.Deadline
	CallerGone        // the caller hung up or its upload failed
	Unfit             // the work cannot be sent to any worker, and no byte of it was
)

// Result is how one attempt ended on the wire.
type Result struct {
	Fault  Fault
	Begun  bool      // part of the answer has reached the caller: nothing can be replayed
	Status int       // of the answer, 0 when there was none
	Err    error     // the cause, for logs
	At     time.Time // when all of the answer had been sent; zero where that was not noted
}

// Kind is the kind of an [Answer].
type Kind int

// The kinds.
const (
	Answered    Kind = iota // the answer has been streamed to the caller
	Refused                 // quarantined; Verdict says why
	Unavailable             // no worker, or the lane is full: come back later
	Failed                  // it broke and must not run again (502)
	TimedOut                // overdue (504)
	Aborted                 // the caller has left
	Cut                     // the answer broke after it had begun: cut the caller's connection
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

// Answer is the dispatcher's final result for a piece of work.
type Answer struct {
	Kind       Kind
	Verdict    *bezoar.Verdict // for Refused
	RetryAfter time.Duration   // for Refused and Unavailable
	Reason     string          // for people; names the cause
	Rule       string          // the rule that refused it, one of the Rule constants; "": none
	Attempts   int             // number of deliveries
	Crashed    bool            // the last attempt ended with the death of its worker
	Result     Result          // of the last attempt
}
