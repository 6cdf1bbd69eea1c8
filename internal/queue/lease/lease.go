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

// Hold is why a message is not to be received before its time.
type Hold int

// The holds. A message whose time has come is visible whatever it was.
const (
	Ready  Hold = iota // delayed, if its time is to come
	Leased             // in flight
	Held               // released with a delay, and its group waits for it
)

// Lease is what the rules of delivery decide on. Times are microseconds since
// 1970 of the store's clock. Stores keep it; the rules are here, so that stores
// cannot disagree.
type Lease struct {
	Generation    int64
	Hold          Hold
	Visible       int64 // when the hold ends
	Due           int64 // when it is to be set aside, because its receives are used up; 0: not
	Receives      int
	Sent          int64
	Received      int64 // the last time
	FirstReceived int64 // 0: never
	Worker        string
	Holding       int // with how many messages its worker vanished; 0: it did not
	Payload       bezoar.Fingerprint
	Brief         bool // its body is: see [queue.Brief]; known where it is received
	Letter        bool // it is a dead letter: poison is not looked for
	History       []queue.Attempt
}

// Exhausted reports whether one more receive would be too many.
func (l *Lease) Exhausted(p queue.Policy) bool {
	return p.MaxReceives > 0 && l.Receives >= p.MaxReceives
}

// Locks reports whether the message keeps its group from going on.
func (l *Lease) Locks(now int64) bool { return l.Hold != Ready && l.Visible > now }

// Judged reports whether the case of the message's payload matters.
func (l *Lease) Judged(p queue.Policy) bool {
	return !p.Poison.Off && !l.Letter && !l.Payload.IsZero()
}

// Step is what a receive does with one visible message.
type Step uint8

// The steps.
const (
	Pass  Step = iota // leave it; store the lease, which may have changed
	Give              // deliver it; store the lease
	Only              // the same, and pick nothing else
	Defer             // it is due: store the lease, and Sweep has work
	Bury              // set it aside: Die makes the letter
)

// Ruling is what a rule decided.
type Ruling struct {
	Step  Step
	Case  *poison.Case   // the payload's case from now on; nil for none
	Cause *queue.Outcome // of a letter, when it is not the last attempt's
}

// Together reports whether copies need not wait for each other although nothing is
// proven: different work may share a brief body, and it is not suspected.
func (l *Lease) Together(k *poison.Case) bool {
	return l.Brief && (k == nil || k.State == poison.Watched)
}

// Receive decides about one visible message, and begins its delivery if it may.
// k is the case of its payload, copied says that a copy of it is in flight or
// has just been given, first that nothing has been given yet. k and copied are
// looked at only if Judged. Where a copy's lease is over and nobody has ended
// its delivery, the caller does that first, by Expire: what its worker died of
// has to be known before another one goes. If k is Watched and Proven, that may
// be left out for copies whose worker has not vanished.
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

// begin begins a delivery.
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

// Expire ends a delivery whose lease is over and that nobody ended: an attempt
// is recorded, and if its worker had vanished, its payload is judged. It returns
// the payload's case from now on, and whether the message is to be set aside.
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

// MayDelete says why a delivery does not end by a deletion, or nil.
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
		l.Hold, l.Holding = Leased, 0 // who asks for more time has not vanished
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

// gaveUp keeps class and failure of the last attempt, and adds why there is no
// other one.
func gaveUp(c queue.Change, why string) *queue.Outcome {
	o := queue.Outcome{Class: bezoar.Transient}
	if c.Outcome != nil {
		o = *c.Outcome
	}
	o.Reason = strings.TrimPrefix(o.Reason+"; gave up: "+why, "; ")
	return &o
}

// lastWait is how long the message had waited before this delivery, since its
// last attempt ended.
func (l *Lease) lastWait() time.Duration {
	if len(l.History) == 0 {
		return 0
	}
	return max(0, instant(l.Received).Sub(l.History[len(l.History)-1].Ended))
}

// Vanish notes that the worker of a delivery is gone, while it held so many
// messages. It reports false when the delivery is over. The lease of a worker
// that may be alive lasts twice as long from then on.
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

// Lapse says why a message that is older than its queue's retention is set
// aside, or nil if it is just removed.
func (l *Lease) Lapse(p queue.Policy, retention time.Duration) *queue.Outcome {
	if !p.KeepExpired || l.Letter {
		return nil
	}
	// Nobody's fault: as a timeout each payload would be a group of its own.
	return &queue.Outcome{Class: bezoar.Transient, Reason: fmt.Sprintf("it was not done within the queue's retention of %v", retention)}
}

// Die makes the letter of a message that is set aside, and ends its lease.
// earlier is the letter it already has, if it died before; cause overrides the
// last attempt's outcome. before is what it was before it was sent again.
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
	if cause != nil && len(l.History) > 0 { // the cause adds words of its own
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

// FillMessage sets what a message shows of its lease.
func (l *Lease) FillMessage(m *queue.Message, now int64) {
	m.Receives, m.FirstReceived, m.VisibleAt = l.Receives, instant(l.FirstReceived), instant(l.Visible)
	m.InFlight = l.Locks(now)
	m.Attempts, m.Payload = l.History, l.Payload
}

// instant returns the store's microseconds as a time; 0 is no time.
func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
