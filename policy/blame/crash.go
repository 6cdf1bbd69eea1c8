package blame

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Crash ends an epoch. A planned end blames nobody. Otherwise the blame of one
// crash is shared out over what was in flight and what was answered within the
// window before, if it has not proven itself; every ticket there gets a
// [Finding]. ev brings what is known of the death; the state fills in the rest.
func (state *State) Crash(now time.Time, id uint64, planned bool, ev bezoar.Evidence) {
	e, ok := state.byEpoch[id]
	if !ok {
		return
	}
	at := now.UnixNano()
	ep := &state.epochs[e]
	if planned {
		for i := range ep.answers.all {
			if a := ep.answers.nth(i); !a.counted {
				state.succeeded(at, a)
			}
		}
		ep.answers.open = 0
	} else {
		state.flush(at, ep)
	}
	acc, flight := state.accuse(at, ep, planned, ev.Class)
	past := state.past(at, ep, planned)
	state.Silent(now, id, false)
	delete(state.byEpoch, id)
	clear(ep.answers.all)
	*ep = epoch{head: none, answers: answers{all: ep.answers.all[:0]}}
	state.freeEpochs = append(state.freeEpochs, e)

	ev.Epoch, ev.At, ev.InFlight = id, now, flight
	if planned {
		for i := range acc {
			state.found(acc[i].ticket, Finding{Planned: true})
		}
		state.emit(Event{Kind: EpochEnded, At: now, Evidence: ev, Planned: true})
		return
	}
	state.crashes++
	shareOut(acc)
	slices.SortStableFunc(acc, func(x, y accused) int { return cmp.Compare(y.share, x.share) })
	ev.Lane = laneDeath(acc)
	state.emit(Event{Kind: EpochEnded, At: now, Evidence: ev})
	sick := past.fresh && state.badBuild(at, acc)
	state.observe(at, acc, &ev)
	if !ev.Lane {
		state.struck(at)
	}
	state.wasNear(at, past.near)
	elsewhere := state.elsewhere(acc)
	few := likeliest(acc)
	convicted := false
	for i, late := 0, 0; i < len(acc); i++ {
		if acc[i].ticket == none && acc[i].late {
			if late++; late > maxLate || acc[i].share < lateShare {
				continue
			}
		}
		surprise := 0.0
		if c := acc[i].work.Client; acc[i].ticket != none && !acc[i].lane && elsewhere != nil {
			surprise = state.surprise(elsewhere[c]) / float64(ofCaller(acc, c))
		}
		ev := ev
		ev.Lane = !state.mayBeOthers(past.novel, &acc[i])
		convicted = state.blame(at, acc, i, surprise, acc[i].ticket != none && acc[i].share >= few, sick, ev) || convicted
	}
	state.groups.crowded(state, at, acc)
	if !convicted {
		state.unexplained(at, acc, &past)
	}
	state.compareCleared(at)
}

// past is what is known of an epoch that has ended, besides what was in flight.
type past struct {
	before []Work       // answered lately
	near   []Work       // … within the window
	novel  []newSet     // features of what it answered that no worker has outlived, of each variant apart
	timed  explanation  // … so shortly before this and other deaths that it explains them
	late   []lateCaller // whose work was answered shortly before the end
	open   []answer     // does not count as a success yet
	fresh  bool         // it had answered nothing

	early []bezoar.Fingerprint // callers, once for each answer that has counted as a success too early
}

// past collects what an epoch has answered, before the epoch is forgotten.
func (state *State) past(now int64, e *epoch, planned bool) past {
	state.noteOutlived(now, e)
	p := past{fresh: e.answered == 0}
	if planned {
		return p
	}
	p.novel = state.novelOf(now, e)
	p.before, p.near = state.before(now, e, int64(answersFor)), state.before(now, e, state.window(now))
	p.late, p.open = state.lateCallers(now, e), e.answers.latest()
	if state.alert {
		p.timed = state.timed(now, e)
	}
	for i := range e.answers.all {
		if a := &e.answers.all[i]; a.counted && !a.work.Client.IsZero() && now-a.at <= state.lateMost() {
			p.early = append(p.early, a.work.Client)
		}
	}
	return p
}

