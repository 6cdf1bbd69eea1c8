package blame

import (
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// maxDetails bounds the cases whose evidence is held in memory. The oldest
// detail makes room; the verdict itself stays, and stores keep what was emitted.
const maxDetails = 4096

// detail is what people want to read about a case.
type detail struct {
	caseIndex uint32
	route     string
	sample    string
	reason    string
	evidence  []bezoar.Evidence
}

func (state *State) detailOf(i uint32) *detail {
	c := &state.cases[i]
	if c.detail != none {
		return &state.details[c.detail]
	}
	d := uint32(len(state.details))
	if n := len(state.freeDetails); n > 0 {
		d = state.freeDetails[n-1]
		state.freeDetails = state.freeDetails[:n-1]
	} else if len(state.details) < maxDetails {
		state.details = append(state.details, detail{})
	} else {
		d = state.nextDetail % maxDetails
		state.nextDetail++
		if old := state.details[d].caseIndex; old != none {
			state.cases[old].detail = none
		}
	}
	state.details[d] = detail{caseIndex: i}
	c.detail = d
	return &state.details[d]
}

func (state *State) dropDetail(i uint32) {
	c := &state.cases[i]
	if c.detail == none {
		return
	}
	state.details[c.detail] = detail{caseIndex: none}
	state.freeDetails = append(state.freeDetails, c.detail)
	c.detail = none
}

func (state *State) addEvidence(i uint32, ev *bezoar.Evidence) {
	d := state.detailOf(i)
	if len(d.evidence) == bezoar.MaxEvidence {
		d.evidence = d.evidence[1:]
	}
	// The slice may have been handed out: append to a copy.
	d.evidence = append(slices.Clip(d.evidence), *ev)
}

// Describe tells the state what people call the work that is held: a sample of at
// most 200 bytes without secrets, and its route.
func (state *State) Describe(w *Work, sample, route string) {
	if i, ok := state.heldCase(w); ok {
		d := state.detailOf(i)
		d.sample, d.route = sample[:min(len(sample), 200)], route
	}
	if state.groups.active == 0 {
		return
	}
	name := func(key bezoar.Fingerprint) {
		if g := state.groups.find(key); g != nil && g.state != unheld && g.sample == "" {
			g.sample = sample[:min(len(sample), 200)]
		}
	}
	name(w.Shape)
	name(w.Endpoint)
	name(w.Client)
	if h := state.histories.find(w.Fingerprint); h != nil {
		for _, key := range h.verdicts {
			name(key)
		}
	}
}

// verdictOf builds the verdict of case i.
func (state *State) verdictOf(i uint32) bezoar.Verdict {
	c := &state.cases[i]
	if c.id == 0 {
		c.id = state.newID()
	}
	v := bezoar.Verdict{
		ID: verdictID(c.id), Scope: bezoar.ScopeWork, State: c.name(),
		Fingerprint: c.work.Fingerprint, Shape: c.work.Shape,
		Cause: c.cause, Score: c.score(), Level: int(c.level),
		Since: time.Unix(0, c.since), Refused: c.refused, Manual: c.manual,
	}
	v.ReportOnly = !c.manual && state.rule(&c.work).ReportOnly
	if !c.work.whole() {
		v.Scope, v.Variant = bezoar.ScopeVariant, c.work.Variant
	}
	if c.state == quarantined {
		v.Until = time.Unix(0, c.until)
	}
	if c.detail != none {
		d := &state.details[c.detail]
		v.Reason, v.Sample, v.Route, v.Evidence = d.reason, d.sample, d.route, d.evidence
	}
	if v.Reason == "" && c.state == suspected {
		v.Reason = suspicionReason(int(c.crashes), v.Score)
	}
	return v
}

func (c *workCase) name() bezoar.State {
	switch c.state {
	case suspected:
		return bezoar.Suspected
	case quarantined:
		if c.claim != none {
			return bezoar.Probing
		}
		return bezoar.Quarantined
	case conditional:
		return bezoar.Conditional
	}
	return ""
}

func (state *State) newID() uint64 { return state.cfg.Rand.Uint64()>>16 | 1<<40 }

func verdictID(id uint64) string { return fmt.Sprintf("q-%012x", id&(1<<48-1)) }
