package blame

import (
	"encoding/binary"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// bloomBits is the size of one generation: at 4 probes and 16,384 shapes about
// 0.2 % of unseen shapes pass for seen.
const bloomBits = 1 << 18

// bloomAge is how long one generation collects; shapes are remembered for one
// to two of them.
const bloomAge = time.Hour

// bloom is a rotating Bloom filter of proven shapes. Fingerprints are uniform
// hashes already, so their own words are the probes.
type bloom struct {
	gen   [2][bloomBits / 64]uint64
	since int64
}

func (f *bloom) init(now int64) { f.since = now }

func (f *bloom) probe(fp bezoar.Fingerprint, i int) (word, bit uint32) {
	h := binary.LittleEndian.Uint32(fp[4*i:]) % bloomBits
	return h / 64, h % 64
}

func (f *bloom) add(now int64, fp bezoar.Fingerprint) {
	if now-f.since > int64(bloomAge) {
		f.gen[1] = f.gen[0]
		clear(f.gen[0][:])
		f.since = now
	}
	for i := range 4 {
		w, bit := f.probe(fp, i)
		f.gen[0][w] |= 1 << bit
	}
}

func (f *bloom) has(fp bezoar.Fingerprint) bool {
	for g := range f.gen {
		all := true
		for i := range 4 {
			w, bit := f.probe(fp, i)
			all = all && f.gen[g][w]&(1<<bit) != 0
		}
		if all {
			return true
		}
	}
	return false
}
