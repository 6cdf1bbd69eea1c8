package sim

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/policy/lane"
)

// laneKick sets a worker apart while somebody waits for the lane.
func (w *world) laneKick() {
	l := &w.lane
	if len(l.queue) == 0 || l.running > 0 || l.draining || l.retrying {
		return
	}
	if l.worker != none { // lingering
		w.laneRun()
		return
	}
	i := w.reservable()
	if i == none {
		l.retrying = true
		w.after(5*time.Millisecond, evLaneRetry, 0, 0)
		return
	}
	k := &w.workers[i]
	w.withdraw(i)
	k.state, l.worker = apart, i
	l.turn++
	if k.inFlight > 0 {
		l.draining = true
		w.after(time.Second, evLaneDrain, i, l.turn)
		return
	}
	w.laneRun()
}

// lookAt bounds the workers that are compared for the lane; package fleet
// compares all.
const lookAt = 64

// What makes a life fit for the lane besides being the least busy, as in
// package fleet.
const (
	settledAfter = 8
	settledExtra = 2
)

// reservable returns the least busy of the workers that have shown that they
// work, or else of all: the oldest life among equals, unless a younger one is
// hardly busier. It returns none unless another serves besides.
func (w *world) reservable() int32 {
	if len(w.free) < 2 && w.Workers > 1 || len(w.free) == 0 {
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
	best := seen[0]
	for _, i := range seen {
		k, b := &w.workers[i], &w.workers[best]
		switch settled := k.served >= settledAfter; {
		case settled != (b.served >= settledAfter):
			if settled {
				best = i
			}
		case k.inFlight < b.inFlight || k.inFlight == b.inFlight && k.epoch < b.epoch:
			best = i
		}
	}
	most := w.workers[best].inFlight + settledExtra
	for _, i := range seen {
		if k := &w.workers[i]; k.inFlight <= most && k.epoch > w.workers[best].epoch && k.served >= settledAfter {
			best = i
		}
	}
	return best
}

// laneRun lets those whose turn it is run on the lane's worker, or lingers.
func (w *world) laneRun() {
	l := &w.lane
	l.turn++
	l.draining = false
	if k := &w.workers[l.worker]; k.state == leaving {
		w.laneFree()
		return
	} else if k.gone {
		return // its end will be noticed in a moment
	}
	l.view = l.view[:0]
	for _, slot := range l.queue {
		l.view = append(l.view, w.requests[slot].entry())
	}
	l.picked = lane.Pick(w.at(), l.view, l.picked)
	if len(l.picked) == 0 {
		w.after(linger, evLinger, 0, l.turn)
		return
	}
	slots := make([]int32, len(l.picked))
	for i, j := range l.picked {
		slots[i] = l.queue[j]
	}
	l.queue = slices.DeleteFunc(l.queue, func(s int32) bool { return slices.Contains(slots, s) })
	l.running = len(slots)
	var stale []int32
	for _, slot := range slots {
		r := &w.requests[slot]
		if w.state.Overtaken(r.ticket) {
			stale = append(stale, slot)
			continue
		}
		w.enter(slot, l.worker)
		w.send(slot, true)
	}
	for _, slot := range stale {
		r := &w.requests[slot]
		r.where, r.inLane = nowhere, true
		w.closeTicket(slot)
		w.runOver(slot)
		w.turn(slot)
	}
}

// laneFree gives the lane's worker back.
func (w *world) laneFree() {
	l := &w.lane
	i := l.worker
	l.worker, l.draining = none, false
	l.turn++
	if i != none {
		k := &w.workers[i]
		switch k.state {
		case apart:
			k.state = serving
			w.offer(i)
		case leaving:
			if k.inFlight == 0 {
				w.after(0, evPlanned, i, uint32(k.epoch))
			}
		}
	}
	w.laneKick()
}
