package sim

import "time"

// What makes a life fit for the lane besides being the least busy, and how long its
// work is waited for, as in package fleet.
const (
	settledAfter    = 8
	settledExtra    = 2
	drainPatience   = time.Second
	settledPatience = drainPatience / 4
)

// lookAt bounds the workers that are compared for the lane; package fleet
// compares all.
const lookAt = 64

// reserve sets a worker apart for shift i, or looks again soon.
func (w *world) reserve(i int32) {
	l := &w.lane
	s := &l.shifts[i]
	s.turn++
	if w.now >= s.until || len(l.queue) == 0 {
		w.endShift(i)
		return
	}
	j := none
	if l.reserved == 0 || l.reserved < w.lanes() {
		j = w.reservable(!s.tried, s.clean)
	}
	if j == none {
		s.phase, s.tried = seeking, true
		w.after(5*time.Millisecond, evShift, i, s.turn)
		return
	}
	w.withdraw(j)
	k := &w.workers[j]
	k.state, k.shift, s.worker = apart, i, j
	l.reserved++
	if k.inFlight == 0 {
		s.phase = working
		w.shiftTurn(i)
		return
	}
	s.phase = emptying
	wait := drainPatience
	if !s.tried {
		wait = settledPatience
	}
	w.after(wait, evShift, i, s.turn)
}

// unreserve gives shift i's worker back.
func (w *world) unreserve(i int32) {
	l := &w.lane
	s := &l.shifts[i]
	j := s.worker
	k := &w.workers[j]
	k.shift, s.worker = none, none
	if s.parked {
		l.parked--
	} else {
		l.reserved--
	}
	switch k.state {
	case apart:
		k.state = serving
		w.offer(j)
	case leaving:
		if k.inFlight == 0 {
			w.after(0, evPlanned, j, uint32(k.epoch))
		}
	case down, serving:
	}
}

// reservable returns the least busy of the workers that serve: the oldest life among
// equals, unless a younger one that has shown that it works is hardly busier, or one
// that is clean is wanted. It returns none unless enough others serve besides.
func (w *world) reservable(settled, clean bool) int32 {
	need := 2
	if w.lane.reserved > 0 {
		need = max(2, 1+(w.Workers+1)/2)
	}
	if len(w.free) < need && w.Workers > 1 || len(w.free) == 0 {
		return none
	}
	seen := w.free
	if len(seen) > lookAt {
		seen = w.lane.seen[:0]
		for range lookAt {
			seen = append(seen, w.free[w.pick.IntN(len(w.free))])
		}
		w.lane.seen = seen
	}
	if clean {
		if best := w.quietest(seen); best != none {
			return best
		}
	}
	best := seen[0]
	for _, i := range seen {
		if k, b := &w.workers[i], &w.workers[best]; k.inFlight < b.inFlight || k.inFlight == b.inFlight && k.epoch < b.epoch {
			best = i
		}
	}
	if !settled {
		return best
	}
	most := w.workers[best].inFlight + settledExtra
	for _, i := range seen {
		if k := &w.workers[i]; k.inFlight <= most && k.epoch > w.workers[best].epoch && k.served >= settledAfter {
			best = i
		}
	}
	return best
}

// quietest returns the idle one on which nothing has been answered for longest.
func (w *world) quietest(seen []int32) int32 {
	best := none
	for _, i := range seen {
		if w.workers[i].inFlight == 0 && (best == none || w.quiet(i) > w.quiet(best)) {
			best = i
		}
	}
	return best
}
