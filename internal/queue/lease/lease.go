package lease

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
	"github.com/bezoar-dev/bezoar/queue"
)

// Hold is the reason why a message cannot be received before its time.
type Hold int

// The holds. After its time, a message is visible whatever its hold was.
const (
	Ready  Hold = iota // delayed, if its time is in the future
	Leased             // in flight
	Held               // released with a delay; its group waits for it
)

// Lease is the state on which the rules of delivery decide. Times are microseconds since 1970 by the store's clock. Stores
// keep the lease; the rules are here, so that all stores behave the same.
type Lease struct {
	Generation    int64
	Hold          Hold
	Visible       int64 // when the hold ends
	Due           int64 // when it must be set aside because its receives are used up; 0: never
	Receives      int
	Sent          int64
	Received      int64 // time of the last receive
	FirstReceived int64 // 0: never received
	Worker        string
	Holding       int // how many messages its worker held when it vanished; 0: it did not vanish
	Payload       bezoar.Fingerprint
	Brief         bool // its body is brief: see [queue.Brief]; known where it is received
	Letter        bool // it is a dead letter: it is not checked for poison
	History       []queue.Attempt
}

// Exhausted reports whether one more receive would exceed the limit.
func (l *Lease) Exhausted(p queue.Policy) bool {
	return p.MaxReceives > 0 && l.Receives >= p.MaxReceives
}

// Locks reports whether the message blocks its group.
func (l *Lease) Locks(now int64) bool { return l.Hold != Ready && l.Visible > now }

// Judged reports whether the case of the message's payload matters.
func (l *Lease) Judged(p queue.Policy) bool {
	return !p.Poison.Off && !l.Letter && !l.Payload.IsZero()
}

// Step is the action of a receive for one visible message.
type Step uint8

// The steps.
const (
	Pass  Step = iota // leave it; store the lease, which may have changed
	Give              // deliver it; store the lease
	Only              // as Give, and pick no other message
	Defer             // it is due: store the lease, and Sweep has work
	Bury              // set it aside: Die creates the letter
)

// Ruling is the decision of a rule.
type Ruling struct {
	Step  Step
	Case  *poison.Case   // the payload's new case; nil for none
	Cause *queue.Outcome // of a letter, if it differs from the last attempt's
}

// Together reports whether copies may run at the same time although nothing is proven: messages with a brief body may mean
// different work, and this payload is not suspected.
func (l *Lease) Together(k *poison.Case) bool {
	return l.Brief && (k == nil || k.State == poison.Watched)
}

// Receive decides about one visible message, and begins its delivery if it may. k is the case of its payload. copied says
// that a copy is in flight or has just been given, first that no message has been given yet. k and copied are used only if
// Judged.
//
// If a copy's lease is over and its delivery was not ended, the caller must first call Expire for it: the cause of its
// worker's death must be known before another copy is delivered. If k is Watched and Proven, this may be omitted for copies
// whose worker has not vanished.
func (l *Lease) Receive(c queue.Claim, k *poison.Case, copied, first bool, now int64) Ruling {
	k, dead := l.Expire(c.Policy, k)
	if dead {
		return Ruling{Step: Bury, Case: k}
	}
	if l.Exhausted(c.Policy) {
		l.Due = max(now, 1)
		return Ruling{Step: Defer, Case: k}
	}
	admission, seen := poison.Deliver, k
	if l.Brief {
		copied, seen = copied && !l.Together(k), k.Brief()
	}
	if l.Judged(c.Policy) {
		admission = c.Poison.Admit(seen, copied, first, now)
	}
	switch admission {
	case poison.Wait:
		if k == nil {
			w := poison.Watch(now)
			k = &w
		}
		return Ruling{Step: Pass, Case: k}
	case poison.Refuse:
		return Ruling{Step: Bury, Case: k, Cause: refusal(seen)}
	case poison.Alone:
		l.begin(c, now)
		return Ruling{Step: Only, Case: k}
	case poison.Deliver:
	}
	l.begin(c, now)
	return Ruling{Step: Give, Case: k}
}

func (l *Lease) begin(c queue.Claim, now int64) {
	l.Generation++
	l.Hold, l.Receives, l.Received, l.Worker, l.Holding = Leased, l.Receives+1, now, c.Worker, 0
	if l.FirstReceived == 0 {
		l.FirstReceived = now
	}
	l.until(now+c.Visibility.Microseconds(), c.Policy)
}

