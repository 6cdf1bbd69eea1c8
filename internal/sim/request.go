package sim

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// What dispatch waits for, and how often it tries.
const (
	patience      = 15 * time.Second
	duplicatePoll = 500 * time.Millisecond
	attempts      = 3
	maxFree       = 8
	maxDied       = 2
	overflowAt    = 8
	laneQueue     = 512
	linger        = 100 * time.Millisecond
)

// request is one piece of work on its way, as a dispatch call holds it.
type request struct {
	work     blame.Work
	finding  blame.Finding // what the crash of its worker left, when found
	found    bool
	killAt   int64 // when it is going to kill its worker; 0 never
	service  int64
	started  int64
	waitFrom int64 // when it began to wait for the lane
	until    int64 // by when waiting must end; 0 until something waits
	score    float64
	pill     int32 // what it really is; none for innocents
	worker   int32
	prev     int32
	next     int32
	avoid    int32
	ticket   blame.Ticket
	life     uint32 // counts the uses of this place
	wait     uint32 // counts the waits for a copy
	gen      uint32 // counts attempts, so that events of old ones know
	where    place
	attempts uint8
	free     uint8
	died     uint8
	unsafe   bool
	aborts   bool
	isolate  bool
	single   bool
	alone    bool // it must run alone
	proven   bool
	probe    bool
	canary   bool
	begun    bool
	inLane   bool
}

// place is where a request is.
type place uint8

const (
	nowhere place = iota
	waitsDuplicate
	waitsWorker
	waitsLane
	flies
)

// ending is what became of a request.
type ending uint8

const (
	answered ending = iota
	refused
	shapeRefused
	unavailable
	failed
	timedOut
	aborted
	cut
)

func (w *world) open(work blame.Work, pill int32, service time.Duration) int32 {
	slot := int32(len(w.requests))
	if n := len(w.slots); n > 0 {
		slot = w.slots[n-1]
		w.slots = w.slots[:n-1]
	} else {
		w.requests = append(w.requests, request{})
	}
	old := &w.requests[slot]
	w.requests[slot] = request{
		work: work, pill: pill, service: int64(service), worker: none, avoid: none,
		life: old.life + 1, gen: old.gen + 1, wait: old.wait + 1,
	}
	w.inside++
	return slot
}

func (w *world) end(slot int32, e ending) {
	r := &w.requests[slot]
	r.where = nowhere
	r.life++
	w.slots = append(w.slots, slot)
	w.inside--
	innocent := r.pill == none
	s := &w.stats
	switch e {
	case answered:
		s.Answered++
	case refused:
		s.Refused++
	case shapeRefused:
		s.ShapeRefused++
		if innocent {
			s.InnocentsShapeRefused++
		}
	case unavailable:
		s.Unavailable++
		if innocent {
			s.InnocentsUnavailable++
		}
	case failed:
		s.Failed++
	case timedOut:
		s.TimedOut++
	case aborted:
		s.Aborted++
	case cut:
		s.Cut++
	}
}

// turn admits a request once and does what was decided.
func (w *world) turn(slot int32) {
	r := &w.requests[slot]
	if r.isolate {
		t, ok := w.state.Redrive(r.work)
		if !ok {
			w.await(slot, false)
			return
		}
		r.ticket, r.score, r.proven, r.alone, r.probe = t, 0, false, true, false
		w.intoLane(slot)
		return
	}
	t, d := w.state.Admit(w.at(), r.work)
	w.laws.admitted(w, r, &d)
	switch d.Action {
	case blame.Refuse:
		if d.Cause == blame.ByShapeVerdict {
			w.end(slot, shapeRefused)
		} else {
			w.end(slot, refused)
		}
		return
	case blame.Duplicate:
		if !w.faults.noDuplicates {
			w.await(slot, true)
			return
		}
		t = w.state.Open(r.work)
	}
	r.ticket, r.score, r.proven = t, d.Score, d.Proven
	r.probe, r.canary = d.Cause == blame.ByProbe, d.Action == blame.ToCanary
	r.alone = r.single || r.probe || d.Cause == blame.ByShape
	if d.Action == blame.ToLane && !w.faults.noLane && !(d.Overflow && len(w.lane.queue) >= overflowAt) {
		w.intoLane(slot)
		return
	}
	w.overFleet(slot)
}

// patient sees to it that waiting ends, and reports whether it has to now.
func (w *world) patient(slot int32) bool {
	r := &w.requests[slot]
	if r.until == 0 {
		r.until = w.now + int64(patience)
		w.after(patience, evPatience, slot, r.life)
	}
	return w.now < r.until
}

// duplicateWait is one request's wait for a copy.
type duplicateWait struct {
	slot int32
	wait uint32
}

// await waits for the copy that goes first.
func (w *world) await(slot int32, duplicate bool) {
	r := &w.requests[slot]
	if !w.patient(slot) {
		w.end(slot, unavailable)
		return
	}
	r.where = waitsDuplicate
	r.wait++
	if duplicate {
		w.duplicates[r.work.Fingerprint] = append(w.duplicates[r.work.Fingerprint], duplicateWait{slot, r.wait})
	}
	w.after(duplicatePoll, evPoll, slot, r.wait)
}

