package redos

import (
	"cmp"
	"slices"
)

// attack is a witness in atoms.
type attack struct {
	prefix, pump, suffix []int
	start                int // where in the prefix the match begins
}

func (w *attack) text(n int) []int { return w.appendTo(make([]int, 0, w.size(n)), n) }

// appendTo appends the text of n pumps.
func (w *attack) appendTo(text []int, n int) []int {
	text = append(text, w.prefix...)
	for range n {
		text = append(text, w.pump...)
	}
	return append(text, w.suffix...)
}

func (w *attack) size(n int) int { return len(w.prefix) + n*len(w.pump) + len(w.suffix) }

// How far the search for a suffix that no match survives goes.
const (
	maxSuffix   = 12  // runes
	maxSubsets  = 160 // sets of states
	maxSuffixes = 3   // that are tried
	maxSettle   = 24  // pumps until the set of states comes again
	maxPeriod   = 4   // pumps that become one
)

// forge makes attacks of candidates.
type forge struct {
	*automaton
	left   *budget
	common []int // by atom: how many states read it
	rough  bool  // counted repeats were taken for loops: a match ends later than it seems
	wants  bool  // the pattern has lookaheads that are not modelled
	order  []int // atoms, those first that fewest states read
}

func newForge(m *automaton, left *budget) *forge {
	f := &forge{automaton: m, left: left, common: make([]int, len(m.alpha.runes))}
	for atom := range f.common {
		f.order = append(f.order, atom)
	}
	for _, s := range m.states[m.seek:] {
		for atom := range f.common {
			if s.bag.has(atom) {
				f.common[atom]++
			}
		}
		left.spend(1)
	}
	slices.SortFunc(f.order, func(a, b int) int {
		return cmp.Or(f.common[a]-f.common[b], rank(m.alpha.runes[a])-rank(m.alpha.runes[b]))
	})
	return f
}

// spell chooses a rune of each bag: the rarest in the pattern, which a match is
// least likely to go on with, or the most common.
func (f *forge) spell(word []bag, rarest bool) []int {
	out := make([]int, 0, len(word))
	for _, b := range word {
		best := -1
		for _, atom := range f.order {
			if b.has(atom) {
				best = atom
				if rarest {
					break
				}
			}
		}
		if best < 0 {
			best = 0
		}
		out = append(out, best)
	}
	return out
}

// leads says whether a prefix gets to where the candidate's ways part.
func (f *forge) leads(p attack, c candidate) bool {
	at, ok := f.run(p, c.seek, 0)
	return ok && (c.seek || at.set.has(c.pivot))
}

// attacks lists what is worth trying for a candidate, the most promising first.
func (f *forge) attacks(c candidate) []attack {
	var out []attack
	prefixes := f.prefixes(c)
	for i, rarest := range []bool{true, false} {
		pump := f.spell(c.pump, rarest)
		if i > 0 && slices.Equal(out[0].pump, pump) {
			break
		}
		w := prefixes[0]
		for _, p := range prefixes {
			p.pump = pump
			if _, _, ok := f.settle(p, c.seek, 0); ok && f.leads(p, c) {
				w = p
				break
			}
		}
		w.pump = pump
		out = append(out, f.ending(c, w)...)
		if f.rough {
			w.prefix, w.start, w.suffix = prefixes[0].prefix, prefixes[0].start, nil
			out = append(out, w)
		}
	}
	return out
}

// ending gives w suffixes that make matching fail: of the whole search, or at
// least of what goes through the loop.
func (f *forge) ending(c candidate, w attack) []attack {
	var suffixes [][]int
	region := f.states[max(c.pivot, c.target)].region
	if at, period, ok := f.settle(w, c.seek, region); ok {
		suffixes = f.suffixes(at, region)
		w.pump = slices.Repeat(w.pump, period)
	}
	if len(suffixes) == 0 {
		from := []int32{c.pivot}
		if c.class == Polynomial {
			from = append(from, c.target)
		}
		if c.seek {
			from = from[1:]
		}
		at := spot{set: newBitset(len(f.states))}
		for _, v := range from {
			at.set.set(v)
		}
		if at, period, ok := f.pumped(at, w.pump, false, region); ok {
			suffixes = f.suffixes(at, region)
			w.pump = slices.Repeat(w.pump, period)
		}
	}
	if len(suffixes) == 0 {
		suffixes = [][]int{nil, {f.order[0]}}
	}
	var out []attack
	for _, s := range suffixes {
		w.suffix = s
		out = append(out, w)
	}
	if f.wants { // what lookaheads want to see, after what makes the match fail
		w.suffix = append(slices.Clone(suffixes[len(suffixes)-1]), f.readable()...)
		out = append(out, w)
	}
	return out
}

// spot is where all ways through a text have come to.
type spot struct {
	set  bitset
	last bool // a match may end before the newline just read if no more follows
}

