package blame

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// Copies of unproven work may take long to answer, as long polls do. If all waited for the
// first answer, each caller of a long poll would be alone. So they run beside the first after a
// while, on its worker: if the work kills, it kills that worker, and no other.
const (
	besideAfter    = 5 * time.Second        // that the worker must live with the first one
	besideDoubling = 500 * time.Millisecond // … until twice as many run there
	besideFresh    = 1500 * time.Millisecond
)

// Alive says that a look found the worker of an epoch well: work that it does not answer is
// slow, and does not hang it.
func (state *State) Alive(now time.Time, id uint64) {
	if i, ok := state.byEpoch[id]; ok {
		state.epochs[i].looked = now.UnixNano()
	}
}

// beside returns the epoch on which a copy of work that is in flight may run. The worker must
// have answered something, or have been found well, a while after it was given that work, and
// lately: one that hangs gets no more of it.
func (state *State) beside(now int64, fp bezoar.Fingerprint) (epoch uint64, ok bool) {
	d := state.leaders[fp]
	if d.first == none || state.recovery.until != 0 {
		return 0, false
	}
	tk := &state.tickets[d.first]
	if tk.epoch == none || tk.lane || slices.Contains(state.mutes, tk.epoch) {
		return 0, false
	}
	e := &state.epochs[tk.epoch]
	seen := max(e.heard, e.looked)
	lived := seen - tk.started - int64(besideAfter)
	if lived < 0 || now-seen > int64(besideFresh) || d.running >= uint32(2)<<min(20, lived/int64(besideDoubling)) {
		return 0, false
	}
	return e.id, true
}
