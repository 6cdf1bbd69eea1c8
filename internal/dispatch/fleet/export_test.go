package fleet

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Seed fixes what the fleet draws.
func (f *Fleet) Seed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rand = rand.New(rand.NewPCG(seed, seed))
}

// Check reports what does not fit together.
func (f *Fleet) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	up, well, free := 0, 0, 0
	for _, s := range f.places {
		w := s.life
		if w == nil {
			continue
		}
		if w.state == Serving || w.state == Lane {
			up++
			if !w.heldOut() {
				well++
			}
		}
		is := slices.Contains(f.free, w)
		if want := f.takes(w) && !f.full(w); is != want || is != (w.at >= 0) || is && f.free[w.at] != w {
			return fmt.Errorf("%s, %s, %d in flight, held out %v, panic %v: free %v at %d, want %v",
				w.name, w.state, w.inFlight, w.heldOut(), f.panic, is, w.at, want)
		}
		if is {
			free++
		}
	}
	if up != f.up || well != f.well || free != len(f.free) {
		return fmt.Errorf("%d up, %d well, %d free; counted %d, %d, %d", up, well, free, f.up, f.well, len(f.free))
	}
	mayOverflow, wanted := 0, make([]int, len(f.places))
	for _, wt := range f.waiting {
		if wt.mayOverflow() {
			mayOverflow++
		}
		for _, i := range wt.shard {
			wanted[i]++
		}
		if w := f.pick(&wt.want, wt.shard); w != nil {
			return fmt.Errorf("%s is free for %+v, who waits", w.name, wt.want)
		}
	}
	for i, s := range f.places {
		if s.wanted != wanted[i] {
			return fmt.Errorf("%d wait for %s; counted %d", wanted[i], s.name, s.wanted)
		}
	}
	if mayOverflow != f.mayOverflow {
		return fmt.Errorf("%d waiters may overflow; counted %d", mayOverflow, f.mayOverflow)
	}
	return nil
}

// Shard returns the names of the workers that want may use.
func (f *Fleet) Shard(want Want) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, i := range f.shardOf(&want) {
		out = append(out, f.places[i].name)
	}
	return out
}