// unexplained notes a death that has convicted nobody.
func (state *State) unexplained(now int64, acc []accused, p *past) {
	for _, c := range p.early {
		if g := state.groups.find(c); g != nil {
			g.touch(state.second(now))
			g.ran = max(0, g.ran-1)
		}
	}
	state.groups.blameLate(state, now, p.late, acc)
	state.groups.reconsider(state, now)
	if len(p.before) == 0 && !p.fresh { // all that it answered is popular: from now on variants are known
		state.alert, state.alertUntil = true, now+int64(mysteryFor)
	}
	if len(p.before) > 0 {
		state.storm(now, acc, p.before)
	}
	if len(p.before) == 0 || state.gated(now) {
		return
	}
	state.puzzle(now, acc, p)
	if !slices.ContainsFunc(acc, func(a accused) bool { return a.ticket != none }) {
		state.unravel(now) // nothing in flight will explain it: a conviction cannot come before the next look
	}
	state.suspectTimed(now, &p.timed)
	state.suspectNovel(now, p.novel)
}

// elsewhere counts on how many other workers the callers of what was in flight have
// work, if they are many: then presence says more than shares do.
func (state *State) elsewhere(acc []accused) map[bezoar.Fingerprint]int {
	const crowd = 4
	out := map[bezoar.Fingerprint]int{}
	for i := range acc {
		if c := acc[i].work.Client; acc[i].ticket != none && !c.IsZero() {
			out[c] = 0
		}
	}
	if len(out) < crowd {
		return nil
	}
	for _, e := range state.byEpoch {
		seen := map[bezoar.Fingerprint]bool{}
		for t := state.epochs[e].head; t != none; t = state.tickets[t].next {
			c := state.tickets[t].work.Client
			if n, ok := out[c]; ok && !seen[c] {
				seen[c] = true
				out[c] = n + 1
			}
		}
	}
	for c := range out {
		out[c]++ // and the one that died
	}
	return out
}

// ofCaller counts what of c was in flight: it is there once, however much it has there.
func ofCaller(acc []accused, c bezoar.Fingerprint) (n int) {
	for i := range acc {
		if acc[i].ticket != none && acc[i].work.Client == c {
			n++
		}
	}
	return max(n, 1)
}

// surprise is a quarter of the bits by which it surprises that a caller with work on
// so many workers, 0 for unknown, had some on the one that died.
func (state *State) surprise(workers int) float64 {
	if workers == 0 {
		return 0
	}
	return math.Log2(max(1, float64(len(state.byEpoch)+1)/float64(workers))) / 4
}

// likeliest returns the share from which work in flight on a lane worker is much more
// likely than the rest to have killed it: it runs alone next. It returns more than 1
// when so many are alike that they cannot be told apart.
func likeliest(acc []accused) float64 {
	const most = 3
	top, n := 0.0, 0
	for i := range acc { // sorted
		switch {
		case acc[i].ticket == none:
		case n == 0:
			top, n = acc[i].share, 1
		case acc[i].share >= top/2:
			n++
		}
	}
	if n > most {
		return 2
	}
	return top / 2
}

// found leaves f on every ticket of the chain that begins with t.
func (state *State) found(t uint32, f Finding) {
	for t != none {
		tk := &state.tickets[t]
		tk.finding, tk.found = f, true
		t, tk.next = tk.next, none
	}
}

