package sim

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar/policy/blame"
)

// pill is one poisonous payload.
type pill struct {
	kind   Pills
	work   blame.Work
	delay  time.Duration // from its start to its worker's death
	unsafe bool

	deaths  int  // workers that it has killed
	excused int  // of them, those that law 3 does not count
	slack   int  // that its kind is allowed besides
	company int  // with how many it killed a lane worker that was not clean, at most; 0: never
	pinned  bool // recognised as conditional: never to be refused again
}

// deterministic reports whether every run of it kills.
func (p *pill) deterministic() bool { return p.kind != Conditional }

// unclean is how many workers more it may cost because it killed lane workers on
// which others ran, or had just been answered: halving its company takes so many.
func (p *pill) unclean() int { return bits.Len(uint(p.company)) }

// poison does what the pill does when its attempt begins.
func (w *world) poison(slot int32, p *pill) {
	r := &w.requests[slot]
	k := &w.workers[r.worker]
	switch p.kind {
	case Hang:
		r.service = math.MaxInt64
		if w.set.eventLoop && !k.mute {
			k.mute, k.hung = true, r.pill
			w.hush(r.worker)
		}
	case Conditional:
		if k.inFlight > 2 { // two others besides it
			r.killAt = w.now + int64(p.delay)
		}
	case Tail:
		r.killAt = w.now + int64(p.delay)
		w.after(2*time.Millisecond, evBegun, slot, r.gen)
	default:
		r.killAt = w.now + int64(p.delay)
	}
}

// plan writes all pills and all noise into the future.
func (w *world) plan() {
	for k := Pills(1); k <= allPills; k <<= 1 {
		if w.Pills&k != 0 {
			w.planPills(k, w.stream(uint64(100+k)))
		}
	}
	w.planNoise()
	w.after(time.Second, evTick, 0, 0)
}

// planPills plans all payloads of one kind and when their copies arrive.
func (w *world) planPills(k Pills, r *rand.Rand) {
	when := func() time.Duration { return 2*time.Second + time.Duration(r.Float64()*float64(w.set.length)) }
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(r.Int64N(int64(b-a))) }
	payloads := 1 + r.IntN(4)
	shape := uint64(shapes + 1 + k) // its own …
	if r.IntN(2) == 0 {
		shape = r.Uint64N(shapes) // … or one that innocents have, too
	}
	if k == Unique {
		payloads = 20 + r.IntN(80)
	}
	for range payloads {
		p := pill{kind: k, unsafe: r.Float64() < w.set.unsafe}
		id := uint64(len(w.pills))
		p.work = w.work(aPill, id, shape)
		p.work.Client = w.print(aClient, clients+uint64(k))
		p.delay = between(time.Millisecond, 20*time.Millisecond)
		gap, copies := between(500*time.Millisecond, 5*time.Second), 2+r.IntN(40)
		start := when()
		switch k {
		case Late:
			p.delay = between(50*time.Millisecond, time.Second)
		case Tail:
			p.delay = between(50*time.Millisecond, 2500*time.Millisecond)
			p.slack = streaming(p.delay) + int(p.delay/time.Second)
		case Deserted:
			p.delay = between(20*time.Millisecond, 200*time.Millisecond)
			// What is answered in the lane shortly before its death hides it, until it
			// runs on a worker that is clean.
			p.slack = 3*max(2, w.set.after) + 2
		case Unique:
			copies = 1
		case Burst:
			w.heap.push(event{at: w.now + int64(start), kind: evPill, a: int32(id), b: 64})
		case Conditional:
			gap, copies = 50*time.Millisecond, 2000
		}
		w.pills = append(w.pills, p)
		w.laws.poison[p.work.Fingerprint] = int32(id)
		at := w.now + int64(start)
		for range copies {
			if at > w.now+int64(w.set.length) {
				break
			}
			w.heap.push(event{at: at, kind: evPill, a: int32(id), b: 1})
			at += int64(float64(gap) * r.ExpFloat64())
		}
	}
}

// streaming is how many copies may have joined while the answer of the first
// was streaming for d: none in the first second, then waves that double.
func streaming(d time.Duration) int {
	n := 0
	for wave := 1; time.Duration(wave)*time.Second <= d; wave++ {
		n += 1 << wave
	}
	return n
}

// arriveCopies lets copies of a pill arrive.
func (w *world) arriveCopies(id int32, copies int) {
	for range copies {
		p := &w.pills[id]
		service := time.Duration(w.traffic.rand.ExpFloat64()*float64(w.set.service)) + time.Microsecond
		slot := w.open(p.work, id, service)
		r := &w.requests[slot]
		r.unsafe, r.aborts = p.unsafe, p.kind == Deserted
		w.turn(slot)
	}
}