func (s spot) equal(t spot) bool { return s.last == t.last && slices.Equal(s.set, t.set) }

// run reads a prefix, up to its start as a search does that has not begun to
// match, and from there on as one match does, or if seeking as all that begin.
// ok is false if a match ends on the way.
func (f *forge) run(w attack, seeking bool, region int32) (at spot, ok bool) {
	at.set = newBitset(len(f.states))
	at.set.set(0)
	if at, ok = f.on(at, w.prefix[:w.start], true, region); ok {
		at, ok = f.on(at, w.prefix[w.start:], seeking, region)
	}
	return at, ok
}

// on reads on.
func (f *forge) on(at spot, text []int, seeking bool, region int32) (spot, bool) {
	for _, atom := range text {
		next, ok := f.read(at.set, atom, region)
		if !ok {
			return spot{}, false
		}
		if !seeking {
			f.begun(next)
		}
		at = spot{next, f.alpha.in(f.alpha.lines, atom) && f.ends(at.set, region, beforeLast)}
	}
	return at, true
}

// begun takes out the states of a search that has not begun to match: what
// begins later is tried later, and too late to help.
func (f *forge) begun(set bitset) {
	for v := range f.seek {
		set[v/64] &^= 1 << (v % 64)
	}
}

// settle reads prefix and pumps until the states come again, after as many pumps
// as the period says.
func (f *forge) settle(w attack, seeking bool, region int32) (at spot, period int, ok bool) {
	if at, ok = f.run(w, seeking, region); !ok {
		return spot{}, 0, false
	}
	return f.pumped(at, w.pump, seeking, region)
}

func (f *forge) pumped(at spot, pump []int, seeking bool, region int32) (_ spot, period int, ok bool) {
	var seen []spot
	for range maxSettle {
		if at, ok = f.on(at, pump, seeking, region); !ok {
			return spot{}, 0, false
		}
		for i := len(seen) - 1; i >= max(0, len(seen)-maxPeriod); i-- {
			if !seen[i].equal(at) {
				continue
			}
			for period = len(seen) - i; (i+1)%period != 0; i++ { // whole periods from the beginning
			}
			return seen[i], period, true
		}
		seen = append(seen, at)
	}
	return at, 1, true
}

// read is the states after one more rune; ok is false if a match ends before it.
func (f *forge) read(set bitset, atom int, region int32) (next bitset, ok bool) {
	next = newBitset(len(f.states))
	fits := uint8(0)
	for v := range f.states[1:f.seek] {
		if f.states[v+1].bag.has(atom) {
			fits |= 1 << f.states[v+1].flavor
		}
	}
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			s := &f.states[i*64+trailing(w)]
			if !f.left.spend(len(s.edges)) || s.accept&fits != 0 && (s.region == 0 || s.region == region) {
				return nil, false
			}
			for _, e := range s.edges {
				if f.states[e.to].bag.has(atom) {
					next.set(e.to)
				}
			}
		}
	}
	return next, true
}

// ends says whether a match may end before what: a flavor's bit.
func (f *forge) ends(set bitset, region int32, what uint8) bool {
	for i, w := range set {
		for ; w != 0; w &= w - 1 {
			s := &f.states[i*64+trailing(w)]
			if s.accept&what != 0 && (s.region == 0 || s.region == region) {
				return true
			}
		}
	}
	return false
}

// suffixes finds short words after which no match has ended or can.
func (f *forge) suffixes(from spot, region int32) [][]int {
	type node struct {
		spot
		word []int
	}
	var out [][]int
	seen := map[string]bool{}
	from.set = slices.Clone(from.set)
	f.begun(from.set)
	queue := []node{{from, nil}}
	for n := 0; len(queue) > 0 && n < maxSubsets && len(out) < maxSuffixes; n++ {
		now := queue[0]
		queue = queue[1:]
		if !now.last && !f.ends(now.set, region, textEdge) {
			out = append(out, now.word)
			if len(now.word) == 0 {
				continue // a rune more makes another suffix worth trying
			}
		}
		if len(now.word) == maxSuffix {
			continue
		}
		for _, atom := range f.order {
			next, ok := f.on(now.spot, []int{atom}, false, region)
			if !ok || f.left.left <= 0 {
				continue
			}
			key := next.set.key()
			if next.last {
				key += "$"
			}
			if !seen[key] {
				seen[key] = true
				queue = append(queue, node{next, append(slices.Clone(now.word), atom)})
			}
		}
	}
	return out
}

// readable is all atoms, line ends last, since few lookaheads look past them.
func (f *forge) readable() []int {
	all := slices.Clone(f.order[:min(len(f.order), maxAtoms)])
	slices.SortFunc(all, func(a, b int) int { return rank(f.alpha.runes[a]) - rank(f.alpha.runes[b]) })
	return all
}
