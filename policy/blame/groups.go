package blame

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// groups is the bounded table of them.
type groups struct {
	max    int
	all    []group
	byFP   map[bezoar.Fingerprint]uint32
	wide   int                  // of endpoints
	active int                  // of them held
	common []bezoar.Fingerprint // of them, those of features that work of any fingerprint has
	total  tally
}

func (gs *groups) init(limit int) {
	gs.max = limit
	gs.byFP = make(map[bezoar.Fingerprint]uint32, 64)
}

func (gs *groups) find(fp bezoar.Fingerprint) *group {
	if fp.IsZero() {
		return nil
	}
	if i, ok := gs.byFP[fp]; ok {
		return &gs.all[i]
	}
	return nil
}

// sound reports whether work of this shape is known to run well.
func (gs *groups) sound(shape bezoar.Fingerprint) bool {
	g := gs.find(shape)
	return g != nil && g.ran >= groupSeen && g.ratio() >= 0.5
}

// get finds or makes a group; nil when the table is full of held groups.
func (gs *groups) get(state *State, fp bezoar.Fingerprint, k kind, rule *Rule) *group {
	if fp.IsZero() {
		return nil
	}
	if g := gs.find(fp); g != nil {
		return g
	}
	i := uint32(len(gs.all))
	if len(gs.all) < gs.max {
		gs.all = append(gs.all, group{})
	} else {
		victim := none
		for range evictionSample {
			j := uint32(state.cfg.Rand.IntN(len(gs.all)))
			if g := &gs.all[j]; g.state == unheld && (victim == none || g.ran+g.blamed < gs.all[victim].ran+gs.all[victim].blamed) {
				victim = j
			}
		}
		if victim == none {
			return nil
		}
		delete(gs.byFP, gs.all[victim].fp)
		if gs.all[victim].kind == ofEndpoint {
			gs.wide--
		}
		i = victim
	}
	if k == ofEndpoint {
		gs.wide++
	}
	gs.all[i] = group{fp: fp, kind: k, rule: rule, claim: none}
	gs.byFP[fp] = i
	return &gs.all[i]
}

// refreshGroup lets a group go that has not killed for a while.
func (state *State) refreshGroup(now int64, g *group) {
	switch {
	case g.state == suspected && now-max(g.since, g.died) > int64(g.rule.Within),
		g.kind == ofFeature && g.state == quarantined && g.claim == none && now > g.until+int64(g.rule.Within):
		state.emitGroup(Dropped, now, g)
		state.clearGroup(g)
	}
}

// relapse holds a group on whose probe has killed its worker.
func (state *State) relapse(now int64, g *group) {
	if g.state != quarantined || g.manual || now < g.until {
		return
	}
	g.level = min(g.level+1, 255-1)
	g.since, g.until = now, now+state.term(g.rule, int(g.level))
	state.emitGroup(Convicted, now, g)
}

func (state *State) clearGroup(g *group) {
	if g.state != unheld {
		state.groups.active--
	}
	if g.kind == ofFeature && g.of.IsZero() {
		state.groups.common = slices.DeleteFunc(state.groups.common, func(key bezoar.Fingerprint) bool { return key == g.fp })
	}
	if h := state.histories.find(g.of); h != nil {
		h.verdicts = slices.DeleteFunc(h.verdicts, func(key bezoar.Fingerprint) bool { return key == g.fp })
	}
	g.state, g.manual, g.level, g.late, g.unsure = unheld, false, 0, false, false
	g.pacing, g.fresh = pacing{}, pacing{}
	g.killers, g.blamed = [maxKillers]culprit{}, 0
}

// unseen reports whether w's shape has yet to prove itself (canary requests:
// Dean and Barroso, "The Tail at Scale", 2013, moved to admission).
func (state *State) unseen(now int64, w *Work) bool {
	if w.Shape.IsZero() || now-state.start < int64(state.cfg.Learning) {
		return false
	}
	if g := state.groups.find(w.Shape); g != nil && g.ran >= groupSeen {
		return false
	}
	return !state.seen.has(w.Shape)
}

func (state *State) emitGroup(k EventKind, now int64, g *group) {
	state.emit(Event{Kind: k, At: time.Unix(0, now), Verdict: state.groupVerdict(g)})
}

func (state *State) groupVerdict(g *group) bezoar.Verdict {
	if g.id == 0 {
		g.id = state.newID()
	}
	v := bezoar.Verdict{
		ID: verdictID(g.id), Scope: bezoar.ScopeShape, State: bezoar.Laned, Fingerprint: g.fp,
		Cause: bezoar.Crash, Reason: g.reason, Sample: g.sample, Score: g.blamed, Level: int(g.level),
		Since: time.Unix(0, g.since), Refused: g.refused, Manual: g.manual,
	}
	v.ReportOnly = !g.manual && g.kind != ofClient && g.rule.ReportOnly // a caller uses other routes, too
	switch g.kind {
	case ofShape:
		v.Shape = g.fp
	case ofEndpoint:
		v.Scope = bezoar.ScopeEndpoint
	case ofClient:
		v.Scope = bezoar.ScopeClient
	case ofFeature:
		v.Scope, v.Fingerprint, v.Client = bezoar.ScopeFeature, g.of, g.client
		v.Features, v.FeatureHashes = g.texts, g.features
		v.Killers, v.Successes = g.killed, g.good
	}
	if g.state == suspected {
		v.Pace, v.SidePace, v.Late, v.Killers = g.pace, g.fresh.pace, g.late, g.deaths
	}
	if g.state == quarantined {
		v.State, v.Until = bezoar.Quarantined, time.Unix(0, g.until)
		if g.claim != none {
			v.State = bezoar.Probing
		}
	}
	return v
}
