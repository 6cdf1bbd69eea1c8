package fleet

import (
	"context"
	"slices"
	"time"
)

// drainPatience is how long Reserve waits for one worker to become idle before it tries a less busy one.
const drainPatience = time.Second

// countEvery is the least interval between two counts of streams, because a count examines all work in flight.
const countEvery = 100 * time.Millisecond

// lookAgain is how often Reserve checks whether another worker has become idle; a new life is idle.
const lookAgain = 10 * time.Millisecond

// LaneWant describes the wanted lane worker.
type LaneWant struct {
	// Clean asks for the worker that has not answered for the longest time, best a fresh life: work that dies there alone
	// is to blame. A fleet that cannot start workers has no fresh ones, and gives the worker that has been idle for the
	// longest.
	Clean bool
	// Streams returns, by epoch, the number of streaming answers, which may never end. If no worker is idle, a worker that
	// has only streams is used; if all workers have streams, at once. May be nil.
	Streams func() map[uint64]int
	// More allows a lane worker in addition to others, up to [Config.LaneShare].
	More bool
}

// Lanes returns how many workers may be the lane at the same time.
func (f *Fleet) Lanes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mostLanes()
}

func (f *Fleet) mostLanes() int { return max(1, int(f.cfg.LaneShare*float64(len(f.places)))) }

// Reserve sets one worker apart as the lane and returns it once nothing is in flight on it. It takes the least busy one,
// and only if another worker serves as well, unless the fleet has a single place. It takes a second one only if half of the
// places serve as well. It waits until ctx ends. The caller must call [Fleet.Unreserve].
func (f *Fleet) Reserve(ctx context.Context, want LaneWant) (*Worker, error) {
	tick := time.NewTimer(lookAgain)
	defer tick.Stop()
	var streams map[uint64]int
	var counted time.Time
	for settled := true; ; settled = false {
		if want.Streams != nil && (!settled || f.allStream()) && time.Since(counted) >= countEvery {
			streams, counted = want.Streams(), time.Now()
		}
		w, idle := f.reserve(want, settled, streams)
		if w != nil && idle == nil {
			return w, nil
		}
		patience := drainPatience
		if settled {
			patience = settledPatience
		}
		for began := time.Now(); ; {
			tick.Reset(lookAgain)
			select {
			case <-ctx.Done():
				if w != nil {
					f.Unreserve(w)
				}
				return nil, ErrNoWorker
			case <-idle:
				if _, ended := w.End(); !ended && f.isIdle(w) {
					return w, nil
				}
			case <-tick.C:
				this, other := f.onlyStreams(w, streams)
				if this {
					return w, nil
				}
				if w != nil && time.Since(began) < patience && !other && !f.idles() {
					continue
				}
			}
			break
		}
		if w != nil {
			f.Unreserve(w)
		}
	}
}

// idles reports whether a worker that takes work has no work.
func (f *Fleet) idles() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.places {
		if w := s.life; w != nil && f.takes(w) && w.inFlight == 0 && (!w.baking || len(f.places) == 1) {
			return true
		}
	}
	return false
}

// allStream reports whether every worker is up and has a stream: then waiting for an idle one is useless.
func (f *Fleet) allStream() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.everyStreams()
}

// everyStreams is allStream with mu held.
func (f *Fleet) everyStreams() bool {
	return !slices.ContainsFunc(f.places, func(s *slot) bool { return s.life == nil || s.life.streams == 0 })
}

// onlyStreams reports, if no worker will be idle soon, whether the reserved w has only streams, and whether another worker
// has.
func (f *Fleet) onlyStreams(w *Worker, streams map[uint64]int) (this, other bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w == nil || len(streams) == 0 || !f.everyStreams() {
		return false, false
	}
	return w.state == Lane && w.inFlight <= streams[w.epoch], f.streaming(streams) != nil
}

func (f *Fleet) isIdle(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.state == Lane && w.inFlight == 0
}

