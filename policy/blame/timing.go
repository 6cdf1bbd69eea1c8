package blame

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// Bounds of the statistics about how soon after an answer a worker dies.
const (
	mostBits  = 8.0  // that one death adds
	driftBits = 3.0  // that each death takes off again: chance brings 1.4 in the mean
	sharpBits = 10.0 // from which the answers to a variant explain the deaths
	wideBits  = 12.0 // … and what many variants have in common, of which there is much to choose from
	sameBits  = 0.5  // what is so close together explains the deaths equally well
	maxSharp  = 1024 // sums that are kept
	maxCommon = 16   // features that are held together
)

// timing finds what kills a worker soon after its answer, also where its fingerprint is so popular that it
// was answered before every death anyway. If requests of a variant, a shape, an endpoint, or with a feature, are
// answered r times a second, a moment picked by chance lies within t of the last answer with probability
// 1 - exp(-r t). The bits by which that surprises are summed up over deaths, less a drift, and never below zero
// (a CUSUM test: Page, 1954). Variants and features are known while deaths go unexplained, and not before.
type timing map[bezoar.Fingerprint]sharpness

type sharpness struct {
	bits float64
	at   int64
}

// level says what a sum is of.
type level uint8

const (
	aVariant level = iota
	aFeature
	aShape
	anEndpoint
)

// exposure is how often and when last a worker has answered what is summed up.
type exposure struct {
	level   level
	feature uint64 // of aFeature
	n       int
	at      int64
	work    *Work
}

// explanation is what explains deaths by how soon after its answers they come: variants, or what more of them have
// in common.
type explanation struct {
	variants []Work
	features []uint64
	shape    *Work // whose shape, or whose endpoint when it is wide
	wide     bool
}

// featureKey is the key of a sum of a feature.
func featureKey(f uint64) bezoar.Fingerprint {
	return keyOf(bezoar.Fingerprint{}, bezoar.Fingerprint{}, []uint64{f})
}

// exposures lists what e has answered, by the keys of the sums, and the keys in their order.
func (state *State) exposures(now int64, e *epoch) (map[bezoar.Fingerprint]exposure, []bezoar.Fingerprint) {
	seen := map[bezoar.Fingerprint]exposure{}
	var order []bezoar.Fingerprint
	for i := range e.answers.all {
		a := e.answers.nth(i)
		if a.work.Variant.IsZero() || a.work.Exempt {
			continue
		}
		see := func(key bezoar.Fingerprint, l level, f uint64) {
			x, ok := seen[key]
			if !ok {
				order = append(order, key)
			}
			seen[key] = exposure{l, f, x.n + 1, a.at, &a.work}
		}
		if !a.work.whole() && !state.runsWell(now, &a.work) {
			see(a.work.Variant, aVariant, 0)
		}
		for _, f := range a.features {
			if !state.outlivedFeature(now, f) {
				see(featureKey(f), aFeature, f)
			}
		}
		if !a.work.Shape.IsZero() {
			see(a.work.Shape, aShape, 0)
		}
		if !a.work.Endpoint.IsZero() && a.work.Endpoint != a.work.Shape {
			see(a.work.Endpoint, anEndpoint, 0)
		}
	}
	return seen, order
}

