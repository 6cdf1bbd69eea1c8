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
	maxNovel    = 512                   // features that an epoch has answered, and not outlived yet
	maxGoodOnes = 1 << 14               // features that workers have outlived
)

// novelty is what a worker has answered with a feature that no worker is known to have outlived.
type novelty struct {
	first   int64              // when
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
		n.variant = w.Variant
		e.novel[f] = n
	}
}

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

// novelOf lists the features of what e has answered that no worker is known to have outlived, of each variant apart.
func (state *State) novelOf(now int64, e *epoch) [][]uint64 {
	state.settleNovel(now, e)
	if now-state.start < int64(state.cfg.Learning) {
		return nil // next to nothing is known to run well
	}
	byVariant := map[bezoar.Fingerprint][]uint64{}
	for f, n := range e.novel {
		if !state.outlivedFeature(now, f) { // on another worker, meanwhile
			byVariant[n.variant] = append(byVariant[n.variant], f)
		}
	}
	var out [][]uint64
	for _, v := range slices.SortedFunc(maps.Keys(byVariant), func(a, b bezoar.Fingerprint) int { return bytes.Compare(a[:], b[:]) }) {
		slices.Sort(byVariant[v])
		out = append(out, byVariant[v])
	}
	return out
}

// suspectNovel escalates what has features that no worker is known to have outlived and that were answered before
// several deaths that nothing explains.
func (state *State) suspectNovel(now int64, novel [][]uint64) {
	for _, features := range novel {
		most := companyDeaths
		for _, f := range features {
			most = max(most, state.evidence(now, featureKey(f)))
		}
		common := slices.DeleteFunc(slices.Clone(features), func(f uint64) bool { return state.evidence(now, featureKey(f)) < most })
		if len(common) == 0 || len(common) > maxCommon || state.groups.commonOf(common) != nil {
			continue
		}
		state.holdCommon(now, common, fmt.Sprintf("it was answered shortly before %d deaths that nothing in flight explains, and no worker is known to have outlived it", most))
	}
}

// mayBeOthers reports whether the worker that died had answered something that was answered before an earlier death,
// too, and that no worker is known to have outlived, unless a is such work itself.
func (state *State) mayBeOthers(now int64, novel [][]uint64, a *accused) bool {
	if a.late {
		return false
	}
	for _, features := range novel {
		for _, f := range features {
			if !slices.Contains(a.features, f) && state.evidence(now, featureKey(f)) > 0 {
				return true
			}
		}
	}
	return false
}
