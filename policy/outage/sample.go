package outage

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// The size of a sample. It is a hash table, so a third of its slots stays empty.
const (
	slots = 1024
	most  = slots * 5 / 8 // entries, including expired ones
	keep  = 512           // entries that a sweep leaves without thinning out
)

// slot is one payload with its last end.
type slot struct {
	hash    uint64 // of the payload; 0: empty slot
	failure uint64 // hash of the failure; 0: none that counts
	at      int64
}

// sample is an even sample of the distinct payloads that ended in the window: those whose hash is below a threshold.
type sample struct {
	slots []slot
	used  int
	swept int64
	// The thresholds, as right shifts of the whole range: 1/2^admit of all payloads enter, and 1/2^trust count. After admit
	// is lowered, the additional payloads are not complete before trustAt.
	admit, trust uint8
	trustAt      int64
}

// below returns the highest hash that a threshold accepts.
func below(shift uint8) uint64 { return math.MaxUint64 >> shift }

// within reports whether at is in the window around now. If the clock has stepped back by more than the window, nothing is.
func within(now, at int64, window time.Duration) bool {
	age := now - at
	return age < int64(window) && age > -int64(window)
}

// add records how a payload ended.
func (s *sample) add(now int64, window time.Duration, hash, failure uint64) {
	if s.slots == nil {
		s.slots, s.swept = make([]slot, slots), now
	}
	if !within(now, s.swept, window) {
		s.sweep(now, window) // less may come now, and more of it must enter
	}
	if hash > below(s.admit) {
		return
	}
	e := s.find(hash)
	if e.hash == 0 && s.used == most {
		s.sweep(now, window)
		if hash > below(s.admit) {
			return
		}
		e = s.find(hash)
	}
	if e.hash == 0 {
		s.used++
	}
	*e = slot{hash, failure, now}
}

// find returns the slot of hash, or the empty slot for it.
func (s *sample) find(hash uint64) *slot {
	for i := hash % slots; ; i = (i + 1) % slots {
		if e := &s.slots[i]; e.hash == hash || e.hash == 0 {
			return e
		}
	}
}

// sweep drops entries that have left the window. If that leaves too many, it halves the sample, so that a sweep is needed
// at most every most - keep additions. If it leaves few, more payloads may enter.
func (s *sample) sweep(now int64, window time.Duration) {
	var live [most]slot
	n := 0
	for _, e := range s.slots {
		if e.hash != 0 && within(now, e.at, window) {
			live[n] = e
			n++
		}
	}
	s.settle(now)
	if n > keep {
		s.admit++
		s.trust = max(s.trust, s.admit)
	} else if n < keep/4 && s.admit > 0 && s.trust == s.admit {
		for wouldBe := n; wouldBe < keep/4 && s.admit > 0; wouldBe *= 2 {
			s.admit--
		}
		s.trustAt = now + int64(window)
	}
	clear(s.slots)
	s.used, s.swept = 0, now
	for _, e := range live[:n] {
		if e.hash <= below(s.admit) {
			*s.find(e.hash) = e
			s.used++
		}
	}
}

// settle sets trust to admit after a complete window.
func (s *sample) settle(now int64) {
	if now >= s.trustAt {
		s.trust = s.admit
	}
}

// count returns how many payloads ended in the window, and how many of them in a failure.
func (s *sample) count(now int64, window time.Duration, failure uint64) (alike, ended int) {
	s.settle(now)
	limit := below(s.trust)
	for i := range s.slots {
		e := &s.slots[i]
		if e.hash == 0 || e.hash > limit || !within(now, e.at, window) {
			continue
		}
		ended++
		if e.failure == failure {
			alike++
		}
	}
	return alike, ended
}

// reset drops all entries but keeps the memory.
func (s *sample) reset() {
	clear(s.slots)
	*s = sample{slots: s.slots}
}

// hashPayload returns a uniform hash: the fingerprint is a keyed hash, and an id is mixed.
func hashPayload(payload bezoar.Fingerprint, id uint64) uint64 {
	h := binary.LittleEndian.Uint64(payload[:8])
	if payload.IsZero() {
		h = id + 0x9e3779b97f4a7c15 // splitmix64
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return max(h, 1) // 0 marks an empty slot
}

// hashFailure is FNV-1a. Two failures with the same hash count as one.
func hashFailure(failure string) uint64 {
	if failure == "" {
		return 0
	}
	h := uint64(0xcbf29ce484222325)
	for i := range len(failure) {
		h = (h ^ uint64(failure[i])) * 0x100000001b3
	}
	return max(h, 1)
}
