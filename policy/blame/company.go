package blame

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of the statistics about company.
const (
	maxCompany    = 1024
	companyDeaths = 3               // unexplained deaths with the same company make it suspect
	explainWithin = 2 * time.Second // a death that has convicted nobody by then is unexplained
	maxMysteries  = 64              // deaths that are waited for
	mysteryFor    = time.Minute     // how long a death is waited for, while what was in flight is suspect
	maxLate       = 8               // answered works that one death makes suspects
	lateShare     = 1.0 / (2 * maxAnswers)
	fewCallers    = 2 // that may be escalated together for their company
)

// company finds work that kills later than the window after its answer. Such a
// death is laid on whatever happens to be in flight, which then runs clean. What
// had been answered before each of several such deaths becomes suspect: it runs
// in the lane, with time kept free behind it.
type company struct {
	seen      map[bezoar.Fingerprint]companion // by fingerprint, or by caller
	outlived  map[bezoar.Fingerprint]int64     // what a worker had outlived when it ended, by when that was
	mysteries []mystery                        // deaths that may be explained yet, oldest first
	cleared   []answer                         // before deaths that this crash explains
}

type companion struct {
	deaths int   // that nothing explains
	at     int64 // the last of them
	freed  uint8 // of a feature: how often a worker has outlived it after all
	near   int64 // the last death of any kind before which it was answered
}

// mystery is a death that convicted nobody so far.
type mystery struct {
	at      int64
	accused []bezoar.Fingerprint // variants in flight
	likely  []bezoar.Fingerprint // those of them that had much of the blame, or all that are unproven
	before  []Work               // answered before it
	novel   []bezoar.Fingerprint // features of what was answered, by their keys
	open    []answer             // … and does not count as a success: another's death cut its time short
}

// puzzle notes a death that convicted nobody.
func (state *State) puzzle(now int64, acc []accused, p *past) {
	m := mystery{at: now, before: p.before, open: p.open}
	for i := range p.novel {
		for _, f := range p.novel[i].features {
			m.novel = append(m.novel, featureKey(f))
		}
	}
	for i := range acc {
		if acc[i].ticket == none {
			continue
		}
		m.accused = append(m.accused, acc[i].work.Variant)
		if acc[i].share >= suspicion && !acc[i].proven() {
			m.likely = append(m.likely, acc[i].work.Variant)
		}
	}
	if len(m.likely) == 0 {
		// In a crowd nobody has much of the blame: any of it may be the killer, until it
		// has run clean.
		for i := range acc {
			if acc[i].ticket != none && !acc[i].proven() {
				m.likely = append(m.likely, acc[i].work.Variant)
			}
		}
	}
	c := &state.company
	if len(c.mysteries) == maxMysteries {
		copy(c.mysteries, c.mysteries[1:])
		c.mysteries = c.mysteries[:maxMysteries-1]
	}
	c.mysteries = append(c.mysteries, m)
	state.alert = true
}

// explain forgets the deaths that a conviction of variant explains. Killers can be
// compared with what was answered there, once the crash is judged.
func (state *State) explain(variant bezoar.Fingerprint) {
	c := &state.company
	kept := c.mysteries[:0]
	for _, m := range c.mysteries {
		explained := false
		for _, v := range m.accused {
			explained = explained || v == variant
		}
		if explained {
			c.cleared = append(c.cleared, m.open...)
		} else {
			kept = append(kept, m)
		}
	}
	clear(c.mysteries[len(kept):])
	c.mysteries = kept
	state.experiment.explain(variant)
}

// compareCleared adds what was answered before deaths that are explained now to what
// killers are compared with. It is no success: it may be a killer, too.
func (state *State) compareCleared(now int64) {
	c := &state.company
	if len(state.histories.byFP) > 0 {
		for i := range c.cleared {
			state.remember(now, &c.cleared[i])
		}
	}
	clear(c.cleared)
	c.cleared = c.cleared[:0]
}

// excuseAll forgets the deaths since oldest: it was the fleet.
func (c *company) excuseAll(oldest int64) {
	for len(c.mysteries) > 0 && c.mysteries[len(c.mysteries)-1].at >= oldest {
		c.mysteries = c.mysteries[:len(c.mysteries)-1]
	}
}

// unravel gives up on deaths that nothing has explained in time: all that was in
// flight has run clean since, or nothing was. From then on work that was answered is
// trusted later, and company is counted.
func (state *State) unravel(now int64) {
	c := &state.company
	kept := c.mysteries[:0]
	for i := range c.mysteries {
		m := &c.mysteries[i]
		age := now - m.at
		switch {
		case len(m.likely) > 0 && age < int64(explainWithin), age < int64(mysteryFor) && state.suspects(m.likely):
			kept = append(kept, *m)
		case age < int64(mysteryFor) && !state.gated(now):
			state.carefulUntil = now + int64(carefulFor)
			state.keepCompany(now, m)
		}
	}
	clear(c.mysteries[len(kept):])
	c.mysteries = kept
	state.alert = len(kept) > 0 || state.careful(now) || now < state.alertUntil
}

