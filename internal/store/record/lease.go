package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
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
	Received      int64 // the last time
	FirstReceived int64 // 0: never
	Worker        string
	History       []queue.Attempt
}

// Exhausted reports whether one more receive would be too many.
func (l *Lease) Exhausted(p queue.Policy) bool {
	return p.MaxReceives > 0 && l.Receives >= p.MaxReceives
}

// Locks reports whether the message keeps its group from going on.
func (l *Lease) Locks(now int64) bool { return l.Hold != Ready && l.Visible > now }

// Claim begins a delivery of a visible message. It reports false, and the
// message is due, when its receives were used up under a policy that came later.
func (l *Lease) Claim(c queue.Claim, now int64) bool {
	if l.Exhausted(c.Policy) {
		l.Due = max(now, 1)
		return false
	}
	l.expired()
	l.Generation++
	l.Hold, l.Receives, l.Received, l.Worker = Leased, l.Receives+1, now, c.Worker
	if l.FirstReceived == 0 {
		l.FirstReceived = now
	}
	l.until(now+c.Visibility.Microseconds(), c.Policy)
	return true
}

// expired records an attempt whose lease ran out.
func (l *Lease) expired() {
	if l.Hold == Leased {
		l.attempt(l.Visible, queue.Outcome{Class: bezoar.Timeout, Reason: "the lease ended and nobody had deleted it"})
	}
}

func (l *Lease) attempt(ended int64, o queue.Outcome) {
	l.History = append(slices.Clip(l.History), queue.Attempt{
		Received: Time(l.Received), Ended: Time(ended), Worker: l.Worker, Outcome: o,
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

// Change applies c. It reports whether the message is to be set aside now.
func (l *Lease) Change(c queue.Change, p queue.Policy, now int64) (dead bool, err error) {
	if err := l.MayDelete(c.Receipt, p.FIFO, now); err != nil {
		return false, err
	}
	if c.Release {
		return l.release(c, p, now)
	}
	visible := now + c.For.Microseconds()
	switch {
	case c.For == 0 && l.Exhausted(p):
		l.attempt(now, queue.Outcome{Class: bezoar.Transient, Reason: "its worker gave it back"})
		l.Hold = Ready
		return true, nil
	case c.For == 0:
		l.Hold = Ready
	case visible > l.Received+queue.MaxVisibility.Microseconds():
		return false, queue.ErrVisibilityTotal
	default:
		l.Hold = Leased
	}
	l.until(visible, p)
	return false, nil
}

func (l *Lease) release(c queue.Change, p queue.Policy, now int64) (dead bool, err error) {
	if c.Dead && p.DeadLetter == "" {
		return false, queue.ErrNoDeadLetter
	}
	if c.Outcome != nil {
		l.attempt(now, *c.Outcome)
	}
	l.Generation++
	l.Hold = Ready
	if p.FIFO && c.For > 0 {
		l.Hold = Held
	}
	if c.Refund {
		l.Receives--
		if l.Receives == 0 {
			l.FirstReceived = 0
		}
	}
	if c.Dead || l.Exhausted(p) {
		return true, nil
	}
	l.until(now+c.For.Microseconds(), p)
	return false, nil
}

// Die makes the letter of a message that is set aside. earlier is the letter it
// already has, if it died before.
func (l *Lease) Die(origin string, earlier *queue.Letter, now int64) *queue.Letter {
	l.expired()
	letter := &queue.Letter{Origin: origin, Died: Time(now), Receives: l.Receives, Attempts: l.History}
	letter.Outcome = queue.Outcome{Class: bezoar.Transient, Reason: fmt.Sprintf("received %d times and given back", l.Receives)}
	if n := len(l.History); n > 0 {
		letter.Outcome = l.History[n-1].Outcome
	}
	if earlier != nil {
		all := append(slices.Clip(earlier.Attempts), l.History...)
		letter.Attempts = all[max(0, len(all)-queue.MaxAttempts):]
	}
	return letter
}

// Time returns the store's microseconds as a time; 0 is no time.
func Time(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
