package overload

import (
	"cmp"
	"time"
)

// What a seat is taken by.
const (
	free uint8 = iota
	working
	begun  // its answer has begun, and it still counts
	stream // it counts no longer
)

// seat is the place of one pass. The begun ones are a list, the oldest first.
type seat struct {
	gen        uint32 // of its passes: those of older ones are void
	is         uint8
	at         int64  // when its answer began
	caller     uint64 // as the pass has it
	prev, next int32  // in the list; -1: none
}

// seats are all that have been needed at once so far.
type seats struct {
	all         []seat
	spare       []int32 // those that are free
	first, last int32   // of the list; -1: it is empty
}

func newSeats() seats { return seats{first: -1, last: -1} }

func (s *seats) take(p *Pass) {
	i := int32(len(s.all))
	if n := len(s.spare); n > 0 {
		i, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		s.all = append(s.all, seat{})
	}
	s.all[i].is, s.all[i].caller = working, p.caller
	p.seat, p.gen = i+1, s.all[i].gen
}

// of returns the seat of the pass; -1 when it has none any more.
func (s *seats) of(p Pass) int32 {
	i := p.seat - 1
	if i < 0 || int(i) >= len(s.all) || s.all[i].gen != p.gen || s.all[i].is == free {
		return -1
	}
	return i
}

func (s *seats) release(i int32) {
	s.unlink(i)
	s.all[i].gen++
	s.all[i].is = free
	s.spare = append(s.spare, i)
}

// begin puts the seat at the end of the list.
func (s *seats) begin(i int32, at int64) {
	n := &s.all[i]
	n.is, n.at, n.prev, n.next = begun, at, s.last, -1
	if s.last >= 0 {
		s.all[s.last].next = i
	} else {
		s.first = i
	}
	s.last = i
}

// unlink takes the seat out of the list, if it is there.
func (s *seats) unlink(i int32) {
	n := &s.all[i]
	if n.is != begun {
		return
	}
	if n.prev >= 0 {
		s.all[n.prev].next = n.next
	} else {
		s.first = n.next
	}
	if n.next >= 0 {
		s.all[n.next].prev = n.prev
	} else {
		s.last = n.prev
	}
	n.is = working
}

// Long returns Config.Long.
func (p *Pool) Long() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cfg.Long
}

// Begun says that the answer has begun and is not complete. After Config.Long it counts as
// a stream.
func (p *Pool) Begun(now time.Time, pass Pass) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.seats.of(pass); i >= 0 && p.seats.all[i].is == working {
		p.seats.begin(i, now.UnixNano())
	}
}

// Stream says that the work has become a stream: a connection with another protocol, or an
// answer without an end. It frees the slot. It returns false if as many streams are open
// as allowed; the work then keeps its slot.
func (p *Pool) Stream(now time.Time, pass Pass) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.seats.of(pass)
	if i < 0 || p.seats.all[i].is == stream {
		return i >= 0
	}
	if !p.detach(i, pass.caller) {
		return false
	}
	p.advance(now)
	return true
}

// detach makes a stream of what sits there, if there may be one more.
func (p *Pool) detach(i int32, caller uint64) bool {
	if p.cfg.Streams == Off || p.streams >= p.cfg.Streams {
		return false
	}
	if caller != 0 {
		most := p.cfg.PerCaller
		most = cmp.Or(most, p.cfg.Streams)
		if _, ok := p.streaming.take(caller, most); !ok {
			return false
		}
		p.callers.drop(caller)
	}
	p.seats.unlink(i)
	p.seats.all[i].is = stream
	p.streams++
	p.inFlight--
	return true
}

// long reports whether an answer has gone on for so long that it is a stream.
func (p *Pool) long(now time.Time) bool {
	i := p.seats.first
	return i >= 0 && now.UnixNano()-p.seats.all[i].at >= int64(p.cfg.Long)
}

// sweep makes streams of answers that have gone on for long. Those that must not
// be are looked at again later.
func (p *Pool) sweep(now time.Time) {
	for p.long(now) {
		i := p.seats.first
		if p.detach(i, p.seats.all[i].caller) {
			continue
		}
		p.seats.unlink(i)
		p.seats.begin(i, now.UnixNano())
	}
}

// endStream ends what detach began.
func (p *Pool) endStream(pass Pass) {
	p.streams--
	if pass.caller != 0 {
		p.streaming.drop(pass.caller)
	}
}

// streamsTaken says why the caller may not ask for a stream, and how many it has.
func (p *Pool) streamsTaken(r Request) (v verdict, n int) {
	switch {
	case !r.Stream || p.cfg.Streams == Off:
		return granted, 0
	case p.streams >= p.cfg.Streams:
		return manyStreams, 0
	case r.Caller != 0 && p.cfg.PerCaller > 0:
		if n := p.streaming[r.Caller]; n >= p.cfg.PerCaller {
			return greedyStreams, n
		}
	}
	return granted, 0
}
