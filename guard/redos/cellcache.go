package redos

// rounds numbers the states of the loops around a place in a program. 0 means outside of
// all relevant loops.
type rounds struct {
	all []round
	ids map[round]int32
	to  []turns // by number

	entered [32]door
}

// door identifies a recently entered loop.
type door struct{ outer, loop, in int32 }

// round is the progress of one loop.
type round struct {
	outer int32
	loop  int32
	done  int32 // completed rounds, for a counting loop
	moved bool  // the current round has read a rune
}

// turns holds the successors of a round; 0: not computed.
type turns struct {
	read  int32 // after another rune
	again int32 // when the next round begins
}

func (r *rounds) reset() {
	r.all, r.to = append(r.all[:0], round{moved: true}), append(r.to[:0], turns{})
	r.ids = nil
	clear(r.entered[:])
}

func (r *rounds) id(k round) int32 {
	if id, ok := r.ids[k]; ok {
		return id
	}
	if r.ids == nil {
		r.ids = map[round]int32{}
	}
	id := int32(len(r.all))
	r.ids[k] = id
	r.all, r.to = append(r.all, k), append(r.to, turns{})
	return id
}

// enter starts a loop inside another.
func (r *rounds) enter(outer, loop int32) int32 {
	d := &r.entered[uint32(outer*31+loop)%uint32(len(r.entered))]
	if d.in == 0 || d.outer != outer || d.loop != loop {
		*d = door{outer, loop, r.id(round{outer: outer, loop: loop})}
	}
	return d.in
}

// again starts the next round. All rounds beyond most are equivalent.
func (r *rounds) again(id, most int32) int32 {
	if r.to[id].again == 0 {
		k := r.all[id]
		k.done, k.moved = min(k.done+1, most), false
		next := r.id(k)
		r.to[id].again = next
	}
	return r.to[id].again
}

// read returns the state after a rune: all open rounds have moved.
func (r *rounds) read(id int32) int32 {
	if id == 0 || r.to[id].read != 0 {
		return r.to[id].read
	}
	k := r.all[id]
	k.outer, k.moved = r.read(k.outer), true
	next := r.id(k)
	r.to[id].read = next
	return next
}

// cellCache stores cells by key, in a table that can be emptied without clearing it.
type cellCache struct {
	cells []outcome
	table []entry // the size is a power of two; half are free
	epoch uint32
}

type entry struct {
	key  uint64
	tag  uint32 // tags before the epoch are free
	cell int32
}

const (
	smallestTable = 512
	epochTags     = 1 << 15 // one for all texts, and one for each
)

func (m *cellCache) clear() {
	m.cells = m.cells[:0]
	if m.epoch += epochTags; m.epoch > 1<<31 {
		m.epoch = epochTags
		clear(m.table)
	}
}

// cell returns the number of the cell for key, in the text with n-1 pumps or, if n is 0, in
// all texts. A new cell is open.
func (m *cellCache) cell(key uint64, n int) (cell int32, known bool) {
	if 2*len(m.cells) >= len(m.table) {
		m.grow()
	}
	tag := m.epoch + uint32(n)
	mask := uint64(len(m.table) - 1)
	for i := hash(key, tag) & mask; ; i = (i + 1) & mask {
		e := &m.table[i]
		if e.tag < m.epoch {
			*e = entry{key, tag, int32(len(m.cells))}
			m.cells = append(m.cells, outcome{left: open})
			return e.cell, false
		}
		if e.key == key && e.tag == tag {
			return e.cell, true
		}
	}
}

func (m *cellCache) grow() {
	old := m.table
	m.table = make([]entry, max(smallestTable, 2*len(old)))
	mask := uint64(len(m.table) - 1)
	for _, e := range old {
		if e.tag < m.epoch || e.tag == 0 {
			continue
		}
		i := hash(e.key, e.tag) & mask
		for m.table[i].tag != 0 {
			i = (i + 1) & mask
		}
		m.table[i] = e
	}
}

func hash(key uint64, tag uint32) uint64 {
	h := (key ^ uint64(tag)<<32) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}
