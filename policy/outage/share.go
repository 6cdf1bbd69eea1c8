package outage

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// maxLevel bounds the count of pauses in a row.
const maxLevel = 63

// maxText bounds the failures and reasons that are kept.
const maxText = 256

// State is the state of a guard.
type State uint8

// The states.
const (
	Running State = iota
	Trying        // paused, with a canary in flight
	Paused
)

// String returns the state's stable name.
func (s State) String() string {
	if names := [...]string{"running", "trying", "paused"}; int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText encodes the stable name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a stable name.
func (s *State) UnmarshalText(text []byte) error {
	for i := range Paused + 1 {
		if i.String() == string(text) {
			*s = i
			return nil
		}
	}
	return fmt.Errorf("state %.40q of an outage guard is unknown, want running, trying or paused", text)
}

// Snapshot is the state that processes share. Equal snapshots (==) say the same; the zero one is that of a new guard.
type Snapshot struct {
	Generation uint64    `json:"generation"` // counts the changes of State
	State      State     `json:"state"`
	Until      time.Time `json:"until,omitzero"` // the end of the pause, of the canary's time, or of Level's memory
	Level      uint8     `json:"level"`          // pauses in a row
	Failure    string    `json:"failure,omitempty"`
	Why        string    `json:"why,omitempty"`
}

// Snapshot returns the state to share.
func (g *Guard) Snapshot() Snapshot { return g.is }

// Merge takes over s if it is newer, and reports whether it was. In one generation paused is newer than trying, and trying
// is newer than running.
func (g *Guard) Merge(now time.Time, s Snapshot) (changed bool) {
	s.Until, s.Level = clean(s.Until), min(s.Level, maxLevel)
	s.Failure, s.Why = text(s.Failure), text(s.Why)
	if s.compare(&g.is) <= 0 {
		return false
	}
	g.enter(s)
	c := g.Config.WithDefaults()
	limit := c.Cap
	if s.State == Trying {
		limit = c.CanaryFor
	}
	g.wake = min(g.wake, now.Add(limit).UnixNano()) // another process's clock does not prolong it
	return true
}

// Concede undoes the canary of a generation, because the store has stored instead. It restores the state before, and merges
// stored.
func (g *Guard) Concede(now time.Time, generation uint64, stored Snapshot) {
	if g.is.State == Trying && g.is.Generation == generation {
		g.enter(g.before)
	}
	g.Merge(now, stored)
}

// compare is a total order, so the order of merges does not matter.
func (s *Snapshot) compare(o *Snapshot) int {
	return cmp.Or(
		cmp.Compare(s.Generation, o.Generation),
		cmp.Compare(s.State, o.State),
		s.Until.Compare(o.Until),
		cmp.Compare(s.Level, o.Level),
		strings.Compare(s.Failure, o.Failure),
		strings.Compare(s.Why, o.Why),
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
func text(s string) string {
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}
