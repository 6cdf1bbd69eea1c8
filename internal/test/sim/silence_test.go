package sim

import "time"

// What package fleet does about workers that fall silent.
const (
	silentAfter = 250 * time.Millisecond // without an answer, until nothing new is given to one
	muteAfter   = 200 * time.Millisecond // a look at it without an answer, until the state is told
)

// hush says that worker i answers nothing any more, which will be noticed.
func (w *world) hush(i int32) {
	w.after(silentAfter, evSilent, i, uint32(w.workers[i].epoch))
}

// silent notices it.
func (w *world) silent(i int32, epoch uint32) {
	k := &w.workers[i]
	if !k.mute || k.state == down || uint32(k.epoch) != epoch {
		return
	}
	if !k.silent {
		k.silent = true
		w.withdraw(i)
		w.after(muteAfter, evSilent, i, epoch)
		return
	}
	w.state.Silent(w.at(), k.epoch, true)
}

// look finds workers well that have only slow work.
func (w *world) look() {
	for i := range w.workers {
		if k := &w.workers[i]; k.state == serving && k.inFlight > 0 && !k.mute && !k.gone {
			w.state.Alive(w.at(), k.epoch)
		}
	}
}

// anySilent returns the least busy worker that is silent: better than none.
func (w *world) anySilent() int32 {
	best := none
	for i := range w.workers {
		if k := &w.workers[i]; k.silent && k.state == serving && (best == none || k.inFlight < w.workers[best].inFlight) {
			best = int32(i)
		}
	}
	return best
}
