package blame

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Verdicts returns everything held and why, in no order.
func (state *State) Verdicts(now time.Time) []bezoar.Verdict {
	var out []bezoar.Verdict
	for i := range state.cases {
		if state.cases[i].state == unheld {
			continue
		}
		if state.refresh(now.UnixNano(), uint32(i)); state.cases[i].state != unheld {
			v := state.verdictOf(uint32(i))
			v.Why = state.caseWhy(&state.cases[i], &v)
			out = append(out, v)
		}
	}
	for i := range state.groups.all {
		g := &state.groups.all[i]
		if state.refreshGroup(now.UnixNano(), g); g.state != unheld {
			v := state.groupVerdict(g)
			v.Why = groupWhy(g)
			out = append(out, v)
		}
	}
	return out
}

// Lookup returns what is held against w: against its fingerprint, or else its
// shape or client.
func (state *State) Lookup(w *Work) (bezoar.Verdict, bool) {
	if i, ok := state.heldCase(w); ok {
		return state.verdictOf(i), true
	}
	if h := state.histories.find(w.Fingerprint); h != nil {
		v := view{Work: w}
		for _, key := range h.verdicts {
			if g := state.groups.find(key); g != nil && g.covers(w, state.look(&v)) {
				return state.groupVerdict(g), true
			}
		}
	}
	for _, fp := range [...]bezoar.Fingerprint{w.Shape, w.Client} {
		if g := state.groups.find(fp); g != nil && g.state != unheld {
			return state.groupVerdict(g), true
		}
	}
	return bezoar.Verdict{}, false
}

// Present returns the verdict as it stands now, if it is still held under its id.
func (state *State) Present(v *bezoar.Verdict) (bezoar.Verdict, bool) {
	id, ok := parseID(v.ID)
	if !ok {
		return bezoar.Verdict{}, false
	}
	if v.Scope == bezoar.ScopeWork || v.Scope == bezoar.ScopeVariant {
		if i, ok := state.byVariant[caseKey(v)]; ok && state.cases[i].state != unheld && state.cases[i].id == id {
			return state.verdictOf(i), true
		}
		return bezoar.Verdict{}, false
	}
	key, _ := groupKey(v)
	if g := state.groups.find(key); g != nil && g.state != unheld && g.id == id {
		return state.groupVerdict(g), true
	}
	return bezoar.Verdict{}, false
}

// Sizes is how much a [State] holds, each bounded.
type Sizes struct {
	Tickets  int // open
	Leaders  int // of them, those that copies wait for
	Canaries int // of them, those of unseen shapes
	Epochs   int // open
	Cases    int // at most Config.MaxCases
	Details  int
	Groups   int // at most Config.MaxGroups
	Ring     int // deaths that the gate looks back on
	Events   int // not drained
}

// Sizes returns how much the state holds.
func (state *State) Sizes() Sizes {
	return Sizes{
		Tickets: len(state.tickets) - len(state.freeTickets), Leaders: state.leading, Canaries: state.canaries,
		Epochs: len(state.byEpoch), Cases: len(state.byVariant), Details: len(state.details) - len(state.freeDetails),
		Groups: len(state.groups.byFP), Ring: max(len(state.gate.deaths), len(state.gate.failedAttempts), len(state.gate.recent)),
		Events: len(state.events),
	}
}

// GateClosed reports whether the fleet gate is closed.
func (state *State) GateClosed(now time.Time) bool { return state.gateClosed(now.UnixNano()) }

// Overtaken reports whether what was decided about t's work when it was
// admitted holds no more, because another copy has come under suspicion or was
// convicted since, because its level was escalated and its turn has not come, or because
// most of the fleet has died meanwhile. It must be closed and admitted again, before an attempt.
func (state *State) Overtaken(now time.Time, t Ticket) bool {
	tk := &state.tickets[t]
	if tk.work.Exempt || tk.probe || state.rule(&tk.work).ReportOnly {
		return false
	}
	if state.Lifted(now, t) {
		return true
	}
	if i, ok := state.heldCase(&tk.work); ok {
		switch state.cases[i].state {
		case quarantined:
			return true
		case suspected:
			if tk.caseIndex != i {
				return true
			}
		case conditional:
			return false
		case unheld:
		}
	}
	if tk.toLane && !tk.paced {
		v := view{Work: &tk.work}
		until, took := state.paced(now.UnixNano(), &v, tk.caseIndex != none)
		if tk.paced = took; until > 0 {
			return true
		}
	}
	if tk.lane || tk.caseIndex != none || tk.group != none {
		return false
	}
	if tk.slot == 0 && !tk.toLane && state.recovery.until != 0 && state.watched(now.UnixNano(), &tk.work) {
		return true
	}
	if tk.changes == state.changes {
		return false
	}
	// Something has come to be held since: against its caller, its shape or other
	// variants of its fingerprint. Unless much speaks for it, it is judged again.
	tk.changes = state.changes
	return state.record(state.start, &tk.work) < provenWell
}

