package blame

import "time"

// Bounds of a recovery.
const (
	recoveryWithin = 2 * time.Second        // half of the workers must die within it
	recoveryFor    = 5 * time.Second        // how long it goes on when no more of them die, and half of them are up
	recoveryGap    = 100 * time.Millisecond // between a death and the next start, and twice as long after each …
	recoveryMost   = time.Second            // … up to this
	recoveryLook   = 10 * time.Millisecond  // when to ask again while as much runs as may
	recoveryFull   = 8                      // runs per worker at which it is over
	recoveryShare  = 4                      // one run for so many workers that are up at first
)

// recovery follows the death of half of the workers. What was on its way waits for the
// workers that come back then, the next pills with it, and among so much in flight a death
// tells nothing about any of it. So unproven work goes back to the fleet by few at a time, as a
// sender goes back to a network that has lost what it sent (slow start: Jacobson,
// "Congestion avoidance and control", 1988): each success lets one more run, and a death
// begins anew, after a gap. A run that has lasted for longer than [Config.Young] makes
// room, so that slow work is not held up. Proven work goes on at once, and nothing is
// refused.
type recovery struct {
	until int64 // 0: there is none
	slots int   // how much unproven work may be on its way or young
	gap   int64
	next  int64         // when the next may start
	runs  []recoveryRun // that take a slot, or did
}

// recoveryRun is a ticket that has had a slot since at.
type recoveryRun struct {
	ticket uint32
	at     int64
}

// Recovery says how a fleet recovers from the death of half of its workers.
type Recovery struct {
	Runs int       // unproven pieces of work that may run at the same time
	Next time.Time // when the next may start, after a death
}

// Recovery returns how the fleet recovers; false when it does not have to.
func (state *State) Recovery(now time.Time) (Recovery, bool) {
	r := &state.recovery
	if r.until == 0 || !state.recovers(now.UnixNano()) {
		return Recovery{}, false
	}
	return Recovery{Runs: r.slots, Next: time.Unix(0, r.next)}, true
}

// struck notes a death in the fleet: the recovery begins, or begins anew.
func (state *State) struck(now int64) {
	r := &state.recovery
	if !state.recovers(now) {
		if state.fleet == 0 || state.gate.within(now-int64(recoveryWithin)) < max(2, (state.fleet+1)/2) {
			return
		}
		r.gap = int64(recoveryGap) / 2
		state.emit(Event{Kind: RecoveryBegan, At: time.Unix(0, now)})
	}
	r.until = now + int64(recoveryFor)
	r.slots = max(1, len(state.byEpoch)/recoveryShare)
	r.gap = min(2*r.gap, int64(recoveryMost))
	r.next = now + r.gap
}

// recovers reports whether a recovery goes on, and ends one that is over.
func (state *State) recovers(now int64) bool {
	r := &state.recovery
	if r.until == 0 {
		return false
	}
	if 2*len(state.byEpoch) < state.fleet {
		r.until = max(r.until, now+int64(recoveryFor))
	}
	if now < r.until && r.slots < recoveryFull*max(1, state.fleet) {
		return true
	}
	*r = recovery{runs: r.runs[:0]}
	state.emit(Event{Kind: RecoveryEnded, At: time.Unix(0, now)})
	return false
}

// heldBack reports whether work that goes back by few at a time must wait, and until
// when.
func (state *State) heldBack(now int64) (until int64, held bool) {
	r := &state.recovery
	if now < r.next {
		return r.next, true
	}
	if state.recovering(now) >= r.slots {
		return now + int64(recoveryLook), true
	}
	return 0, false
}

// watched reports whether work counts among what goes back by few at a time.
func (state *State) watched(now int64, w *Work) bool {
	return state.recovers(now) && !w.Waited && !w.Exempt && !state.rule(w).ReportOnly && state.record(now, w) < provenEnough
}

// recovering counts what takes a slot.
func (state *State) recovering(now int64) int {
	r := &state.recovery
	kept := r.runs[:0]
	for _, run := range r.runs {
		tk := &state.tickets[run.ticket]
		if tk.slot == run.at && (tk.epoch == none || now-tk.started < int64(state.cfg.Young)) {
			kept = append(kept, run)
		}
	}
	r.runs = kept
	return len(kept)
}

// takeSlot gives ticket i a slot.
func (state *State) takeSlot(now int64, i uint32) {
	state.tickets[i].slot = now
	state.recovery.runs = append(state.recovery.runs, recoveryRun{i, now})
}

// leaveSlot gives it back. A success makes room for one more.
func (state *State) leaveSlot(tk *ticket, ok bool) {
	if tk.slot != 0 && ok && state.recovery.until != 0 {
		state.recovery.slots++
	}
	tk.slot = 0
}
