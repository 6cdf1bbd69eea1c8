package blame

import (
	"math"
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// lateCaller is a caller whose work was answered shortly before a death.
type lateCaller struct {
	client bezoar.Fingerprint
	blame  float64
}

// Bounds of the blame for what was answered.
const (
	lateBlame   = 0.75 // that those together have who were answered at the moment of a death
	lateUnknown = 8    // successes from which a caller is known too well for it
)

// lateCallers returns those whose work was answered on e within the window before its
// end, if no worker that lives has outlived an answer to them. Work that kills after
// its answer, no two of it alike, has nothing else in common.
func (state *State) lateCallers(now int64, e *epoch) []lateCaller {
	w := state.window(now)
	if w <= 0 {
		return nil
	}
	var out []lateCaller
	last := map[bezoar.Fingerprint]int64{}
	for i := range e.answers.all {
		a := e.answers.nth(i)
		if c := a.work.Client; !c.IsZero() && !a.work.Exempt && now-a.at <= w && !a.counted {
			last[c] = max(last[c], a.at)
		}
	}
	for i := range e.answers.all { // in their order
		c := e.answers.nth(i).work.Client
		at, ok := last[c]
		if !ok {
			continue
		}
		delete(last, c)
		g := state.groups.find(c)
		if g != nil {
			g.touch(state.second(now))
			if g.ran >= lateUnknown && g.state == unheld {
				continue
			}
		}
		outlived := state.harmless(now, c)
		if !state.careful(now) {
			_, outlived = state.answeredElsewhere(now, e, now-at, func(w *Work) bool { return w.Client == c })
		}
		if !outlived {
			out = append(out, lateCaller{c, lateBlame * math.Exp2(-3*float64(now-at)/float64(w))})
		}
	}
	for i := range out {
		out[i].blame /= float64(len(out))
	}
	return out
}

// blameLate lays blame for a death that convicted nobody at the door of those whose
// work was answered before it, unless work of theirs that was in flight explains it.
func (gs *groups) blameLate(state *State, now int64, late []lateCaller, acc []accused) {
	for _, l := range late {
		if slices.ContainsFunc(acc, func(a accused) bool {
			return a.ticket != none && a.work.Client == l.client && a.share >= suspicion
		}) {
			continue
		}
		if g := gs.get(state, l.client, ofClient, &state.cfg.Rule); g != nil {
			gs.total.blamed += l.blame
			gs.blame(state, now, false, g, 0, l.blame, clientDeaths)
			g.late = g.late || g.state == suspected
		}
	}
}

// trapWeight is the weight of what left a trap: three times what unknown work has that
// has just started.
const trapWeight = 3

// leavesTraps reports whether work that a worker answered last may have left it so that
// the next request kills it: its caller is escalated for deaths after its answers, and
// none of what was in flight is that caller's. However long ago it was, what is in flight
// is the first since.
func (state *State) leavesTraps(w *Work, acc []accused) bool {
	return state.killsLate(w.Client) && !slices.ContainsFunc(acc, func(a accused) bool { return a.work.Client == w.Client })
}

// isWatched reports whether work belongs to what is escalated for deaths after its answers: it is watched in the lane.
func (state *State) isWatched(w *Work, features []uint64) bool {
	if state.killsLate(w.Client) || state.groups.commonOf(features) != nil {
		return true
	}
	g := state.shapeOf(w)
	return g != nil && g.state == suspected && g.late
}

// killsLate reports whether the caller is escalated for deaths after its answers: what
// it is answered in the lane is watched.
func (state *State) killsLate(client bezoar.Fingerprint) bool {
	g := state.groups.find(client)
	return g != nil && g.late
}
