package blame

import (
	"bytes"
	"math"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of the statistics about how soon after an answer a worker dies.
const (
	mostBits  = 8.0  // that one death adds
	driftBits = 3.0  // that each death takes off again: chance brings 1.4 in the mean
	sharpBits = 8.0  // from which the answer explains the deaths
	maxSharp  = 1024 // variants whose sums are kept
)

// timing finds what kills a worker at once after its answer, also where its fingerprint is so popular that it
// was answered before every death anyway. If a variant is answered r times a second, a moment picked by chance lies
// within t of its last answer with probability 1 - exp(-r t). The bits by which that surprises are summed up over
// deaths, less a drift, and never below zero (a CUSUM test: Page, 1954). Variants are known while deaths go
// unexplained, and not before.
type timing map[bezoar.Fingerprint]sharpness

type sharpness struct {
	bits float64
	at   int64
}

// timed adds a death to the sums of what e answered within the window before it, and returns the works whose
// answers explain the deaths.
func (state *State) timed(now int64, e *epoch) (sharp []Work) {
	type last struct {
		n    int
		at   int64
		work *Work
	}
	if len(e.answers.all) == 0 {
		return nil
	}
	seen := map[bezoar.Fingerprint]last{}
	var order []bezoar.Fingerprint
	for i := range e.answers.all {
		a := e.answers.nth(i)
		if a.work.Variant.IsZero() || a.work.whole() || a.work.Exempt || state.runsWell(now, &a.work) {
			continue
		}
		l := seen[a.work.Variant]
		if l.n == 0 {
			order = append(order, a.work.Variant)
		}
		seen[a.work.Variant] = last{l.n + 1, a.at, &a.work}
	}
	span := now - e.answers.nth(0).at
	for _, v := range order {
		l := seen[v]
		lag := now - l.at
		if lag > int64(state.cfg.Window) {
			continue
		}
		chance := -math.Expm1(-float64(l.n) * float64(lag+1) / float64(span+1))
		s := state.timing[v]
		if now-s.at > int64(state.cfg.Rule.Within) {
			s.bits = 0
		}
		s.bits, s.at = max(0, s.bits+min(mostBits, -math.Log2(chance))-driftBits), now
		state.timing.put(v, s)
		if s.bits >= sharpBits {
			sharp = append(sharp, *l.work)
		}
	}
	return sharp
}

// put notes s for a variant. Of a full table the oldest makes room.
func (t timing) put(v bezoar.Fingerprint, s sharpness) {
	if _, ok := t[v]; !ok && len(t) >= maxSharp {
		var oldest bezoar.Fingerprint
		at := int64(math.MaxInt64)
		for k, s := range t {
			if s.at < at || s.at == at && bytes.Compare(k[:], oldest[:]) < 0 {
				oldest, at = k, s.at
			}
		}
		delete(t, oldest)
	}
	if s.bits > 0 {
		t[v] = s
	} else {
		delete(t, v)
	}
}

// sharp reports whether deaths follow the answers to a variant so closely that these explain them.
func (state *State) sharp(now int64, variant bezoar.Fingerprint) bool {
	s, ok := state.timing[variant]
	return ok && s.bits >= sharpBits && now-s.at <= int64(state.cfg.Rule.Within)
}