// reserve marks the most suitable worker as the lane. The channel is nil if the worker is idle already.
func (f *Fleet) reserve(want LaneWant, settled bool, streams map[uint64]int) (*Worker, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lanes > 0 && (!want.More || f.lanes >= f.mostLanes()) {
		return nil, nil
	}
	best, serving := f.reservable(settled)
	if w := f.streaming(streams); w != nil && best != nil && best.inFlight > 0 {
		best = w
	}
	if want.Clean {
		best = f.quietest(best)
	}
	need := 2
	if f.lanes > 0 {
		need = max(2, 1+(len(f.places)+1)/2)
	}
	if best == nil || serving < need && len(f.places) > 1 {
		return nil, nil
	}
	f.withdraw(best)
	best.state = Lane
	f.lanes++
	f.serve(nil) // overflowing waiters have lost a worker
	if best.inFlight == 0 || best.inFlight <= streams[best.epoch] {
		return best, nil
	}
	return best, best.waitIdle()
}

// streaming returns the worker with the fewest streams and nothing else in flight; nil if there is none. The caller holds
// mu.
func (f *Fleet) streaming(streams map[uint64]int) (found *Worker) {
	if len(streams) == 0 {
		return nil
	}
	for _, s := range f.places {
		w := s.life
		if w == nil || !f.takes(w) || w.baking && len(f.places) > 1 || w.inFlight > streams[w.epoch] {
			continue
		}
		if found == nil || w.inFlight < found.inFlight {
			found = w
		}
	}
	return found
}

// quietest returns the idle worker that has not answered for the longest time, or best if none is idle. The caller holds
// mu.
func (f *Fleet) quietest(best *Worker) *Worker {
	var found *Worker
	for _, s := range f.places {
		w := s.life
		if w == nil || !f.takes(w) || w.baking && len(f.places) > 1 || w.inFlight > 0 {
			continue
		}
		if found == nil || w.Quiet() > found.Quiet() {
			found = w
		}
	}
	if found == nil {
		return best
	}
	return found
}

// These decide when a younger life is fit for the lane.
const (
	settledAfter    = 8 // deliveries that it has survived
	settledExtra    = 2 // in flight beyond the least busy worker
	settledPatience = drainPatience / 4
)

// reservable returns the least busy worker, and the number of workers that take work. Among equals the oldest life wins,
// because its build is known to work. With settled, a younger life that has shown that it works comes first: a deploy takes
// down old workers one after another, and would interrupt innocents in the lane. The caller holds mu.
func (f *Fleet) reservable(settled bool) (best *Worker, serving int) {
	for _, s := range f.places {
		w := s.life
		if w == nil || !f.takes(w) {
			continue
		}
		serving++
		if w.baking && len(f.places) > 1 {
			continue
		}
		if best == nil || w.inFlight < best.inFlight || w.inFlight == best.inFlight && w.epoch < best.epoch {
			best = w
		}
	}
	if best == nil || !settled {
		return best, serving
	}
	most := best.inFlight + settledExtra
	for _, s := range f.places {
		w := s.life
		if w != nil && f.takes(w) && !w.baking && w.inFlight <= most && w.epoch > best.epoch && w.served.Load() >= settledAfter {
			best = w
		}
	}
	return best, serving
}

// Unreserve returns a lane worker to the fleet.
func (f *Fleet) Unreserve(w *Worker) {
	f.mu.Lock()
	if f.unlane(w) {
		w.state = Serving
		if w.leaving {
			w.state = Draining
		}
		f.settled(w)
	}
	f.unlock()
	f.changed()
}

// Park sets that a lane worker is only watched from now on and runs nothing, so that another may be reserved in its place.
// It returns false if too many are parked.
func (f *Fleet) Park(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.state != Lane || w.parked || f.parked >= f.mostLanes() {
		return false
	}
	w.parked = true
	f.lanes--
	f.parked++
	return true
}

// unlane removes w from the lane's count; false if it is not the lane. The caller holds mu.
func (f *Fleet) unlane(w *Worker) bool {
	switch {
	case w.state != Lane:
		return false
	case w.parked:
		w.parked = false
		f.parked--
	default:
		f.lanes--
	}
	return true
}

// Leaving reports whether the lane's worker has been told to drain. Then give it back soon.
func (f *Fleet) Leaving(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.leaving
}

// Enter counts work in flight on the lane's worker. The caller must call Release.
func (f *Fleet) Enter(w *Worker) {
	f.mu.Lock()
	w.inFlight++
	f.stir()
	f.mu.Unlock()
}