// suspects reports whether something is still held against one of variants.
func (state *State) suspects(variants []bezoar.Fingerprint) bool {
	for _, v := range variants {
		if i, ok := state.byVariant[v]; ok && state.cases[i].state != unheld {
			return true
		}
	}
	return false
}

// keepCompany counts who had been answered before an unexplained death, and makes
// suspects of those who were there too often.
func (state *State) keepCompany(now int64, m *mystery) {
	within := int64(state.cfg.Rule.Within)
	var callers []*Work
	held := slices.ContainsFunc(m.before, func(w Work) bool { // who is escalated already explains it
		g := state.groups.find(w.Client)
		return g != nil && g.state == suspected
	})
	for _, key := range m.novel {
		state.met(now, key, within)
	}
	for i := range m.before {
		w := &m.before[i]
		if state.proven.successes(w.Fingerprint, state.second(now)) < provenPopular && !state.harmless(now, w.Fingerprint) {
			state.met(now, w.Fingerprint, within)
			if state.evidence(now, w.Fingerprint) >= companyDeaths {
				state.suspectLate(now, w, fmt.Sprintf("it was answered shortly before %d deaths that nothing in flight explains", companyDeaths))
			}
		}
		if held || w.Client.IsZero() {
			continue
		}
		if g := state.groups.find(w.Client); (g == nil || g.state == unheld && !g.established()) && state.met(now, w.Client, within) >= 2*companyDeaths {
			callers = append(callers, w)
		}
	}
	if len(callers) > fewCallers {
		return // where many callers were there each time, that says little of any of them
	}
	for _, w := range callers {
		state.groups.escalateCompany(state, now, w)
	}
}

// forgetOutlived makes room.
func (c *company) forgetOutlived(now int64) {
	maps.DeleteFunc(c.outlived, func(_ bezoar.Fingerprint, at int64) bool { return now-at > int64(carefulFor) })
}

// evidence counts the deaths that nothing has explained so far and before which work of fp was answered.
func (state *State) evidence(now int64, fp bezoar.Fingerprint) (n int) {
	if m := state.company.seen[fp]; now-m.at <= int64(state.cfg.Rule.Within) {
		n = m.deaths
	}
	for i := range state.company.mysteries {
		m := &state.company.mysteries[i]
		if slices.Contains(m.novel, fp) || slices.ContainsFunc(m.before, func(w Work) bool { return w.Fingerprint == fp }) {
			n++
		}
	}
	return n
}

// wasNear notes that work was answered shortly before a death.
func (state *State) wasNear(now int64, before []Work) {
	for i := range before {
		c := state.company.seen[before[i].Fingerprint]
		c.near = now
		state.company.put(before[i].Fingerprint, c)
	}
}

// isNear reports whether the work was answered shortly before an earlier death, too.
func (state *State) isNear(now int64, fp bezoar.Fingerprint) bool {
	c, ok := state.company.seen[fp]
	return ok && c.near != 0 && now-c.near <= int64(state.cfg.Rule.Within)
}

// put notes c for fp. Of a full table the oldest makes room.
func (c *company) put(fp bezoar.Fingerprint, v companion) {
	if _, ok := c.seen[fp]; !ok && len(c.seen) >= maxCompany {
		var oldest bezoar.Fingerprint
		last := int64(math.MaxInt64)
		for k, v := range c.seen {
			if at := max(v.at, v.near); at < last || at == last && bytes.Compare(k[:], oldest[:]) < 0 {
				oldest, last = k, at
			}
		}
		delete(c.seen, oldest)
	}
	c.seen[fp] = v
}

// met counts one more unexplained death after the company of fp.
func (state *State) met(now int64, fp bezoar.Fingerprint, within int64) int {
	m := state.company.seen[fp]
	if m.at == now {
		return 0 // counted for this death
	}
	if now-m.at > within {
		m.deaths, m.freed = 0, 0
	}
	m.deaths, m.at = m.deaths+1, now
	state.company.put(fp, m)
	return m.deaths
}

// suspectLate makes a suspect of work that may kill long after its answer.
func (state *State) suspectLate(now int64, w *Work, why string) {
	i := state.caseFor(now, w)
	if i == none {
		return
	}
	c := &state.cases[i]
	c.late, c.clean = true, true
	if c.state != unheld {
		return
	}
	c.state, c.since, c.cause = suspected, now, bezoar.Crash
	c.addCount(count{at: state.secondOf(now)})
	state.detailOf(i).reason = why + ": it runs alone, with time to see what it leaves behind"
	state.emitCase(Suspect, now, i, nil)
}
