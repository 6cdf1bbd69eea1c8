package redos

import "slices"

// maxBehind is how many lookbehinds of one pattern are looked into.
const maxBehind = 16

// mirrors is the lookbehinds, each as a pattern of its own: what it reads from
// right to left is written the other way round. Its alphabet is its own, too.
func (a *analysis) mirrors() []*analysis {
	var all []*analysis
	var find func(n *node)
	find = func(n *node) {
		if len(all) == maxBehind {
			return
		}
		if n.op == opLook && n.behind && !n.simple() {
			b := a.alone(n.subs[0].mirrored(), (*node).mirrored)
			if b.anew = true; a.left.spend(perRune*n.runes()) && b.prepare(some) {
				all = append(all, b)
			}
		}
		for _, s := range n.subs {
			find(s)
		}
	}
	find(a.tree.root)
	return all
}

// mirrored is a copy of n that matches what n does, read backwards.
func (n *node) mirrored() *node {
	m := *n
	m.subs = make([]*node, 0, len(n.subs))
	for _, s := range n.subs {
		m.subs = append(m.subs, s.mirrored())
	}
	switch n.op {
	case opConcat:
		slices.Reverse(m.subs)
	case opLook:
		m.behind = !m.behind
	case opAssert:
		m.assert = n.assert.mirrored()
	default:
	}
	return &m
}

func (k assert) mirrored() assert {
	switch k {
	case atStart, atSearch:
		return atEnd
	case atEnd, atEndLine:
		return atStart
	case atLineStart:
		return atLineEnd
	case atLineEnd:
		return atLineStart
	case atWordIn:
		return atWordOut
	case atWordOut:
		return atWordIn
	default:
		return k
	}
}

// turned is attacks on mirror b as attacks on the whole. A search tries them
// from every place, which is where they begin to be read.
func (a *analysis) turned(b *analysis, c candidate) []attack {
	var out []attack
	for _, w := range append(b.forge.attacks(c), b.forge.careful(c, b.reach)...) {
		t := attack{prefix: a.translate(b, w.suffix), pump: a.translate(b, w.pump), suffix: a.translate(b, w.prefix)}
		slices.Reverse(t.prefix)
		slices.Reverse(t.pump)
		slices.Reverse(t.suffix)
		out = append(out, t)
	}
	return out
}

// lookingBack finds lookbehinds that read a text in many ways, which have the
// rest of the pattern before them or not.
func (a *analysis) lookingBack(mirrors []*analysis, r *Result) bool {
	for _, b := range mirrors {
		for _, c := range b.auto.exponentials(b.left) {
			for _, w := range a.turned(b, c) {
				if a.growth.doubles(w, a.growth.seek) {
					a.exponentially(w, r)
					r.Fix, r.Offset = b.advice().exponential(c)
					return true
				}
			}
		}
	}
	return false
}

// lookingFar finds lookbehinds whose loops share a text out in many ways.
func (a *analysis) lookingFar(mirrors []*analysis, r *Result) bool {
	for _, b := range mirrors {
		for _, c := range b.auto.polynomials(b.loops(), false, b.reach, b.left) {
			for _, w := range a.turned(b, c) {
				if power := a.growth.power(w, a.growth.seek); power >= squareAt {
					a.report(c, w, power, b.advice(), r)
					return true
				}
			}
		}
	}
	return false
}