// blame lays acc[i]'s share at the door of its work and judges it. It reports
// whether the work stands convicted. surprise is how much its caller is blamed for
// being there; few says that it is one of few that may have
// killed; sick, that the death may be the worker's own fault.
func (state *State) blame(now int64, acc []accused, i int, surprise float64, few, sick bool, ev bezoar.Evidence) bool {
	a := &acc[i]
	if a.work.Exempt || a.bystander {
		state.found(a.ticket, Finding{Share: a.share})
		return false
	}
	ev.Share, ev.Others = a.share, others(acc, i)
	clean := ev.Lane
	only, beside := state.alone(acc, i)
	ev.Lane = only
	gated := state.gated(now)
	state.groups.crash(state, now, a, surprise)
	c := state.caseFor(now, &a.work)
	f := Finding{Share: a.share, Gated: gated}
	if c == none {
		// The table is full of convicts: the evidence cannot be kept, so the
		// shape answers for it.
		state.groups.escalateFull(state, now, a)
		f.Score = a.share
		state.found(a.ticket, f)
		return false
	}
	k := &state.cases[c]
	if only && beside {
		// Any of the streams may have been it, but hardly time and again.
		k.beside = min(k.beside+1, 255-1)
		ev.Lane = k.beside >= besideEnough
	}
	if only && !clean && !k.unsure {
		k.unsure, ev.Lane = true, false // once: what else it had answered may have killed it
	}
	if sick && !k.doubted && (ev.Lane || state.rule(&a.work).After == 1) {
		k.doubted, f.Gated = true, true // once: two such workers are enough
	}
	if a.ticket == none {
		state.left(k, a, &ev)
	}
	k.flight = k.flight || !a.late
	if f.Gated {
		ev.Share = 0 // it is the fleet: nothing of it is laid on the work
	}
	if a.lane && !ev.Lane && !f.Gated {
		f.Company, f.Alone, f.Free = true, few, a.share < 0.5
		k.clean = k.clean || few
	}
	state.accuseCase(now, c, a, f.Gated, &ev)
	f.Score = state.cases[c].score()
	if !f.Gated && (ev.Lane || a.share >= suspicion) {
		state.witness(now, a, ev.Lane)
	}
	if ev.Lane && !f.Gated && a.group != none {
		state.relapse(now, &state.groups.all[a.group])
	}
	f.Convicted = state.decide(now, c, a, f.Gated, &ev)
	if f.Convicted && ev.Lane && !f.Gated {
		state.groups.confirm(state, &a.work)
		state.widen(now, a, &ev)
	}
	state.found(a.ticket, f)
	return f.Convicted
}

// left judges work that was not running any more when its worker died: it was
// answered, or its caller had hung up. A worker that died idle is not taken for its
// doing at once: it runs once more, with time kept free behind it, and then on a worker
// on which nothing else was answered lately; on such a worker at once if it has much of
// the blame.
func (state *State) left(c *workCase, a *accused, ev *bezoar.Evidence) {
	if !c.late && !state.wholeLate(c.work.Fingerprint) && state.groups.commonOf(a.features) == nil {
		ev.Lane = false
		c.late = a.late || a.lane || a.share >= suspicion
		c.clean = c.clean || a.share >= suspicion
		return
	}
	c.late = true
	c.clean = c.clean || a.lane && !ev.Lane
}

// wholeLate reports whether all work of a fingerprint is suspect for what it does after its answer.
func (state *State) wholeLate(fp bezoar.Fingerprint) bool {
	i, ok := state.byVariant[fp]
	return ok && state.cases[i].late && state.cases[i].state == suspected
}

// besideEnough is how often work must kill beside streams to count as alone.
const besideEnough = 2

// witness remembers what a killer consists of, for its fingerprint and its shape.
func (state *State) witness(now int64, a *accused, alone bool) {
	if a.work.Traits == nil && len(a.features) == 0 {
		return
	}
	k := killer{variant: a.work.Variant, client: a.work.Client, weight: a.share, alone: alone, features: a.features}
	if k.features == nil {
		k.features = a.work.features(nil)
	}
	for _, fp := range [...]bezoar.Fingerprint{a.work.Fingerprint, a.work.Shape} {
		if h := state.historyFor(fp); h != nil {
			if len(h.killers) == 0 {
				state.changes++
			}
			h.killed(now, k)
		}
	}
}

// others lists the largest shares besides acc[i]'s; acc is sorted.
func others(acc []accused, i int) []bezoar.Suspect {
	if len(acc) < 2 {
		return nil
	}
	out := make([]bezoar.Suspect, 0, min(len(acc)-1, bezoar.MaxOthers))
	for j := range acc {
		if len(out) == cap(out) {
			break
		}
		if j != i {
			out = append(out, bezoar.Suspect{Fingerprint: acc[j].work.Fingerprint, Share: acc[j].share})
		}
	}
	return out
}
