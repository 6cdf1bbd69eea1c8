package redos

import "slices"

// Bounds of counted repeats that are no loops to the search for two loops one
// after the other: runes that each reads, and ways to share a text out among those
// of which one can go on with what another reads. More steps they never cost:
// once, or for each rune of the text where they begin anew.
const (
	shortLoop = 512
	fewShares = 1_000_000
	fewAnew   = 2_000
	maxShort  = 64 // of them
)

// brief is a component of a counted repeat that ends soon.
type brief struct {
	comp  int32
	reads bag
	most  int  // runes that it reads
	anew  bool // it is tried for each rune of a text: by a search, or with a loop without an end
}

// short is the components of counted repeats that share a text out in few ways.
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

// written is how many lengths the repeats of one rune may have that are written out,
// of runes that are read by another.
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

// briefs is the components of counted repeats that end soon; none if they are many.
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

// shares is how many ways there are to share a text out among repeat i and those
// that go with it, by so many runes at a time; past limit when more.
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

// meets: repeats that read a rune in common may go together.
func (s brief) meets(o brief) int {
	if s.reads.meets(o.reads) {
		return 1
	}
	return 0
}

// goesOn is how long the text is that one repeat reads and the other can go on
// with; 0 where there is none.
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
	case a.auto.partial && !partial: // not told
		a.auto.partial = false
		return 1
	}
	return 0
}

// uniform says whether one rune over and over is such a text.
func uniform(pump []bag) bool {
	all := pump[0]
	for _, b := range pump[1:] {
		all = all.and(b)
	}
	return !all.empty()
}

// looksBack says whether a lookbehind may match a long text, or in many ways. The automaton leaves
// lookbehinds out, since they read from right to left.
func (n *node) looksBack() bool {
	if n.op == opLook && n.behind {
		return n.subs[0].varies() && (n.subs[0].longest() > shortLoop || n.subs[0].ways() > fewAnew)
	}
	return slices.ContainsFunc(n.subs, (*node).looksBack)
}
