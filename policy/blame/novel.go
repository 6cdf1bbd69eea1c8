package blame

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of what is known of features.
const (
	sampleEvery = 50 * time.Millisecond // a request whose features are looked at, also while nothing dies
	sampleAfter = time.Second           // after the start
	mostCommon  = 4                     // sets of features that are escalated at a time
	maxNovel    = 512                   // features that an epoch has answered, and not outlived yet
	maxGoodOnes = 1 << 14               // features that workers have outlived
)

// novelty is what a worker has answered with a feature that no worker is known to have outlived.
type novelty struct {
	first   int64              // when
	answers int                // so far
	variant bezoar.Fingerprint // of the last request that had it
}

// sampled reports whether the features of the next request are looked at to know what runs well. It is a few a
// second, so that the others cost nothing more.
func (state *State) sampled(now int64) bool {
	if now < state.sampleAt {
		return false
	}
	state.sampleAt = now + int64(sampleEvery)
	return true
}

// outlivedFeature reports whether some worker has outlived an answer to a request with the feature by so much that a
// later death is not its doing.
func (state *State) outlivedFeature(now int64, f uint64) bool {
	if c, ok := state.company.seen[featureKey(f)]; ok && c.freed > 0 {
		return false // it is said to have killed all the same
	}
	return state.outlived.successes(featureKey(f), state.second(now)) >= provenEnough
}

// noteNovel notes what e has answered with features that no worker is known to have outlived.
func (state *State) noteNovel(now int64, e *epoch, w *Work, features []uint64) {
	for _, f := range features {
		n, ok := e.novel[f]
		if !ok {
			if len(e.novel) >= maxNovel || state.outlivedFeature(now, f) {
				continue
			}
			if e.novel == nil {
				e.novel = map[uint64]novelty{}
			}
			n.first = now
		}
		n.answers++
		n.variant = w.Variant
		e.novel[f] = n
	}
}

// learnt reports whether enough is known of what runs well to tell what is new.
func (state *State) learnt(now int64) bool { return now-state.start >= int64(state.cfg.Learning) }

// settleNovel moves what e has outlived to what runs well.
func (state *State) settleNovel(now int64, e *epoch) {
	for f, n := range e.novel {
		if now-n.first < state.lateMost() {
			continue
		}
		state.outlived.add(featureKey(f), state.second(now))
		delete(e.novel, f)
	}
}

// newSet is the features of one variant that no worker is known to have outlived.
type newSet struct {
	features []uint64
	answers  int // to requests that have one of them, on the worker that died
}

// novelOf lists the features of what e has answered that no worker is known to have outlived, of each variant apart.
func (state *State) novelOf(now int64, e *epoch) []newSet {
	state.settleNovel(now, e)
	if !state.learnt(now) {
		return nil
	}
	sets := map[bezoar.Fingerprint]newSet{}
	for f, n := range e.novel {
		if !state.outlivedFeature(now, f) && !state.livesOn(now, e, f, now-n.first) { // or on another worker, meanwhile
			s := sets[n.variant]
			sets[n.variant] = newSet{append(s.features, f), max(s.answers, n.answers)}
		}
	}
	var out []newSet
	for _, v := range slices.SortedFunc(maps.Keys(sets), func(a, b bezoar.Fingerprint) int { return bytes.Compare(a[:], b[:]) }) {
		slices.Sort(sets[v].features)
		out = append(out, sets[v])
	}
	return out
}

// livesOn reports whether a worker has lived on for much longer after it first answered a request with the feature than
// the one that has died so long after it did. Of a large fleet it looks at some.
func (state *State) livesOn(now int64, dead *epoch, f uint64, lag int64) bool {
	const enough = 64
	seen := 0
	for i := range state.epochs {
		e := &state.epochs[i]
		n, ok := e.novel[f]
		if !ok || e == dead {
			continue
		}
		if now-n.first >= 2*lag+int64(time.Second) {
			return true
		}
		if seen++; seen == enough {
			break
		}
	}
	return false
}

// suspectNovel escalates what has features that no worker is known to have outlived and that were answered before
// several deaths that nothing explains: of all such sets the one that is asked for least. What is escalated already
// explains the deaths of workers that had answered it before.
func (state *State) suspectNovel(now int64, novel []newSet) {
	var all, best []uint64
	for i := range novel {
		all = append(all, novel[i].features...)
	}
	if len(state.groups.common) >= mostCommon || state.groups.commonOf(all) != nil {
		return
	}
	deaths, rarest := 0, 0
	for i := range novel {
		features, n := []uint64(nil), 0
		for _, f := range novel[i].features {
			c := state.company.seen[featureKey(f)]
			if now-c.at <= int64(state.cfg.Rule.Within) && c.deaths >= companyDeaths<<c.freed {
				features, n = append(features, f), max(n, c.deaths)
			}
		}
		if len(features) > 0 && len(features) <= maxCommon && (best == nil || novel[i].answers < rarest) {
			best, deaths, rarest = features, n, novel[i].answers
		}
	}
	if best != nil {
		state.holdCommon(now, best, fmt.Sprintf("it was answered shortly before %d deaths that nothing in flight explains, and no worker is known to have outlived it", deaths))
	}
}

// freeCommon lets go of what has certain features, since a worker has outlived an answer to it: it does not always kill.
// It takes twice as many deaths to escalate it again.
func (state *State) freeCommon(now int64, g *group) {
	for _, f := range g.features {
		c := state.company.seen[featureKey(f)]
		c.deaths, c.at, c.freed = 0, now, min(c.freed+1, maxFreed)
		state.company.put(featureKey(f), c)
		delete(state.timing, featureKey(f))
	}
	state.emitGroup(Released, now, g)
	state.clearGroup(g)
}

// mayBeOthers reports whether the worker that died had answered something that was answered before an earlier death that
// nothing explained, too, and that no worker is known to have outlived, unless a is such work itself.
func (state *State) mayBeOthers(novel []newSet, a *accused) bool {
	if a.late {
		return false
	}
	for i := range novel {
		for _, f := range novel[i].features {
			if !slices.Contains(a.features, f) && state.company.seen[featureKey(f)].deaths > 0 {
				return true
			}
		}
	}
	return false
}
