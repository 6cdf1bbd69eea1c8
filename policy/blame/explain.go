package blame

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// caseWhy explains a verdict about one variant or one fingerprint, a sentence a
// line: which deaths, which level, why nothing wider and nothing narrower, and what
// frees it.
func (state *State) caseWhy(c *workCase, v *bezoar.Verdict) []string {
	var why []string
	for i := range v.Evidence {
		why = append(why, Explain(&v.Evidence[i]))
	}
	h := state.histories.find(c.work.Fingerprint)
	switch {
	case c.manual:
		why = append(why, "An operator ordered it.")
	case v.ReportOnly:
		why = append(why, "Nothing is refused and nothing runs apart, because its route only reports.")
	case c.state == quarantined && c.work.whole():
		why = append(why, state.wholeness(c, h))
	case c.state == quarantined:
		why = append(why, "Only this variant is refused: the request exactly as its caller sent it. Nothing narrower exists.")
		if len(v.Evidence) == 1 && v.Evidence[0].Lane && state.rule(&c.work).After > 1 {
			why = append(why, "This death was enough: it ran in the lane from its first copy on, because its caller or its shape kills or it looks like what has killed, so that no death in the fleet came before.")
		}
		why = append(why, state.narrowness(c, h))
	case c.state == suspected && c.late:
		why = append(why, "Nothing is refused. It runs alone, and the worker is watched after its answer, because it may kill late.")
	case c.state == suspected:
		why = append(why, "Nothing is refused. It runs alone until it has run clean or killed alone.")
	case c.state == conditional:
		why = append(why, "Nothing is refused. It runs clean alone and is there when busy workers die, so it always runs alone.")
	}
	switch {
	case v.ReportOnly:
		why = append(why, "The first success ends it. An operator can release it.")
	case c.state == quarantined && c.manual:
		why = append(why, fmt.Sprintf("It ends on %s, or with a release.", v.Until.UTC().Format(time.RFC3339)))
	case c.state == quarantined:
		why = append(why, fmt.Sprintf("The next copy after %s runs alone as a probe: if its worker survives, the verdict ends; if not, the term doubles. An operator can release it.", v.Until.UTC().Format(time.RFC3339)))
	}
	return why
}

// Explain tells one death in a sentence.
func Explain(ev *bezoar.Evidence) string {
	if ev.Worker == Self {
		return fmt.Sprintf("At %s Bezoar itself died with it in flight: %s.", ev.At.UTC().Format(time.RFC3339), ev.Detail)
	}
	what := ev.Detail
	if what == "" {
		what = ev.Class.String()
	}
	worker := ev.Worker
	if worker == "" {
		worker = "a worker"
	}
	at := ev.At.UTC().Format(time.RFC3339)
	switch {
	case ev.IsStrike() && ev.Lane:
		return fmt.Sprintf("At %s it %s, alone in the lane. No worker died.", at, what)
	case ev.IsStrike():
		return fmt.Sprintf("At %s it %s, as before. No worker died.", at, what)
	case ev.Lane:
		return fmt.Sprintf("At %s %s died (%s) while it ran there alone, with nothing else answered there shortly before.", at, worker, what)
	case ev.InFlight <= 1:
		return fmt.Sprintf("At %s %s died (%s) with only this in flight; its share of the blame is %.2f.", at, worker, what, ev.Share)
	}
	return fmt.Sprintf("At %s %s died (%s) with %s in flight; its share of the blame is %.2f.", at, worker, what, plural(ev.InFlight, "request"), ev.Share)
}

// narrowness says why a verdict about a variant is not wider, or which one is.
func (state *State) narrowness(c *workCase, h *history) string {
	if h == nil {
		return "Nothing wider is refused: other requests of this fingerprint are judged by themselves."
	}
	if g := state.widerThan(c, h); g != nil {
		return fmt.Sprintf("What it has in common with the other killers of this fingerprint is refused, too: %s.", verdictID(g.id))
	}
	variants, clients, _ := h.alone()
	if h.runs > 0 {
		return fmt.Sprintf("Nothing wider is refused: %s of this fingerprint killed alone, but %s of it succeeded meanwhile.", plural(variants, "variant"), plural(h.runs, "request"))
	}
	return fmt.Sprintf("Nothing wider is refused yet: %s from %s killed alone; the fingerprint as a whole needs %d variants from 2 callers and no success.",
		plural(variants, "variant"), plural(clients, "caller"), enoughKillers)
}

// wholeness says why a whole fingerprint is refused, and nothing narrower.
func (state *State) wholeness(c *workCase, h *history) string {
	variants, clients := 0, 0
	if h != nil {
		variants, clients, _ = h.alone()
	}
	if variants == 0 {
		return "The whole fingerprint is refused: no variants of it are told apart."
	}
	text := fmt.Sprintf("Every request of this fingerprint is refused: %s of it from %s killed alone, and none of its requests has succeeded.",
		plural(variants, "variant"), plural(clients, "caller"))
	if ids := state.refusedVariants(c); len(ids) > 0 {
		text += fmt.Sprintf(" Each has a verdict of its own with its deaths: %s.", strings.Join(ids, ", "))
	}
	return text + fmt.Sprintf(" What they have in common cannot be refused instead: that takes %d successes to compare it with.", enoughGood)
}

