package breaker

import (
	"fmt"
	"math/bits"
	"time"
)

// Breaker guards one downstream. The zero value with the zero Config is ready.
// It is not safe for concurrent use.
type Breaker struct {
	Config Config

	is      Snapshot
	before  Snapshot // the state that the last claim of the half-open lease replaced
	refusal string   // reason for refusals while it is not closed
	forced  string   // reason for refusals while forced open
	life    uint64   // counts the states in this process: tickets of older states are void
	wake    int64    // when the state ends, by this process's clock; not used while closed
	out     uint64   // slots of the probes in flight, one bit each
	good    int      // probes that succeeded
	alone   bool     // one probe at a time: the claim of the lease may not be stored yet
	window  window
}

// Ticket identifies one call for its result. The result of the zero Ticket changes nothing.
type Ticket struct {
	life  uint64
	slot  uint8
	probe bool
}

// IsProbe reports whether the call tests a downstream that failed before.
func (t Ticket) IsProbe() bool { return t.probe }

// Decision is the result of [Breaker.Allow].
type Decision struct {
	Allowed    bool
	Probe      bool          // the call tests a downstream that failed before
	Changed    bool          // the state changed: store it; with Probe, claim the lease first
	RetryAfter time.Duration // of a refusal: when to ask again; add jitter
	Reason     string        // of a refusal
	Forced     bool          // an operator forced the refusal
}

// Result is how a call ended.
type Result struct {
	Failed  bool
	Slow    bool // it took longer than the caller's limit
	Ignored bool // says nothing about the downstream; overrides the other fields
}

// Allow decides whether a call may be made at now. Pass the ticket of an allowed call to [Breaker.Done], once.
func (b *Breaker) Allow(now time.Time) (Ticket, Decision) {
	if f := &b.is.Forced; f.holds(now) {
		if f.State == Open {
			return Ticket{}, Decision{RetryAfter: f.Until.Sub(now), Reason: b.forced, Forced: true}
		}
		return Ticket{}, Decision{Allowed: true}
	}
	if b.is.State == Closed {
		return Ticket{life: b.life + 1}, Decision{Allowed: true}
	}
	c := b.Config.WithDefaults()
	changed := false
	left := b.left(&c, now)
	b.wake = now.UnixNano() + int64(left) // shortens the wait after the clock has stepped back
	if left <= 0 {
		changed = true
		b.wakeUp(now, &c)
		left = b.left(&c, now)
	}
	if b.is.State == HalfOpen {
		if b.is.Node == c.Node && b.vacant(&c) {
			slot := bits.TrailingZeros64(^b.out)
			b.out |= 1 << slot
			return Ticket{life: b.life + 1, slot: uint8(slot), probe: true}, Decision{Allowed: true, Probe: true, Changed: changed}
		}
		left = min(left, c.Open) // the probes may return long before the lease is over
	}
	return Ticket{}, Decision{Changed: changed, RetryAfter: left, Reason: b.refusal}
}

// vacant reports whether one more probe may be sent.
func (b *Breaker) vacant(c *Config) bool {
	if b.alone {
		return b.out == 0
	}
	return bits.OnesCount64(b.out)+b.good < c.Probes
}

// Done records the result of an allowed call. random, in [0, 1), jitters the length of a trip. It reports whether the state
// changed.
func (b *Breaker) Done(now time.Time, t Ticket, r Result, random float64) (changed bool) {
	if t.life != b.life+1 {
		return false
	}
	if t.probe {
		return b.probed(now, t, r, random)
	}
	if r.Ignored {
		return false
	}
	c := b.Config.WithDefaults()
	sum := b.window.add(now.UnixNano(), c.Window, r)
	reason := c.breach(b.window.row, sum)
	if reason == "" {
		return false
	}
	level := uint8(0)
	if now.Before(b.is.Until) {
		level = b.is.Level
	}
	b.trip(now, &c, level, reason, random)
	return true
}

// probed records a probe's result.
func (b *Breaker) probed(now time.Time, t Ticket, r Result, random float64) (changed bool) {
	if b.out&(1<<t.slot) == 0 {
		return false // Done was called twice
	}
	b.out &^= 1 << t.slot
	c := b.Config.WithDefaults()
	switch slow := r.Slow && c.SlowRatio > 0; {
	case r.Ignored:
		return false
	case r.Failed:
		b.trip(now, &c, b.is.Level, "a probe failed", random)
		return true
	case slow:
		b.trip(now, &c, b.is.Level, "a probe was slow", random)
		return true
	}
	b.alone = false
	b.good++
	if b.good < c.Probes {
		return false
	}
	next := b.is
	next.Generation++
	next.State, next.Node, next.Reason = Closed, "", ""
	next.Until = clean(now.Add(c.MaxOpen))
	b.enter(now, next)
	return true
}

// State returns the state at now. An open breaker whose time is over is half-open.
func (b *Breaker) State(now time.Time) State {
	if f := &b.is.Forced; f.holds(now) {
		return f.State
	}
	if b.is.State == Open {
		if c := b.Config.WithDefaults(); b.left(&c, now) <= 0 {
			return HalfOpen
		}
	}
	return b.is.State
}

// left returns how long the state lasts after now.
func (b *Breaker) left(c *Config, now time.Time) time.Duration {
	limit := c.MaxOpen
	if b.is.State == HalfOpen {
		limit = c.ProbeFor
	}
	return min(time.Duration(b.wake-now.UnixNano()), limit)
}

// trip opens the breaker. It is the (level+1)-th trip in a row.
func (b *Breaker) trip(now time.Time, c *Config, level uint8, reason string, random float64) {
	next := b.is
	next.Generation++
	next.State, next.Node = Open, ""
	next.Level = min(level+1, maxLevel)
	next.Reason = reason
	next.Until = clean(now.Add(c.openFor(next.Level, random)))
	b.enter(now, next)
}

// wakeUp ends a state whose time is over. It needs no jitter, because it happens when a call comes.
func (b *Breaker) wakeUp(now time.Time, c *Config) {
	mine := b.is.State == HalfOpen && b.is.Node == c.Node
	if mine && b.out != 0 {
		b.trip(now, c, b.is.Level, fmt.Sprintf("a probe did not return within %v", c.ProbeFor), 0)
		return
	}
	good := 0
	if mine {
		good = b.good
	}
	next := b.is
	b.before = b.is
	next.Generation++
	next.State, next.Node = HalfOpen, c.Node
	next.Until = clean(now.Add(c.ProbeFor))
	b.enter(now, next)
	b.good, b.alone = good, c.Node != ""
}

// enter begins a state: nothing of the previous state counts.
func (b *Breaker) enter(now time.Time, next Snapshot) {
	c := b.Config.WithDefaults()
	b.is = next
	b.life++
	b.out, b.good, b.alone, b.window = 0, 0, false, window{}
	b.wake = next.Until.UnixNano()
	b.refusal, b.forced = "", ""
	switch {
	case next.State == Open:
		b.refusal = "the circuit is open: " + next.Reason
	case next.State == HalfOpen && next.Node == c.Node:
		b.refusal = fmt.Sprintf("the circuit is half-open: at most %d calls test it; it was open because %s", c.Probes, next.Reason)
	case next.State == HalfOpen:
		b.refusal = fmt.Sprintf("the circuit is half-open: node %q is testing it; it was open because %s", next.Node, next.Reason)
	}
	if f := &next.Forced; f.State == Open && f.holds(now) {
		b.forced = fmt.Sprintf("the circuit is forced open until %s", f.Until.Format(time.RFC3339))
		if f.By != "" {
			b.forced += " by " + f.By
		}
	}
}