// closeTicket gives the ticket back and wakes who waits for it.
func (w *world) closeTicket(slot int32) {
	r := &w.requests[slot]
	if w.faults.keepTickets || !w.state.Close(r.ticket) {
		return
	}
	if list, ok := w.duplicates[r.work.Fingerprint]; ok {
		delete(w.duplicates, r.work.Fingerprint)
		for _, t := range list {
			w.after(0, evPoll, t.slot, t.wait)
		}
	}
}

// overFleet delivers an admitted request to a worker, or waits for one.
func (w *world) overFleet(slot int32) {
	r := &w.requests[slot]
	waited := r.where == waitsWorker
	i := w.take(r.avoid, r.canary)
	if i == none {
		if !w.patient(slot) {
			w.closeTicket(slot)
			w.end(slot, unavailable)
			return
		}
		r.where = waitsWorker
		w.waiting = append(w.waiting, slot)
		return
	}
	if waited && w.state.Overtaken(r.ticket) {
		r.where = nowhere
		w.closeTicket(slot)
		w.turn(slot)
		return
	}
	if w.workers[i].gone { // not a byte leaves: another worker is tried
		r.avoid = i
		if i = w.take(i, false); w.workers[i].gone {
			r.where = waitsWorker
			w.after(duplicatePoll/10, evRedial, slot, r.gen)
			return
		}
	}
	w.enter(slot, i)
	w.send(slot, false)
}

// send delivers the request to the worker that it has entered.
func (w *world) send(slot int32, inLane bool) {
	r := &w.requests[slot]
	k := &w.workers[r.worker]
	r.where, r.inLane, r.begun, r.started = flies, inLane, false, w.now
	deadline := time.Unix(0, w.now+int64(w.set.timeout))
	if !w.state.Begin(w.at(), r.ticket, k.epoch, deadline, inLane) {
		w.laws.breakLaw(w, 1, "an attempt on worker %d was not recorded", r.worker)
	}
	r.attempts++
	w.stats.Attempts++
	if inLane {
		w.stats.LaneRuns++
	}
	w.planEnd(slot)
}

// judge decides what becomes of a request whose worker died or went silent, or
// whose connection broke. It has left its worker.
func (w *world) judge(slot int32, strike blame.Result) {
	r := &w.requests[slot]
	f, crashed := r.finding, r.found
	if r.found = false; !crashed {
		w.state.End(w.at(), r.ticket, strike)
		w.drain()
	}
	convicted := crashed && !f.Planned && f.Convicted
	if !crashed {
		v, held := w.state.Lookup(&r.work)
		convicted = held && isConvict(v.State)
	}
	if convicted && !r.begun {
		w.closeTicket(slot)
		w.runOver(slot)
		w.end(slot, refused)
		return
	}
	w.closeTicket(slot)
	r.single = r.single || r.inLane
	if r.inLane && crashed && !f.Planned {
		r.died++
	}
	w.runOver(slot)
	w.again(slot, &f, crashed, strike)
}

// again is dispatch's after: what follows a failure without a conviction.
func (w *world) again(slot int32, f *blame.Finding, crashed bool, strike blame.Result) {
	r := &w.requests[slot]
	if f.Planned || f.Gated {
		r.free++
	}
	spent := int(r.attempts)-int(r.free) >= attempts || r.free > maxFree || r.died > maxDied
	switch {
	case r.begun:
		w.end(slot, cut)
	case !crashed && strike == blame.TimedOut:
		w.end(slot, timedOut)
	case r.unsafe:
		w.end(slot, failed)
	case spent && (f.Gated || f.Planned):
		w.end(slot, unavailable)
	case spent:
		w.end(slot, failed)
	default:
		r.isolate = !crashed
		w.turn(slot)
	}
}

// intoLane queues an admitted request for the lane.
func (w *world) intoLane(slot int32) {
	r := &w.requests[slot]
	if !w.patient(slot) || len(w.lane.queue) >= laneQueue {
		w.closeTicket(slot)
		w.end(slot, unavailable)
		return
	}
	r.where, r.waitFrom = waitsLane, w.now
	w.lane.queue = append(w.lane.queue, slot)
	w.stats.MaxLane = max(w.stats.MaxLane, len(w.lane.queue))
	w.laneKick()
}

// runOver tells the lane that one of its runs is over.
func (w *world) runOver(slot int32) {
	r := &w.requests[slot]
	if !r.inLane {
		return
	}
	r.inLane = false
	w.lane.running--
	if w.lane.running == 0 {
		w.after(0, evLaneNext, 0, w.lane.turn)
	}
}

// entry is the request as lane.Pick sees it.
func (r *request) entry() lane.Entry {
	return lane.Entry{Score: r.score, Proven: r.proven, Single: r.alone, Died: int(r.died), Since: time.Unix(0, r.waitFrom)}
}
