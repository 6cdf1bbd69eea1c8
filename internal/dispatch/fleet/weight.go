package fleet

import (
	"slices"
	"time"
)

// SetWeight sets how much work a worker takes relative to weight 1: the worker with the least in flight per unit of weight
// gets the next work. With 0 it gets nothing new, is not the lane, and finishes its work. A worker without a place is
// ignored.
func (f *Fleet) SetWeight(worker string, weight int) {
	f.mu.Lock()
	s := f.slots[worker]
	if s == nil || s.weight == float64(weight) {
		f.mu.Unlock()
		return
	}
	s.weight, f.weighted, f.sums = float64(weight), false, nil
	for _, o := range f.places {
		f.weighted = f.weighted || o.weight != 1
	}
	if s.life != nil {
		f.settled(s.life)
	}
	f.unlock()
	f.changed()
}

// byWeight draws a free worker at random, in proportion to weight. The caller holds mu, and free is not empty.
func (f *Fleet) byWeight() *Worker {
	if len(f.sums) != len(f.places) {
		sum := 0
		f.sums = make([]int, 0, len(f.places))
		for _, s := range f.places {
			sum += int(s.weight)
			f.sums = append(f.sums, sum)
		}
	}
	if all := f.sums[len(f.sums)-1]; all > 0 {
		for range drawAgain {
			i, _ := slices.BinarySearch(f.sums, 1+f.rand.IntN(all))
			if w := f.places[i].life; w != nil && w.at >= 0 {
				return w
			}
		}
	}
	return f.free[f.rand.IntN(len(f.free))]
}

// drawAgain is how often byWeight draws before it takes any free worker.
const drawAgain = 8

// loadOfDrawn compares workers that byWeight has drawn: for idle ones, the draw has already considered the weight.
func (f *Fleet) loadOfDrawn(w *Worker, now time.Time) float64 {
	return (float64(w.inFlight)/w.place.weight + f.rand.Float64()) / f.ramp(w, now)
}