// refusedVariants returns the verdicts about variants of c's fingerprint, a few of them.
func (state *State) refusedVariants(c *workCase) (ids []string) {
	const most = 8
	for i, ok := state.byFP[c.work.Fingerprint]; ok && i != none && len(ids) < most; i = state.cases[i].after {
		if o := &state.cases[i]; o != c && o.state == quarantined && o.id != 0 {
			ids = append(ids, verdictID(o.id))
		}
	}
	slices.Sort(ids)
	return ids
}

// often says how often a pace is.
func often(pace float64) string {
	if pace >= 1 {
		return fmt.Sprintf("%.3g a second", pace)
	}
	return fmt.Sprintf("one in %.3g s", 1/max(pace, slowestTurn))
}

// widerThan returns the verdict about features of h that holds for c's variant, too.
func (state *State) widerThan(c *workCase, h *history) *group {
	i := slices.IndexFunc(h.killers, func(k killer) bool { return k.variant == c.work.Variant })
	if i < 0 {
		return nil
	}
	k := &h.killers[i]
	for _, key := range h.verdicts {
		if g := state.groups.find(key); g != nil && g.covers(&Work{Client: k.client}, k.features) {
			return g
		}
	}
	return nil
}

// groupWhy explains a verdict about a shape, a caller or features.
func groupWhy(g *group) []string {
	var why []string
	switch {
	case g.manual:
		why = append(why, "An operator ordered it.")
	case g.kind == ofFeature && g.client.IsZero() && g.state != suspected:
		why = append(why,
			fmt.Sprintf("All %d variants of this fingerprint that killed alone have %s.", g.killed, strings.Join(g.texts, " and ")),
			fmt.Sprintf("None of %d remembered successes has it. The first success that has it ends this verdict.", g.good),
			"Not wider: requests of this fingerprint without it succeed. Not narrower: the killers differ in everything else.")
	case g.kind == ofFeature && g.state == suspected:
		why = append(why,
			commonWhy(g),
			fmt.Sprintf("Nothing is refused for it. Unproven work that has it runs in the lane, at most %s, and the worker is watched after the answer. Each death makes that two times slower.", often(g.pace)),
			"The first success that has it ends this verdict. An operator can release it.")
	case g.kind == ofFeature:
		why = append(why,
			fmt.Sprintf("%d variants of this fingerprint killed alone, all from one caller, and none from that caller succeeded.", g.killed),
			"Only this caller's requests of this fingerprint are refused. Not wider: no other caller's variant has killed.")
	default:
		what, slower, more := "shape", "two", ""
		switch g.kind {
		case ofClient:
			what, slower, more = "caller", "eight", ", or 64 times if new work killed alone"
		case ofEndpoint:
			what = "endpoint"
			why = append(why, "The killers had new shapes at one method and path. The verdict holds for work there whose shape has not run well yet.")
		case ofShape, ofFeature:
		}
		why = append(why,
			fmt.Sprintf("Work of this %s has cost %s since it was escalated.", what, plural(g.deaths, "more worker")),
			fmt.Sprintf("Nothing is refused for what it contains. Its unproven work runs in the lane, at most %s. A request that would wait longer than its caller waits gets a 503 with the rule pace.", often(g.pace)),
			fmt.Sprintf("Each death makes that %s times slower%s. %d successes there make it twice as fast, and twice as many are needed with each death from the third on.", slower, more, paceWins))
		switch {
		case g.kind == ofClient && g.late:
			why = append(why, "Workers died after they had answered this caller, so each of its answers is watched for longer.")
		case g.kind == ofClient:
			why = append(why, fmt.Sprintf("This caller's work with a shape and an endpoint that have not killed has a separate pace: at most %s.", often(g.fresh.pace)))
		default:
			why = append(why, fmt.Sprintf("Work that shares hardly any feature with the killers has a separate pace: at most %s.", often(g.fresh.pace)))
		}
		why = append(why,
			fmt.Sprintf("Not wider: everything else kills less than a tenth as often. Not narrower: each variant of this %s that killed alone is refused by itself, and the next one would be new.", what),
			fmt.Sprintf("It ends after %v without a death. An operator can release it.", g.rule.Within))
	}
	if g.state == quarantined {
		why = append(why, fmt.Sprintf("The next copy after %s runs alone as a probe: if its worker survives, the verdict ends. An operator can release it.",
			time.Unix(0, g.until).UTC().Format(time.RFC3339)))
	}
	return why
}
