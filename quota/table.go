package quota

import (
	"encoding/binary"
	"math/bits"
)

const (
	keyWords = 2
	// fewSlots is how small a table is, and up to where it grows by doubling.
	fewSlots = 8
	bigTable = 64
)

// table holds the states of some keys of one quota, without pointers, by open
// addressing with linear probing: one look at memory finds most keys. It grows
// by an eighth when more than 4/5 of its slots are taken, so that a key costs
// 1.25 to 1.41 of its cell. The number of slots need not be a power of two: a
// hash is scaled to it. Removals and growth move cells.
type table struct {
	words int      // of a cell: the key's, masked, and the state's
	cells []int64  // the slots; the key of a free one is 0
	slots int      //
	n     int      // cells
	dirty []uint64 // a bit for each slot: the store is to hear of it or be asked
	hand  int      // where the search for a victim goes on
	spare []int64  // state of newcomers that found no room; nil until there is one
}

// id is a key under the mask of a limiter, which makes 0 as unlikely as any
// other, though not the key that a caller uses for everybody.
type id [keyWords]uint64

// mask differs between limiters.
type mask [keyWords]uint64

func (m *mask) id(k *Key) id {
	return id{binary.LittleEndian.Uint64(k[:8]) ^ m[0], binary.LittleEndian.Uint64(k[8:]) ^ m[1]}
}

func (m *mask) key(d id) (k Key) {
	binary.LittleEndian.PutUint64(k[:8], d[0]^m[0])
	binary.LittleEndian.PutUint64(k[8:], d[1]^m[1])
	return k
}

// hash spreads ids also when the keys are no hashes.
func (d *id) hash() uint64 {
	hi, lo := bits.Mul64(d[0]^0x9e3779b97f4a7c15, d[1]^0xbf58476d1ce4e5b9)
	return hi ^ lo
}

// stripeOf uses bits that the place in the table does not.
func stripeOf(hash uint64) int { return int(hash >> 32 % stripes) }

// home is where the search for a hash begins.
func (t *table) home(hash uint64) int {
	return int(uint64(uint32(hash)) * uint64(t.slots) >> 32)
}

func (t *table) cell(i int) []int64 {
	at := i * t.words
	return t.cells[at : at+t.words : at+t.words]
}

// state is the cell without its key.
func (t *table) state(i int) []int64 { return t.cell(i)[keyWords:] }

func (t *table) id(i int) id {
	c := t.cell(i)
	return id{uint64(c[0]), uint64(c[1])}
}

func (t *table) taken(i int) bool { return t.id(i) != id{} }

func (t *table) next(i int) int {
	if i++; i == t.slots {
		return 0
	}
	return i
}

// find returns the slot of an id, or -1.
func (t *table) find(hash uint64, d id) int {
	if t.n == 0 {
		return -1
	}
	for i := t.home(hash); ; i = t.next(i) {
		switch t.id(i) {
		case d:
			return i
		case id{}:
			return -1
		}
	}
}

// insert makes a cell for an id that has none, at most most of them.
func (t *table) insert(hash uint64, d id, most int) int {
	if 5*(t.n+1) > 4*t.slots {
		bigger := t.slots + t.slots/8
		if t.slots < bigTable {
			bigger = max(2*t.slots, fewSlots)
		}
		t.resize(min(bigger, most+most/4+2))
	}
	t.n++
	return t.place(hash, d)
}

// place takes the first free slot for an id.
func (t *table) place(hash uint64, d id) int {
	i := t.home(hash)
	for t.taken(i) {
		i = t.next(i)
	}
	c := t.cell(i)
	c[0], c[1] = int64(d[0]), int64(d[1])
	return i
}

// resize moves all cells to a table of another size.
func (t *table) resize(slots int) {
	old := *t
	t.slots, t.hand = slots, 0
	t.cells = make([]int64, slots*t.words)
	t.dirty = make([]uint64, (slots+63)/64)
	for i := range old.slots {
		if d := old.id(i); d != (id{}) {
			to := t.place(d.hash(), d)
			copy(t.state(to), old.state(i))
			t.mark(to, old.marked(i))
		}
	}
}

// remove drops a cell, and moves up those that it kept from their home.
func (t *table) remove(i int) {
	t.n--
	hole := i
	for at := t.next(i); t.taken(at); at = t.next(at) {
		d := t.id(at)
		home := t.home(d.hash())
		if (at-home+t.slots)%t.slots >= (at-hole+t.slots)%t.slots {
			copy(t.cell(hole), t.cell(at))
			t.mark(hole, t.marked(at))
			hole = at
		}
	}
	clear(t.cell(hole))
	t.mark(hole, false)
}

// shrink gives back what is not used any more.
func (t *table) shrink() {
	switch {
	case t.n == 0:
		*t = table{words: t.words, spare: t.spare}
	case t.slots > bigTable && t.n < t.slots/4:
		t.resize(2 * t.n)
	}
}

func (t *table) marked(i int) bool { return t.dirty[i>>6]>>(i&63)&1 != 0 }

func (t *table) mark(i int, on bool) {
	t.dirty[i>>6] &^= 1 << (i & 63)
	if on {
		t.dirty[i>>6] |= 1 << (i & 63)
	}
}