// Lifted reports whether t's work was sent to the lane for what was held against it, and nothing is any more. It may
// be closed and admitted again while it waits.
func (state *State) Lifted(now time.Time, t Ticket) bool {
	tk := &state.tickets[t]
	i := tk.caseIndex
	if i == none || tk.probe || state.cases[i].claim != uint32(t) {
		return false
	}
	return state.cases[i].state == unheld || state.acquitted(now.UnixNano(), i)
}

// Quarantine holds w by an operator's order until the given time: its exact
// fingerprint, or its shape when the fingerprint is zero.
func (state *State) Quarantine(now, until time.Time, w Work, reason, sample string) (bezoar.Verdict, error) {
	at := now.UnixNano()
	state.changes++
	if w.Fingerprint.IsZero() {
		g := state.groups.get(state, w.Shape, ofShape, state.rule(&w))
		if g == nil {
			return bezoar.Verdict{}, fmt.Errorf("quarantine shape %v: no room, release another first", w.Shape)
		}
		if g.state == unheld {
			state.groups.active++
		}
		g.state, g.manual, g.since, g.until, g.reason, g.sample = quarantined, true, at, until.UnixNano(), reason, sample
		state.emitGroup(Convicted, at, g)
		return state.groupVerdict(g), nil
	}
	if w.Variant.IsZero() {
		w.Variant = w.Fingerprint // all variants of it
	}
	i := state.caseFor(at, &w)
	if i == none {
		return bezoar.Verdict{}, fmt.Errorf("quarantine %v: no room, release another first", w.Fingerprint)
	}
	c := &state.cases[i]
	c.state, c.manual, c.since, c.until, c.cause = quarantined, true, at, until.UnixNano(), bezoar.Invalid
	c.level = max(c.level, 1)
	d := state.detailOf(i)
	d.reason, d.sample = reason, sample
	state.emitCase(Convicted, at, i, nil)
	return state.verdictOf(i), nil
}

// Release lets go of what is held under the verdict's id.
func (state *State) Release(now time.Time, id string) (bezoar.Verdict, bool) {
	return state.letGo(id, func(v bezoar.Verdict) {
		state.emit(Event{Kind: Released, At: now, Verdict: v})
	})
}

// letGo clears what is held under the id, after it has told of it.
func (state *State) letGo(id string, tell func(bezoar.Verdict)) (bezoar.Verdict, bool) {
	for i := range state.cases {
		if c := &state.cases[i]; c.state != unheld && c.id != 0 && verdictID(c.id) == id {
			v := state.verdictOf(uint32(i))
			tell(v)
			if h := state.histories.find(c.work.Fingerprint); h != nil {
				h.cleared(c.work.Variant, true)
			}
			state.setClear(uint32(i))
			c.level, c.pardons = 0, 0
			return v, true
		}
	}
	for i := range state.groups.all {
		if g := &state.groups.all[i]; g.state != unheld && g.id != 0 && verdictID(g.id) == id {
			v := state.groupVerdict(g)
			tell(v)
			state.clearGroup(g)
			return v, true
		}
	}
	return bezoar.Verdict{}, false
}

// NewBuild lets every convict be tried soon: the workers run other code now.
// Operators' orders stand.
func (state *State) NewBuild(now time.Time) {
	at := now.UnixNano()
	for i := range state.cases {
		if c := &state.cases[i]; c.state == quarantined && !c.manual {
			c.until = min(c.until, at)
		}
	}
	for i := range state.groups.all {
		if g := &state.groups.all[i]; g.state == quarantined && !g.manual {
			g.until = min(g.until, at)
		}
	}
}

func parseID(s string) (uint64, bool) {
	var id uint64
	n, err := fmt.Sscanf(s, "q-%12x", &id)
	return id, n == 1 && err == nil && len(s) == 14
}
