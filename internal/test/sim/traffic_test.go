package sim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// traffic is where requests come from.
type traffic struct {
	rand  *rand.Rand
	zipf  *rand.Zipf
	next  int64 // when the next one arrives
	gap   float64
	seen  uint64 // unique works so far
	works []blame.Work
	slow  blame.Work
}

// What fingerprints identify.
const (
	aWork uint64 = iota + 1
	aUnique
	aShape
	aClient
	aPill
)

// print is the fingerprint of the i-th thing of a kind: uniform, as keyed
// hashes are.
func (w *world) print(kind, i uint64) (fp bezoar.Fingerprint) {
	x := w.Seed*0x9e3779b97f4a7c15 + kind<<56 + i
	putHash(&fp, mix(x), mix(x^0xd1b54a32d192ed03))
	return fp
}

func putHash(fp *bezoar.Fingerprint, lo, hi uint64) {
	binary.LittleEndian.PutUint64(fp[:8], lo)
	binary.LittleEndian.PutUint64(fp[8:], hi)
}

// mix is splitmix64's finaliser.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	shapes  = 12
	clients = 32
)

func newTraffic(w *world) *traffic {
	t := &traffic{rand: w.stream(3), next: w.now + int64(time.Second)}
	t.zipf = rand.NewZipf(t.rand, 1.2, 2, uint64(w.set.popular-1))
	t.gap = float64(w.set.length) / float64(w.Requests)
	for i := range uint64(w.set.popular) {
		t.works = append(t.works, w.work(aWork, i, i%shapes))
	}
	t.slow = w.work(aWork, 1<<20, shapes)
	return t
}

func (w *world) work(kind, i, shape uint64) blame.Work {
	return blame.Work{
		Fingerprint: w.print(kind, i), Shape: w.print(aShape, shape), Client: w.print(aClient, i%clients), Rule: &w.rule,
	}
}

// arrive lets the next innocent in.
func (w *world) arrive() {
	t := w.traffic
	w.left--
	t.next = w.now + int64(t.rand.ExpFloat64()*t.gap)
	var work blame.Work
	mean := float64(w.set.service)
	switch u := t.rand.Float64(); {
	case u < 0.002:
		work, mean = t.slow, float64(w.set.slow)
	case u < 0.002+w.set.unique:
		t.seen++
		work = w.work(aUnique, t.seen, t.seen%shapes)
	default:
		work = t.works[t.zipf.Uint64()]
	}
	service := min(mean*t.rand.ExpFloat64(), float64(w.set.timeout)*0.9)
	slot := w.open(work, none, time.Duration(service)+time.Microsecond)
	r := &w.requests[slot]
	r.unsafe = t.rand.Float64() < w.set.unsafe
	r.aborts = w.Noise&Aborts != 0 && t.rand.Float64() < 0.01
	w.turn(slot)
}

// planEnd plans the next thing that happens to an attempt that has just begun.
func (w *world) planEnd(slot int32) {
	if w.siege != nil {
		w.planShot(slot)
		return
	}
	r := &w.requests[slot]
	k := &w.workers[r.worker]
	random := w.traffic.rand
	at, kind := w.now+r.service, evDone
	r.killAt = 0
	if p := r.pill; p != none {
		w.poison(slot, &w.pills[p])
	}
	if k.bad || w.faults.killLane && r.inLane {
		r.killAt = w.now + int64(2*time.Millisecond)
	}
	switch {
	case r.killAt != 0:
		at, kind = r.killAt, evKill
	case r.service == math.MaxInt64: // hangs
		at, kind = w.now+int64(w.set.timeout), evOverdue
	}
	if r.aborts && kind != evOverdue {
		if early := w.now + int64(random.Float64()*float64(at-w.now)); early < at {
			at, kind = early, evAbort
		}
	}
	if w.Noise&Faults != 0 && r.pill == none && random.Float64() < 1e-4 {
		if early := w.now + int64(random.Float64()*float64(r.service)); early < at {
			at, kind = early, evFault
		}
	}
	w.heap.push(event{at: at, kind: kind, a: slot, b: r.gen})
}

// leaveAbandoned leaves behind what an abandoned attempt is still going to do.
func (w *world) leaveAbandoned(slot int32) {
	r := &w.requests[slot]
	if r.killAt == 0 {
		return
	}
	k := &w.workers[r.worker]
	cause := r.pill
	if k.bad {
		cause = none
	}
	w.abandoned = append(w.abandoned, abandonedAttempt{worker: r.worker, epoch: k.epoch, pill: cause, class: w.deathClass(cause)})
	w.heap.push(event{at: r.killAt, kind: evAbandoned, a: int32(len(w.abandoned) - 1)})
}
