package fingerprint

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The documents of one API have objects with the same members in the same order. Layouts remember them, as a tree: a layout
// is an object that has begun with certain members, in a certain place of a document. They save looking at names byte by
// byte, sorting them, and making their skeletons. They never change a result.
type layout struct {
	// The last member's `"name":`: its first eight bytes, which of them count, its last eight bytes, and all.
	head, mask, tail uint64
	size             uint8
	members          uint8
	odd              bool  // order cannot be known
	next             int32 // the first layout with one more member; 0: none
	other            int32 // the next layout that differs in the last member
	inner            int32 // that of objects within the last member
	order            *order
	text             []byte
	kinds            set // of the name's characters
}

// order is what is known of objects that have certain members and no others.
type order struct {
	sorted []byte // for the canonical form: which member is in each place; nil if they came in order
	shaped []byte // the same for the skeleton
	names  []byte // `name=` of each member in the skeleton, in that order
	ends   []int32

	sigs  []sig  // of the last such object with plain values only; empty if there was none
	plain []byte // the skeleton of that object
}

// These bounds keep layouts small for any input.
const (
	noLayout       = int32(-1)
	rootLayouts    = 32 // of whole documents, by the skeleton of what precedes them
	maxLayouts     = 1024
	maxLayoutBytes = 256 << 10 // of texts and orders
	maxLayoutName  = 64
	maxAlike       = 8   // layouts that differ in the last member
	maxCredit      = 256 // layouts that are learned in vain
)

// layouts are the trees. Their roots, from layout 1 on, have no members, and so have those that are the inner of another.
type layouts struct {
	all   []layout
	arena []byte // for texts
	bytes int    // that texts and orders take
	full  bool   // no more can be learned
	// debt is how many layouts have been learned. Objects that are known pay for it, others hardly do. If no two objects are
	// alike, learning each would cost more than it saves.
	debt          int
	vain, refused uint8
}

// begin prepares for documents, and returns the layout with which they begin. Layouts are only forgotten here, since the
// reader of a document refers to them.
func (l *layouts) begin(skel []byte) (root int32) {
	if l.full || len(l.all) == 0 {
		clear(l.all)
		l.all, l.arena, l.bytes, l.full = slices.Grow(l.all[:0], rootLayouts+1)[:rootLayouts+1], nil, 0, false
	}
	n := uint64(0)
	for i := 0; i < min(len(skel), 128); i += 8 {
		n = (n ^ load8(skel, i)) * 0x9e3779b97f4a7c15
		n ^= n >> 32
	}
	return 1 + int32(n%rootLayouts)
}

// load8 returns the eight bytes at b[i:], with zeros for those that are missing.
func load8(b []byte, i int) (w uint64) {
	if len(b)-i >= 8 {
		return binary.LittleEndian.Uint64(b[i:])
	}
	for n := len(b) - 1; n >= i; n-- {
		w = w<<8 | uint64(b[n])
	}
	return w
}

// follow finds the layout with the member at b[i:]. It returns the index after the member's colon, or 0.
func (s *scratch) follow(b []byte, i int, at int32) (end int, to int32) {
	if at < 0 || i >= len(b) {
		return 0, noLayout
	}
	w := load8(b, i)
	for at = s.layouts.all[at].next; at > 0; {
		l := &s.layouts.all[at]
		if (w^l.head)&l.mask == 0 {
			end = i + int(l.size)
			if l.size <= 8 || end <= len(b) && binary.LittleEndian.Uint64(b[end-8:]) == l.tail &&
				(l.size <= 16 || string(b[i+8:end-8]) == string(l.text[8:l.size-8])) {
				return end, at
			}
		}
		at = l.other
	}
	return 0, noLayout
}

// entered returns the layout of an object that begins in the last member of a layout, which the caller gives as noLayout less
// that. If there is none yet, it returns what it was given.
func (s *scratch) entered(at int32) int32 {
	if at < noLayout {
		if inner := s.layouts.all[noLayout-at].inner; inner != 0 {
			return inner
		}
	}
	return at
}

