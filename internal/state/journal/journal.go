package journal

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Record is one piece of work in flight.
type Record struct {
	Fingerprint bezoar.Fingerprint
	Shape       bezoar.Fingerprint
	Start       time.Time // in the years 1678 to 2262; kept to the nanosecond
	Successes   uint16    // decayed number of earlier successes, saturating
	Fleet       uint32    // the fleet, by a number that the caller can map back
	Exempt      bool      // it is never blamed
}

// The bounds on slots.
const (
	DefaultSlots = 4096
	MaxSlots     = 1 << 20
)

// slot is one record as words of memory. The first word is zero, or the generation of the file in which the others were
// written; it is written last.
type slot [8]uint64

const (
	slotState = iota
	slotPrint0
	slotPrint1
	slotShape0
	slotShape1
	slotStart
	slotRest // successes, the fleet from bit 16, exempt in bit 48
	slotSum
)

// live is the state of a slot in use.
func live(generation uint32) uint64 { return 0xbe20a12d<<32 | uint64(generation) }

// Journal is an open journal. Each slot belongs to one caller at a time, in any goroutine; callers hand slots out among
// themselves.
type Journal struct {
	live  uint64
	slots []slot // mapped, outside of Go's heap
	note  string
	wrote uint64 // the run that wrote what Open found
	file  *file
}

func (j *Journal) Slots() int { return len(j.slots) }

// Note returns what was wrong with the file that Open found, or "".
func (j *Journal) Note() string { return j.note }

// SetRun records which run of the program this is, by a unique number.
func (j *Journal) SetRun(id uint64) {
	atomic.StoreUint64(j.file.run, id)
	runtime.KeepAlive(j)
}

// WrittenBy returns the run that wrote the records that Open returned; 0 if it is not known.
func (j *Journal) WrittenBy() uint64 { return j.wrote }

// Begin records that r is in flight, in a slot from 0 to Slots()-1. Other slots are ignored: that work is not remembered.
func (j *Journal) Begin(slot int, r Record) {
	if uint(slot) >= uint(len(j.slots)) {
		return
	}
	s := &j.slots[slot]
	if atomic.LoadUint64(&s[slotState]) != 0 {
		atomic.StoreUint64(&s[slotState], 0) // nobody called End
	}
	s.encode(r)
	s[slotSum] = s.sum(j.live)
	atomic.StoreUint64(&s[slotState], j.live)
	runtime.KeepAlive(j) // and so the mapping
}

// End records that the work in slot is no longer in flight.
func (j *Journal) End(slot int) {
	if uint(slot) >= uint(len(j.slots)) {
		return
	}
	atomic.StoreUint64(&j.slots[slot][slotState], 0)
	runtime.KeepAlive(j)
}

func (s *slot) encode(r Record) {
	s[slotPrint0] = binary.NativeEndian.Uint64(r.Fingerprint[:8])
	s[slotPrint1] = binary.NativeEndian.Uint64(r.Fingerprint[8:])
	s[slotShape0] = binary.NativeEndian.Uint64(r.Shape[:8])
	s[slotShape1] = binary.NativeEndian.Uint64(r.Shape[8:])
	s[slotStart] = uint64(r.Start.UnixNano())
	s[slotRest] = uint64(r.Successes) | uint64(r.Fleet)<<16
	if r.Exempt {
		s[slotRest] |= 1 << 48
	}
}

func (s *slot) decode() (r Record) {
	binary.NativeEndian.PutUint64(r.Fingerprint[:8], s[slotPrint0])
	binary.NativeEndian.PutUint64(r.Fingerprint[8:], s[slotPrint1])
	binary.NativeEndian.PutUint64(r.Shape[:8], s[slotShape0])
	binary.NativeEndian.PutUint64(r.Shape[8:], s[slotShape1])
	r.Start = time.Unix(0, int64(s[slotStart]))
	r.Successes = uint16(s[slotRest])
	r.Fleet = uint32(s[slotRest] >> 16)
	r.Exempt = s[slotRest]>>48&1 == 1
	return r
}

// sum detects torn records. It need not resist attacks: anybody who can write the file can write sums.
func (s *slot) sum(state uint64) uint64 {
	h := state ^ 0x9e3779b97f4a7c15
	for _, word := range s[slotPrint0:slotSum] {
		high, low := bits.Mul64(h^word, 0xa0761d6478bd642f)
		h = high ^ low ^ word
	}
	return h
}