func refusal(k *poison.Case) *queue.Outcome {
	return &queue.Outcome{Class: k.Class, Failure: k.Failure, Reason: fmt.Sprintf(
		"not delivered: its payload is quarantined until %s: %s", instant(k.Until).Format(time.RFC3339), k.Reason)}
}

// Expire ends a delivery whose lease has run out. It records an attempt, and judges the payload if the worker had vanished.
// It returns the payload's new case, and whether the message must be set aside.
func (l *Lease) Expire(p queue.Policy, k *poison.Case) (*poison.Case, bool) {
	if l.Hold != Leased {
		return k, false
	}
	o := queue.Outcome{Class: bezoar.Timeout, Reason: "the lease ended before the message was deleted"}
	holding, lone := l.Holding, l.Holding > queue.LoneHolding
	if lone {
		holding -= queue.LoneHolding
	}
	if holding > 0 {
		o.Class, o.Reason = bezoar.Crash, queue.ReasonVanished
		if holding > 1 {
			o.Reason = fmt.Sprintf("%s while it held %d messages", queue.ReasonVanished, holding)
		}
	}
	l.attempt(l.Visible, o)
	l.Hold, l.Holding = Ready, 0
	if holding == 0 || !l.Judged(p) {
		return k, false
	}
	return p.Poison.Fail(k, poison.End{Class: o.Class, Reason: o.Reason, Holding: holding, Lone: lone, Received: l.Received}, l.Visible)
}

func (l *Lease) attempt(ended int64, o queue.Outcome) {
	l.History = append(slices.Clip(l.History), queue.Attempt{
		Received: instant(l.Received), Ended: instant(ended), Worker: l.Worker, Outcome: o,
	})
	if n := len(l.History) - queue.MaxAttempts; n > 0 {
		l.History = l.History[n:]
	}
}

func (l *Lease) until(visible int64, p queue.Policy) {
	l.Visible, l.Due = visible, 0
	if l.Exhausted(p) {
		l.Due = visible
	}
}

// MayDelete returns why a deletion cannot end the delivery, or nil.
func (l *Lease) MayDelete(r queue.Receipt, fifo bool, now int64) error {
	switch {
	case l.Generation != r.Generation:
		return queue.ErrReceiptStale
	case fifo && !(l.Hold == Leased && l.Visible > now):
		return queue.ErrReceiptExpired
	}
	return nil
}

// Change applies c. The step is Pass, to store the lease, or Bury.
func (l *Lease) Change(c queue.Change, p queue.Policy, k *poison.Case, now int64) (Ruling, error) {
	if err := l.MayDelete(c.Receipt, p.FIFO && !c.Withheld, now); err != nil {
		return Ruling{Case: k}, err
	}
	if c.Release {
		return l.release(c, p, k, now)
	}
	visible := now + c.For.Microseconds()
	switch {
	case c.For > 0 && !(l.Hold == Leased && l.Visible > now): // the lease is over, and the message stays visible, as on SQS
		return Ruling{Case: k}, nil
	case c.For == 0 && l.Exhausted(p):
		l.attempt(now, queue.Outcome{Class: bezoar.Transient, Reason: "its worker gave it back"})
		l.Hold, l.Holding = Ready, 0
		return Ruling{Step: Bury, Case: k}, nil
	case c.For == 0:
		l.Hold, l.Holding = Ready, 0
	case visible > l.Received+queue.MaxVisibility.Microseconds():
		return Ruling{Case: k}, queue.ErrVisibilityTotal
	default:
		l.Hold, l.Holding = Leased, 0 // a worker that asks for more time has not vanished
	}
	l.until(visible, p)
	return Ruling{Case: k}, nil
}

