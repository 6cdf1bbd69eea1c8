package redos

import "slices"

// Bounds of looking at loops one by one.
const (
	partShare  = 500_000 // steps for all of them
	partRunes  = 200     // places that read a rune, of a loop that is looked at as a whole
	afterRunes = 60      // of what follows it
	longWay    = 1000    // runes before a loop that are worth being counted once only
	perPart    = 600     // what making a part costs in steps, beside its size
	perRune    = 20
	maxWord    = MaxPattern // runes that lead to a part
)

// part is a loop with what comes before and after it. It is judged without what
// comes before, and with only the beginning of what comes after: what does not
// match that, does not match at all. So no loop hides behind the size of the rest.
type part struct {
	loop          *node
	before, after *link
}

// link is a list of nodes: the nearest to the loop first.
type link struct {
	node *node
	next *link
}

// parts looks at the loops one by one, and runs what it finds on the whole.
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
	last := map[string]int{} // the last of those that are written alike
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

// part looks for an attack on one loop that works on the whole pattern.
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
			if len(way) > longWay { // so that it ends before the texts differ
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

// translate writes atoms of a part's alphabet in that of the whole.
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
		after = nil // a match of it ends there
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

// runes counts the places that read a rune as they are written.
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

// slice is the part as a pattern of its own. Of what follows it takes as much as
// there is room for, and then what must be there.
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

// alone is the analysis of one part, made by copying, which matches at its
// beginning only. What it refers to is copied likewise: classes are numbered anew.
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

// first is the runes that n may begin with, or more.
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
