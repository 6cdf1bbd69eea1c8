package redos

import (
	"slices"
	"unicode"
)

// maxAtoms is the number of distinct atoms in the automaton. Further atoms share the last
// bit, which only adds paths. The matcher distinguishes all atoms.
const maxAtoms = 256

type bag [maxAtoms / 64]uint64

func (b *bag) add(atom int) {
	atom = min(atom, maxAtoms-1)
	b[atom/64] |= 1 << (atom % 64)
}

func (b bag) has(atom int) bool {
	atom = min(atom, maxAtoms-1)
	return b[atom/64]&(1<<(atom%64)) != 0
}

func (b bag) and(c bag) bag {
	for i := range b {
		b[i] &= c[i]
	}
	return b
}

func (b bag) or(c bag) bag {
	for i := range b {
		b[i] |= c[i]
	}
	return b
}

func (b bag) empty() bool { return b == bag{} }

func (b bag) meets(c bag) bool {
	return b[0]&c[0]|b[1]&c[1]|b[2]&c[2]|b[3]&c[3] != 0
}

// alphabet divides the runes into atoms: sets of runes that no class of the pattern
// distinguishes. One rune of each atom represents it.
type alphabet struct {
	classes []set
	ids     map[string]int // of classes, once there are many
	runes   []rune         // by atom: the representative
	bags    []bag          // by class
	member  [][]uint64     // by class: its exact atoms
	pieces  []piece        // all runes, in order
	fold    []int          // by atom: the atom of the other case, or the atom itself
	words   int            // the class of word characters for \b
	lines   int            // the class of line ends
}

// fewClasses is the number of classes that are compared linearly.
const fewClasses = 32

// class returns the number of a set. Equal sets get the same number.
func (a *alphabet) class(s set) int {
	if len(a.classes) < fewClasses {
		for i := range a.classes {
			if a.classes[i].equal(s) {
				return i
			}
		}
	} else if id, ok := a.known(s); ok {
		return id
	}
	a.classes = append(a.classes, s)
	return len(a.classes) - 1
}

// known looks up a set. If it is new, known stores it under the next number.
func (a *alphabet) known(s set) (id int, ok bool) {
	if a.ids == nil {
		a.ids = map[string]int{}
		for i, c := range a.classes {
			a.ids[c.key()] = i
		}
	}
	key := s.key()
	if id, ok = a.ids[key]; !ok {
		a.ids[key] = len(a.classes)
	}
	return id, ok
}

// number assigns numbers to the classes of the tree.
func (a *alphabet) number(n *node) {
	if n.op == opClass {
		n.class = a.class(n.set)
	}
	for _, s := range n.subs {
		a.number(s)
	}
}

// maxSigns limits the lookups of a rune in a class, which limits the memory of an alphabet
// to about ten megabytes.
const maxSigns = 64_000_000

// newAlphabet returns nil if the limits are exceeded.
func newAlphabet(t *tree, left *budget) *alphabet {
	a := &alphabet{}
	a.words = a.class(t.words)
	a.lines = a.class(t.lines)
	a.number(t.root)
	for _, g := range t.elsewhere {
		a.number(g)
	}
	edges := 0
	for _, s := range a.classes {
		edges += 2 * len(s)
	}
	if edges*len(a.classes) > maxSigns || !left.spend(edges*(len(a.classes)+63)/512) {
		return nil
	}
	a.cut()
	return a
}

// piece is a range of runes of one atom, up to the next piece.
type piece struct {
	from rune
	atom int
}

func (a *alphabet) atom(r rune) int {
	i, found := slices.BinarySearchFunc(a.pieces, r, func(p piece, r rune) int { return int(p.from - r) })
	if !found {
		i--
	}
	return a.pieces[i].atom
}

// edge is the start or the end of a class.
type edge struct {
	at    rune
	class int32
}

