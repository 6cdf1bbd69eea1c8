package fleet

import "time"

// Status is how one worker stands, for people.
type Status struct {
	Name     string    `json:"name"`
	Addr     string    `json:"addr,omitempty"`
	State    State     `json:"state"`
	Epoch    uint64    `json:"epoch,omitempty"`
	InFlight int       `json:"in_flight"`
	Served   uint64    `json:"served"` // attempts in this life
	Since    time.Time `json:"since"`  // of this life, or of the last end
	Lives    int       `json:"lives"`
	Deaths   int       `json:"deaths"` // unplanned ends
	LastEnd  *End      `json:"last_end,omitempty"`
}

// Snapshot returns the workers in the order they were added.
func (f *Fleet) Snapshot() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Status, 0, len(f.order))
	for _, name := range f.order {
		s := f.slots[name]
		st := Status{Name: name, State: Down, Since: s.lastEnd, Lives: s.lives, Deaths: s.deaths, LastEnd: s.last}
		if w := s.life; w != nil {
			st.Addr, st.State, st.Epoch, st.InFlight = w.addr, w.state, w.epoch, w.inFlight
			st.Served, st.Since = w.served.Load(), w.since
		}
		out = append(out, st)
	}
	return out
}

// Serving returns how many workers take work now, the lane included.
func (f *Fleet) Serving() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.slots {
		if s.life != nil && (s.life.state == Serving || s.life.state == Lane) {
			n++
		}
	}
	return n
}

// Worker returns one life of a worker, or nil when it is not the present one.
func (f *Fleet) Worker(name string, epoch uint64) *Worker {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.slots[name]; s != nil && s.life != nil && s.life.epoch == epoch {
		return s.life
	}
	return nil
}
