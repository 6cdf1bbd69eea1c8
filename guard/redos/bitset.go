package redos

import "math/bits"

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset      { return make(bitset, (n+63)/64) }
func (b bitset) has(i int32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i int32)      { b[i/64] |= 1 << (i % 64) }

func (b bitset) merge(other bitset) {
	for i, w := range other {
		b[i] |= w
	}
}

// key returns the set as a map key.
func (b bitset) key() string {
	out := make([]byte, 0, 8*len(b))
	for _, w := range b {
		for i := range 8 {
			out = append(out, byte(w>>(8*i)))
		}
	}
	return string(out)
}

func trailing(w uint64) int { return bits.TrailingZeros64(w) }