func (l *Lease) release(c queue.Change, p queue.Policy, k *poison.Case, now int64) (Ruling, error) {
	if c.Dead && (p.DeadLetter == "" || p.Implicit && l.Letter) {
		return Ruling{Case: k}, queue.ErrNoDeadLetter
	}
	last := l.lastWait()
	dead := c.Dead
	if c.Outcome != nil {
		l.attempt(now, *c.Outcome)
		if l.Judged(p) && !c.Refund {
			var convicted bool
			k, convicted = p.Poison.Fail(k, poison.End{
				Class: c.Outcome.Class, Failure: c.Outcome.Failure, Reason: c.Outcome.Reason, Holding: c.Holding, Weak: c.Weak, Received: l.Received,
			}, now)
			dead = dead || convicted
		}
	}
	l.Generation++
	l.Hold, l.Holding = Ready, 0
	if c.Refund {
		if l.Receives--; l.Receives == 0 {
			l.FirstReceived = 0
		}
	}
	wait := c.For
	if c.Backoff != nil {
		wait = min(wait+c.Backoff(l.Receives, last), queue.MaxVisibility)
	}
	out := Ruling{Case: k}
	switch {
	case dead || l.Exhausted(p):
		out.Step = Bury
	case l.Letter && p.Implicit:
	case c.Attempts > 0 && l.Receives >= c.Attempts:
		out.Step, out.Cause = Bury, gaveUp(c, fmt.Sprintf("%d attempts are used up", c.Attempts))
	case c.MaxAge > 0 && now+wait.Microseconds() > l.Sent+c.MaxAge.Microseconds():
		out.Step, out.Cause = Bury, gaveUp(c, fmt.Sprintf("the next attempt, in %v, would be later than %v after its sending", wait.Round(time.Millisecond), c.MaxAge))
	}
	if out.Step == Bury {
		return out, nil
	}
	if p.FIFO && wait > 0 {
		l.Hold = Held
	}
	l.until(now+wait.Microseconds(), p)
	return out, nil
}

// gaveUp keeps class and failure of the last attempt, and adds why no other one follows.
func gaveUp(c queue.Change, why string) *queue.Outcome {
	o := queue.Outcome{Class: bezoar.Transient}
	if c.Outcome != nil {
		o = *c.Outcome
	}
	o.Reason = strings.TrimPrefix(o.Reason+"; gave up: "+why, "; ")
	return &o
}

// lastWait returns how long the message waited between its last attempt and this delivery.
func (l *Lease) lastWait() time.Duration {
	if len(l.History) == 0 {
		return 0
	}
	return max(0, instant(l.Received).Sub(l.History[len(l.History)-1].Ended))
}

// Vanish records that the worker of a delivery has vanished, and how many messages it held. It reports false if the
// delivery is over. Because the worker may still be alive, the lease then lasts twice as long.
func (l *Lease) Vanish(r queue.Receipt, holding int, now int64) bool {
	if l.Generation != r.Generation || l.Hold != Leased || l.Visible <= now {
		return false
	}
	if holding >= queue.PatientHolding {
		holding -= queue.PatientHolding
		l.Visible = min(2*l.Visible-l.Received, l.Received+queue.MaxVisibility.Microseconds())
		if l.Due != 0 {
			l.Due = l.Visible
		}
	}
	l.Holding = max(holding, 1)
	return true
}

// Lapse returns why a message older than its queue's retention is set aside, or nil if it is only removed.
func (l *Lease) Lapse(p queue.Policy, retention time.Duration) *queue.Outcome {
	if !p.KeepExpired || l.Letter {
		return nil
	}
	// Not a fault of the payload: as a timeout, each payload would form its own group.
	return &queue.Outcome{Class: bezoar.Transient, Reason: fmt.Sprintf("it was not done within the queue's retention of %v", retention)}
}

// Die creates the letter of a message that is set aside, and ends its lease. earlier is its letter from an earlier death,
// if any; cause replaces the last attempt's outcome. before is its lineage before it was sent again.
func (l *Lease) Die(origin string, before *queue.Lineage, earlier *queue.Letter, cause *queue.Outcome, now int64) *queue.Letter {
	letter := &queue.Letter{Origin: origin, Died: instant(now), Receives: l.Receives, Attempts: l.History, Payload: l.Payload}
	letter.Outcome = queue.Outcome{Class: bezoar.Transient, Reason: fmt.Sprintf("received %d times and given back", l.Receives)}
	if n := len(l.History); n > 0 {
		letter.Outcome = l.History[n-1].Outcome
	}
	if cause != nil {
		letter.Outcome = *cause
	}
	group := letter.Outcome
	if cause != nil && len(l.History) > 0 { // the cause adds its own words
		group.Reason = l.History[len(l.History)-1].Reason
	}
	letter.Group = queue.GroupKey(group, l.Payload)
	if earlier != nil {
		all := append(slices.Clip(earlier.Attempts), l.History...)
		letter.Attempts = all[max(0, len(all)-queue.MaxAttempts):]
		return letter
	}
	letter.Attempts = before.Lives(l.History)
	return letter
}

// FillMessage sets the fields of a message that come from its lease.
func (l *Lease) FillMessage(m *queue.Message, now int64) {
	m.Receives, m.FirstReceived, m.VisibleAt = l.Receives, instant(l.FirstReceived), instant(l.Visible)
	m.InFlight = l.Locks(now)
	m.Attempts, m.Payload = l.History, l.Payload
}

// instant converts the store's microseconds into a time; 0 means none.
func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
