package sim

import (
	"time"
)

// planNoise plans the faults that no work is to blame for.
func (w *world) planNoise() {
	length := int64(w.set.length)
	if w.Noise&IdleDeaths != 0 {
		r := w.stream(201)
		for range 5 + w.Workers/100 {
			w.heap.push(event{at: w.now + r.Int64N(length), kind: evIdleDeath, a: int32(r.IntN(w.Workers))})
		}
	}
	if w.Noise&Deploys != 0 {
		r := w.stream(202)
		at := w.now + r.Int64N(length/2)
		for i := range w.Workers {
			w.heap.push(event{at: at, kind: evDrain, a: int32(i)})
			at += r.Int64N(length / int64(2*w.Workers))
		}
	}
	if w.Noise&MassCrash != 0 {
		r := w.stream(203)
		spread := time.Duration(r.Int64N(int64(300 * time.Millisecond)))
		if r.IntN(3) == 0 {
			spread = 0
		}
		w.heap.push(event{at: w.now + length/4 + r.Int64N(length/2), kind: evMass, b: uint32(spread)})
	}
	if w.Noise&BadDeploy != 0 {
		r := w.stream(204)
		at := w.now + length/4 + r.Int64N(length/2)
		part := w.Workers
		if r.IntN(2) == 0 {
			part = 1 + w.Workers/10
		}
		w.heap.push(event{at: at, kind: evBad, b: uint32(part)})
		w.heap.push(event{at: at + int64(time.Second) + r.Int64N(int64(20*time.Second)), kind: evGood})
	}
}

// mass kills everybody within spread.
func (w *world) mass(spread time.Duration) {
	up := 0
	for i := range w.workers {
		if k := &w.workers[i]; k.state != down {
			w.after(time.Duration(w.pick.Int64N(int64(spread)+1)), evMassOne, int32(i), uint32(k.epoch))
			if k.state == serving {
				up++ // deaths in the lane say nothing about the fleet
			}
		}
	}
	w.laws.massBegan(w, spread, up)
}

// rollOut replaces the build of some workers by one that dies of everything.
func (w *world) rollOut(part int) {
	w.badNow = true
	w.fewDie = part < max(6, w.Workers/2)
	w.announce()
	for i := range part {
		w.after(time.Duration(w.pick.Int64N(int64(2*time.Second))), evDrain, int32(i), 0)
	}
}

// rollBack goes back to the build before, at once.
func (w *world) rollBack() {
	w.badNow = false
	w.announce()
	for i := range w.workers {
		if k := &w.workers[i]; k.bad && k.state != down {
			w.after(0, evDrain, int32(i), 0)
		}
	}
}

func (w *world) announce() {
	if w.set.suspends {
		w.state.Suspend(w.at(), w.at().Add(10*time.Second))
		w.drain()
	}
	w.state.NewBuild(w.at())
}
