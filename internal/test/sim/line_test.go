package sim

import (
	"slices"
	"time"
)

// mostHeld is how long work is held back, as in package dispatch.
const mostHeld = 10 * time.Second

// holdBack puts a request into the line of those that go back to the fleet by few at a
// time, where the first asks again at until.
func (w *world) holdBack(slot int32, until time.Time) {
	r := &w.requests[slot]
	if r.where != heldBack {
		if !w.patient(slot) {
			r.work.Waited = true
			w.turn(slot)
			return
		}
		r.where = heldBack
		w.line = append(w.line, slot)
		w.after(mostHeld, evHeld, slot, r.life)
		w.stats.HeldBack++
	}
	if !w.asking {
		w.asking = true
		w.after(until.Sub(w.at()), evLine, 0, 0)
	}
}

// moveLine lets the first ask again, and who comes after it when it may run.
func (w *world) moveLine() {
	w.asking = false
	for len(w.line) > 0 && !w.asking {
		if w.turn(w.line[0]); !w.asking {
			w.line = w.line[1:]
		}
	}
}

// letGo ends the wait of a request that has been held back for as long as may be.
func (w *world) letGo(slot int32) {
	r := &w.requests[slot]
	if r.where != heldBack {
		return
	}
	w.line = slices.DeleteFunc(w.line, func(s int32) bool { return s == slot })
	r.where, r.work.Waited = nowhere, true
	w.turn(slot)
}
