package sim

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

type eventKind uint8

const (
	evDone      eventKind = iota // a: request, b: attempt
	evBegun                      // its answer begins
	evKill                       // it kills its worker
	evAbort                      // its caller hangs up
	evFault                      // its connection breaks
	evHang                       // it hangs its worker
	evOverdue                    // its deadline passes
	evAbandoned                  // a: abandoned attempt that kills
	evPatience                   // a: request, b: life; it has waited long enough
	evPoll                       // a: request, b: wait; it asks again
	evHeld                       // a: request, b: life; it has been held back for as long as may be
	evLine                       // the first of those that are held back asks again
	evUp                         // a: worker
	evDrain                      // a: worker that is told to leave
	evPlanned                    // a: worker that has left, b: epoch
	evIdleDeath                  // a: worker dies, in a scenario only if it is idle
	evNotice                     // a: worker whose death is noticed, b: epoch
	evMass                       // all workers die
	evMassOne                    // a: worker, b: epoch
	evBad                        // the bad build is rolled out, b: how many workers
	evGood                       // it is rolled back
	evPill                       // a: pill, b: copies
	evTick                       // a second has passed
	evRedial                     // a: request, b: attempt; no worker could be reached
	evShot                       // a: stream of an attack
	evSilent                     // a: worker that hangs, b: epoch
	evShift                      // a: shift, b: turn
)

// abandonedAttempt is what an abandoned attempt is still going to do.
type abandonedAttempt struct {
	worker int32
	epoch  uint64
	pill   int32
	class  bezoar.Class
}

func (w *world) handle(e *event) {
	switch {
	case e.kind <= evOverdue:
		if r := &w.requests[e.a]; r.gen == e.b && r.where == flies {
			w.handleAttempt(e.kind, e.a)
		}
	case e.kind == evPatience:
		if w.requests[e.a].life == e.b {
			w.handleWait(e.kind, e.a)
		}
	case e.kind == evPoll:
		if w.requests[e.a].wait == e.b {
			w.handleWait(e.kind, e.a)
		}
	case e.kind == evHeld:
		if r := &w.requests[e.a]; r.life == e.b {
			w.letGo(e.a)
		}
	case e.kind == evShift:
		if w.lane.shifts[e.a].turn == e.b {
			w.handleShift(e.a)
		}
	default:
		w.handleFleet(e)
	}
}

func (w *world) handleAttempt(kind eventKind, slot int32) {
	r := &w.requests[slot]
	i := r.worker
	k := &w.workers[i]
	switch kind {
	case evDone:
		if k.mute {
			w.heap.push(event{at: r.started + int64(w.set.timeout), kind: evOverdue, a: slot, b: r.gen})
			return
		}
		w.bomb(r, i)
		w.leave(slot)
		w.state.End(w.at(), r.ticket, blame.Survived)
		w.closeTicket(slot)
		w.runOver(slot)
		w.drain()
		w.end(slot, answered)
	case evBegun:
		r.begun = true
		w.state.Begun(w.at(), r.ticket)
	case evKill:
		cause := r.pill
		if k.bad {
			cause = none
		}
		w.die(i, w.deathClass(cause), false, cause)
	case evHang:
		k.mute, k.hung = true, r.pill
		w.hush(i)
		w.heap.push(event{at: r.started + int64(w.set.timeout), kind: evOverdue, a: slot, b: r.gen})
	case evAbort:
		w.leaveAbandoned(slot)
		w.leave(slot)
		w.state.End(w.at(), r.ticket, blame.Abandoned)
		w.closeTicket(slot)
		w.runOver(slot)
		w.end(slot, aborted)
	case evFault:
		if k.mute {
			w.heap.push(event{at: r.started + int64(w.set.timeout), kind: evOverdue, a: slot, b: r.gen})
			return
		}
		w.leave(slot)
		w.judge(slot, blame.Faulted)
	case evOverdue:
		if k.mute { // it answers neither its health check nor the request
			w.die(i, bezoar.Timeout, false, k.hung)
			return
		}
		w.leave(slot)
		w.judge(slot, blame.TimedOut)
	}
}

func (w *world) deathClass(pill int32) bezoar.Class {
	if pill != none && w.pills[pill].kind == OOM {
		return bezoar.OOM
	}
	return bezoar.Crash
}

func (w *world) handleWait(kind eventKind, slot int32) {
	r := &w.requests[slot]
	switch {
	case r.where == waitsDuplicate:
		r.where = nowhere
		if kind == evPatience {
			w.end(slot, unavailable)
			return
		}
		w.turn(slot)
	case r.where == heldBack && kind == evPatience:
		w.letGo(slot)
	case kind == evPatience && (r.where == waitsLane || r.where == waitsWorker || r.where == waitsTurn):
		this := func(s int32) bool { return s == slot }
		switch r.where {
		case waitsLane:
			w.lane.queue = slices.DeleteFunc(w.lane.queue, this)
		case waitsTurn:
			w.lane.running--
			for i := range w.lane.shifts {
				s := &w.lane.shifts[i]
				s.next = slices.DeleteFunc(s.next, this)
			}
		default:
			w.waiting = slices.DeleteFunc(w.waiting, this)
		}
		w.closeTicket(slot)
		w.end(slot, unavailable)
	}
}

func (w *world) handleFleet(e *event) {
	switch e.kind {
	case evAbandoned:
		g := w.abandoned[e.a]
		if k := &w.workers[g.worker]; k.state != down && k.epoch == g.epoch {
			w.die(g.worker, g.class, false, g.pill)
		}
	case evUp:
		w.up(e.a)
	case evLine:
		w.moveLine()
	case evDrain:
		w.retire(e.a)
	case evPlanned:
		if k := &w.workers[e.a]; k.state == leaving && uint32(k.epoch) == e.b {
			w.die(e.a, bezoar.Interrupted, true, none)
		}
	case evIdleDeath:
		k := &w.workers[e.a]
		if k.state != down && (k.inFlight == 0 || w.siege != nil) && !k.gone {
			// Until the death is noticed it is still given work, and refuses it.
			k.gone = true
			w.after(time.Duration(w.pick.Int64N(int64(5*time.Millisecond))), evNotice, e.a, uint32(k.epoch))
		}
	case evNotice, evMassOne:
		if k := &w.workers[e.a]; uint32(k.epoch) == e.b {
			w.die(e.a, bezoar.Crash, false, none)
		}
	case evMass:
		w.mass(time.Duration(e.b))
	case evBad:
		w.rollOut(int(e.b))
	case evGood:
		w.rollBack()
	case evPill:
		w.arriveCopies(e.a, int(e.b))
	case evRedial:
		if r := &w.requests[e.a]; r.gen == e.b && r.where == waitsWorker {
			w.overFleet(e.a)
		}
	case evSilent:
		w.silent(e.a, e.b)
	case evShot:
		w.shoot(e.a)
	case evTick:
		w.look()
		w.state.Tick(w.at())
		w.drain()
		w.laws.tick(w)
		w.after(time.Second, evTick, 0, 0)
	}
}

// retire drains a worker: what is in flight has the grace to finish.
func (w *world) retire(i int32) {
	k := &w.workers[i]
	if k.state != serving && k.state != apart {
		return
	}
	w.withdraw(i)
	k.state = leaving
	if k.inFlight == 0 {
		w.after(0, evPlanned, i, uint32(k.epoch))
	}
	w.after(w.set.grace, evPlanned, i, uint32(k.epoch))
}
