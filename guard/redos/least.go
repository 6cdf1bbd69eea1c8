package redos

import "slices"

// measure stores the length of the shortest match of every node, up to maxWord.
func (n *node) measure(t *tree) int {
	least := 0
	switch n.op {
	case opClass:
		least = 1
	case opAlt, opIf:
		least = maxWord
		for _, s := range n.subs {
			least = min(least, s.measure(t))
		}
	case opBackref:
		if g := n.group(t); g != nil {
			least = g.least // already measured, if the group stands before
		}
	default:
		for _, s := range n.subs {
			least += s.measure(t)
		}
		if n.op == opRepeat {
			least = min(n.min, maxWord) * least
		}
	}
	if n.op == opLook {
		least = 0
	}
	n.least = min(least, maxWord)
	return n.least
}

// group returns the group of a backreference. It returns nil if the group is unknown or
// contains the backreference.
func (n *node) group(t *tree) *node {
	if n.n <= 0 || n.n >= len(t.groups) || t.groups[n.n].contains(n) {
		return nil
	}
	return t.groups[n.n]
}

// way returns the shortest text that matches the given nodes, ignoring lookarounds. It
// returns false if the text is too long.
func (a *analysis) way(before *link) ([]int, bool) {
	s := &speller{analysis: a, picked: map[int]int{}}
	var nodes []*node
	for l := before; l != nil; l = l.next {
		nodes = append(nodes, l.node)
	}
	for _, n := range slices.Backward(nodes) {
		if len(s.word)+n.least > maxWord {
			return nil, false
		}
		s.spell(n)
	}
	return s.word, a.left.spend(len(s.word))
}

type speller struct {
	*analysis
	word   []int
	picked map[int]int // by class
}

func (s *speller) spell(n *node) {
	if n.least == 0 {
		return
	}
	switch n.op {
	case opClass:
		s.word = append(s.word, s.pick(n.class))
	case opAlt, opIf:
		shortest := n.subs[0]
		for _, m := range n.subs {
			if m.least < shortest.least {
				shortest = m
			}
		}
		s.spell(shortest)
	case opRepeat:
		for range n.min {
			s.spell(n.subs[0])
		}
	case opBackref:
		if g := n.group(s.tree); g != nil {
			s.spell(g)
		}
	default:
		for _, m := range n.subs {
			s.spell(m)
		}
	}
}

// pick chooses one atom of a class, always the same one.
func (s *speller) pick(class int) int {
	if atom, ok := s.picked[class]; ok {
		return atom
	}
	best := -1
	for atom, r := range s.alpha.runes {
		if s.alpha.in(class, atom) && (best < 0 || rank(r) < rank(s.alpha.runes[best])) {
			best = atom
		}
	}
	s.picked[class] = max(best, 0)
	return s.picked[class]
}

// Maximum number of lookarounds that attacks consider, and of runes in the match of each.
const (
	maxShown = 3
	maxAsked = 24
)

// looked returns the shortest match of each lookaround over more than one rune, up to
// maxAsked runes: shown for those that must match, denied for lookaheads that must not.
func (a *analysis) looked() (shown, denied [][]int) {
	var find func(n *node)
	find = func(n *node) {
		if n.op != opLook {
			for _, m := range n.subs {
				find(m)
			}
			return
		}
		words := &shown
		if n.neg {
			words = &denied
		}
		if n.simple() || n.neg && n.behind || len(*words) == maxShown {
			return
		}
		s := &speller{analysis: a, picked: map[int]int{}}
		if least := n.subs[0].measure(a.tree); least > 0 && least <= maxAsked {
			s.spell(n.subs[0])
			*words = append(*words, s.word)
		}
	}
	find(a.tree.root)
	return shown, denied
}
