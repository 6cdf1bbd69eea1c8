package blame

import (
	"bytes"
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of experiments.
const (
	stormDeaths  = 7    // unexplained deaths within mysteryFor beyond which one caller is slowed; one who kills after its answer is mostly found by then
	maxBringers  = 1024 // callers that are counted
	leastCallers = 4    // that must be known, to compare one with
	standsOut    = 4    // times as much as the average of the others that one must have brought
	leastBrought = 2    // … and so much for each death
	newBelow     = 1.5  // successes of work that is new: its own, at most
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
	brought map[bezoar.Fingerprint]float64 // new work that was answered before the deaths, by caller
	deaths  [stormDeaths]int64             // the latest, in a ring
	n       int                            // of this storm
	last    int64

	client  bezoar.Fingerprint // who is slowed; zero: nobody
	since   int64
	rate    float64 // deaths a second before
	against int     // deaths since
	freed   []freed // whom it did not help to slow
}

type freed struct {
	client bezoar.Fingerprint
	at     int64
}

// storm notes a death that nothing explains, and slows or frees a caller for it.
func (state *State) storm(now int64, m *mystery) {
	t := &state.experiment
	if m.at-t.last > int64(mysteryFor) {
		t.calm()
	}
	t.last = max(t.last, m.at)
	if !t.client.IsZero() {
		state.tryOn(now, m.at)
		return
	}
	for i := range m.before {
		w := &m.before[i]
		if w.Client.IsZero() || state.proven.successes(w.Fingerprint, state.second(now)) >= newBelow {
			continue
		}
		if _, ok := t.brought[w.Client]; ok || len(t.brought) < maxBringers {
			if t.brought == nil {
				t.brought = map[bezoar.Fingerprint]float64{}
			}
			t.brought[w.Client]++
		}
	}
	oldest := t.deaths[t.n%stormDeaths]
	t.deaths[t.n%stormDeaths] = m.at
	if t.n++; t.n > stormDeaths && m.at-oldest <= int64(mysteryFor) {
		state.begin(now, m.at-oldest)
	}
}

func (t *experiment) calm() {
	clear(t.brought)
	t.n = 0
}

// begin slows who stands out, if anybody does. So many deaths took so long.
func (state *State) begin(now, took int64) {
	t := &state.experiment
	client, most, sum := t.bringer(now)
	if len(t.brought) < leastCallers || most < leastBrought*float64(t.n) || most < standsOut*(sum-most)/float64(len(t.brought)-1) {
		return
	}
	g := state.groups.get(state, client, ofClient, &state.cfg.Rule)
	if g == nil || g.late || g.state == quarantined {
		return
	}
	t.client, t.since, t.rate, t.against = client, now, stormDeaths/(float64(max(took, 1))/float64(time.Second)), 0
	why := fmt.Sprintf("it brought %.0f of %.0f new requests that were answered before %d deaths, and nothing explains these: it is slowed to see whether they end", most, sum, t.n)
	if g.state == unheld {
		state.groups.escalate(state, now, g, why)
	} else { // but its work of shapes that run well was spared
		g.reason = why
		state.changes++
		state.emitGroup(GroupLaned, now, g)
	}
	g.late = true
}

// bringer returns who brought most, of those whom it may help to slow.
func (t *experiment) bringer(now int64) (client bezoar.Fingerprint, most, sum float64) {
	for c, n := range t.brought {
		sum += n
		if (n > most || n == most && bytes.Compare(c[:], client[:]) < 0) && !t.isFreed(now, c) {
			client, most = c, n
		}
	}
	return client, most, sum
}

func (t *experiment) isFreed(now int64, c bezoar.Fingerprint) bool {
	for _, f := range t.freed {
		if f.client == c && now-f.at <= int64(carefulFor) {
			return true
		}
	}
	return false
}

// tryOn goes on with an experiment after a death at the given time: it was in vain when they go on
// half as fast as before.
func (state *State) tryOn(now, at int64) {
	t := &state.experiment
	g := state.groups.find(t.client)
	if g == nil || g.state != suspected {
		t.client = bezoar.Fingerprint{} // it is over, and has helped
		t.calm()
		return
	}
	since := at - t.since - int64(settleFor)
	if since <= 0 {
		return
	}
	t.against++
	if t.against < failsAfter || float64(t.against) < t.rate/2*(float64(since)/float64(time.Second)) {
		return
	}
	if len(t.freed) == maxAcquitted {
		t.freed = append(t.freed[:0], t.freed[1:]...)
	}
	t.freed = append(t.freed, freed{t.client, now})
	state.emitGroup(Dropped, now, g)
	state.clearGroup(g)
	t.client = bezoar.Fingerprint{}
	t.calm()
}
