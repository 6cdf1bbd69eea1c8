package redos

// subsets is the automaton, determinized as far as needed: numbered sets of states, and
// their successors by rune. It is seen from one region: the pattern, or a lookaround with
// its own end of a match.
type subsets struct {
	*automaton
	region int32
	left   *budget
	all    []subset
	ids    map[string]int32
	fits   []uint8 // by atom: its flavors
	spare  bitset
}

type subset struct {
	states bitset
	ends   uint8   // flavors before which a match may end
	begun  int32   // the set without a search before the start of a match
	next   []int32 // by atom
}

// Special values instead of a set's number.
const (
	unasked int32 = -1 - iota
	ended         // a match ends before the rune
)

func newSubsets(m *automaton, region int32, left *budget) *subsets {
	d := &subsets{automaton: m, region: region, left: left, ids: map[string]int32{}, fits: make([]uint8, len(m.alpha.runes))}
	for atom := range d.fits {
		for v := int32(1); v < m.seek; v++ {
			if m.states[v].bag.has(atom) {
				d.fits[atom] |= 1 << m.states[v].flavor
			}
		}
	}
	return d
}

// start returns the set of states in which nothing has been read.
func (d *subsets) start() int32 { return d.of(0) }

// of returns the set of the given states.
func (d *subsets) of(states ...int32) int32 {
	b := d.empty()
	for _, v := range states {
		b.set(v)
	}
	return d.id(b)
}

func (d *subsets) empty() bitset {
	if d.spare == nil {
		d.spare = newBitset(len(d.states))
	}
	clear(d.spare)
	return d.spare
}

// id returns the number of a set, which may be the spare one.
func (d *subsets) id(b bitset) int32 {
	key := b.key()
	if id, ok := d.ids[key]; ok {
		return id
	}
	id := int32(len(d.all))
	d.left.spend(len(b))
	d.ids[key] = id
	s := subset{states: append(bitset(nil), b...), begun: unasked}
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if v := &d.states[i*64+trailing(w)]; v.region == 0 || v.region == d.region {
				s.ends |= v.accept
			}
		}
	}
	d.all = append(d.all, s)
	return id
}

func (d *subsets) has(set, state int32) bool { return d.all[set].states.has(state) }

func (d *subsets) with(set, state int32) int32 {
	b := d.empty()
	b.merge(d.all[set].states)
	b.set(state)
	return d.id(b)
}

// begun removes the states of a search before the start of a match: matches that begin
// later are tried later, and cannot prevent the attack.
func (d *subsets) begun(set int32) int32 {
	if id := d.all[set].begun; id != unasked {
		return id
	}
	b := d.empty()
	b.merge(d.all[set].states)
	for v := range d.seek {
		b[v/64] &^= 1 << (v % 64)
	}
	id := d.id(b)
	d.all[set].begun = id
	return id
}

// ends reports whether a match may end before a flavor. what is the flavor's bit.
func (d *subsets) ends(set int32, what uint8) bool { return d.all[set].ends&what != 0 }

// read returns the set after another rune. ok is false if a match ends before it.
func (d *subsets) read(set int32, atom int) (next int32, ok bool) {
	if d.all[set].next == nil {
		d.left.spend(len(d.alpha.runes) / 8)
		d.all[set].next = make([]int32, len(d.alpha.runes))
		for i := range d.all[set].next {
			d.all[set].next[i] = unasked
		}
	}
	next = d.all[set].next[atom]
	if next == unasked {
		if d.ends(set, d.fits[atom]) {
			next = ended
		} else if next, ok = d.step(set, atom); !ok {
			return 0, false
		}
		d.all[set].next[atom] = next
	}
	return next, d.left.spend(1) && next != ended
}

func (d *subsets) step(set int32, atom int) (next int32, ok bool) {
	b := d.empty()
	for i, w := range d.all[set].states {
		for ; w != 0; w &= w - 1 {
			edges := d.states[i*64+trailing(w)].edges
			if !d.left.spend(len(edges)) {
				return 0, false
			}
			for _, e := range edges {
				if d.states[e.to].bag.has(atom) {
					b.set(e.to)
				}
			}
		}
	}
	return d.id(b), true
}