// learn returns a new layout with one more member than another, or noLayout.
func (s *scratch) learn(b []byte, name piece, k set, at int32) int32 {
	l, n := &s.layouts, name.to()-name.from()
	if at == noLayout || name&sources != document || n > maxLayoutName || l.debt >= maxCredit {
		return noLayout
	}
	if len(l.all)+2 > maxLayouts || l.bytes+n > maxLayoutBytes {
		l.full = true
		return noLayout
	}
	if at < noLayout {
		l.all = append(l.all, layout{})
		inner := int32(len(l.all) - 1)
		l.all[noLayout-at].inner = inner
		at = inner
	}
	if l.all[at].members == maxNames || !l.makeRoom(at) {
		return noLayout
	}
	text := l.keep(b[name.from():name.to()])
	mask := uint64(math.MaxUint64)
	if n < 8 {
		mask = 1<<(8*n) - 1
	}
	l.debt++
	l.all = append(l.all, layout{
		head: load8(text, 0), mask: mask, tail: load8(text, max(0, n-8)), size: uint8(n), text: text, kinds: k,
		other: l.all[at].next, members: l.all[at].members + 1,
	})
	l.all[at].next = int32(len(l.all) - 1)
	return l.all[at].next
}

// makeRoom reports whether there may be one more layout with one more member. If there are too many, it sometimes forgets the
// oldest. If it always did, it could forget each just before it comes again.
func (l *layouts) makeRoom(at int32) bool {
	last := &l.all[at].next
	for range maxAlike - 1 {
		if *last == 0 {
			return true
		}
		last = &l.all[*last].other
	}
	if *last == 0 {
		return true
	}
	if l.refused++; l.refused%16 != 0 {
		return false
	}
	*last = 0
	return true
}

// keep copies a text to the arena.
func (l *layouts) keep(text []byte) []byte {
	at := len(l.arena)
	l.bytes += len(text)
	l.arena = append(l.arena, text...)
	return l.arena[at:len(l.arena):len(l.arena)]
}

// kindsOf returns the kinds of the name's characters.
func (s *scratch) kindsOf(f *field) set {
	if f.at > 0 {
		return s.layouts.all[f.at].kinds
	}
	return f.kinds
}

// finish puts the members of the object all in order, and replaces the skeletons of their values, skel[sat:], by that of the
// object. Nothing of the object has been left out if it is whole.
func (s *scratch) finish(b []byte, fields []field, sat int, at int32, whole bool, all piece) piece {
	known := at > 0 && whole
	if known && s.layouts.all[at].order != nil {
		return s.finishBy(s.layouts.all[at].order, fields, sat, all)
	}
	from := len(s.pieces)
	if sorted := s.rank(b, fields); !sorted || !tight(fields, all) {
		for _, r := range s.ranks {
			s.member(&fields[r.at])
		}
		all = objectList.within(from, len(s.pieces))
	}
	start, ibase := len(s.skel)+1, len(s.items)
	s.skel = append(s.skel, '{')
	for i := range fields {
		f := &fields[i]
		iat, name := len(s.skel), s.inside(b, f.name)
		s.skel = append(appendName(s.skel, name, s.kindsOf(f)), '=')
		if f.sig == inSkel {
			s.skel = append(s.skel, s.skel[f.skel.from:f.skel.to]...)
		}
		s.skel = append(f.sig.append(s.skel), ',')
		s.item(ibase, iat)
	}
	s.unite(ibase, start)
	s.items = s.items[:ibase]
	s.skel = seal(s.skel, start, '}')
	s.skel = append(s.skel[:sat], s.skel[start-1:]...)
	switch l := &s.layouts; {
	case !known:
		if l.vain++; l.vain%16 == 0 {
			l.debt = max(0, l.debt-1)
		}
	case l.debt < maxCredit && !l.all[at].odd && !l.full:
		l.debt++
		s.learnOrder(&l.all[at], b, fields)
	}
	return all
}

