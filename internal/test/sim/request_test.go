package sim

import (
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/lane"
)

// What dispatch waits for, and how often it tries.
const (
	duplicatePoll = 500 * time.Millisecond
	leastPaced    = 5 * time.Second
	attempts      = 3
	maxFree       = 8
	maxDied       = 2
	maxMet        = 16
	overflowAt    = 8
	laneQueue     = 512
)

// request is one piece of work on its way, as a dispatch call holds it.
type request struct {
	work      blame.Work
	finding   blame.Finding // what the crash of its worker left, when found
	found     bool
	killAt    int64 // when it is going to kill its worker; 0 never
	service   int64
	started   int64
	epoch     uint64
	waitFrom  int64   // when it began to wait for the lane
	until     int64   // by when waiting must end; 0 until something waits
	paced     int64   // when it first waited for a pace
	share     float64 // of the last lane worker that died with it and others
	score     float64
	settle    time.Duration // a stream leaves with its worker after that long
	window    time.Duration // its worker stays the lane's that long after its answer
	quiet     time.Duration // how long nothing may have been answered on the worker of a clean run
	ran       time.Duration // how long it had run when its worker died
	group     *company      // with whom it died last in the lane
	suspectOf *company      // … when it is one of those that run alone next
	doubted   *company      // the last that it was one of those of
	pill      int32         // what it really is; none for innocents
	worker    int32
	prev      int32
	next      int32
	avoid     int32
	shot      *Shot // of an attack
	born      int64 // when it was sent
	ticket    blame.Ticket
	life      uint32 // counts the uses of this place
	wait      uint32 // counts the waits for a copy
	gen       uint32 // counts attempts, so that events of old ones know
	where     place
	shift     int32         // that runs it, or none
	hold      time.Duration // around its start in the lane
	limit     int           // how much may run beside it in the lane, itself included; 0: as much as may
	lost      int           // workers that ended with it
	met       uint8         // workers that died in the lane with it and others
	attempts  uint8
	free      uint8
	died      uint8
	unsafe    bool
	aborts    bool
	isolate   bool
	single    bool
	alone     bool // it must run alone
	must      bool // … for more than what it died with in company
	clean     bool // its run is to decide
	proven    bool
	probe     bool
	canary    bool
	begun     bool
	inLane    bool
}

// place is where a request is.
type place uint8

const (
	nowhere place = iota
	waitsDuplicate
	heldBack // until the fleet, most of which has died, takes more
	waitsWorker
	waitsLane
	waitsTurn // its turn has come, and its worker is not clean yet
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
		work: work, pill: pill, service: int64(service), worker: none, avoid: none, shift: none,
		life: old.life + 1, gen: old.gen + 1, wait: old.wait + 1,
	}
	w.inside++
	w.stats.Arrived++
	return slot
}

func (w *world) end(slot int32, e ending) {
	r := &w.requests[slot]
	r.leaveCompany(e == refused)
	if w.siege != nil {
		w.siege.over(w, r, e)
	}
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
			w.await(slot, false, time.Time{})
			return
		}
		r.ticket, r.probe = t, false
		w.intoLane(slot, &blame.Decision{Action: blame.ToLane})
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
			w.await(slot, true, d.Until)
			return
		}
		t = w.state.Open(r.work)
	case blame.Pace:
		w.keepPace(slot, &d)
		return
	case blame.HoldBack:
		w.holdBack(slot, d.Until)
		return
	}
	r.ticket = t
	r.probe, r.canary = d.Cause == blame.ByProbe, d.Action == blame.ToCanary
	if d.Action == blame.ToLane && !w.faults.noLane && !(d.Overflow && len(w.lane.queue) >= overflowAt) {
		w.intoLane(slot, &d)
		return
	}
	if d.Beside != 0 {
		w.beside(slot, d.Beside)
		return
	}
	w.overFleet(slot)
}

// beside delivers a request to the worker with that epoch, on which copies of it run.
func (w *world) beside(slot int32, epoch uint64) {
	r := &w.requests[slot]
	for i := range w.workers {
		if k := &w.workers[i]; k.epoch == epoch && k.state == serving && !k.silent && !k.gone {
			w.stats.Beside++
			w.enter(slot, int32(i))
			w.send(slot, false)
			return
		}
	}
	if !w.faults.keepTickets {
		w.state.Close(r.ticket)
	}
	w.await(slot, false, time.Time{})
}

// keepPace waits until work of an escalated level may ask again, if its caller waits
// that long; where the shape is escalated it waits a while in any case.
func (w *world) keepPace(slot int32, d *blame.Decision) {
	r := &w.requests[slot]
	at := d.Until.UnixNano()
	w.stats.Paced++
	if r.paced == 0 {
		r.paced = w.now
	}
	if !w.patient(slot) || at > r.until && (d.Cause == blame.ByClient || w.now-r.paced >= int64(leastPaced)) {
		w.end(slot, unavailable)
		return
	}
	r.where = waitsDuplicate
	r.wait++
	w.after(min(max(time.Duration(at-w.now), time.Millisecond), duplicatePoll), evPoll, slot, r.wait)
}

// patient sees to it that waiting ends, and reports whether it has to now.
func (w *world) patient(slot int32) bool {
	r := &w.requests[slot]
	if r.until == 0 {
		r.until = w.now + int64(w.set.patience)
		w.after(w.set.patience, evPatience, slot, r.life)
	}
	return w.now < r.until
}

// duplicateWait is one request's wait for a copy.
type duplicateWait struct {
	slot int32
	wait uint32
}

// await waits for the copy that goes first, and asks again by until.
func (w *world) await(slot int32, duplicate bool, until time.Time) {
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
	poll := duplicatePoll
	if !until.IsZero() {
		poll = max(time.Millisecond, min(poll, until.Sub(w.at())))
	}
	w.after(poll, evPoll, slot, r.wait)
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
	if waited && w.state.Overtaken(w.at(), r.ticket) {
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
	r.where, r.inLane, r.begun, r.started, r.epoch = flies, inLane, false, w.now, k.epoch
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
	r.ran = time.Duration(w.now - r.started)
	switch died := crashed && !f.Planned; {
	case r.inLane && f.Company:
		again := r.hold > 0
		r.single, r.hold, r.share = false, 0, f.Share
		if f.Alone {
			r.single, r.hold = lane.Doubt(f.Share, r.ran, again)
		}
		r.met++
		w.meet(slot, r.epoch, f.Alone)
	case r.inLane:
		r.single, r.hold = true, 0
		if died {
			r.died++
		}
	}
	w.runOver(slot)
	w.again(slot, &f, crashed, strike)
}

// again is dispatch's after: what follows a failure without a conviction.
func (w *world) again(slot int32, f *blame.Finding, crashed bool, strike blame.Result) {
	r := &w.requests[slot]
	if f.Planned || f.Gated || f.Company {
		r.free++
	}
	if crashed {
		r.lost++
	}
	deliveries := min(attempts, max(w.Workers, 2)+r.lost)
	spent := int(r.attempts)-int(r.free) >= deliveries || r.free-r.met > maxFree || r.died > maxDied || r.met > maxMet
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
