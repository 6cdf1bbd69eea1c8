package blame

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// suspicion is a share from which a crash counts towards conditional poison.
const suspicion = 1.0 / 3

// accuseCase adds one crash to a case's evidence. While convictions are
// suspended it keeps the suspicion alive and weighs nothing: it is the fleet.
func (state *State) accuseCase(now int64, i uint32, a *accused, gated bool, ev *bezoar.Evidence) {
	c := &state.cases[i]
	n := count{at: state.secondOf(now)}
	if !gated {
		n.share, n.lane = float32(ev.Share), ev.Lane
		state.gate.accused(now, i)
	}
	c.addCount(n)
	if !gated && a.share >= suspicion {
		c.wins = 0
		if c.pardons > 0 && !a.lane {
			c.relapses = min(c.relapses+1, 255-1)
		}
	}
	state.addEvidence(i, ev)
}

// excuse takes the weight off what has been gathered against case i since
// oldest: it was the fleet.
func (state *State) excuse(i uint32, oldest int64) {
	c := &state.cases[i]
	for j := range c.crashes {
		if n := &c.counts[j]; n.at >= state.secondOf(oldest) && !n.self {
			n.share, n.lane = 0, false
		}
	}
	c.relapses = 0
	if c.detail == none {
		return
	}
	d := &state.details[c.detail]
	d.evidence = slices.Clone(d.evidence) // the slice may have been handed out
	for j := range d.evidence {
		if ev := &d.evidence[j]; ev.At.UnixNano() >= oldest && ev.Worker != Self {
			ev.Share = 0
		}
	}
}

// decide says what a crash makes of a case: convict, conditional or
// suspect.
func (state *State) decide(now int64, i uint32, a *accused, gated bool, ev *bezoar.Evidence) (convicted bool) {
	c := &state.cases[i]
	if c.state == quarantined && !a.lane && (!ev.Lane || now < c.until) {
		return true // a straggler that was on its way when its copy was convicted
	}
	if !gated && state.guilty(now, c, a, ev.Lane) {
		state.convict(now, i, ev.Class, state.convictionReason(c, ev), ev)
		return true
	}
	if gated && a.proven() && c.state == unheld {
		return false // it is the fleet, and what it answers so often is not worth the lane
	}
	was := c.state
	switch {
	case c.state == quarantined:
		// A probe that told nothing apart: the lane was not its own, or the
		// gate is closed.
		c.until = now + state.term(state.rule(&c.work), int(c.level))
		state.emitCase(Convicted, now, i, ev)
		return true
	case c.state == conditional || c.relapses >= 2:
		c.state = conditional
	default:
		c.state = suspected
	}
	if was == c.state {
		return false
	}
	c.since, c.cause = now, ev.Class
	if c.state == suspected {
		state.emitCase(Suspect, now, i, ev)
		return false
	}
	state.detailOf(i).reason = fmt.Sprintf("ran clean alone (%s) but was in flight at %s after that: it kills only under load, so it runs alone",
		plural(int(c.pardons), "time"), plural(int(c.relapses), "death"))
	state.emitCase(MadeConditional, now, i, ev)
	return false
}

// guilty applies law 4: a crash alone on a clean worker of the lane. Work with a
// record of success needs one crash more there, or two when it is popular: it is in
// the lane so often that a deploy finds it there by chance. With N = 1 a crash alone
// in the fleet is enough, unless the work ran clean in the lane before, or the gate
// is closed: only the lane tells work and fleet apart then.
func (state *State) guilty(now int64, c *workCase, a *accused, alone bool) bool {
	n := min(state.rule(&c.work).After, len(c.counts))
	need := max(1, n-1)
	if state.rule(&c.work).ReportOnly {
		need = n // the first death counts as one alone already
	}
	if a.proven() {
		need++
	}
	if a.popular() {
		need++
	}
	if alone && c.crashes < 2 && n > 1 && c.state != quarantined && (c.pardons > 0 || !state.backed(&a.work, a.features)) {
		return false
	}
	if alone && (c.laneCrashes() >= need || c.state == quarantined) {
		return true
	}
	const slack = 1e-4
	return n == 1 && a.ticket != none && a.share >= 1-slack && !a.proven() && c.pardons == 0 && !state.gateClosed(now)
}

// backed reports whether more than one death speaks against work that was in no other: its
// caller or its shape is escalated, or others of its fingerprint or shape stand convicted.
func (state *State) backed(w *Work, features []uint64) bool {
	if g := state.groups.find(w.Client); g != nil && g.state == suspected {
		return true
	}
	if g := state.shapeOf(w); g != nil && g.state == suspected {
		return true
	}
	if state.groups.commonOf(features) != nil {
		return true
	}
	for _, fp := range [...]bezoar.Fingerprint{w.Fingerprint, w.Shape} {
		h := state.histories.find(fp)
		if h != nil && slices.ContainsFunc(h.killers, func(k killer) bool { return k.variant != w.variant() && state.convicted(k.variant) }) {
			return true
		}
	}
	return false
}

func (state *State) convicted(variant bezoar.Fingerprint) bool {
	i, ok := state.byVariant[variant]
	return ok && state.cases[i].state == quarantined
}

func suspicionReason(crashes int, score float64) string {
	deaths := plural(crashes, "death")
	if score == 0 {
		return fmt.Sprintf("in flight at %s that the fleet may be to blame for: it runs alone until cleared", deaths)
	}
	return fmt.Sprintf("in flight at %s, with %.2f of the blame: it runs alone until cleared", deaths, score)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (state *State) convictionReason(c *workCase, ev *bezoar.Evidence) string {
	within := state.rule(&c.work).Within
	where := "alone in the fleet"
	if ev.Lane {
		where = "alone in the lane, on a clean worker"
	}
	return fmt.Sprintf("was there when %s died within %s (%v), the last time %s", plural(int(c.crashes), "worker"), short(within), ev.Class, where)
}

// short formats a duration without zero minutes and seconds: 10m, not 10m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// convict quarantines a case. Each conviction doubles the time, and up to
// 20 % are added so that what was convicted together does not come back together.
func (state *State) convict(now int64, i uint32, cause bezoar.Class, reason string, ev *bezoar.Evidence) {
	c := &state.cases[i]
	again := c.state == quarantined
	c.level = min(c.level+1, 255-1)
	c.state, c.since, c.cause = quarantined, now, cause
	c.until = now + state.term(state.rule(&c.work), int(c.level))
	state.detailOf(i).reason = reason
	state.proven.forget(c.work.Variant)
	state.changes++
	state.explain(c.work.Variant)
	if c.late {
		state.acquitCompany(now, i)
	}
	state.emitCase(Convicted, now, i, ev)
	state.gate.convicted(now, i, again)
}

// term is the jittered length of the level-th quarantine.
func (state *State) term(r *Rule, level int) int64 {
	d := r.For
	for range min(level-1, 62) {
		if d >= r.Max/2 {
			d = r.Max
			break
		}
		d *= 2
	}
	d = min(d, r.Max)
	return int64(float64(d) * (1 + 0.2*state.cfg.Rand.Float64()))
}
