package redos

import "slices"

// mask says between which neighbours an empty path may pass. Bit 8·p+n stands for flavor p
// on the left and n on the right. Flavors are the kinds of runes that the pattern's
// assertions distinguish. edgeOfText stands for the edge of the text, and lastLine, on the
// right only, for a final newline.
type mask uint64

const (
	maxFlavors      = 6
	lastLine        = 6
	edgeOfText      = 7
	anywhere   mask = 1<<64 - 1
)

// flavors groups the atoms of an alphabet by what assertions can distinguish.
type flavors struct {
	alpha *alphabet
	bags  []bag    // by flavor: its atoms
	of    []int    // by atom: its flavor
	sees  []uint64 // by flavor: the classes that contain it
	bit   map[int]uint
}

func newFlavors(a *alphabet, root *node) *flavors {
	need := needs{}
	need.look(root)
	var classes []int
	if need.words {
		classes = append(classes, a.words)
	}
	if need.lines {
		classes = append(classes, a.lines)
	}
	f := &flavors{alpha: a}
	if !f.split(append(classes, need.classes...)) {
		f.split(classes) // too many lookarounds: their classes are not modelled
	}
	return f
}

// split groups the atoms by the classes that contain them.
func (f *flavors) split(classes []int) bool {
	f.bit = map[int]uint{}
	for _, c := range classes {
		if _, ok := f.bit[c]; !ok {
			f.bit[c] = uint(len(f.bit))
		}
	}
	if len(f.bit) > 64 {
		return false
	}
	f.bags, f.sees, f.of = nil, nil, make([]int, len(f.alpha.runes))
	seen := map[uint64]int{}
	for atom := range f.alpha.runes {
		var sig uint64
		for c, b := range f.bit {
			if f.alpha.in(c, atom) {
				sig |= 1 << b
			}
		}
		id, ok := seen[sig]
		if !ok {
			if id = len(f.bags); id == maxFlavors {
				return false
			}
			seen[sig] = id
			f.bags, f.sees = append(f.bags, bag{}), append(f.sees, sig)
		}
		f.bags[id].add(atom)
		f.of[atom] = id
	}
	return true
}

// needs collects the classes that assertions depend on.
type needs struct {
	words, lines bool
	classes      []int
}

func (w *needs) look(n *node) {
	switch {
	case n.op == opAssert:
		w.words = w.words || n.assert >= atWord && n.assert != atSearch
		w.lines = w.lines || n.assert == atLineStart || n.assert == atLineEnd
	case n.op == opLook && n.simple():
		w.simple(n.subs[0])
		return
	}
	for _, s := range n.subs {
		w.look(s)
	}
}

func (w *needs) simple(n *node) {
	if n.op == opClass {
		w.classes = append(w.classes, n.class)
	}
	if n.op == opAssert {
		w.look(n)
	}
	for _, s := range n.subs {
		w.simple(s)
	}
}

// simple reports whether a lookaround depends on one neighbour only.
func (n *node) simple() bool {
	switch n.op {
	case opClass, opAssert, opEmpty:
		return true
	case opAlt, opCapture, opLook:
		return !slices.ContainsFunc(n.subs, func(s *node) bool { return !s.simple() })
	default:
		return false
	}
}

// in returns the flavors of a class as bits. ok is false if the class is not modelled.
func (f *flavors) in(class int) (fits uint8, ok bool) {
	b, ok := f.bit[class]
	if !ok {
		return 0, false
	}
	for i, sig := range f.sees {
		if sig&(1<<b) != 0 {
			fits |= 1 << i
		}
	}
	if f.alpha.classes[class].has('\n') {
		fits |= beforeLast
	}
	return fits, true
}

func between(prev, next uint8) mask {
	var m mask
	for p := range 8 {
		if prev&(1<<p) != 0 {
			m |= mask(next) << (8 * p)
		}
	}
	return m
}

const (
	textEdge   uint8 = 1 << edgeOfText
	beforeLast uint8 = 1 << lastLine
	allSides   uint8 = 0xff
)

func (f *flavors) assertion(kind assert) mask {
	words, _ := f.in(f.alpha.words)
	lines, _ := f.in(f.alpha.lines)
	switch kind {
	case atStart:
		return between(textEdge, allSides)
	case atEnd:
		return between(allSides, textEdge)
	case atEndLine:
		return between(allSides, textEdge|beforeLast)
	case atLineStart:
		return between(textEdge|lines, allSides)
	case atLineEnd:
		return between(allSides, textEdge|lines)
	case atWord:
		return between(words, ^words) | between(^words, words)
	case atNoWord:
		return between(words, words) | between(^words, ^words)
	case atWordIn:
		return between(^words, words)
	case atWordOut:
		return between(words, ^words)
	default: // atSearch
		return anywhere
	}
}

// look returns the mask of a simple lookaround. ok is false if it is not modelled.
func (f *flavors) look(n *node) (m mask, ok bool) {
	if !n.simple() {
		return anywhere, false
	}
	m, ok = f.body(n.subs[0], n.behind)
	if !ok {
		return anywhere, false
	}
	if n.neg {
		m = ^m
	}
	return m, true
}

func (f *flavors) body(n *node, behind bool) (mask, bool) {
	switch n.op {
	case opClass:
		fits, ok := f.in(n.class)
		if behind {
			return between(fits, allSides), ok
		}
		return between(allSides, fits), ok
	case opAssert:
		return f.assertion(n.assert), true
	case opEmpty:
		return anywhere, true
	case opCapture:
		return f.body(n.subs[0], behind)
	case opLook:
		return f.look(n)
	default: // opAlt
		var all mask
		for _, s := range n.subs {
			m, ok := f.body(s, behind)
			if !ok {
				return anywhere, false
			}
			all |= m
		}
		return all, true
	}
}
