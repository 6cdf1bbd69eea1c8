package breaker

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

// maxLevel bounds the count of trips in a row.
const maxLevel = 63

// maxText bounds the name of the person who forces a breaker.
const maxText = 128

// Snapshot is the state that processes share. Equal snapshots (==) say the same; the zero one is that of a new breaker.
type Snapshot struct {
	Generation uint64    `json:"generation"` // counts the changes of State
	State      State     `json:"state"`
	Until      time.Time `json:"until,omitzero"` // open: refuses; half-open: Node's lease; closed: Level is remembered
	Level      uint8     `json:"level"`          // trips in a row
	Node       string    `json:"node,omitempty"` // who may probe while half-open
	Reason     string    `json:"reason,omitempty"`
	Forced     Forced    `json:"forced,omitzero"`
}

// Forced is an operator's override. While it lasts, the breaker neither counts nor changes; then it continues in its old
// state.
type Forced struct {
	Serial uint64    `json:"serial"` // counts overrides
	State  State     `json:"state"`  // Open or Closed
	Until  time.Time `json:"until,omitzero"`
	By     string    `json:"by,omitempty"`
}

func (f *Forced) holds(now time.Time) bool { return !f.Until.IsZero() && now.Before(f.Until) }

// Force holds the breaker open or closed until a time. A time that is not after now ends an override. by names the person
// who wants it, for the reason of refusals.
func (b *Breaker) Force(now time.Time, s State, until time.Time, by string) error {
	if s != Open && s != Closed {
		return errors.New("force circuit breaker: it can be forced open or closed, not " + s.String())
	}
	next := b.is
	next.Forced = Forced{Serial: b.is.Forced.Serial + 1}
	if until.After(now) {
		next.Forced.State, next.Forced.Until, next.Forced.By = s, clean(until), text(by)
	}
	b.enter(now, next)
	return nil
}

// Snapshot returns the state to share.
func (b *Breaker) Snapshot() Snapshot { return b.is }

// Merge takes over what is newer in s, and reports whether anything was.
func (b *Breaker) Merge(now time.Time, s Snapshot) (changed bool) {
	s.Until, s.Forced.Until, s.Level = clean(s.Until), clean(s.Forced.Until), min(s.Level, maxLevel)
	next := b.is
	if s.compare(&next) > 0 {
		forced := next.Forced
		next = s
		next.Forced = forced
	}
	if s.Forced.compare(&next.Forced) > 0 {
		next.Forced = s.Forced
	}
	if next == b.is {
		return false
	}
	b.enter(now, next)
	return true
}

// Concede undoes the claim that came with t, because the store has stored instead. It restores the state before the claim,
// and merges stored.
func (b *Breaker) Concede(now time.Time, t Ticket, stored Snapshot) {
	if t.probe && t.life == b.life+1 {
		back := b.before
		back.Forced = b.is.Forced
		b.enter(now, back)
	}
	b.Merge(now, stored)
}

// compare orders snapshots, without their Forced. It is a total order, so the order of merges does not matter.
func (s *Snapshot) compare(o *Snapshot) int {
	return cmp.Or(
		cmp.Compare(s.Generation, o.Generation),
		cmp.Compare(s.State, o.State),
		s.Until.Compare(o.Until),
		cmp.Compare(s.Level, o.Level),
		strings.Compare(s.Node, o.Node),
		strings.Compare(s.Reason, o.Reason),
	)
}

func (f *Forced) compare(o *Forced) int {
	return cmp.Or(
		cmp.Compare(f.Serial, o.Serial),
		cmp.Compare(f.State, o.State),
		f.Until.Compare(o.Until),
		strings.Compare(f.By, o.By),
	)
}

// clean makes t equal to its value after a round trip through a store: no monotonic clock, no zone, microseconds.
func clean(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// text shortens s, and makes it equal to its value after a round trip through JSON.
func text(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxText)], "") }
