package circuit

import (
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/sorted"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// Status describes one breaker.
type Status struct {
	Name   string          `json:"name"`
	State  breaker.State   `json:"state"`           // with an override, that state; open until a call tries it, even after Until
	Since  time.Time       `json:"since"`           // when this process learned of it
	Until  time.Time       `json:"until,omitzero"`  // open: when it is tried again; half-open: the end of the lease; forced: the end of the override
	Level  int             `json:"level"`           // trips in a row
	Reason string          `json:"reason,omitzero"` // of the last trip, while not closed
	Node   string          `json:"node,omitzero"`   // the node that tries it, while half-open
	Counts breaker.Counts  `json:"counts"`          // of this process, in the window
	Forced *breaker.Forced `json:"forced,omitzero"` // the override in force
	Told   bool            `json:"told"`            // the store has this status; always true without a store
}

// Event is a change of one breaker: its new status and its old state. State and From are
// equal if only something else changed, such as the lease of another node or an override.
type Event struct {
	Status
	At     time.Time
	From   breaker.State
	Remote bool // learned from another node
}

// Stats are counters of all breakers.
type Stats struct {
	Breakers      int
	Pending       int       // changes that are not in the store yet
	StoreErrors   uint64    // calls of the store that failed
	Alone         uint64    // probes that were sent without a claim in the store
	DroppedEvents uint64    // events that were lost because Observe was slow
	Read          time.Time // when the store was last read without an error
}

// List returns the status of every breaker, by name.
func (c *Circuits) List() []Status {
	now := time.Now()
	all := c.all()
	list := each.Of(all, func(b *Breaker) Status { return b.status(now) })
	sorted.Func(list, func(x, y Status) int { return strings.Compare(x.Name, y.Name) })
	return list
}

// Stats returns counters of all breakers.
func (c *Circuits) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		Breakers: len(c.breakers), Pending: len(c.unwritten) + len(c.gone), StoreErrors: c.errors.Load(),
		Alone: c.alone.Load(), DroppedEvents: c.dropped.Load(), Read: c.read,
	}
}

func (b *Breaker) status(now time.Time) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.look(now, false)
	return b.describe(now)
}

// describe says how b is. The caller holds the lock.
func (b *Breaker) describe(now time.Time) Status {
	is := b.policy.Snapshot()
	s := Status{
		Name: b.name, State: b.state, Since: b.since, Until: is.Until, Level: int(is.Level),
		Reason: is.Reason, Node: is.Node, Counts: b.policy.Counts(now), Told: b.circuits.config.Store == nil || !b.dirty,
	}
	if is.State == breaker.Closed {
		s.Until = time.Time{} // until when Level is remembered
		if now.After(is.Until) {
			s.Level = 0
		}
	}
	if f := is.Forced; now.Before(f.Until) {
		s.Forced, s.Until = &f, f.Until
	}
	return s
}
