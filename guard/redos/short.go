package redos

import "slices"

// Limits below which counted repeats do not count as loops in the search for two
// consecutive loops: the number of runes that each reads, and the number of ways to divide
// a text among repeats that can continue each other. They never cost more steps: once, or
// once per rune of the text if they restart.
const (
	shortLoop = 512
	fewShares = 1_000_000
	fewAnew   = 2_000
	maxShort  = 64 // number of repeats
)

// brief is a component of a counted repeat that ends soon.
type brief struct {
	comp  int32
	reads bag
	most  int  // maximum number of runes that it reads
	anew  bool // it restarts at each rune of a text, in a search or in an unbounded loop
}

// short returns the components of counted repeats that divide a text in few ways.
func (a *analysis) short() []int32 {
	all := a.briefs()
	var few []int32
	for i := range all {
		limit := fewShares
		if all[i].anew {
			limit = fewAnew
		}
		limit /= a.written(a.tree.root, all[i].reads)
		if shares(all, i, limit, brief.meets) <= limit || shares(all, i, limit, a.goesOn) <= limit {
			few = append(few, all[i].comp)
		}
	}
	return few
}

// written returns the number of lengths of written-out repeats of single runes that another
// repeat also reads.
func (a *analysis) written(n *node, reads bag) int {
	if n.op == opRepeat && slices.Contains(a.graph.repeats, n) {
		return 1
	}
	if n.op == opRepeat && n.max < unbounded && n.subs[0].op == opClass && a.alpha.bags[n.subs[0].class].meets(reads) {
		return n.max - n.min + 1
	}
	ways := 1
	for _, s := range n.subs {
		ways = min(ways*a.written(s, reads), fewShares)
	}
	return ways
}

// briefs returns the components of counted repeats that end soon, or none if there are too
// many.
func (a *analysis) briefs() []brief {
	m := a.auto
	var all []brief
	var endless []int32
	if a.graph.counted == 0 {
		return nil
	}
	for c, members := range m.comps {
		if !m.cyclic[c] {
			continue
		}
		most := m.longest(a.graph, members[0])
		if most > shortLoop {
			endless = append(endless, int32(c))
			continue
		}
		if len(all) == maxShort {
			return nil
		}
		s := brief{comp: int32(c), most: most}
		for _, v := range members {
			s.reads = s.reads.or(m.states[v].bag)
		}
		all = append(all, s)
	}
	for i := range all {
		for _, c := range endless {
			all[i].anew = all[i].anew || a.reach[c].has(all[i].comp) || a.reach[all[i].comp].has(c)
		}
	}
	return all
}

// shares returns the number of ways to divide a text among repeat i and those related to it
// by with. It stops above limit.
func shares(all []brief, i, limit int, with func(x, y brief) (runes int)) int {
	n, least := 1, 0
	for j := range all {
		if i == j || n > limit {
			continue
		}
		if runes := with(all[i], all[j]); runes > 0 {
			n = min(n*max(1, all[j].most/runes), limit+1)
			if least == 0 || runes < least {
				least = runes
			}
		}
	}
	return min(n*max(1, all[i].most/max(1, least)), limit+1)
}

// meets reports whether two repeats read a common rune.
func (s brief) meets(o brief) int {
	if s.reads.meets(o.reads) {
		return 1
	}
	return 0
}

// goesOn returns the length of the text that one repeat reads and the other can continue,
// or 0.
func (a *analysis) goesOn(x, y brief) int {
	if x.meets(y) == 0 {
		return 0
	}
	if !a.reach[x.comp].has(y.comp) {
		x, y = y, x
	}
	if !a.reach[x.comp].has(y.comp) {
		return 0
	}
	a.left.spend(perTwoLoops)
	partial := a.auto.partial
	c, ok := a.auto.between(a.auto.component(x.comp), a.auto.component(y.comp), a.reach, a.left)
	switch {
	case ok && uniform(c.pump):
		return 1
	case ok:
		return len(c.pump)
	case a.auto.partial && !partial: // unknown
		a.auto.partial = false
		return 1
	}
	return 0
}

// uniform reports whether repeating one rune is such a text.
func uniform(pump []bag) bool {
	all := pump[0]
	for _, b := range pump[1:] {
		all = all.and(b)
	}
	return !all.empty()
}

// looksBack reports whether a lookbehind may match a long text, or in many ways. The
// automaton omits lookbehinds, because they read from right to left.
func (n *node) looksBack() bool {
	if n.op == opLook && n.behind {
		return n.subs[0].varies() && (n.subs[0].longest() > shortLoop || n.subs[0].ways() > fewAnew)
	}
	return slices.ContainsFunc(n.subs, (*node).looksBack)
}
