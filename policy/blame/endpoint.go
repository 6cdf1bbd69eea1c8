package blame

import "github.com/bezoar-dev/bezoar"

// recorded reports whether the shape of w is known by itself: it is held, or has run
// well some times.
func (gs *groups) recorded(state *State, w *Work) bool {
	own := gs.find(w.Shape)
	return own != nil && (own.state != unheld || own.ran >= groupSeen) || state.seen.has(w.Shape)
}

// shapeOf returns the group of the shape of w: that of its endpoint's new shapes while
// nothing is known of this one. A shape holds names, and how long values are: whoever
// changes these sends new shapes without end.
func (state *State) shapeOf(w *Work) *group {
	gs := &state.groups
	if gs.wide > 0 && !gs.recorded(state, w) {
		if g := gs.find(w.endpoint()); g != nil {
			return g
		}
	}
	return gs.find(w.Shape)
}

// shapeFor returns what answers for the shape of a, and makes room for it.
func (gs *groups) shapeFor(state *State, a *accused, rule *Rule) *group {
	key, k, at := a.work.Shape, ofShape, a.work.endpoint()
	if !at.IsZero() && !gs.recorded(state, &a.work) {
		key, k = at, ofEndpoint
	}
	g := gs.get(state, key, k, rule)
	if g != nil && !at.IsZero() { // of answered work it is not known any more
		g.at = at
	}
	return g
}

// explained is the blame of other shapes and endpoints that are escalated: it says
// nothing about one more. kin says that one of them is of the same endpoint.
func (gs *groups) explained(g *group, second uint32) (blamed float64, kin bool) {
	if gs.active == 0 || g.kind == ofClient {
		return 0, false
	}
	for i := range gs.all {
		o := &gs.all[i]
		if o.state == suspected && o != g && (o.kind == ofShape || o.kind == ofEndpoint) {
			o.touch(second)
			blamed += o.blamed
			kin = kin || !g.at.IsZero() && o.at == g.at
		}
	}
	return blamed, kin
}

// slowestKin returns the slowest shape of g's endpoint that is escalated, or its new
// shapes, if any is.
func (gs *groups) slowestKin(g *group) (slowest *group) {
	if gs.active == 0 || g.at.IsZero() {
		return nil
	}
	for i := range gs.all {
		o := &gs.all[i]
		if o != g && o.state == suspected && o.at == g.at && (slowest == nil || o.pace < slowest.pace) {
			slowest = o
		}
	}
	return slowest
}

// relieve lets shapes and endpoints go of whose blame the caller c has most, now that it is
// escalated itself: that is the narrower level, and others need not wait for what it did.
// What they remember of the killers stays, and the rest of the blame, so that the next death
// by somebody else escalates them again.
func (gs *groups) relieve(state *State, now int64, c *group) {
	for i := range gs.all {
		g := &gs.all[i]
		if g.state != suspected || g.manual || g.kind != ofShape && g.kind != ofEndpoint {
			continue
		}
		its, all := 0.0, 0.0
		for _, k := range g.killers {
			all += k.share
			if k.client == c.fp {
				its += k.share
			}
		}
		if 2*its < all || all == 0 {
			continue
		}
		state.emitGroup(Dropped, now, g)
		gs.active--
		state.changes++
		g.state, g.pacing = unheld, pacing{}
		g.blamed *= 1 - its/all
	}
}

// crowdTrust is how much of what a shape's works have of the blame together is laid at
// its door when each of them has little.
const crowdTrust = 0.5

// crowded lays a part of a death in a crowd at the doors of the shapes that were in
// it. Pills of one shape share the blame with each other and with innocents; when every
// worker dies of several, none would ever have more of it.
func (gs *groups) crowded(state *State, now int64, acc []accused) {
	var keys []bezoar.Fingerprint // in the order of acc
	shares := map[bezoar.Fingerprint]float64{}
	works := map[bezoar.Fingerprint]*accused{}
	for i := range acc {
		a := &acc[i]
		if a.ticket == none || a.lane || a.late || a.work.Exempt || a.share >= suspicion || a.proven() {
			continue
		}
		key := a.work.Shape
		if !gs.recorded(state, &a.work) && !a.work.endpoint().IsZero() {
			key = a.work.endpoint()
		}
		if works[key] == nil {
			keys, works[key] = append(keys, key), a
		}
		shares[key] += a.share
	}
	second := state.second(now)
	gs.total.touch(second)
	for _, key := range keys {
		a, share := works[key], crowdTrust*shares[key]
		gs.total.blamed += share
		if g := gs.shapeFor(state, a, state.rule(&a.work)); g != nil && g.state == unheld {
			gs.blame(state, now, false, g, 0, share, shapeDeaths)
		}
	}
}
