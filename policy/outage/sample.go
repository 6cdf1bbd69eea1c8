package outage

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// The size of a sample. It is a hash table, so that a third of its slots stays
// empty.
const (
	slots = 1024
	most  = slots * 5 / 8 // entries, those that have expired included
	keep  = 512           // entries that are left after a sweep without thinning out
)

// slot is one payload as it ended last.
type slot struct {
	hash    uint64 // of the payload; 0 for an empty slot
	failure uint64 // hash of the failure; 0 for none that counts
	at      int64
}

// sample is an even sample of the distinct payloads that ended in the window:
// those whose hash is below a threshold.
type sample struct {
	slots []slot
	used  int
	swept int64
	// The thresholds, as shifts of the whole range: of all payloads 1/2^admit
	// enter, and 1/2^trust count. What a lowered shift lets in is not complete
	// before trustAt.
	admit, trust uint8
	trustAt      int64
}

// below is the highest hash that a threshold lets through.
func below(shift uint8) uint64 { return math.MaxUint64 >> shift }

// within reports whether at is in the window around now: of a clock that
// stepped back by more, nothing is left.
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

// find returns the slot of hash, or the empty one where it belongs.
func (s *sample) find(hash uint64) *slot {
	for i := hash % slots; ; i = (i + 1) % slots {
		if e := &s.slots[i]; e.hash == hash || e.hash == 0 {
			return e
		}
	}
}

// sweep drops what has left the window. When that leaves too many it halves
// the sample, so that a sweep pays for at least most - keep additions; when it
// leaves few, more may enter.
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

// settle trusts what has been let in for a whole window.
func (s *sample) settle(now int64) {
	if now >= s.trustAt {
		s.trust = s.admit
	}
}

// count returns how many payloads ended in the window, and how many of them in
// a failure.
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

// reset forgets everything but keeps the room.
func (s *sample) reset() {
	clear(s.slots)
	*s = sample{slots: s.slots}
}

// hashPayload is uniform: the fingerprint is a keyed hash, and an id is mixed.
func hashPayload(payload bezoar.Fingerprint, id uint64) uint64 {
	h := binary.LittleEndian.Uint64(payload[:8])
	if payload.IsZero() {
		h = id + 0x9e3779b97f4a7c15 // splitmix64
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return max(h, 1) // 0 is an empty slot
}

// hashFailure is FNV-1a. Whoever finds two failures with the same hash has two
// that count as one.
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
