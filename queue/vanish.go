package queue

import (
	"context"
	"errors"
	"time"
)

// If at least massLeast workers vanish within massWindow, something else than their messages is the cause.
const (
	massWindow = time.Second
	massLeast  = 3
	// blameFor is how long a store is asked to record a vanished worker.
	blameFor = time.Minute
)

// departure is one worker that vanished with deliveries in flight.
type departure struct {
	worker  *holder // nil after it was handled
	at      time.Time
	holders int  // workers that held something then, including itself
	lone    bool // there were at most two workers, including itself
	alone   bool // it ran a suspect
	certain bool // a live worker would have extended its lease
	how     ending
}

// ending tells how a worker vanished.
type ending uint8

const (
	unseen ending = iota // its connection has closed
	reborn               // a new life of it has begun: it is dead
	viewer               // its connection has closed, and workers like it have never ended a delivery
)

// Vanished says that a worker is gone because its connection has closed. worker is its
// ReceiveInput.Worker. A message that it still holds after Config.VanishGrace, and that
// nobody settles before its lease is over, has crashed it: see package poison. Messages of
// workers without a name never count as vanished.
//
// If within a second at least three workers vanish, and half of those that hold something,
// the cause is something else, and nothing is convicted. Messages that they held are tried
// alone; messages that already ran alone are not blamed. Workers that ran a suspect alone
// do not count here, since they are expected to die.
//
// A connection may also close while its worker lives, and somebody may stop the only
// worker. So with one or two workers, a lease has to end once more, a delivery that
// convicts gets one more lease to be settled in, and a later Delete proves that the worker
// lived: see Engine.Delete.
func (e *Engine) Vanished(worker string) { e.depart(worker, unseen) }

// Viewed is Vanished for a worker of a kind that has never settled a delivery, though
// others have: it only looks at messages. They become suspects, and nothing is convicted.
func (e *Engine) Viewed(worker string) { e.depart(worker, viewer) }

func (e *Engine) depart(worker string, how ending) {
	h, now := e.holdings, time.Now()
	h.mu.Lock()
	gone := h.depart(worker, how, now)
	h.mu.Unlock()
	if gone {
		e.stats.vanished.Add(1)
		e.hurry()
	}
}

// depart records that a worker has vanished. It returns false if it held nothing. The caller holds the lock.
func (h *holdings) depart(worker string, how ending, now time.Time) bool {
	w := h.join(worker)
	if w == nil {
		delete(h.seen, worker)
		return false
	}
	for d := w.first; d != nil; {
		next := d.next
		if !d.until.After(now) {
			h.drop(d)
		}
		d = next
	}
	if w.count == 0 {
		delete(h.seen, worker)
		return false
	}
	certain := how == reborn || h.seen[instance(worker)].life != ""
	w.gone = true // another worker may come with the same name
	delete(h.holders, worker)
	holders := len(h.holders) + 1
	for _, d := range h.gone {
		if d.worker != nil {
			holders++
		}
	}
	h.gone = append(h.gone, &departure{worker: w, at: now, holders: holders, lone: h.fleet(worker, now) <= loneFleet, alone: w.alone > 0, certain: certain, how: how})
	return true
}

// due returns the departures whose grace is over, whether each was one of many, and when the next one is due (negative:
// none). It forgets old ones.
func (h *holdings) due(now time.Time, grace time.Duration) (due []*departure, mass []bool, next time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	next = -1
	kept := h.gone[:0]
	for _, d := range h.gone {
		left := d.at.Add(grace).Sub(now)
		switch {
		case d.worker != nil && (left <= 0 || d.how == reborn):
			due, mass = append(due, d), append(mass, h.mass(d))
		case d.worker != nil && (next < 0 || left < next):
			next = left
		}
		if d.worker != nil || now.Sub(d.at) <= 2*massWindow {
			kept = append(kept, d)
		}
	}
	clear(h.gone[len(kept):])
	h.gone = kept
	return due, mass, next
}

// mass reports whether so many vanished around a departure that their messages are not the cause.
func (h *holdings) mass(of *departure) bool {
	n, holders := 0, 0
	for _, d := range h.gone {
		if d.at.Sub(of.at).Abs() <= massWindow {
			holders = max(holders, d.holders)
			if !d.alone {
				n++
			}
		}
	}
	return n >= max(massLeast, (holders+1)/2)
}

// lot is the flags with which a group of receipts is noted.
type lot struct {
	queue int64
	flags int // LoneHolding, PatientHolding
}

// blame returns the receipts to mark for one departure, and how many messages its worker held.
func (h *holdings) blame(d *departure, mass bool) (receipts map[lot][]Receipt, holding int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	receipts = make(map[lot][]Receipt)
	mass = mass || d.how == viewer
	for held := d.worker.first; held != nil; held = held.next {
		if mass && held.alone {
			continue
		}
		l := lot{queue: held.receipt.Queue}
		if d.lone {
			l.flags = LoneHolding
		}
		if held.alone && !d.certain { // the worker may live and finish in time
			l.flags += PatientHolding
		}
		receipts[l] = append(receipts[l], held.receipt)
		holding++
		h.accuse(held.receipt, blamed{held.id, held.payload})
	}
	if mass {
		holding = max(holding, 2) // suspect, never convicted
	}
	return receipts, holding
}

func (h *holdings) forget(d *departure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for held := d.worker.first; held != nil; held = d.worker.first {
		h.drop(held)
	}
	d.worker = nil
}

// vanish notes the messages of vanished workers, and returns when to look again.
func (e *Engine) vanish(ctx context.Context) time.Duration {
	now := time.Now()
	due, mass, next := e.holdings.due(now, e.config.VanishGrace)
	crowd := 0
	for i, d := range due {
		receipts, holding := e.holdings.blame(d, mass[i])
		failed := false
		for l, some := range receipts {
			err := e.store.Vanish(ctx, l.queue, some, holding+l.flags)
			if err != nil && !errors.Is(err, ErrQueueNotFound) {
				e.complain(ctx, "note what worker "+d.worker.name+" held", err)
				failed = true
			}
			e.share(ctx, some)
		}
		if failed && now.Sub(d.at) < blameFor {
			next = e.config.SweepEvery
			continue
		}
		if mass[i] {
			crowd++
			e.stats.mass.Add(1)
		}
		e.config.Log.Info("a worker vanished with messages", "worker", d.worker.name, "messages", holding, "one_of_many", mass[i])
		e.holdings.forget(d)
	}
	if crowd > 0 {
		e.config.Log.Warn("many workers vanished at once: nothing is convicted for it", "workers", crowd, "of", due[0].holders)
	}
	return e.soon(next)
}
