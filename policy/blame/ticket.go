package blame

import (
	"time"
)

type ticket struct {
	work      Work
	epoch     uint32 // index of the epoch it is in flight on, or none
	prev      uint32 // neighbours in the epoch's list
	next      uint32
	caseIndex uint32 // the case it holds the claim of, or none
	group     uint32 // the group it probes, or none
	started   int64
	overdue   int64 // when its attempt counts as overdue; 0 never
	begunAt   int64 // when its answer began; 0 not yet
	prior     float32
	changes   uint32 // State.changes when it was admitted
	features  []uint64
	known     bool // its variant and features are known
	leader    bool // unproven copies wait for it
	canary    bool
	probe     bool // it tries work that stands convicted
	lane      bool
	toLane    bool  // it was admitted to the lane
	paced     bool  // it has had its turn at the pace of its level
	slot      int64 // since when it has had one of those of a recovery; 0: it has none
	live      bool  // between Admit and Close
	finding   Finding
	found     bool
}

func (state *State) takeTicket() uint32 {
	if n := len(state.freeTickets); n > 0 {
		i := state.freeTickets[n-1]
		state.freeTickets = state.freeTickets[:n-1]
		return i
	}
	state.tickets = append(state.tickets, ticket{})
	return uint32(len(state.tickets) - 1)
}

// Begin records an attempt of t on epoch, before its first byte leaves. overdue
// is by when its answer must begin, zero for never. It reports false when the
// epoch has ended: nothing may be sent then.
func (state *State) Begin(now time.Time, t Ticket, epoch uint64, overdue time.Time, lane bool) bool {
	e, ok := state.byEpoch[epoch]
	if !ok {
		return false
	}
	tk := &state.tickets[t]
	tk.started, tk.begunAt, tk.overdue = now.UnixNano(), 0, 0
	if !overdue.IsZero() {
		tk.overdue = overdue.UnixNano()
	}
	tk.lane, tk.found, tk.finding = lane, false, Finding{}
	tk.prior = float32(1 / (state.record(tk.started, &tk.work) + 2))
	state.link(uint32(t), e)
	state.attempts++
	return true
}

// Detach lets go of the traits of t's work, whose request is about to be gone, and
// returns the work as it is known from then on.
func (state *State) Detach(t Ticket) Work {
	tk := &state.tickets[t]
	if tk.work.Traits != nil {
		tk.work.variant()
		tk.work.endpoint()
		if len(tk.features) == 0 {
			tk.features = tk.work.features(tk.features)
		}
		tk.known, tk.work.Traits = true, nil
	}
	return tk.work
}

// Successes returns the decayed successes that t's work had when its attempt
// began.
func (state *State) Successes(t Ticket) float64 { return 1/float64(state.tickets[t].prior) - 2 }

// Begun notes that the answer to t's attempt has begun.
func (state *State) Begun(now time.Time, t Ticket) {
	tk := &state.tickets[t]
	if tk.begunAt = now.UnixNano(); tk.leader {
		state.leadBegun(tk.begunAt, tk.work.Fingerprint)
	}
}

// End ends t's attempt. If a crash has been found on it meanwhile, that stands
// and End does nothing.
func (state *State) End(now time.Time, t Ticket, r Result) {
	tk := &state.tickets[t]
	if tk.found || tk.epoch == none {
		return
	}
	e := &state.epochs[tk.epoch]
	state.unlink(uint32(t))
	state.leaveSlot(tk, r == Survived)
	at := now.UnixNano()
	if r == Abandoned && state.endedWell(at, tk) {
		r = Survived
	}
	switch r {
	case Survived:
		if tk.leader {
			state.leadAnswered(at, tk.work.Fingerprint)
		}
		state.survived(at, tk, e)
	case Unsent:
		state.attempts--
	case Faulted, TimedOut:
		state.strike(at, tk, e, r)
	case Abandoned:
		if tk.lane && tk.caseIndex != none {
			state.cases[tk.caseIndex].hold = at + state.window(at)
		}
		tk.work.variant() // its traits are about to be gone
		e.addAbandoned(abandonedAttempt{work: tk.work.kept(), started: tk.started, left: at, prior: tk.prior, overdue: tk.overdue, begun: tk.begunAt != 0, lane: tk.lane})
	}
}

// Finding returns what a crash left on t, once.
func (state *State) Finding(t Ticket) (Finding, bool) {
	tk := &state.tickets[t]
	f, ok := tk.finding, tk.found
	tk.found, tk.finding = false, Finding{}
	return f, ok
}

// Close gives the ticket back. Copies that waited for it may ask again: the
// caller wakes them when wake is true.
func (state *State) Close(t Ticket) (wake bool) {
	tk := &state.tickets[t]
	if !tk.live {
		return false
	}
	if tk.epoch != none {
		state.unlink(uint32(t))
	}
	if tk.leader {
		state.led(uint32(t))
		wake = true
	}
	if tk.canary {
		state.canaries--
	}
	if tk.caseIndex != none {
		if c := &state.cases[tk.caseIndex]; c.claim == uint32(t) {
			c.claim = none
			wake = true
		}
	}
	if tk.group != none {
		if g := &state.groups.all[tk.group]; g.claim == uint32(t) {
			g.claim = none
		}
	}
	*tk = ticket{epoch: none, caseIndex: none, group: none, features: tk.features[:0]}
	state.freeTickets = append(state.freeTickets, uint32(t))
	return wake
}