// cut processes the edges of all classes in order.
func (a *alphabet) cut() {
	var edges []edge
	for c, s := range a.classes {
		for _, p := range s {
			edges = append(edges, edge{p.lo, int32(c)}, edge{p.hi + 1, int32(c)})
		}
	}
	slices.SortFunc(edges, func(x, y edge) int { return int(x.at - y.at) })
	nWords := (len(a.classes) + 63) / 64
	now := make([]uint64, nWords)
	key := make([]byte, nWords*8)
	seen := map[string]int{}
	var sigs [][]uint64
	from := rune(0)
	cut := func(lo, hi rune) {
		for i, w := range now {
			for j := range 8 {
				key[i*8+j] = byte(w >> (8 * j))
			}
		}
		atom, ok := seen[string(key)]
		if !ok {
			atom = len(sigs)
			seen[string(key)] = atom
			sigs = append(sigs, slices.Clone(now))
			a.runes = append(a.runes, pick(lo, hi))
		} else if r := pick(lo, hi); rank(r) < rank(a.runes[atom]) {
			a.runes[atom] = r
		}
		a.pieces = append(a.pieces, piece{lo, atom})
	}
	for _, e := range edges {
		if e.at > from {
			cut(from, e.at-1)
			from = e.at
		}
		now[e.class/64] ^= 1 << (e.class % 64)
	}
	if from <= maxRune {
		cut(from, maxRune)
	}
	a.fill(sigs)
}

func (a *alphabet) fill(sigs [][]uint64) {
	n := len(sigs)
	a.bags = make([]bag, len(a.classes))
	a.member = make([][]uint64, len(a.classes))
	flat := make([]uint64, len(a.classes)*((n+63)/64))
	for c := range a.classes {
		a.member[c], flat = flat[:(n+63)/64], flat[(n+63)/64:]
		for atom, sig := range sigs {
			if sig[c/64]&(1<<(c%64)) != 0 {
				a.bags[c].add(atom)
				a.member[c][atom/64] |= 1 << (atom % 64)
			}
		}
	}
	a.fold = make([]int, n)
	for i, r := range a.runes {
		a.fold[i] = i
		for j := range i {
			if unicode.SimpleFold(r) == a.runes[j] || unicode.SimpleFold(a.runes[j]) == r {
				a.fold[i] = j
				break
			}
		}
		if i == maxAtoms { // further atoms are not needed
			break
		}
	}
}

func (a *alphabet) in(class, atom int) bool {
	return a.member[class][atom/64]&(1<<(atom%64)) != 0
}

// rank orders runes by readability.
func rank(r rune) int {
	switch {
	case r >= 'a' && r <= 'z':
		return int(r - 'a')
	case r >= '0' && r <= '9':
		return 30 + int(r-'0')
	case r >= 'A' && r <= 'Z':
		return 50 + int(r-'A')
	case r == '!':
		return 100
	case r > ' ' && r < 127:
		return 101
	case r == ' ':
		return 102
	case r == '\t' || r == '\n':
		return 103
	case r < 0xd800 && r >= 0xa0:
		return 104
	case r >= 0xd800 && r < 0xe000: // a surrogate, not text by itself
		return 200
	case r < 128:
		return 105
	default:
		return 106
	}
}

// pick returns the most readable rune of a range.
func pick(lo, hi rune) rune {
	best := lo
	for _, r := range []rune{'a', '0', 'A', '!', ' ', '\n', 0xe9, 0x4e2d} {
		if r >= lo && r <= hi && rank(r) < rank(best) {
			best = r
		}
	}
	for _, s := range []span{{'a', 'z'}, {'0', '9'}, {'A', 'Z'}, {'!', '~'}} {
		if r := max(lo, s.lo); r <= min(hi, s.hi) && rank(r) < rank(best) {
			best = r
		}
	}
	if best >= 0xd800 && best < 0xe000 && hi >= 0xe000 {
		best = 0xe000
	}
	return best
}
