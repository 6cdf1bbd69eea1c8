package blame

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of experiments.
const (
	stormDeaths  = 8                // deaths within mysteryFor that nothing explains so far, from which one caller is slowed; one who kills after its answer is mostly found by then
	stormShort   = 10 * time.Second // workers that began together die together: the rate of deaths is that of so long at least
	maxStorm     = 16               // deaths that are remembered
	leastCallers = 4                // that must be known, to compare one with
	standsOut    = 4                // times as much as the average of the others that one must have brought
	leastBrought = 2                // … and so much for each death
	newBelow     = 1.5              // successes of work that is new: its own, at most
	settleFor    = 5 * time.Second
	failsAfter   = 3 // deaths after settleFor from which it may have been in vain
	maxAcquitted = 16
)

// experiment slows the caller who brings most of the new work while workers die one after the
// other and nothing explains it, and looks whether that ends it. What takes a worker's
// memory for good does not show in shares: before the deaths a caller has no larger part of
// what was answered than elsewhere, only more of it than others. So whether it is to blame
// shows only when there is less of it. An experiment convicts nobody.
type experiment struct {
	deaths []stormDeath // that nothing explains so far, oldest first

	client bezoar.Fingerprint // who is slowed; zero: nobody
	since  int64
	rate   float64 // deaths a second before
	freed  []freed // whom it did not help to slow
}

// stormDeath is a death that nothing explains so far.
type stormDeath struct {
	at      int64
	accused []bezoar.Fingerprint // variants in flight
	brought []broughtWork
}

// broughtWork is new work that was answered before a death.
type broughtWork struct {
	work, client bezoar.Fingerprint
}

type freed struct {
	client bezoar.Fingerprint
	at     int64
}

// brought returns what is new of the work that a worker had answered before its death: few successes of it are
// known, and no worker that lives has answered it, too. Of a large fleet it looks at some.
func (state *State) brought(now int64, before []Work) []broughtWork {
	const enough = 64
	others := map[bezoar.Fingerprint]bool{}
	for i := range before {
		w := &before[i]
		if !w.Client.IsZero() && state.proven.successes(w.Fingerprint, state.second(now)) < newBelow {
			others[w.Fingerprint] = false
		}
	}
	for i := range state.epochs[:min(len(state.epochs), enough)] {
		all := state.epochs[i].answers.all
		for j := range all {
			if _, ok := others[all[j].work.Fingerprint]; ok {
				others[all[j].work.Fingerprint] = true
			}
		}
	}
	var out []broughtWork
	for i := range before {
		if other, ok := others[before[i].Fingerprint]; ok && !other {
			out = append(out, broughtWork{before[i].Fingerprint, before[i].Client})
		}
	}
	return out
}

// storm notes a death that nothing explains so far, and slows or frees a caller for it.
func (state *State) storm(now int64, acc []accused, before []Work) {
	t := &state.experiment
	if n := len(t.deaths); n > 0 && now-t.deaths[n-1].at > int64(mysteryFor) {
		t.deaths = t.deaths[:0]
	}
	d := stormDeath{at: now, brought: state.brought(now, before)}
	for i := range acc {
		if acc[i].ticket != none {
			d.accused = append(d.accused, acc[i].work.Variant)
		}
	}
	if len(t.deaths) == maxStorm {
		copy(t.deaths, t.deaths[1:])
		t.deaths = t.deaths[:maxStorm-1]
	}
	t.deaths = append(t.deaths, d)
	if !t.client.IsZero() {
		state.tryOn(now)
		return
	}
	state.begin(now)
}

// explain forgets the deaths that a conviction of variant explains.
func (t *experiment) explain(variant bezoar.Fingerprint) {
	t.deaths = slices.DeleteFunc(t.deaths, func(d stormDeath) bool { return slices.Contains(d.accused, variant) })
}

// begin slows who stands out, if anybody does.
func (state *State) begin(now int64) {
	t := &state.experiment
	recent := t.deaths
	for len(recent) > 0 && now-recent[0].at > int64(mysteryFor) {
		recent = recent[1:]
	}
	if len(recent) < stormDeaths {
		return
	}
	recent = recent[len(recent)-stormDeaths:]
	client, callers, most, sum := t.bringer(now, recent)
	if callers < leastCallers || most < leastBrought*len(recent) || float64(most) < standsOut*float64(sum-most)/float64(callers-1) {
		return
	}
	g := state.groups.get(state, client, ofClient, &state.cfg.Rule)
	if g == nil || g.late || g.state == quarantined {
		return
	}
	took := max(now-recent[0].at, int64(stormShort))
	t.client, t.since, t.rate = client, now, (stormDeaths-1)/(float64(took)/float64(time.Second))
	t.deaths = t.deaths[:0]
	from := recent[0].at // what was escalated for a part of these deaths has a better explanation now
	state.groups.letGo(state, now, func(o *group) bool { return o != g && o.since >= from })
	why := fmt.Sprintf("it brought %d of %d new requests that were answered before %d deaths, and nothing explains these: it is slowed to see whether they end", most, sum, len(recent))
	if g.state == unheld {
		state.groups.escalate(state, now, g, why)
	} else { // but its work of shapes that run well was spared
		g.reason = why
		state.changes++
		state.emitGroup(GroupLaned, now, g)
	}
	g.late, g.unsure = true, false
}

// bringer returns who brought most before some deaths, of those whom it may help to slow. What was answered before
// several of them is not new.
func (t *experiment) bringer(now int64, deaths []stormDeath) (client bezoar.Fingerprint, callers, most, sum int) {
	times := map[bezoar.Fingerprint]int{}
	for i := range deaths {
		for _, b := range deaths[i].brought {
			times[b.work]++
		}
	}
	brought := map[bezoar.Fingerprint]int{}
	for i := range deaths {
		for _, b := range deaths[i].brought {
			if times[b.work] == 1 {
				brought[b.client]++
			}
		}
	}
	for c, n := range brought {
		sum += n
		if (n > most || n == most && bytes.Compare(c[:], client[:]) < 0) && !t.isFreed(now, c) {
			client, most = c, n
		}
	}
	return client, len(brought), most, sum
}

func (t *experiment) isFreed(now int64, c bezoar.Fingerprint) bool {
	for _, f := range t.freed {
		if f.client == c && now-f.at <= int64(carefulFor) {
			return true
		}
	}
	return false
}

// tryOn goes on with an experiment after a death: it was in vain when they go on half as fast as before.
func (state *State) tryOn(now int64) {
	t := &state.experiment
	g := state.groups.find(t.client)
	if g == nil || g.state != suspected {
		t.client = bezoar.Fingerprint{} // it is over, and has helped
		t.deaths = t.deaths[:0]
		return
	}
	from := t.since + int64(settleFor)
	against := 0
	for i := range t.deaths {
		if t.deaths[i].at > from {
			against++
		}
	}
	if against < failsAfter || float64(against) < t.rate/2*(float64(now-from)/float64(time.Second)) {
		return
	}
	if len(t.freed) == maxAcquitted {
		t.freed = append(t.freed[:0], t.freed[1:]...)
	}
	t.freed = append(t.freed, freed{t.client, now})
	state.emitGroup(Dropped, now, g)
	state.clearGroup(g)
	t.client = bezoar.Fingerprint{}
	t.deaths = t.deaths[:0]
}
