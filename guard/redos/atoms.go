package redos

import (
	"slices"
	"unicode"
)

// maxAtoms is how many atoms the automaton tells apart; those beyond share the
// last bit, which only adds paths. The matcher tells all apart.
const maxAtoms = 256

// bag is a set of the first maxAtoms atoms.
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

// alphabet cuts all runes into atoms: runes that no class of the pattern tells
// apart. One rune of each stands for all.
type alphabet struct {
	classes []set
	ids     map[string]int // of classes, once there are many
	runes   []rune         // by atom: what stands for it
	bags    []bag          // by class
	member  [][]uint64     // by class: its atoms, exactly
	pieces  []piece        // of all runes, in order
	fold    []int          // by atom: the atom of the other case of its rune, or itself
	words   int            // the class of \w, as \b means it
	lines   int            // the class of what ends lines
}

// fewClasses are compared one by one.
const fewClasses = 32

// class numbers a set, finding equal ones again.
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

// known looks a set up, and remembers it for the next number if it is new.
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

// number gives every class of the tree its number.
func (a *alphabet) number(n *node) {
	if n.op == opClass {
		n.class = a.class(n.set)
	}
	for _, s := range n.subs {
		a.number(s)
	}
}

// maxSigns is how many times a rune may be looked for in a class, which bounds
// the memory of an alphabet to some ten megabytes.
const maxSigns = 64_000_000

// newAlphabet is nil over its bounds.
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

// piece is a range of runes, up to the next one, that are of one atom.
type piece struct {
	from rune
	atom int
}

// atom is the one that a rune is of.
func (a *alphabet) atom(r rune) int {
	i, found := slices.BinarySearchFunc(a.pieces, r, func(p piece, r rune) int { return int(p.from - r) })
	if !found {
		i--
	}
	return a.pieces[i].atom
}

// edge is where a class begins or ends.
type edge struct {
	at    rune
	class int32
}

// cut sweeps over the edges of all classes.
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
		if i == maxAtoms { // beyond, nobody looks
			break
		}
	}
}

func (a *alphabet) in(class, atom int) bool {
	return a.member[class][atom/64]&(1<<(atom%64)) != 0
}

// rank orders runes by how well people read them.
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
	case r >= 0xd800 && r < 0xe000: // not text by itself
		return 200
	case r < 128:
		return 105
	default:
		return 106
	}
}

// pick takes the rune of a range that reads best.
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
