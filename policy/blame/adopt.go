package blame

import (
	"time"

	"github.com/bezoar-dev/bezoar"
)

// probeLease is how long a process leaves the probing to another one that has
// begun it. If that one dies meanwhile, the next copy after it probes here.
const probeLease = 30 * time.Second

// Adopt takes over a verdict of another process that serves the same fleet,
// without an event. Of two on the same work the graver one holds, of equally grave
// ones that with the smaller id, so that all processes come to the same. It
// reports whether v holds now, and the id of the verdict that does not any more.
func (state *State) Adopt(now time.Time, v bezoar.Verdict, rule *Rule) (superseded string, ok bool) {
	if _, known := parseID(v.ID); !known {
		return "", false
	}
	if v.State == bezoar.Probing {
		if lease := now.Add(probeLease); v.Until.Before(lease) {
			v.Until = lease
		}
	}
	var mine string
	if v.Scope == bezoar.ScopeWork || v.Scope == bezoar.ScopeVariant {
		mine, ok = state.replaceCase(&v)
	} else {
		mine, ok = state.replaceGroup(&v)
	}
	if !ok {
		return "", false
	}
	state.Restore(now, v, rule)
	if mine != v.ID {
		superseded = mine
	}
	return superseded, true
}

// replaceCase clears what is held against v's work if v counts more, and returns
// the id that it had.
func (state *State) replaceCase(v *bezoar.Verdict) (mine string, ok bool) {
	i, held := state.byVariant[caseKey(v)]
	if !held {
		return "", true
	}
	c := &state.cases[i]
	if c.state != unheld && c.id != 0 {
		mine = verdictID(c.id)
	}
	if outweighs(mine, c.state, v) {
		return "", false
	}
	if mine == v.ID {
		v.Refused = max(v.Refused, c.refused)
	}
	state.setClear(i)
	return mine, true
}

func (state *State) replaceGroup(v *bezoar.Verdict) (mine string, ok bool) {
	key, _ := groupKey(v)
	g := state.groups.find(key)
	if g == nil {
		return "", true
	}
	if g.state != unheld && g.id != 0 {
		mine = verdictID(g.id)
	}
	if outweighs(mine, g.state, v) {
		return "", false
	}
	if mine == v.ID {
		v.Refused = max(v.Refused, g.refused)
	}
	state.clearGroup(g)
	return mine, true
}

// outweighs reports whether what is held under the id mine counts more than v.
func outweighs(mine string, is standing, v *bezoar.Verdict) bool {
	if mine == "" || mine == v.ID {
		return false
	}
	weight := standing(suspected)
	switch v.State {
	case bezoar.Quarantined, bezoar.Probing:
		weight = quarantined
	case bezoar.Conditional:
		weight = conditional
	case bezoar.Suspected, bezoar.Laned:
	}
	if severity(is) != severity(weight) {
		return severity(is) > severity(weight)
	}
	return mine < v.ID
}

func severity(s standing) int {
	switch s {
	case quarantined:
		return 3
	case conditional:
		return 2
	case suspected:
		return 1
	case unheld:
	}
	return 0
}

// Withdraw lets go of what is held under the verdict's id, without an event:
// another process has decided so.
func (state *State) Withdraw(id string) (bezoar.Verdict, bool) {
	return state.letGo(id, func(bezoar.Verdict) {})
}
