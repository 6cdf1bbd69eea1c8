package redos

import (
	"cmp"
	"slices"
)

// attack is a witness in atoms.
type attack struct {
	prefix, pump, suffix []int
	start                int // position in the prefix where the match begins
}

func (w *attack) text(n int) []int { return w.appendTo(make([]int, 0, w.size(n)), n) }

// appendTo appends the text with n pumps.
func (w *attack) appendTo(text []int, n int) []int {
	text = append(text, w.prefix...)
	for range n {
		text = append(text, w.pump...)
	}
	return append(text, w.suffix...)
}

func (w *attack) size(n int) int { return len(w.prefix) + n*len(w.pump) + len(w.suffix) }

// Limits of the search for a suffix that no match survives.
const (
	maxSuffix   = 12  // runes
	maxSubsets  = 160 // sets of states
	maxSuffixes = 3   // suffixes that are tried
	maxSettle   = 24  // pumps until the set of states repeats
	maxPeriod   = 4   // pumps that are combined into one
)

// forge creates attacks from candidates.
type forge struct {
	*automaton
	left   *budget
	common []int              // by atom: number of states that read it
	rough  bool               // counted repeats became loops: a match ends later than it seems
	wants  bool               // the pattern has lookaheads that are not modelled
	asked  []int              // one rune of each class in lookaheads that must match
	shown  [][]int            // matches of wide lookarounds that must match
	denied [][]int            // matches of wide lookaheads that must not match
	order  []int              // atoms, those that the fewest states read first
	seen   map[int32]*subsets // by region
}

// as returns the automaton, determinized for the region of a state.
func (f *forge) as(state int32) *subsets {
	region := f.states[state].region
	d := f.seen[region]
	if d == nil {
		d = newSubsets(f.automaton, region, f.left)
		f.seen[region] = d
	}
	return d
}

func newForge(m *automaton, left *budget) *forge {
	f := &forge{automaton: m, left: left, common: make([]int, len(m.alpha.runes)), seen: map[int32]*subsets{}}
	var often [maxAtoms]int
	for _, s := range m.states[m.seek:] {
		for i, w := range s.bag {
			for ; w != 0; w &= w - 1 {
				often[i*64+trailing(w)]++
			}
		}
	}
	for atom := range f.common {
		f.order = append(f.order, atom)
		f.common[atom] = often[min(atom, maxAtoms-1)]
	}
	left.spend(len(m.states) + len(f.order))
	slices.SortFunc(f.order, func(a, b int) int {
		return cmp.Or(f.common[a]-f.common[b], rank(m.alpha.runes[a])-rank(m.alpha.runes[b]))
	})
	return f
}

// spell chooses a rune of each bag: the rarest in the pattern, with which a match is least
// likely to continue, or the most common.
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

// leads reports whether a prefix reaches the place where the candidate's paths separate.
func (f *forge) leads(p attack, c candidate) bool {
	d := f.as(0)
	at, ok := d.run(p, c.seek)
	return ok && (c.seek || d.has(at.set, c.pivot))
}

// attacks returns the attacks to try for a candidate, most promising first.
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
			if _, _, ok := f.as(0).settle(p, c.seek); ok && f.leads(p, c) {
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
	for _, word := range f.shown { // a round or match begins only at or after this word
		w := attack{pump: append(slices.Clone(word), f.spell(c.pump, true)...)}
		out = append(out, f.ending(c, w)...)
		if c.class == Exponential {
			w.prefix, w.start = word, len(word)
			out = append(out, f.ending(c, w)...)
		}
		p := prefixes[0]
		if len(p.prefix) > 0 {
			w.prefix, w.start = p.prefix, p.start
			out = append(out, f.ending(c, w)...)
		}
		before := slices.Concat(p.prefix[:p.start], word, p.prefix[p.start:]) // required by a lookbehind, once
		out = append(out, f.ending(c, attack{prefix: before, pump: f.spell(c.pump, true), start: p.start + len(word)})...)
	}
	return out
}