// finishBy is finish for members whose order is known.
func (s *scratch) finishBy(o *order, fields []field, sat int, all piece) piece {
	s.layouts.debt = max(0, s.layouts.debt-2)
	if len(o.sorted) > 0 || !tight(fields, all) {
		from := len(s.pieces)
		for _, n := range o.sorted {
			s.member(&fields[n])
		}
		for i := 0; len(o.sorted) == 0 && i < len(fields); i++ {
			s.member(&fields[i])
		}
		all = objectList.within(from, len(s.pieces))
	}
	if len(s.skel) > sat { // values have skeletons there
		s.tmp = s.appendShape(s.tmp[:0], o, fields)
		s.skel = append(s.skel[:sat], s.tmp...)
		return all
	}
	same := len(o.sigs) == len(fields)
	for i := 0; same && i < len(fields); i++ {
		same = fields[i].sig == o.sigs[i]
	}
	if same {
		s.skel = append(s.skel, o.plain...)
		return all
	}
	s.skel = s.appendShape(s.skel, o, fields)
	o.sigs, o.plain = o.sigs[:0], append(o.plain[:0], s.skel[sat:]...)
	for i := range fields {
		o.sigs = append(o.sigs, fields[i].sig)
	}
	return all
}

// appendShape appends the skeleton of an object.
func (s *scratch) appendShape(dst []byte, o *order, fields []field) []byte {
	dst = append(dst, '{')
	var from int32
	for i, n := range o.shaped {
		f := &fields[n]
		dst = append(dst, o.names[from:o.ends[i]]...)
		if from = o.ends[i]; f.sig == inSkel {
			dst = append(dst, s.skel[f.skel.from:f.skel.to]...)
		} else {
			dst = f.sig.append(dst)
		}
		dst = append(dst, ',')
	}
	dst[len(dst)-1] = '}'
	return dst
}

// rank is the place of a member among those of its object.
type rank struct {
	head uint64 // the name's first eight bytes, so that most comparisons compare one word
	at   int32
}

// rank sorts members by name, byte by byte, and equal names by arrival. It reports whether they were in that order.
func (s *scratch) rank(b []byte, fields []field) (sorted bool) {
	s.ranks = s.ranks[:0]
	sorted = true
	order := func(x, y rank) int {
		if c := cmp.Compare(x.head, y.head); c != 0 {
			return c
		}
		if c := bytes.Compare(s.inside(b, fields[x.at].name), s.inside(b, fields[y.at].name)); c != 0 {
			return c
		}
		return cmp.Compare(x.at, y.at)
	}
	for i := range fields {
		r := rank{head: bits.ReverseBytes64(load8(s.inside(b, fields[i].name), 0)), at: int32(i)}
		sorted = sorted && (i == 0 || order(s.ranks[i-1], r) <= 0)
		s.ranks = append(s.ranks, r)
	}
	if !sorted {
		slices.SortFunc(s.ranks, order)
	}
	return sorted
}

// learnOrder remembers the order of members, which s.ranks has, unless the skeleton gives two of them one name.
func (s *scratch) learnOrder(l *layout, b []byte, fields []field) {
	o := &order{}
	var ends [maxNames + 1]int32
	s.tmp = s.tmp[:0]
	for i := range fields {
		name := s.inside(b, fields[i].name)
		s.tmp = append(appendName(s.tmp, name, s.kindsOf(&fields[i])), '=')
		ends[i+1] = int32(len(s.tmp))
		o.shaped = append(o.shaped, byte(i))
	}
	text := func(n byte) []byte { return s.tmp[ends[n]:ends[n+1]] }
	slices.SortFunc(o.shaped, func(x, y byte) int { return bytes.Compare(text(x), text(y)) })
	for i, n := range o.shaped {
		if i > 0 && bytes.Equal(text(o.shaped[i-1]), text(n)) {
			l.odd = true
			return
		}
		o.names = append(o.names, text(n)...)
		o.ends = append(o.ends, int32(len(o.names)))
	}
	// The skeleton of plain values is that of the names, with at most nine bytes more for each.
	size := 160 + 2*len(o.names) + 20*len(fields)
	if s.layouts.bytes += size; s.layouts.bytes > maxLayoutBytes {
		s.layouts.full = true
		return
	}
	for i, r := range s.ranks {
		if o.sorted = append(o.sorted, byte(r.at)); int(r.at) != i {
			l.order = o
		}
	}
	if l.order == nil {
		o.sorted, l.order = nil, o
	}
}
