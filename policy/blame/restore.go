package blame

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Restore puts a stored verdict back, without an event.
func (state *State) Restore(now time.Time, v bezoar.Verdict, rule *Rule) {
	id, ok := parseID(v.ID)
	if !ok {
		return
	}
	if v.Scope != bezoar.ScopeWork && v.Scope != bezoar.ScopeVariant {
		state.restoreGroup(now, id, &v, rule)
		return
	}
	w := Work{Fingerprint: v.Fingerprint, Shape: v.Shape, Rule: rule, Variant: caseKey(&v)}
	at := now.UnixNano()
	i := state.caseFor(at, &w)
	if i == none {
		return
	}
	c := &state.cases[i]
	c.id, c.level, c.manual, c.cause = id, uint8(min(v.Level, 254)), v.Manual, v.Cause
	c.since, c.refused = v.Since.UnixNano(), v.Refused
	switch v.State {
	case bezoar.Quarantined, bezoar.Probing:
		c.state, c.until = quarantined, v.Until.UnixNano()
	case bezoar.Conditional:
		c.state = conditional
	default:
		c.state = suspected
	}
	for _, ev := range v.Evidence {
		c.addCount(count{at: state.secondOf(ev.At.UnixNano()), share: float32(ev.Share), lane: ev.Lane && ev.Share > 0, self: ev.Worker == Self, oom: ev.Class == bezoar.OOM})
		state.addEvidence(i, &ev)
	}
	c.scaleTo(v.Score)
	d := state.detailOf(i)
	d.reason, d.sample, d.route = v.Reason, v.Sample, v.Route
	if c.state == quarantined && !w.whole() {
		// Other variants run in the lane first, as before.
		if h := state.historyFor(w.Fingerprint); h != nil {
			h.killed(at, killer{variant: w.Variant, weight: 1, alone: true})
		}
	}
	state.changes++
}

// caseKey returns the key under which a verdict about one variant, or about one
// fingerprint as a whole, is held.
func caseKey(v *bezoar.Verdict) bezoar.Fingerprint {
	if v.Scope == bezoar.ScopeWork || v.Variant.IsZero() {
		return v.Fingerprint
	}
	return v.Variant
}

// groupKey returns the key under which a verdict about more than one variant is
// held, and what it is of.
func groupKey(v *bezoar.Verdict) (bezoar.Fingerprint, kind) {
	switch v.Scope {
	case bezoar.ScopeClient:
		return v.Fingerprint, ofClient
	case bezoar.ScopeEndpoint:
		return v.Fingerprint, ofEndpoint
	case bezoar.ScopeFeature:
		return keyOf(v.Fingerprint, v.Client, v.FeatureHashes), ofFeature
	default:
		return v.Fingerprint, ofShape
	}
}

func (g *group) restoredPace(pace float64) float64 { return min(freePace, max(g.slowest(), pace)) }

func (state *State) restoreGroup(now time.Time, id uint64, v *bezoar.Verdict, rule *Rule) {
	at := now.UnixNano()
	key, k := groupKey(v)
	g := state.groups.get(state, key, k, state.rule(&Work{Rule: rule}))
	if g == nil {
		return
	}
	if g.state == unheld {
		state.groups.active++
	}
	state.changes++
	g.id, g.state, g.level, g.manual = id, suspected, uint8(min(v.Level, 254)), v.Manual
	g.since, g.reason, g.sample, g.refused = v.Since.UnixNano(), v.Reason, v.Sample, v.Refused
	g.touch(state.second(at))
	g.blamed, g.died, g.next = v.Score, at, at
	g.pace, g.late = g.restoredPace(v.Pace), v.Late
	if v.SidePace == 0 {
		v.SidePace = firstPace // an older version stored it
	}
	g.fresh = pacing{pace: g.restoredPace(v.SidePace), next: at} // as that of pills: the first one need not wait
	if v.State == bezoar.Quarantined || v.State == bezoar.Probing {
		g.state, g.until = quarantined, v.Until.UnixNano()
	}
	if k != ofFeature {
		g.deaths = v.Killers
		return
	}
	g.of, g.client, g.features, g.texts = v.Fingerprint, v.Client, v.FeatureHashes, v.Features
	g.killed, g.good = v.Killers, v.Successes
	if v.Fingerprint.IsZero() {
		g.killed, g.deaths = 0, v.Killers
		if !slices.Contains(state.groups.common, key) {
			state.groups.common = append(state.groups.common, key)
		}
	}
	if h := state.historyFor(v.Fingerprint); h != nil {
		h.died = max(h.died, at)
		if !slices.Contains(h.verdicts, key) {
			h.verdicts = append(h.verdicts, key)
		}
	}
}
