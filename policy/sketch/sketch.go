package sketch

import "math/bits"

// MaxCounters bounds the counters of one sketch.
const MaxCounters = 1 << 14

// A Sketch counts the weights of the keys with the largest weights. Create it with [New]. It is not safe for concurrent
// use.
type Sketch struct {
	counters []counter // in the order of first use
	names    []Name    // of the counters; separate, because they are rarely read
	heap     []node    // the smallest count first
	index    []uint16  // a hash table of indices of counters, plus one
	shift    int       // from a hash to an index of index
	total    uint64
	evicted  uint64
}

type counter struct {
	key  uint64
	over uint64
	at   int // its index in the heap
}

type node struct {
	count uint64
	place uint16 // index in counters
}

// Count is the counter of a key.
type Count struct {
	Key   uint64
	Name  Name
	Count uint64 // upper bound; never too low
	Over  uint64 // largest error of Count
}

// New returns a sketch with k counters, limited to 1 to [MaxCounters].
func New(k int) *Sketch {
	k = min(max(k, 1), MaxCounters)
	width := bits.Len(uint(2*k - 1)) // half of the index stays empty, so that searches are short
	return &Sketch{
		counters: make([]counter, 0, k), names: make([]Name, 0, k), heap: make([]node, 0, k),
		index: make([]uint16, 1<<width), shift: 64 - width,
	}
}

// Add adds w to the key. The name is stored if the key takes a counter.
func (s *Sketch) Add(key uint64, name *Name, w uint64) {
	if w == 0 {
		return
	}
	s.total += w
	at, found := s.find(key)
	switch {
	case found:
		i := s.counters[s.index[at]-1].at
		s.heap[i].count += w
		s.down(i)
	case len(s.counters) < cap(s.counters):
		place := len(s.counters)
		s.counters = append(s.counters, counter{key: key, at: place})
		s.names = append(s.names, *name)
		s.heap = append(s.heap, node{w, uint16(place)})
		s.index[at] = uint16(place) + 1
		s.up(place)
	default:
		least := &s.heap[0]
		c := &s.counters[least.place]
		s.forget(c.key)
		s.evicted++
		c.key, c.over = key, least.count
		s.names[least.place] = *name
		least.count += w
		at, _ = s.find(key)
		s.index[at] = least.place + 1
		s.down(0)
	}
}

// Min returns the largest possible count of a key without a counter.
func (s *Sketch) Min() uint64 {
	if len(s.counters) < cap(s.counters) {
		return 0
	}
	return s.heap[0].count
}

// Total returns the sum of all weights.
func (s *Sketch) Total() uint64 { return s.total }

// Evicted returns how often a key lost its counter to another one.
func (s *Sketch) Evicted() uint64 { return s.evicted }

// Len returns how many keys have a counter.
func (s *Sketch) Len() int { return len(s.counters) }

// All calls yield for each key with a counter, in random order, until it returns false.
func (s *Sketch) All(yield func(Count) bool) {
	for i := range s.counters {
		c := &s.counters[i]
		if !yield(Count{Key: c.key, Name: s.names[i], Count: s.heap[c.at].count, Over: c.over}) {
			return
		}
	}
}

// Reset clears everything but the number of evictions.
func (s *Sketch) Reset() {
	s.counters, s.names, s.heap, s.total = s.counters[:0], s.names[:0], s.heap[:0], 0
	clear(s.index)
}

// home returns where the search for a key begins. Keys may be small numbers; the multiplication makes the high bits depend
// on all bits.
func (s *Sketch) home(key uint64) int {
	return int((key * 0x9e3779b97f4a7c15) >> s.shift)
}

// find returns the index of the key, or where it would be.
func (s *Sketch) find(key uint64) (at int, found bool) {
	mask := len(s.index) - 1
	for at = s.home(key); s.index[at] != 0; at = (at + 1) & mask {
		if s.counters[s.index[at]-1].key == key {
			return at, true
		}
	}
	return at, false
}

// forget removes a key from the index, and moves up entries that could not be found after the gap (Knuth, volume 3,
// algorithm 6.4R).
func (s *Sketch) forget(key uint64) {
	gap, found := s.find(key)
	if !found {
		return
	}
	mask := len(s.index) - 1
	for at := (gap + 1) & mask; s.index[at] != 0; at = (at + 1) & mask {
		home := s.home(s.counters[s.index[at]-1].key)
		if (at-home)&mask >= (at-gap)&mask {
			s.index[gap] = s.index[at]
			gap = at
		}
	}
	s.index[gap] = 0
}

// up moves a node up until no node above it is larger.
func (s *Sketch) up(i int) {
	n := s.heap[i]
	for i > 0 && n.count < s.heap[(i-1)/2].count {
		s.put(i, s.heap[(i-1)/2])
		i = (i - 1) / 2
	}
	s.put(i, n)
}

// down moves a node down until no node below it is smaller.
func (s *Sketch) down(i int) {
	n := s.heap[i]
	for {
		child := 2*i + 1
		if child+1 < len(s.heap) && s.heap[child+1].count < s.heap[child].count {
			child++
		}
		if child >= len(s.heap) || n.count <= s.heap[child].count {
			s.put(i, n)
			return
		}
		s.put(i, s.heap[child])
		i = child
	}
}

func (s *Sketch) put(i int, n node) {
	s.heap[i] = n
	s.counters[n.place].at = i
}
