package blame

import (
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// view is work as the judge looks at it: it asks for traits once, and only when
// they matter.
type view struct {
	*Work
	features []uint64
	asked    bool
	sampled  bool // it is one of those that are looked at to know what runs well
}

// look returns the features of the work.
func (state *State) look(v *view) []uint64 {
	if !v.asked {
		v.asked = true
		if v.Traits != nil {
			features := v.Traits.Features(state.scratch[:0])
			state.scratch, v.features = features, features // apart, so that v need not be on the heap
		}
	}
	return v.features
}

// record returns the decayed successes that speak for work. Of a fingerprint that
// has killed, other variants do not speak for this one, once enough successes have
// been seen to know them apart.
func (state *State) record(now int64, w *Work) float64 {
	second := state.second(now)
	s := state.proven.successes(w.Fingerprint, second)
	if w.Variant.IsZero() || w.whole() {
		return s
	}
	h := state.histories.find(w.Fingerprint)
	if h == nil {
		return s
	}
	own := state.proven.successes(w.Variant, second)
	if len(h.good) < enoughGood {
		return max(own, min(s, provenWell))
	}
	return own
}

// judgeLevels decides for work against which nothing is held by itself: does it
// look like what has killed, or does it come from where that came from? Nothing is
// refused here but what has the features that a verdict names. group is the one
// that a probe must claim.
func (state *State) judgeLevels(now int64, v *view, s float64) (d Decision, group uint32, decided bool) {
	own := state.histories.find(v.Fingerprint)
	var lane, proven bool
	if own == nil {
		proven = s >= provenEnough
	} else {
		v.variant()
		for _, key := range own.verdicts {
			if d, group, decided = state.judgeFeatures(now, v, key); decided {
				return d, group, true
			}
		}
		proven = state.proven.successes(v.Variant, state.second(now)) >= provenEnough
		switch {
		case v.Traits == nil, proven, len(own.killers) == 0:
		case own.runs == 0 && s < provenWell:
			d = Decision{Action: ToLane, Cause: ByFingerprint}
			lane = true
		case own.resembles(state.look(v)):
			d = Decision{Action: ToLane, Cause: ByFeature, Overflow: len(own.good) < someGood && s >= provenWell}
			lane = true
		}
	}
	return state.judgeWide(now, v, d, lane, proven)
}

// judgeFeatures refuses work that has all the features of a verdict, but for one
// copy that tries it when its term is over.
func (state *State) judgeFeatures(now int64, v *view, key bezoar.Fingerprint) (Decision, uint32, bool) {
	i, ok := state.groups.byFP[key]
	if !ok {
		return Decision{}, none, false
	}
	g := &state.groups.all[i]
	if g.state != quarantined || !g.client.IsZero() && g.client != v.Client {
		return Decision{}, none, false
	}
	has := state.look(v)
	for _, f := range g.features {
		if !slices.Contains(has, f) {
			return Decision{}, none, false
		}
	}
	if now < g.until || g.claim != none {
		g.refused++
		return Decision{Action: Refuse, Cause: ByFeatureVerdict, Until: time.Unix(0, max(g.until, now+int64(time.Second)))}, none, true
	}
	return Decision{Action: ToLane, Cause: ByProbe}, i, true
}

// judgeWide looks at the caller and the shape. They say where work runs first and
// how fast, and refuse nothing, unless an operator has ordered it.
func (state *State) judgeWide(now int64, v *view, d Decision, lane, proven bool) (Decision, uint32, bool) {
	if state.groups.active == 0 && len(state.histories.byFP) == 0 {
		return d, none, lane
	}
	shape, client := state.shapeOf(v.Work), state.groups.find(v.Client)
	if shape != nil {
		state.refreshGroup(now, shape)
		if shape.state == quarantined && (shape.manual || !proven) {
			i := state.groups.byFP[shape.fp]
			if now < shape.until || shape.claim != none {
				shape.refused++
				return Decision{Action: Refuse, Cause: ByShapeVerdict, Manual: shape.manual, Until: time.Unix(0, max(shape.until, now+int64(time.Second)))}, none, true
			}
			return Decision{Action: ToLane, Cause: ByProbe}, i, true
		}
	}
	if client != nil {
		state.refreshGroup(now, client)
	}
	if state.heldCommon(now, v) != nil {
		return state.watchedRun(now, ByFeature), none, true // whatever it has answered so far: no worker has outlived that
	}
	if proven && !lane {
		return state.judgeProven(now, v, client)
	}
	if shape != nil && (shape.state != suspected || !state.kin(now, v)) {
		shape = nil
	}
	if client != nil && (client.state != suspected || state.spared(now, client, v)) {
		client = nil
	}
	switch {
	case client != nil:
		d, lane = Decision{Action: ToLane, Cause: ByClient}, true
		if client.late {
			d = state.watchedRun(now, ByClient)
		}
	case shape != nil:
		d, lane = Decision{Action: ToLane, Cause: ByShape}, true
		if shape.late {
			d = state.watchedRun(now, ByShape)
		}
	case !lane:
		if h := state.histories.find(v.Shape); h != nil && len(h.good) >= someGood && h.resembles(state.look(v)) {
			d, lane = Decision{Action: ToLane, Cause: ByFeature}, true
		}
	}
	if !lane {
		return Decision{}, none, false
	}
	return d, none, true
}

// judgeProven decides for work of a fingerprint that runs well. Its shape and its
// caller do not count, unless this is a variant that nobody knows: one that looks
// like the killers of the shape, or comes from a caller that kills.
func (state *State) judgeProven(now int64, v *view, client *group) (Decision, uint32, bool) {
	if v.Traits == nil {
		return Decision{}, none, false
	}
	h := state.histories.find(v.Shape)
	alike := h != nil && len(h.good) >= someGood && h.resembles(state.look(v))
	suspectCaller := client != nil && client.state == suspected && !state.spared(now, client, v)
	if !alike && !suspectCaller || state.proven.successes(v.variant(), state.second(now)) >= provenEnough {
		return Decision{}, none, false
	}
	if alike {
		return Decision{Action: ToLane, Cause: ByFeature}, none, true
	}
	if client.late { // what it leaves behind in the fleet kills there
		return state.watchedRun(now, ByClient), none, true
	}
	return Decision{Action: ToLane, Cause: ByClient, Overflow: true}, none, true
}

// watchedRun sends work to the lane, where its worker is watched after the answer.
func (state *State) watchedRun(now int64, cause Cause) Decision {
	return Decision{Action: ToLane, Cause: cause, Window: time.Duration(max(0, state.window(now)))}
}

// spared reports whether work of an escalated caller need not run in the lane: it is unlike
// what kills, or its shape runs well and has killed nobody. An attacker gains one death by
// each such shape, which then is blamed itself. What kills after its answer is not known by
// what it is like.
func (state *State) spared(now int64, client *group, v *view) bool {
	if client.late {
		return false
	}
	shape := state.groups.find(v.Shape)
	return shape != nil && shape.established() && !shape.deadly(now) || state.unlike(v)
}

// unlike reports whether killers of the work's shape have something that no success
// has, and the work has nothing of it.
func (state *State) unlike(v *view) bool {
	h := state.histories.find(v.Shape)
	if h == nil || len(h.good) < enoughGood || v.Traits == nil {
		return false
	}
	return !h.resembles(state.look(v)) && len(h.telling) > 0
}

// kin reports whether work belongs to what makes its shape suspect: it resembles
// the killers, or they cannot be told apart. While too few successes are known to tell,
// a fingerprint that runs well does not: its shape may be nothing but this fingerprint.
func (state *State) kin(now int64, v *view) bool {
	h := state.histories.find(v.Shape)
	if h == nil || len(h.good) < enoughGood {
		return state.proven.successes(v.Fingerprint, state.second(now)) < provenWell
	}
	has := state.look(v)
	return h.resembles(has) || len(h.telling) == 0
}

// paced makes work of an escalated level wait for its turn. It takes the turn when
// there is one.
func (state *State) paced(now int64, v *view, suspect bool) (until int64, took bool) {
	if state.groups.active == 0 || suspect && state.knownFor(now, v.Work, state.record(now, v.Work)) >= provenEnough {
		return 0, false // a suspect that is known to run well happened to be there
	}
	shape, client := state.shapeOf(v.Work), state.groups.find(v.Client)
	var turns [3]*pacing
	if shape != nil && shape.state == suspected && state.kin(now, v) {
		turns[0] = state.paceOfShape(shape, v.Shape, state.look(v))
	}
	if client != nil && client.state == suspected && !state.spared(now, client, v) {
		turns[1] = client.paceOf(now, v.Work, shape)
	}
	if g := state.heldCommon(now, v); g != nil {
		turns[2] = &g.pacing
	}
	for _, p := range turns {
		if p != nil && p.pace < freePace && p.next > now {
			until = max(until, p.next)
		}
	}
	if until > 0 {
		return until, false
	}
	for _, p := range turns {
		if p != nil && p.pace < freePace {
			p.next, took = now+p.gap(), true
		}
	}
	return 0, took
}

// widen looks whether more than the variant is proven now that it has killed
// alone: the fingerprint, or what the killers share.
func (state *State) widen(now int64, a *accused, ev *bezoar.Evidence) {
	h := state.histories.find(a.work.Fingerprint)
	if h == nil || a.work.whole() {
		return
	}
	i := slices.IndexFunc(h.killers, func(k killer) bool { return k.variant == a.work.Variant })
	if i < 0 {
		return
	}
	last := &h.killers[i]
	if len(h.good) >= enoughGood {
		if features, killers := h.common(last); len(features) > 0 {
			state.convictFeatures(now, h, a, features, bezoar.Fingerprint{}, killers)
		}
		return
	}
	variants, clients, client := h.alone()
	if variants < enoughKillers {
		return
	}
	second := state.second(now)
	switch {
	case clients >= 2 && h.runs == 0 && state.proven.successes(a.work.Fingerprint, second) < provenEnough:
		state.convictWhole(now, a, variants, clients, ev)
	case clients == 1 && !h.goodOf(client) && !state.uses(second, a.work.Fingerprint, client):
		state.convictFeatures(now, h, a, nil, client, variants)
	}
}

// uses reports whether the caller has so large a part of all successes that some of
// the fingerprint's are likely to be its own: a proxy, whose users are not told apart.
func (state *State) uses(second uint32, fp, client bezoar.Fingerprint) bool {
	c := state.groups.find(client)
	if c == nil {
		return false
	}
	c.touch(second)
	state.groups.total.touch(second)
	const likely = 0.5
	return state.proven.successes(fp, second)*c.ran >= likely*max(1, state.groups.total.ran)
}

// convictFeatures refuses requests of the fingerprint that have all the features.
func (state *State) convictFeatures(now int64, h *history, a *accused, features []uint64, client bezoar.Fingerprint, killers int) {
	key := keyOf(h.fp, client, features)
	g := state.groups.get(state, key, ofFeature, state.rule(&a.work))
	if g == nil {
		return
	}
	if g.state != quarantined {
		state.groups.active++
		state.changes++
		h.verdicts = append(h.verdicts, key)
	}
	g.of, g.client, g.features, g.killed, g.good = h.fp, client, slices.Clone(features), killers, len(h.good)
	g.level = min(g.level+1, 255-1)
	g.state, g.since, g.until = quarantined, now, now+state.term(g.rule, int(g.level))
	g.texts = nil
	for _, f := range features {
		if a.work.Traits != nil {
			if text := a.work.Traits.Text(f); text != "" {
				g.texts = append(g.texts, text)
			}
		}
	}
	if i, ok := state.byVariant[a.work.Variant]; ok && state.cases[i].detail != none {
		g.sample = state.details[state.cases[i].detail].sample
	}
	g.reason = fmt.Sprintf("all %d that killed alone have it, and none of %d remembered successes does", killers, len(h.good))
	if !client.IsZero() {
		g.reason = fmt.Sprintf("%d variants of it, all from this caller, killed alone, and none from it succeeded", killers)
	}
	state.emitGroup(Convicted, now, g)
}

// convictWhole refuses a fingerprint that nobody uses successfully.
func (state *State) convictWhole(now int64, a *accused, variants, clients int, ev *bezoar.Evidence) {
	w := a.work.kept()
	w.Variant = w.Fingerprint
	i := state.caseFor(now, &w)
	if i == none || state.cases[i].state == quarantined {
		return
	}
	for j := state.byFP[w.Fingerprint]; j != none; j = state.cases[j].after { // the last one may have none yet
		if n := state.cases[j].detail; j != i && n != none && state.details[n].sample != "" {
			old := state.details[n]
			d := state.detailOf(i)
			d.sample, d.route = old.sample, old.route
			break
		}
	}
	state.addEvidence(i, ev)
	state.convict(now, i, ev.Class, fmt.Sprintf("%d variants of it from %d callers killed alone, and none has succeeded", variants, clients), ev)
}

// contradict ends verdicts about features that a success has.
func (state *State) contradict(now int64, h *history, s sample) {
	for _, key := range slices.Clone(h.verdicts) {
		g := state.groups.find(key)
		if g == nil || g.state != quarantined || g.manual || !g.client.IsZero() && g.client != s.client {
			continue
		}
		covered := len(s.features) > 0
		for _, f := range g.features {
			covered = covered && slices.Contains(s.features, f)
		}
		if covered {
			state.emitGroup(Released, now, g)
			state.clearGroup(g)
		}
	}
}

// covers reports whether the verdict about features holds for work that has these.
func (g *group) covers(w *Work, has []uint64) bool {
	if g.state != quarantined || !g.client.IsZero() && g.client != w.Client {
		return false
	}
	for _, f := range g.features {
		if !slices.Contains(has, f) {
			return false
		}
	}
	return true
}
