package blame

import (
	"bytes"
	"slices"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of what is remembered of a fingerprint or shape that has killed. One
// history takes at most about 25 KB.
const (
	maxHistories  = 512
	maxKillers    = 8
	maxGood       = 32
	enoughGood    = 16 // successes that a feature must be absent from before it counts
	someGood      = 4  // … before it decides where work runs first
	enoughKillers = 3  // variants that must have killed alone before anything wider is refused
)

// history is what is remembered of one fingerprint or shape since its first
// death: which requests killed, which did not, and so what tells them apart.
type history struct {
	fp      bezoar.Fingerprint
	died    int64 // when it last killed
	killers []killer
	good    []sample // a ring
	next    int      // in good
	runs    int      // successes since the first death
	stale   bool     // telling is to be found anew
	telling []uint64 // features of killers that no success has, sorted

	verdicts []bezoar.Fingerprint // keys of the groups that hold features of it
}

// killer is one variant that is blamed for a death.
type killer struct {
	variant  bezoar.Fingerprint
	client   bezoar.Fingerprint
	features []uint64
	weight   float64 // its share of the blame
	alone    bool    // it killed alone on a clean worker
}

// sample is one success.
type sample struct {
	client   bezoar.Fingerprint
	features []uint64
}

// histories is the bounded table of them.
type histories struct {
	byFP map[bezoar.Fingerprint]*history
}

func (h *histories) find(fp bezoar.Fingerprint) *history {
	if len(h.byFP) == 0 || fp.IsZero() {
		return nil
	}
	return h.byFP[fp]
}

// historyFor returns fp's history, making one. Of a full table that which has
// been quiet for longest makes room.
func (state *State) historyFor(fp bezoar.Fingerprint) *history {
	if fp.IsZero() {
		return nil
	}
	all := state.histories.byFP
	if h, ok := all[fp]; ok {
		return h
	}
	if len(all) >= maxHistories {
		var oldest *history
		for _, h := range all {
			if len(h.verdicts) == 0 && (oldest == nil || h.died < oldest.died || h.died == oldest.died && bytes.Compare(h.fp[:], oldest.fp[:]) < 0) {
				oldest = h
			}
		}
		if oldest == nil {
			return nil
		}
		delete(all, oldest.fp)
	}
	h := &history{fp: fp}
	all[fp] = h
	return h
}

// forgetHistories drops what has been quiet for as long as evidence counts.
func (state *State) forgetHistories(now int64) {
	for fp, h := range state.histories.byFP {
		if len(h.verdicts) == 0 && now-h.died > int64(state.cfg.Rule.Within) {
			delete(state.histories.byFP, fp)
		}
	}
}

// killed remembers that a killer took a worker down.
func (h *history) killed(now int64, k killer) {
	h.died, h.stale = now, true
	for i := range h.killers {
		if old := &h.killers[i]; old.variant == k.variant {
			old.alone = old.alone || k.alone
			old.weight = max(old.weight, k.weight)
			return
		}
	}
	if len(h.killers) == maxKillers {
		// What only may have killed makes room before what did.
		out := max(0, slices.IndexFunc(h.killers, func(o killer) bool { return !o.alone }))
		h.killers = slices.Delete(h.killers, out, out+1)
	}
	h.killers = append(h.killers, k)
}

// cleared forgets a killer that ran clean. What killed alone stays, unless it was
// released.
func (h *history) cleared(variant bezoar.Fingerprint, released bool) {
	n := len(h.killers)
	h.killers = slices.DeleteFunc(h.killers, func(k killer) bool { return k.variant == variant && (released || !k.alone) })
	h.stale = h.stale || len(h.killers) < n
}

// survived remembers a success.
func (h *history) survived(s sample) {
	h.runs++
	if len(s.features) == 0 {
		return // it was sent before anybody asked what it consists of
	}
	if len(h.good) < maxGood {
		h.good = append(h.good, s)
	} else {
		h.good[h.next] = s
		h.next = (h.next + 1) % maxGood
	}
	if !h.stale && slices.ContainsFunc(s.features, h.tells) {
		h.stale = true
	}
}

// tells reports whether killers have f and no remembered success does.
func (h *history) tells(f uint64) bool {
	_, ok := slices.BinarySearch(h.telling, f)
	return ok
}

// resembles reports whether work with these features looks like the killers: it
// has something of them that no success has.
func (h *history) resembles(features []uint64) bool {
	if h.stale {
		h.refresh()
	}
	return len(h.telling) > 0 && slices.ContainsFunc(features, h.tells)
}

// faintly reports whether work with these features has little of what tells the killers
// apart: less than half of it. One clean run shows then that the little is harmless.
func (h *history) faintly(features []uint64) bool {
	if h.stale {
		h.refresh()
	}
	n := 0
	for _, f := range features {
		if h.tells(f) {
			n++
		}
	}
	return n > 0 && 2*n < len(h.telling)
}

// refresh finds the features that a third of the killers' blame has and no
// remembered success.
func (h *history) refresh() {
	h.stale = false
	weights := map[uint64]float64{}
	sum := 0.0
	for i := range h.killers {
		k := &h.killers[i]
		sum += k.weight
		for _, f := range k.features {
			weights[f] += k.weight
		}
	}
	for i := range h.good {
		for _, f := range h.good[i].features {
			delete(weights, f)
		}
	}
	h.telling = h.telling[:0]
	for f, w := range weights {
		if w >= sum/3 {
			h.telling = append(h.telling, f)
		}
	}
	slices.Sort(h.telling)
}

// alone counts the killers that killed alone, and their callers.
func (h *history) alone() (variants, clients int, client bezoar.Fingerprint) {
	seen := make([]bezoar.Fingerprint, 0, maxKillers)
	for i := range h.killers {
		k := &h.killers[i]
		if !k.alone {
			continue
		}
		variants++
		if !k.client.IsZero() && !slices.Contains(seen, k.client) {
			seen = append(seen, k.client)
			client = k.client
		}
	}
	return variants, len(seen), client
}

// common returns the features that tell last apart from all successes and that at
// least enoughKillers killers share with it, and how many do. The widest cluster
// of killers around one feature decides, so that two poisons at one address are
// told apart.
func (h *history) common(last *killer) (features []uint64, killers int) {
	if h.stale {
		h.refresh()
	}
	best, most := uint64(0), 0
	for _, f := range last.features {
		if !h.tells(f) {
			continue
		}
		n := 0
		for i := range h.killers {
			if k := &h.killers[i]; k.alone && slices.Contains(k.features, f) {
				n++
			}
		}
		if n > most {
			best, most = f, n
		}
	}
	if most < enoughKillers {
		return nil, most
	}
	for _, f := range last.features {
		shared := h.tells(f)
		for i := range h.killers {
			k := &h.killers[i]
			if k.alone && slices.Contains(k.features, best) {
				shared = shared && slices.Contains(k.features, f)
			}
		}
		if shared {
			features = append(features, f)
		}
	}
	return features, most
}

// goodOf reports whether one of client's requests is among the successes.
func (h *history) goodOf(client bezoar.Fingerprint) bool {
	return slices.ContainsFunc(h.good, func(s sample) bool { return s.client == client })
}

// remember adds a success to the histories of its fingerprint and shape, and
// ends what it contradicts.
func (state *State) remember(now int64, a *answer) {
	w := &a.work
	own, kin := state.histories.find(w.Fingerprint), state.histories.find(w.Shape)
	if own == nil && kin == nil {
		return
	}
	s := sample{client: w.Client, features: a.features}
	if own != nil {
		own.cleared(w.Variant, false)
		own.survived(s)
		if len(own.killers) == 0 && len(own.verdicts) == 0 {
			delete(state.histories.byFP, own.fp)
		} else {
			state.contradict(now, own, s)
		}
	}
	if kin != nil {
		kin.cleared(w.Variant, false)
		kin.survived(s)
		if len(kin.killers) == 0 {
			delete(state.histories.byFP, kin.fp)
		}
	}
}
