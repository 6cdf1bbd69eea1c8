package redos

import "slices"

// Limits of analyzing loops one by one.
const (
	partShare  = 500_000 // steps for all loops
	partRunes  = 200     // rune positions of a loop that is analyzed as a whole
	afterRunes = 60      // rune positions of the part after it
	longWay    = 1000    // runes before a loop, from which they are read only once
	perPart    = 600     // steps to create a part, besides its size
	perRune    = 20
	maxWord    = MaxPattern // runes before a part
)

// part is a loop with its context. It is analyzed without the text before it, and with only
// the start of the text after it: if that start does not match, nothing matches. So the
// size of the rest hides no loop.
type part struct {
	loop          *node
	before, after *link
}

// link is a linked list of nodes, nearest to the loop first.
type link struct {
	node *node
	next *link
}

// parts analyzes the loops one by one, and runs the attacks on the whole pattern.
func (a *analysis) parts(r *Result) bool {
	if a.alpha == nil {
		return false
	}
	a.tree.root.measure(a.tree)
	if a.growth == nil {
		a.growth = a.newGrowthTest()
	}
	var all []part
	first := map[string]bool{}
	last := map[string]int{} // last loop with this source text
	a.tree.root.eachPart(nil, nil, func(p part) {
		text := a.src[p.loop.off:p.loop.end]
		if i, again := last[text]; again {
			all[i] = p
			return
		}
		if !first[text] {
			first[text] = true
		} else {
			last[text] = len(all)
		}
		all = append(all, p)
	})
	return slices.ContainsFunc(all, func(p part) bool {
		return a.left.spend(perPart+perRune*(p.loop.runes()+afterRunes)) && a.part(p, r)
	})
}

// part searches for an attack on one loop that works on the whole pattern.
func (a *analysis) part(p part, r *Result) bool {
	b := a.alone(p.slice())
	if !b.prepare(some) {
		return false
	}
	found := b.auto.exponentialsOf(a.left, func(members []int32) bool {
		at := b.auto.offset(b.graph, members[0])
		return at >= p.loop.off && at < p.loop.end
	})
	if len(found) == 0 {
		return false
	}
	way, ok := a.way(p.before)
	if !ok {
		return false
	}
	whole := *a.growth
	whole.exact, whole.counted, whole.choice = false, b.growth.counted, b.growth.choice
	for _, c := range found {
		for _, w := range append(b.forge.attacks(c), b.forge.careful(c, b.reach)...) {
			pump := a.translate(b, w.pump)
			prefix := append(slices.Clone(way), a.translate(b, w.prefix)...)
			if len(way) > longWay { // avoid a limit before the texts differ
				prefix = append(append(prefix, pump...), pump...)
			}
			w = attack{prefix: prefix, pump: pump, suffix: a.translate(b, w.suffix)}
			if whole.doubles(w, whole.attempt) {
				r.Fix, r.Offset = b.advice().exponential(c)
				a.exponentially(w, r)
				return true
			}
		}
	}
	return false
}

// translate converts atoms of a part's alphabet to those of the whole pattern.
func (a *analysis) translate(b *analysis, atoms []int) []int {
	out := make([]int, 0, len(atoms))
	for _, atom := range atoms {
		out = append(out, a.alpha.atom(b.alpha.runes[atom]))
	}
	return out
}

// eachPart calls f for the outermost loops that are small enough.
func (n *node) eachPart(before, after *link, f func(part)) {
	switch n.op {
	case opRepeat:
		if n.max > maxFew && n.subs[0].varies() && n.runes() <= partRunes {
			f(part{n, before, after})
			return
		}
	case opLook:
		if n.behind {
			return
		}
		after = nil // a match of a lookaround ends there
	case opConcat:
		rest := make([]*link, len(n.subs))
		for i, s := range slices.Backward(n.subs) {
			rest[i] = after
			after = &link{s, after}
		}
		for i, s := range n.subs {
			s.eachPart(before, rest[i], f)
			before = &link{s, before}
		}
		return
	default:
	}
	for _, s := range n.subs {
		s.eachPart(before, after, f)
	}
}

// runes counts the rune positions as written.
func (n *node) runes() int {
	count := 0
	if n.op == opClass {
		count++
	}
	for _, s := range n.subs {
		count += s.runes()
	}
	return count
}

// slice returns the part as a separate pattern. It includes as much of the following text
// as fits, and then the mandatory rest.
func (p part) slice() *node {
	subs := []*node{p.loop.clone()}
	room := afterRunes
	for l := p.after; l != nil; l = l.next {
		n := l.node
		size := n.runes()
		if room -= size; room >= 0 {
			subs = append(subs, n.clone())
			continue
		}
		if n.least > 0 {
			subs = append(subs, &node{op: opClass, set: n.first(), off: n.off})
			break
		}
		room += size
	}
	return &node{op: opConcat, subs: subs, off: p.loop.off}
}

// alone returns the analysis of one part, anchored at its start. It copies the part and
// everything that it refers to, because classes get new numbers.
func (a *analysis) alone(root *node) *analysis {
	t := *a.tree
	t.root, t.groups, t.elsewhere = root, slices.Clone(t.groups), nil
	var refer func(n *node)
	refer = func(n *node) {
		if n.op == opBackref && n.n > 0 && n.n < len(t.groups) && t.groups[n.n] == a.tree.groups[n.n] {
			g := t.groups[n.n].clone()
			t.groups[n.n], t.elsewhere = g, append(t.elsewhere, g)
			a.left.spend(perRune * g.runes())
			refer(g)
		}
		for _, s := range n.subs {
			refer(s)
		}
	}
	refer(root)
	o := a.options
	o.Anchored = true
	return &analysis{src: a.src, options: o, tree: &t, left: a.left}
}

func (n *node) clone() *node {
	m := *n
	m.subs = make([]*node, 0, len(n.subs))
	for _, s := range n.subs {
		m.subs = append(m.subs, s.clone())
	}
	return &m
}

// first returns the possible first runes of n, or a superset.
func (n *node) first() set {
	var all set
	switch n.op {
	case opClass:
		return n.set
	case opBackref:
		return allRunes()
	case opLook:
		return nil
	case opConcat:
		for _, s := range n.subs {
			all = all.with(s.first())
			if s.least > 0 {
				break
			}
		}
	default:
		for _, s := range n.subs {
			all = append(all, s.first()...)
		}
	}
	return all.norm()
}
