package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
)

const (
	// carefulFor is how long a worker is careful that has found nothing of an
	// earlier life.
	carefulFor = 2 * time.Minute
	// unended is how often a message may have been received, and nothing is known
	// of how that ended, until it is to run with nothing beside it.
	unended     = 3
	dangerPause = 20 * time.Millisecond
	// singly is how many messages have ended until a careful worker takes several
	// in one receive.
	singly  = 20
	maxEnds = 10_000
)

// careful reports whether an earlier life may have died of a message that this one
// knows nothing about: the worker is young, and has found no state.
func (w *Worker) careful() bool { return w.fresh && time.Since(w.start) < carefulFor }

// single reports whether a careful worker receives its messages one by one, so that
// few are in hand beside one that kills.
func (w *Worker) single() bool { return w.judge != nil && w.careful() && w.ends.n.Load() < singly }

// mayKill reports whether a careful worker takes a message for one that killed an
// earlier life: the queue suspects it, or it was received again and again and
// nothing is known of how that ended. Nothing is to be in hand beside it.
func (w *Worker) mayKill(m *Message) bool {
	if !w.careful() || w.about.Judges { // such a queue knows what vanished with whom
		return w.careful() && m.Alone
	}
	least := unended
	if most := w.about.MaxReceives; most > 0 { // one more must be left
		least = min(least, max(most-1, 2))
	}
	return m.Receives >= least && !w.ends.has(m.ID)
}

// lonely waits until nothing is here but this message, and others that may kill: they
// take turns. No other one is received meanwhile.
func (d *delivery) lonely() {
	for d.receiving.Err() == nil && d.ctx.Err() == nil && d.w.slots.running() > int(d.w.dangers.Load()) {
		sleep(d.receiving, dangerPause)
	}
}

// ends are messages that this life has seen end, and that come again: the newest.
type ends struct {
	n     atomic.Int64 // all that have ended
	mu    sync.Mutex   // guards all below
	ids   map[string]bool
	order []string
}

func (e *ends) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ids[id]
}

// add notes how a run ended, if its message comes again.
func (e *ends) add(id string, class bezoar.Class) {
	e.n.Add(1)
	if class == bezoar.Done {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ids == nil {
		e.ids = make(map[string]bool)
	}
	if e.ids[id] {
		return
	}
	if len(e.order) >= maxEnds {
		delete(e.ids, e.order[0])
		e.order = e.order[1:]
	}
	e.ids[id], e.order = true, append(e.order, id)
}
