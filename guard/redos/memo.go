package redos

// rounds numbers what the loops around a place in a program have done. 0 is
// outside of all loops that matter.
type rounds struct {
	all []round
	ids map[round]int32
	on  []int32 // by number: the same after a rune more; 0: not asked yet
}

// round is how far one loop is.
type round struct {
	outer int32
	loop  int32
	done  int32 // rounds, for a loop that counts them
	moved bool  // this round has read a rune
}

func (r *rounds) reset() {
	r.all, r.on = append(r.all[:0], round{moved: true}), append(r.on[:0], 0)
	r.ids = nil
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
	r.all, r.on = append(r.all, k), append(r.on, 0)
	return id
}

// enter begins a loop inside another.
func (r *rounds) enter(outer, loop int32) int32 {
	return r.id(round{outer: outer, loop: loop})
}

// read is the rounds after a rune: all that are open have moved.
func (r *rounds) read(id int32) int32 {
	if id == 0 || r.on[id] != 0 {
		return r.on[id]
	}
	k := r.all[id]
	k.outer, k.moved = r.read(k.outer), true
	on := r.id(k)
	r.on[id] = on
	return on
}

// memo finds cells by key, in a table that is emptied without being cleared.
type memo struct {
	cells []outcome
	table []entry // a power of two of them, half of them free
	epoch uint32
}

type entry struct {
	key  uint64
	tag  uint32 // those before the epoch are free
	cell int32
}

const (
	smallestTable = 256
	epochTags     = 1 << 15 // one for all texts, and one for each
)

func (m *memo) forget() {
	m.cells = m.cells[:0]
	if m.epoch += epochTags; m.epoch > 1<<31 {
		m.epoch = epochTags
		clear(m.table)
	}
}

// cell is the number of the cell for key, in the text with n-1 pumps or, if n is
// 0, in every one. A new one is open.
func (m *memo) cell(key uint64, n int) (cell int32, known bool) {
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

func (m *memo) grow() {
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
