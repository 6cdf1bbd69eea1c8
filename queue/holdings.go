package queue

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
)

// maxHoldings bounds the deliveries that are remembered by worker. Beyond it, deliveries of a vanished worker are not
// noticed, and their messages come back when the leases end.
const maxHoldings = 1 << 18

// holdings are the deliveries of this engine to named workers: which worker holds what, and until when.
type holdings struct {
	mu      sync.Mutex // guards all below; never held while waiting
	held    map[Receipt]*holding
	holders map[string]*holder
	queues  map[int64]int // deliveries, by queue
	gone    []*departure
	seen    map[string]seen    // workers that ask, by name
	blamed  map[Receipt]blamed // deliveries whose worker has vanished
	order   []Receipt          // of blamed, the oldest first
}

type holding struct {
	receipt    Receipt
	id         string // of its message
	until      time.Time
	payload    bezoar.Fingerprint
	alone      bool
	redriven   bool // it was a dead letter before
	by         *holder
	prev, next *holding // with the same holder
}

// holder is a worker that holds something.
type holder struct {
	name  string
	first *holding
	count int
	alone int // how many of them were received alone
	gone  bool
}

func newHoldings() *holdings {
	return &holdings{
		held: make(map[Receipt]*holding), holders: make(map[string]*holder), queues: make(map[int64]int),
		seen: make(map[string]seen), blamed: make(map[Receipt]blamed),
	}
}

// add records the messages that a worker has received.
func (h *holdings) add(worker string, queue int64, until time.Time, messages []Message) {
	if worker == "" || len(messages) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.holders[worker]
	if w == nil {
		w = &holder{name: worker}
		h.holders[worker] = w
	}
	for i := range messages {
		if len(h.held) >= maxHoldings {
			break
		}
		m := &messages[i]
		d := &holding{receipt: m.Receipt, id: m.ID, until: until, payload: m.Payload, alone: m.Alone, redriven: m.Lineage != nil, by: w, next: w.first}
		if w.first != nil {
			w.first.prev = d
		}
		w.first = d
		w.count++
		if d.alone {
			w.alone++
		}
		h.held[d.receipt] = d
		h.queues[queue]++
	}
	h.tidy(w)
}

// tidy forgets a worker that holds nothing.
func (h *holdings) tidy(w *holder) {
	if w.count == 0 && !w.gone && h.holders[w.name] == w {
		delete(h.holders, w.name)
	}
}

// drop forgets a delivery. The caller holds the lock.
func (h *holdings) drop(d *holding) {
	w := d.by
	if d.prev != nil {
		d.prev.next = d.next
	} else {
		w.first = d.next
	}
	if d.next != nil {
		d.next.prev = d.prev
	}
	w.count--
	if d.alone {
		w.alone--
	}
	delete(h.held, d.receipt)
	if h.queues[d.receipt.Queue]--; h.queues[d.receipt.Queue] <= 0 {
		delete(h.queues, d.receipt.Queue)
	}
	h.tidy(w)
}

// settle forgets a delivery that has ended and returns its payload.
func (h *holdings) settle(r Receipt) (payload bezoar.Fingerprint, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.held[r]
	if d == nil {
		return payload, false
	}
	payload = d.payload
	h.drop(d)
	return payload, true
}

// payload returns a delivery's payload, and whether the message was a dead letter before.
func (h *holdings) payload(r Receipt) (payload bezoar.Fingerprint, redriven, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.held[r]; d != nil {
		return d.payload, d.redriven, true
	}
	return payload, false, false
}

// extend moves the end of a lease. A worker that extends it after its connection has closed has another connection, so the
// delivery no longer counts as lost.
func (h *holdings) extend(r Receipt, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch d := h.held[r]; {
	case d == nil:
	case d.by.gone:
		h.drop(d)
	default:
		d.until = until
	}
}

// busy reports until when a worker holds a message that it received alone.
func (h *holdings) busy(worker string, now time.Time) (until time.Time, busy bool) {
	if worker == "" {
		return until, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.holders[worker]
	if w == nil || w.alone == 0 {
		return until, false
	}
	for d := w.first; d != nil; d = d.next {
		if d.alone && d.until.After(now) && d.until.After(until) {
			until, busy = d.until, true
		}
	}
	return until, busy
}

func (h *holdings) holds(worker string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.holders[worker]
	if w == nil {
		return false
	}
	for d := w.first; d != nil; d = d.next {
		if d.until.After(now) {
			return true
		}
	}
	return false
}

// count returns how many deliveries of a queue are remembered.
func (h *holdings) count(queue int64) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.queues[queue]
}

// expire forgets deliveries whose leases are over. It handles deliveries of vanished workers first.
func (h *holdings) expire(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.held {
		if !d.by.gone && !d.until.After(now) {
			h.drop(d)
		}
	}
}
