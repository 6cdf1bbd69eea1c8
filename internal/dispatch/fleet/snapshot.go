package fleet

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

// Status is the state of one worker, for people.
type Status struct {
	Name     string    `json:"name"`
	Addr     string    `json:"addr,omitempty"`
	State    State     `json:"state"`
	Epoch    uint64    `json:"epoch,omitempty"`
	InFlight int       `json:"in_flight"`
	Weight   int       `json:"weight"` // see Fleet.SetWeight
	Served   uint64    `json:"served"` // attempts in this life
	Since    time.Time `json:"since"`  // of this life, or of the last end
	Lives    int       `json:"lives"`
	Deaths   int       `json:"deaths"` // unplanned ends
	LastEnd  *End      `json:"last_end,omitempty"`

	HeldOut   bool          `json:"held_out,omitempty"`      // sick or ejected, and that is believed
	Sick      string        `json:"unhealthy,omitempty"`     // why its health checks fail
	Silent    bool          `json:"silent,omitempty"`        // it has work, answers nothing, and gets nothing new: others do
	Ejected   *time.Time    `json:"ejected_until,omitempty"` // while it is
	Ejections int           `json:"ejections,omitempty"`     // in a row
	Share     float64       `json:"share,omitempty"`         // of the work that it would get; below 1 while it starts slowly
	Results   int           `json:"results,omitempty"`       // of the last seconds
	Failed    int           `json:"failed,omitempty"`        // of them
	Latency   time.Duration `json:"latency_ns,omitempty"`    // recent average
}

// Snapshot returns the workers in the order they were added.
func (f *Fleet) Snapshot() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	out := make([]Status, 0, len(f.places))
	for _, s := range f.places {
		st := Status{Name: s.name, Weight: int(s.weight), State: Down, Since: s.lastEnd, Lives: s.lives, Deaths: s.deaths, LastEnd: s.last}
		if w := s.life; w != nil {
			st.Addr, st.State, st.Epoch, st.InFlight = w.addr, w.state, w.epoch, w.inFlight
			st.Served, st.Since = w.served.Load(), w.since
			f.judgement(w, &st, now)
		}
		out = append(out, st)
	}
	return out
}

// judgement adds the opinions about w. The caller holds mu.
func (f *Fleet) judgement(w *Worker, st *Status, now time.Time) {
	st.HeldOut, st.Sick, st.Silent = w.heldOut() && !f.panic, w.sick, w.silence.silent && !f.allSilent
	if w.ejected != nil {
		until := w.until
		st.Ejected = &until
	}
	st.Share = balance.Ramp(now.Sub(w.fresh), f.cfg.SlowStart)
	w.recordMu.Lock()
	defer w.recordMu.Unlock()
	s := w.record.Sample(now, f.eject.Load().Window)
	st.Results, st.Failed = s.N, s.Failed
	st.Ejections, st.Latency = w.record.Times(), w.record.Latency()
}

// Stats is the state of the fleet, for metrics.
type Stats struct {
	Places     int       `json:"places"`
	Up         int       `json:"up"`      // that serve or are the lane
	Well       int       `json:"healthy"` // of them, those neither sick nor ejected
	Waiting    int       `json:"waiting"`
	Panic      bool      `json:"panic"`
	PanicSince time.Time `json:"panic_since,omitzero"`
	Panics     uint64    `json:"panics"`
	Ejections  uint64    `json:"ejections"`
	Overflowed uint64    `json:"overflowed"` // given outside a caller's shard
}

// Stats returns the current counts.
func (f *Fleet) Stats() Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Stats{
		Places: len(f.places), Up: f.up, Well: f.well, Waiting: len(f.waiting),
		Panic: f.panic, PanicSince: f.panicSince, Panics: f.panics,
		Ejections: f.ejections, Overflowed: f.overflowed,
	}
}

// Serving returns how many workers take work now, including the lane.
func (f *Fleet) Serving() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.places {
		if w := s.life; w != nil && (w.state == Lane || f.takes(w)) {
			n++
		}
	}
	return n
}

// Worker returns one life of a worker; nil if it has ended.
func (f *Fleet) Worker(name string, epoch uint64) *Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.find(name, epoch)
}

// find is Worker with mu held.
func (f *Fleet) find(name string, epoch uint64) *Worker {
	s := f.slots[name]
	if s == nil {
		return nil
	}
	if s.life != nil && s.life.epoch == epoch {
		return s.life
	}
	for _, w := range s.retired {
		if w.epoch == epoch {
			return w
		}
	}
	return nil
}
