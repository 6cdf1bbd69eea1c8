package fleet

import (
	"context"
	"time"
)

// drainPatience is how long Reserve waits for one worker to run empty before
// it looks for a less busy one.
const drainPatience = time.Second

// countEvery bounds how often it has the streams counted, which looks at all that is in
// flight.
const countEvery = 100 * time.Millisecond

// lookAgain is how often it looks whether another worker has become idle meanwhile: a
// life that begins is.
const lookAgain = 10 * time.Millisecond

// LaneWant says what a lane worker is wanted for.
type LaneWant struct {
	// Clean asks for the worker on which nothing has been answered for longest, best
	// of all a fresh life: what dies there alone is to blame. A fleet that cannot
	// start workers has no fresh ones, and gives the longest idle.
	Clean bool
	// Streams returns, by epoch, how many answers stream that may never end. A worker
	// with nothing else will do when none is idle, at once when all have some. May be nil.
	Streams func() map[uint64]int
	// More allows a lane worker beside others, up to [Config.LaneShare].
	More bool
}

// Lanes returns how many workers may be the lane at the same time.
func (f *Fleet) Lanes() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mostLanes()
}

func (f *Fleet) mostLanes() int { return max(1, int(f.cfg.LaneShare*float64(len(f.places)))) }

// Reserve sets one worker apart as the lane and returns it once nothing is in
// flight on it. It takes the least busy one, and only when another worker
// serves besides, unless the fleet has a single place; a second one only when
// half of the places serve besides. It waits until ctx ends. The caller owes
// [Fleet.Unreserve].
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

// idles reports whether a worker that takes work has none.
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

// allStream reports whether every worker is up and has a stream: then none is about
// to be idle, and waiting for one is of no use.
func (f *Fleet) allStream() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.everyStreams()
}

// everyStreams is allStream. mu is held.
func (f *Fleet) everyStreams() bool {
	for _, s := range f.places {
		if s.life == nil || s.life.streams == 0 {
			return false
		}
	}
	return true
}

// onlyStreams reports, when none is about to be idle, whether w, which is reserved,
// has nothing but streams any more, and whether another worker has.
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

// reserve marks the worker that suits best as the lane. The channel is nil when
// it is idle already.
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
	f.serve(nil) // who overflows has lost a worker
	if best.inFlight == 0 || best.inFlight <= streams[best.epoch] {
		return best, nil
	}
	return best, best.waitIdle()
}

// streaming returns the worker with the fewest answers that stream and nothing else in
// flight, if there is one. mu is held.
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

// quietest returns the idle worker on which nothing has been answered for longest,
// or best when none is idle. mu is held.
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

// What makes a younger life fit for the lane.
const (
	settledAfter    = 8 // deliveries that it has survived
	settledExtra    = 2 // in flight beyond the least busy worker
	settledPatience = drainPatience / 4
)

// reservable returns the least busy worker and how many take work. Among equals the
// oldest life wins: it is the build that is known to work. If settled, a younger
// life that has shown that it works comes first: a deploy takes down the old
// ones one after another, and would find innocents in the lane. mu is held.
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

// Park says that a lane worker is only watched from now on, with nothing to run, so
// that another may be reserved in its place. It reports false when too many are.
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

// unlane takes w out of the lane's count; false when it is not the lane. mu is held.
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

// Leaving reports whether the lane's worker has been told to drain: it should
// be given back soon.
func (f *Fleet) Leaving(w *Worker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return w.leaving
}

// Enter counts work in flight on the lane's worker. The caller owes Release.
func (f *Fleet) Enter(w *Worker) {
	f.mu.Lock()
	w.inFlight++
	f.mu.Unlock()
}
