package blame

import (
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// answeredOnly reports whether the case is suspect only because its work was answered
// before deaths. A run in the lane takes seconds then, since its worker is watched.
func (c *workCase) answeredOnly() bool {
	return c.state == suspected && c.late && !c.flight && c.laneCrashes() == 0
}

// acquitted clears what is suspect only because it was answered before deaths, once a
// worker has outlived an answer to it: it need not run alone for that.
func (state *State) acquitted(now int64, i uint32) bool {
	c := &state.cases[i]
	if !c.answeredOnly() || state.sharp(now, c.work.Variant) || !state.harmless(now, c.work.Fingerprint) {
		return false
	}
	if !c.work.whole() && state.proven.successes(c.work.Fingerprint, state.second(now)) >= provenPopular {
		return false // others of its fingerprint do not speak for this variant
	}
	state.acquit(now, i)
	return true
}

func (state *State) acquit(now int64, i uint32) {
	state.emitCase(Dropped, now, i, nil)
	for _, fp := range [...]bezoar.Fingerprint{state.cases[i].work.Fingerprint, state.cases[i].work.Shape} {
		if h := state.histories.find(fp); h != nil {
			h.cleared(state.cases[i].work.Variant, true)
		}
	}
	state.setClear(i)
}

// acquitCompany clears what is suspect only because it was answered before deaths that
// the conviction of case i explains: the convict was answered before all of them, too.
func (state *State) acquitCompany(now int64, i uint32) {
	var explained []uint64
	fp := state.cases[i].work.Fingerprint
	for j := state.byFP[fp]; j != none; j = state.cases[j].after {
		explained = append(explained, state.epochsOf(j)...)
	}
	for j := range state.cases {
		if uint32(j) == i || !state.cases[j].answeredOnly() || state.cases[j].work.Fingerprint == fp {
			continue
		}
		epochs := state.epochsOf(uint32(j))
		if !slices.ContainsFunc(epochs, func(e uint64) bool { return !slices.Contains(explained, e) }) {
			state.acquit(now, uint32(j))
		}
	}
	state.groups.acquitCallers(state, now, &state.cases[i].work)
}

// acquitCallers lets callers go that were escalated because of what they had been answered before deaths, now that
// a conviction of another caller's work explains those of the last minute, unless work of theirs has killed since.
func (gs *groups) acquitCallers(state *State, now int64, convict *Work) {
	if gs.active == 0 {
		return
	}
	for i := range gs.all {
		g := &gs.all[i]
		if g.kind == ofClient && g.state == suspected && g.late && !g.manual && g.deaths == 0 && g.fp != convict.Client && now-g.since < int64(mysteryFor) {
			state.emitGroup(Dropped, now, g)
			state.clearGroup(g)
			g.blamed = 0
		}
	}
}

// confirm notes that work of some caller, shape and endpoint has killed alone.
func (gs *groups) confirm(state *State, w *Work) {
	for _, g := range [...]*group{gs.find(w.Client), state.shapeOf(w)} {
		if g != nil {
			g.unsure = false
		}
	}
}

// reconsider lets callers, shapes and endpoints go that were escalated for more of the blame than their part of the
// traffic explains, when deaths that nothing explains have gone on without their work, so that they have no more of it
// than others now.
func (gs *groups) reconsider(state *State, now int64) {
	second := state.second(now)
	gs.letGo(state, now, func(g *group) bool {
		g.touch(second)
		return !g.late && !gs.excessive(state, g, second, 0)
	})
}

// letGo ends the escalation of groups against which only their part of the blame speaks. They keep that: the next death
// by their work may escalate them again.
func (gs *groups) letGo(state *State, now int64, which func(g *group) bool) {
	if gs.active == 0 {
		return
	}
	for i := range gs.all {
		g := &gs.all[i]
		if g.state != suspected || !g.unsure || g.manual || !which(g) {
			continue
		}
		state.emitGroup(Dropped, now, g)
		gs.active--
		state.changes++
		g.state, g.unsure, g.late, g.pacing, g.fresh = unheld, false, false, pacing{}, pacing{}
	}
}

// epochsOf lists the workers' lives whose deaths are evidence against a case.
func (state *State) epochsOf(i uint32) []uint64 {
	d := state.cases[i].detail
	if d == none {
		return nil
	}
	out := make([]uint64, 0, bezoar.MaxEvidence)
	for k := range state.details[d].evidence {
		out = append(out, state.details[d].evidence[k].Epoch)
	}
	return out
}