// ending adds suffixes to w that make matching fail: the whole search, or at least the
// matches through the loop.
func (f *forge) ending(c candidate, w attack) []attack {
	var suffixes [][]int
	d := f.as(max(c.pivot, c.target))
	if at, period, ok := d.settle(w, c.seek); ok {
		suffixes = f.suffixes(d, at)
		w.pump = slices.Repeat(w.pump, period)
	}
	for _, from := range f.loopsOf(c) {
		if len(suffixes) > 0 {
			break
		}
		if at, period, ok := d.pumped(spot{set: d.of(from...)}, w.pump, false); ok {
			suffixes = f.suffixes(d, at)
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
	if f.wants { // required by lookaheads, after the part that makes the match fail
		last := suffixes[len(suffixes)-1]
		w.suffix = append(slices.Clone(last), f.readable()...)
		out = append(out, w)
		if len(f.asked) > 0 {
			w.suffix = append(slices.Clone(last), f.asked...)
			out = append(out, w)
		}
	}
	for _, word := range f.denied {
		w.suffix = word
		out = append(out, w)
	}
	return out
}

// loopsOf returns the loops of which all, or only the last, must fail: an engine may try
// the first loop only after the last one has failed everywhere.
func (f *forge) loopsOf(c candidate) [][]int32 {
	switch {
	case c.class != Polynomial:
		return [][]int32{{c.pivot}}
	case c.seek:
		return [][]int32{{c.target}}
	default:
		return [][]int32{{c.pivot, c.target}, {c.target}}
	}
}

// spot is the set of states after reading a text.
type spot struct {
	set  int32
	last bool // a match may end before the last newline if no text follows
}

// run reads a prefix: up to its start as a search before the start of a match, then as one
// match or, with seeking, as all matches that begin. ok is false if a match ends on the
// way.
func (d *subsets) run(w attack, seeking bool) (at spot, ok bool) {
	at.set = d.start()
	if at, ok = d.on(at, w.prefix[:w.start], true); ok {
		at, ok = d.on(at, w.prefix[w.start:], seeking)
	}
	return at, ok
}

// on continues reading.
func (d *subsets) on(at spot, text []int, seeking bool) (spot, bool) {
	for _, atom := range text {
		next, ok := d.read(at.set, atom)
		if !ok {
			return spot{}, false
		}
		if !seeking {
			next = d.begun(next)
		}
		at = spot{next, d.alpha.in(d.alpha.lines, atom) && d.ends(at.set, beforeLast)}
	}
	return at, true
}

// settle reads the prefix and pumps until the states repeat. period is the number of pumps
// in a cycle.
func (d *subsets) settle(w attack, seeking bool) (at spot, period int, ok bool) {
	if at, ok = d.run(w, seeking); !ok {
		return spot{}, 0, false
	}
	return d.pumped(at, w.pump, seeking)
}

func (d *subsets) pumped(at spot, pump []int, seeking bool) (_ spot, period int, ok bool) {
	var seen []spot
	for range maxSettle {
		if at, ok = d.on(at, pump, seeking); !ok {
			return spot{}, 0, false
		}
		for i := len(seen) - 1; i >= max(0, len(seen)-maxPeriod); i-- {
			if seen[i] != at {
				continue
			}
			for period = len(seen) - i; (i+1)%period != 0; i++ { // whole periods from the start
			}
			return seen[i], period, true
		}
		seen = append(seen, at)
	}
	return at, 1, true
}

// suffixes finds short words after which no match has ended or can end.
func (f *forge) suffixes(d *subsets, from spot) [][]int {
	type node struct {
		spot
		word []int
	}
	var out [][]int
	from.set = d.begun(from.set)
	seen := map[spot]bool{}
	queue := []node{{from, nil}}
	for n := 0; len(queue) > 0 && n < maxSubsets && len(out) < maxSuffixes; n++ {
		now := queue[0]
		queue = queue[1:]
		if !now.last && !d.ends(now.set, textEdge) {
			out = append(out, now.word)
			if len(now.word) == 0 {
				continue // another rune makes another suffix worth trying
			}
		}
		if len(now.word) == maxSuffix {
			continue
		}
		for _, atom := range f.order {
			next, ok := d.on(now.spot, []int{atom}, false)
			if ok && f.left.left > 0 && !seen[next] {
				seen[next] = true
				queue = append(queue, node{next, append(slices.Clone(now.word), atom)})
			}
		}
	}
	return out
}

// ask collects a rune of every class that lookaheads in n require. Negated classes are left
// out, because they allow nearly all runes.
func (f *forge) ask(n *node, inside bool) {
	if n.op == opLook {
		inside = !n.neg && !n.behind
	}
	if n.op == opClass && inside && len(f.asked) < maxAsked {
		if atom := f.spell([]bag{f.alpha.bags[n.class]}, true)[0]; !slices.Contains(f.asked, atom) {
			f.asked = append(f.asked, atom)
		}
	}
	for _, s := range n.subs {
		f.ask(s, inside)
	}
}

// readable returns all atoms, line ends last, because few lookaheads look past them.
func (f *forge) readable() []int {
	all := slices.Clone(f.order[:min(len(f.order), maxAtoms)])
	slices.SortFunc(all, func(a, b int) int { return rank(f.alpha.runes[a]) - rank(f.alpha.runes[b]) })
	return all
}
