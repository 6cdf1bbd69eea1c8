package blame

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// provenWays is the associativity of the table of proven work: a newcomer
// contends only with its bucket, so that lookups touch two cache lines.
const provenWays = 8

// provenHalfLife is how long it takes for half of the successes to be forgotten.
const provenHalfLife = 10 * time.Minute

// proven remembers decayed successes of the most successful recent
// fingerprints in fixed memory: 24 bytes each. A newcomer displaces the least
// successful of its bucket, so a flood of one-off work cannot push out what is
// popular.
type proven struct {
	mask  uint32
	slots []provenSlot
}

type provenSlot struct {
	fp    bezoar.Fingerprint
	count float32
	at    uint32 // seconds since the state began
}

func newProven(entries int) *proven {
	buckets := 1
	for buckets*provenWays < entries {
		buckets *= 2
	}
	return &proven{mask: uint32(buckets - 1), slots: make([]provenSlot, buckets*provenWays)}
}

func (p *proven) bucket(fp bezoar.Fingerprint) []provenSlot {
	i := int(binary.LittleEndian.Uint32(fp[:])&p.mask) * provenWays
	return p.slots[i : i+provenWays : i+provenWays]
}

// successes returns the decayed count at second now.
func (p *proven) successes(fp bezoar.Fingerprint, now uint32) float64 {
	b := p.bucket(fp)
	for i := range b {
		if b[i].fp == fp {
			return b[i].decayed(now)
		}
	}
	return 0
}

func (s *provenSlot) decayed(now uint32) float64 {
	if now <= s.at {
		return float64(s.count)
	}
	return float64(s.count) * halved(now-s.at)
}

// halved is 2^-(age/half-life): exact at whole half-lives, between them a cubic
// that is off by less than 0.02 % and costs a tenth of math.Exp2. Decay is
// applied second by second, so a coarser curve would add up to another half-life.
func halved(age uint32) float64 {
	const half = uint32(provenHalfLife / time.Second)
	n := age / half
	if n >= 32 {
		return 0
	}
	x := float64(age%half) / float64(half)
	return (1 - x*(0.691422-x*(0.230556-x*0.039134))) / float64(uint64(1)<<n)
}

// add counts one success at second now.
func (p *proven) add(fp bezoar.Fingerprint, now uint32) {
	b := p.bucket(fp)
	victim, least := 0, math.Inf(1)
	for i := range b {
		if b[i].fp == fp {
			// Decay only on a new second: the common path is one addition.
			if now > b[i].at {
				b[i].count, b[i].at = float32(b[i].decayed(now)), now
			}
			b[i].count = min(b[i].count+1, 1<<20)
			return
		}
		if d := b[i].decayed(now); d < least {
			victim, least = i, d
		}
	}
	b[victim] = provenSlot{fp: fp, count: 1, at: now}
}

// forget drops what is known of fp: it crashed the lane after all.
func (p *proven) forget(fp bezoar.Fingerprint) {
	b := p.bucket(fp)
	for i := range b {
		if b[i].fp == fp {
			b[i] = provenSlot{}
		}
	}
}
