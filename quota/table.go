package quota

import (
	"encoding/binary"
	"math/bits"
)

const (
	pageBits  = 8
	pageCells = 1 << pageBits // times 8-byte words: sizes that the allocator rounds little or not at all
	keyWords  = 2
	slotMask  = 1<<24 - 1 // of an index entry; the rest tells most other keys apart without looking
)

// table holds the states of some keys of one quota: an index by open addressing
// with linear probing, and the cells side by side in pages, without holes and
// without pointers. Cells are named by their number, which a removal changes.
//
// The index grows by half from 7/8 full: 4.6 to 6.9 bytes a key. Its size need
// not be a power of two: a hash is scaled to it.
type table struct {
	words int      // of a cell: the key's and the state's
	index []uint32 // 0: empty; else 8 bits of the hash and the cell's number + 1
	n     int
	pages [][]int64 // each pageCells cells, but the first grows
	dirty []uint64  // a bit for each cell: the store is to hear of it or be asked
	hand  int       // where the search for a victim goes on
	spare []int64   // state of newcomers that found no room; nil until there is one
}

// hasher spreads keys; its seeds differ between limiters.
type hasher [2]uint64

func (h *hasher) hash(k *Key) uint64 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(k[:8])^h[0], binary.LittleEndian.Uint64(k[8:])^h[1])
	return hi ^ lo
}

// stripeOf uses bits that neither the place in the index nor the tag uses alone.
func stripeOf(hash uint64) int { return int(hash >> 32 % stripes) }

func tagOf(hash uint64) uint32 { return uint32(hash>>56) << 24 }

// home is where in the index the search for a hash begins.
func (t *table) home(hash uint64) int {
	return int(uint64(uint32(hash)) * uint64(len(t.index)) >> 32)
}

func (t *table) cell(i int) []int64 {
	at := (i & (pageCells - 1)) * t.words
	return t.pages[i>>pageBits][at : at+t.words : at+t.words]
}

// state is the cell without its key.
func (t *table) state(i int) []int64 { return t.cell(i)[keyWords:] }

func (t *table) key(i int) (k Key) {
	c := t.cell(i)
	binary.LittleEndian.PutUint64(k[:8], uint64(c[0]))
	binary.LittleEndian.PutUint64(k[8:], uint64(c[1]))
	return k
}

func (t *table) is(i int, k *Key) bool {
	c := t.cell(i)
	return uint64(c[0]) == binary.LittleEndian.Uint64(k[:8]) && uint64(c[1]) == binary.LittleEndian.Uint64(k[8:])
}

// find returns the key's cell, or -1.
func (t *table) find(hash uint64, k *Key) int {
	if t.n == 0 {
		return -1
	}
	tag := tagOf(hash)
	for at := t.home(hash); ; {
		e := t.index[at]
		if e == 0 {
			return -1
		}
		if e&^slotMask == tag {
			if i := int(e&slotMask) - 1; t.is(i, k) {
				return i
			}
		}
		if at++; at == len(t.index) {
			at = 0
		}
	}
}

// insert makes a cell for a key that has none. hashes makes room in the index.
func (t *table) insert(h *hasher, hash uint64, k *Key) int {
	if 8*(t.n+1) > 7*len(t.index) {
		t.reindex(h, max(8, len(t.index)+len(t.index)/2))
	}
	i := t.n
	t.grow()
	c := t.cell(i)
	c[0] = int64(binary.LittleEndian.Uint64(k[:8]))
	c[1] = int64(binary.LittleEndian.Uint64(k[8:]))
	t.enter(hash, i)
	return i
}

// grow adds a cell of zeros.
func (t *table) grow() {
	switch page := t.n >> pageBits; {
	case page < len(t.pages) && t.n&(pageCells-1) < len(t.pages[page])/t.words:
	case page < len(t.pages): // only the first is short
		longer := make([]int64, 2*len(t.pages[0]))
		copy(longer, t.pages[0])
		t.pages[0] = longer
	case page == 0:
		t.pages = append(t.pages, make([]int64, 8*t.words))
	default:
		t.pages = append(t.pages, make([]int64, pageCells*t.words))
	}
	if t.n>>6 == len(t.dirty) {
		t.dirty = append(t.dirty, 0)
	}
	t.n++
}

// enter puts a cell into the index, which has room.
func (t *table) enter(hash uint64, i int) {
	at := t.home(hash)
	for t.index[at] != 0 {
		if at++; at == len(t.index) {
			at = 0
		}
	}
	t.index[at] = tagOf(hash) | uint32(i+1)
}

// reindex makes the index anew.
func (t *table) reindex(h *hasher, size int) {
	t.index = make([]uint32, size)
	for i := range t.n {
		k := t.key(i)
		t.enter(h.hash(&k), i)
	}
}

// remove drops a cell. The last one takes its place and number.
func (t *table) remove(h *hasher, i int) {
	k := t.key(i)
	t.leave(h, h.hash(&k), i)
	last := t.n - 1
	if i != last {
		k := t.key(last)
		t.index[t.entry(h.hash(&k), last)] = tagOf(h.hash(&k)) | uint32(i+1)
		copy(t.cell(i), t.cell(last))
		t.mark(i, t.marked(last))
	}
	t.mark(last, false)
	clear(t.cell(last))
	t.n = last
	t.shrink(h)
}

// shrink gives back what stays unused.
func (t *table) shrink(h *hasher) {
	if pages := (t.n + 2*pageCells - 1) >> pageBits; pages < len(t.pages) { // one more than needed
		clear(t.pages[pages:])
		t.pages = t.pages[:pages]
	}
	if len(t.index) > 64 && t.n < len(t.index)/4 {
		t.reindex(h, len(t.index)/2)
	}
	if t.n == 0 {
		*t = table{words: t.words, spare: t.spare}
	}
}

// entry is where in the index a cell is.
func (t *table) entry(hash uint64, i int) int {
	at := t.home(hash)
	for int(t.index[at]&slotMask)-1 != i {
		if at++; at == len(t.index) {
			at = 0
		}
	}
	return at
}

// leave takes a cell out of the index, and moves up those that it kept from
// their home.
func (t *table) leave(h *hasher, hash uint64, i int) {
	size := len(t.index)
	hole := t.entry(hash, i)
	for at := hole; ; {
		if at++; at == size {
			at = 0
		}
		e := t.index[at]
		if e == 0 {
			break
		}
		k := t.key(int(e&slotMask) - 1)
		home := t.home(h.hash(&k))
		if (at-home+size)%size >= (at-hole+size)%size {
			t.index[hole] = e
			hole = at
		}
	}
	t.index[hole] = 0
}

func (t *table) marked(i int) bool { return t.dirty[i>>6]>>(i&63)&1 != 0 }

func (t *table) mark(i int, on bool) {
	t.dirty[i>>6] &^= 1 << (i & 63)
	if on {
		t.dirty[i>>6] |= 1 << (i & 63)
	}
}
