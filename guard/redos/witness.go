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

func (w *attack) text(n int) []int {
	text := make([]int, 0, len(w.prefix)+n*len(w.pump)+len(w.suffix))
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

// prefix leads from the start of the text to state to, if possible by a match
// that begins there; start is where it begins otherwise.
func (f *forge) prefix(to int32) (word []bag, start int) {
	return f.prefixFrom(0, to)
}

// prefixFrom goes by the state first.
func (f *forge) prefixFrom(first, to int32) (word []bag, start int) {
	for _, seeking := range []bool{false, true} {
		parent := map[int32]int32{0: 0, first: 0}
		for queue := []int32{first}; len(queue) > 0 && f.left.spend(1); queue = queue[1:] {
			v := queue[0]
			if v == to {
				for w := v; w != 0; w = parent[w] {
					word = append(word, f.states[w].bag)
					if w < f.seek {
						start++
					}
				}
				slices.Reverse(word)
				return word, start
			}
			for _, e := range f.states[v].edges {
				if _, seen := parent[e.to]; !seen && (seeking || e.to >= f.seek) {
					parent[e.to] = v
					queue = append(queue, e.to)
				}
			}
		}
	}
	return nil, 0
}

// maxLeads is how many runes are tried before a prefix that ends a match.
const maxLeads = 4

// prefixes leads to the candidate: directly, and if a match ends on the way,
// after a rune that keeps it from beginning.
func (f *forge) prefixes(c candidate) []attack {
	var out []attack
	word, start := []bag(nil), 0
	if !c.seek { // else the first pump serves
		word, start = f.prefix(c.pivot)
	}
	for _, rarest := range []bool{true, false} {
		p := f.spell(word, rarest)
		if len(out) > 0 && slices.Equal(out[0].prefix, p) {
			break
		}
		out = append(out, attack{prefix: p, start: start})
	}
	if len(f.states[0].edges) > 0 && f.states[0].edges[0].to < f.seek { // a search
		for _, atom := range f.order[:min(maxLeads, len(f.order))] {
			out = append(out, attack{prefix: append([]int{atom}, out[0].prefix...), start: start + 1})
		}
	}
	return out
}

// detours is attacks that get to the candidate by other beginnings: which one is
// tried first decides whether an engine gets there at all before it matches.
func (f *forge) detours(c candidate) []attack {
	var out []attack
	pump := f.spell(c.pump, true)
	for _, e := range f.states[0].edges {
		if e.to < f.seek {
			continue
		}
		if word, _ := f.prefixFrom(e.to, c.pivot); len(word) > 0 {
			out = append(out, f.ending(c, attack{prefix: f.spell(word, true), pump: pump})...)
		}
		if len(out) >= maxLeads*maxSuffixes {
			break
		}
	}
	return out
}

// leads says whether a prefix gets to where the candidate's ways part.
func (f *forge) leads(p attack, c candidate) bool {
	at, ok := f.run([]int32{0}, p.prefix, 0)
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
			if _, _, ok := f.settle([]int32{0}, p.prefix, pump, 0); ok && f.leads(p, c) {
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
	if at, period, ok := f.settle([]int32{0}, w.prefix, w.pump, region); ok {
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
		if at, period, ok := f.settle(from, nil, w.pump, region); ok {
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

// run reads a text; ok is false if a match ends on the way.
func (f *forge) run(from []int32, text []int, region int32) (at spot, ok bool) {
	at.set = newBitset(len(f.states))
	for _, v := range from {
		at.set.set(v)
	}
	return f.on(at, text, region)
}

// on reads on.
func (f *forge) on(at spot, text []int, region int32) (spot, bool) {
	for _, atom := range text {
		next, ok := f.read(at.set, atom, region)
		if !ok {
			return spot{}, false
		}
		at = spot{next, f.alpha.in(f.alpha.lines, atom) && f.ends(at.set, region, beforeLast)}
	}
	return at, true
}

// settle reads a prefix and pumps until the states come again, after as many
// pumps as the period says.
func (f *forge) settle(from []int32, prefix, pump []int, region int32) (at spot, period int, ok bool) {
	if at, ok = f.run(from, prefix, region); !ok {
		return spot{}, 0, false
	}
	var seen []spot
	for range maxSettle {
		if at, ok = f.on(at, pump, region); !ok {
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
			next, ok := f.on(now.spot, []int{atom}, region)
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
