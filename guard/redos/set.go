package redos

import (
	"slices"
	"unicode"
)

// set is a set of runes: sorted, disjoint and non-adjacent ranges.
type set []span

type span struct{ lo, hi rune }

const maxRune = unicode.MaxRune

// foldable is the size of the largest range whose simple case folds are looked up. In
// larger ranges only ASCII is folded.
const foldable = 600

func one(r rune) set { return set{{r, r}} }

func spans(pairs ...rune) set {
	var s set
	for i := 0; i+1 < len(pairs); i += 2 {
		s = append(s, span{pairs[i], pairs[i+1]})
	}
	return s.norm()
}

func chars(text string) set {
	var s set
	for _, r := range text {
		s = append(s, span{r, r})
	}
	return s.norm()
}

// norm sorts and joins the ranges. It may reuse s.
func (s set) norm() set {
	if len(s) < 2 {
		return s
	}
	slices.SortFunc(s, func(a, b span) int { return int(a.lo - b.lo) })
	out := s[:1]
	for _, p := range s[1:] {
		if last := &out[len(out)-1]; p.lo <= last.hi+1 {
			last.hi = max(last.hi, p.hi)
		} else {
			out = append(out, p)
		}
	}
	return out
}

func (s set) with(more set) set {
	return append(append(make(set, 0, len(s)+len(more)), s...), more...).norm()
}

func (s set) negate() set {
	out := make(set, 0, len(s)+1)
	next := rune(0)
	for _, p := range s {
		if p.lo > next {
			out = append(out, span{next, p.lo - 1})
		}
		next = p.hi + 1
	}
	if next <= maxRune {
		out = append(out, span{next, maxRune})
	}
	return out
}

func (s set) and(t set) set  { return s.negate().with(t.negate()).negate() }
func (s set) less(t set) set { return s.and(t.negate()) }

func (s set) has(r rune) bool {
	i, found := slices.BinarySearchFunc(s, r, func(p span, r rune) int { return int(p.lo - r) })
	return found || i > 0 && s[i-1].hi >= r
}

// key returns the set as a map key.
func (s set) key() string {
	out := make([]byte, 0, 6*len(s))
	for _, p := range s {
		out = append(out, byte(p.lo), byte(p.lo>>8), byte(p.lo>>16), byte(p.hi), byte(p.hi>>8), byte(p.hi>>16))
	}
	return string(out)
}

func (s set) equal(t set) bool { return slices.Equal(s, t) }

// fold adds the other cases of the runes of s.
func (s set) fold() set {
	out := append(make(set, 0, 2*len(s)), s...)
	for _, p := range s {
		shift := func(lo, hi, by rune) {
			if lo, hi := max(lo, p.lo), min(hi, p.hi); lo <= hi {
				out = append(out, span{lo + by, hi + by})
			}
		}
		shift('a', 'z', 'A'-'a')
		shift('A', 'Z', 'a'-'A')
		if p.hi < 128 || p.hi-p.lo > foldable {
			continue
		}
		for r := max(p.lo, 128); r <= p.hi; r++ {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				if f >= 128 { // the long s and the Kelvin sign are irrelevant for attacks
					out = append(out, span{f, f})
				}
			}
		}
	}
	return out.norm()
}

// table returns the set of a table of package unicode.
func table(t *unicode.RangeTable) set {
	s := make(set, 0, len(t.R16)+len(t.R32))
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			s = append(s, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			s = append(s, span{r, r})
		}
	}
	for _, r := range t.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range t.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return s.norm()
}