// timed adds a death to the sums of what e answered within the window before it, and returns what explains the
// deaths: variants, or what more of them have in common if that explains more.
func (state *State) timed(now int64, e *epoch) (x explanation) {
	if len(e.answers.all) == 0 {
		return x
	}
	seen, order := state.exposures(now, e)
	for key, s := range state.timing {
		if _, ok := seen[key]; !ok {
			if s.bits -= driftBits; s.bits <= 0 {
				delete(state.timing, key)
			} else {
				state.timing[key] = s
			}
		}
	}
	span := now - e.answers.nth(0).at
	var most [anEndpoint + 1]float64
	for _, key := range order {
		l := seen[key]
		lag := now - l.at
		if lag > int64(state.cfg.Window) {
			continue
		}
		chance := -math.Expm1(-float64(l.n) * float64(lag+1) / float64(span+1))
		s := state.timing[key]
		if now-s.at > int64(state.cfg.Rule.Within) {
			s.bits = 0
		}
		s.bits, s.at = max(0, s.bits+min(mostBits, -math.Log2(chance))-driftBits), now
		state.timing.put(key, s)
		most[l.level] = max(most[l.level], s.bits)
	}
	for _, key := range order {
		l, bits := seen[key], state.timing[key].bits
		switch {
		case state.timing[key].at != now:
		case l.level == aVariant && bits >= sharpBits:
			x.variants = append(x.variants, *l.work)
		case bits < wideBits || bits < most[aVariant]+sameBits || bits < most[l.level]-sameBits:
		case l.level == aFeature && len(x.features) < maxCommon:
			x.features = append(x.features, l.feature)
		case l.level > aFeature && bits >= most[aFeature]+sameBits && x.shape == nil:
			x.shape, x.wide = l.work, l.level == anEndpoint && bits >= most[aShape]+sameBits
		}
	}
	return x
}

// put notes s for a key. Of a full table the oldest makes room.
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

// suspectTimed holds what explains the deaths: a variant is a suspect, and work that has what more of them have in
// common runs in the lane, where it is watched.
func (state *State) suspectTimed(now int64, x *explanation) {
	const why = "workers die so soon after it is answered that chance hardly explains it"
	for i := range x.variants {
		state.suspectLate(now, &x.variants[i], why)
	}
	if len(x.features) > 0 {
		state.holdCommon(now, x.features, why)
	} else if w := x.shape; w != nil {
		key, k := w.Shape, ofShape
		if x.wide {
			key, k = w.Endpoint, ofEndpoint
		}
		if g := state.groups.get(state, key, k, state.rule(w)); g != nil && g.state != quarantined && !g.late {
			if g.state == unheld {
				state.groups.escalate(state, now, g, why)
			}
			g.late = true
		}
	}
}

// holdCommon escalates what has all of the features.
func (state *State) holdCommon(now int64, features []uint64, why string) {
	slices.Sort(features)
	g := state.groups.get(state, keyOf(bezoar.Fingerprint{}, bezoar.Fingerprint{}, features), ofFeature, &state.cfg.Rule)
	if g == nil || g.state != unheld || len(state.groups.common) >= mostCommon || now-state.start < int64(state.cfg.Learning) {
		return // or next to nothing is known of what runs well
	}
	g.features = slices.Clone(features)
	state.groups.escalate(state, now, g, why)
	g.late = true
	state.groups.common = append(state.groups.common, g.fp)
}

// commonOf returns the narrowest escalated group of what has certain features that work with these belongs to; nil if
// there is none.
func (gs *groups) commonOf(features []uint64) (narrowest *group) {
	for _, key := range gs.common {
		if g := gs.find(key); g != nil && g.state == suspected && (narrowest == nil || len(g.features) > len(narrowest.features)) &&
			!slices.ContainsFunc(g.features, func(f uint64) bool { return !slices.Contains(features, f) }) {
			narrowest = g
		}
	}
	return narrowest
}

// heldCommon is commonOf for work that is being judged. The first of it says what people call the features.
func (state *State) heldCommon(now int64, v *view) *group {
	if len(state.groups.common) == 0 {
		return nil
	}
	g := state.groups.commonOf(state.look(v))
	if g == nil {
		return nil
	}
	if state.refreshGroup(now, g); g.state != suspected {
		return nil
	}
	if len(g.texts) == 0 && v.Traits != nil {
		for _, f := range g.features {
			if text := v.Traits.Text(f); text != "" {
				g.texts = append(g.texts, text)
			}
		}
		state.emitGroup(GroupLaned, now, g)
	}
	return g
}

// commonWhy is the first sentence of the explanation of such a group.
func commonWhy(g *group) string {
	return fmt.Sprintf("Workers died soon after they had answered requests with %s, sooner than chance explains, and no variant, shape or caller explains it as well.", strings.Join(g.texts, " and "))
}
