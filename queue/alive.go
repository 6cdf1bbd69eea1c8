package queue

import (
	"context"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

const (
	// loneFleet is how many workers are so few that one which vanishes may have
	// been stopped on purpose, and seenFor how long one counts that asks no more.
	loneFleet = 2
	seenFor   = time.Minute
	maxSeen   = 10_000
	// maxBlamed bounds the deliveries that are remembered because their worker has
	// vanished; the oldest go.
	maxBlamed = 10_000
)

// blamed is a delivery whose worker has vanished.
type blamed struct {
	id      string // of its message
	payload bezoar.Fingerprint
}

// asks notes that a worker asks for messages.
func (h *holdings) asks(worker string, now time.Time) {
	if worker == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	worker = instance(worker)
	if _, known := h.seen[worker]; !known && len(h.seen) >= maxSeen {
		for other, at := range h.seen {
			if now.Sub(at) > seenFor {
				delete(h.seen, other)
			}
		}
		if len(h.seen) >= maxSeen {
			return // more than enough to be many
		}
	}
	h.seen[worker] = now
}

// instance is a worker's name without the number of its receive.
func instance(worker string) string {
	if at := strings.LastIndexByte(worker, '#'); at > 0 {
		return worker[:at]
	}
	return worker
}

// join makes one holder of all that a worker holds, whose receives have numbers;
// nil if it holds nothing. The caller holds the lock.
func (h *holdings) join(worker string) *holder {
	whole := h.holders[worker]
	for name, w := range h.holders {
		if name == worker || instance(name) != worker {
			continue
		}
		if whole == nil {
			whole = &holder{name: worker}
			h.holders[worker] = whole
		}
		for d := w.first; d != nil; d = w.first {
			w.first = d.next
			d.by, d.prev, d.next = whole, nil, whole.first
			if whole.first != nil {
				whole.first.prev = d
			}
			whole.first = d
		}
		whole.count, whole.alone = whole.count+w.count, whole.alone+w.alone
		delete(h.holders, name)
	}
	return whole
}

// fleet is how many workers there are: those that hold something, and those that
// have asked lately, the one that goes included. The caller holds the lock.
func (h *holdings) fleet(going string, now time.Time) int {
	delete(h.seen, instance(going))
	there := map[string]bool{instance(going): true}
	for _, d := range h.gone { // at about the same time
		if d.worker != nil {
			there[instance(d.worker.name)] = true
		}
	}
	for name := range h.holders {
		if there[instance(name)] = true; len(there) > loneFleet {
			return len(there)
		}
	}
	for name, at := range h.seen {
		if now.Sub(at) <= seenFor {
			if there[name] = true; len(there) > loneFleet {
				break
			}
		}
	}
	return len(there)
}

// accuse remembers a delivery whose worker has vanished. The caller holds the
// lock.
func (h *holdings) accuse(r Receipt, d *holding) {
	if _, known := h.blamed[r]; !known {
		if len(h.order) >= maxBlamed {
			delete(h.blamed, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, r)
	}
	h.blamed[r] = blamed{d.id, d.payload}
}

// absolve returns a delivery that was blamed, once.
func (h *holdings) absolve(r Receipt) (b blamed, was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b, was = h.blamed[r]; was && b.id != "" {
		h.blamed[r] = blamed{} // its place in the order stays
		return b, true
	}
	return b, false
}

// alive takes back what was held against payloads because their workers had
// vanished: these delete now, and so have lived and are done. A letter that was
// made of it goes.
func (e *Engine) alive(ctx context.Context, q *Queue, receipts []Receipt) {
	for _, r := range receipts {
		b, was := e.holdings.absolve(r)
		if !was {
			continue
		}
		if !b.payload.IsZero() {
			p := q.Settings.Quarantine.Poison()
			err := e.store.ChangeCase(ctx, q.ID, b.payload, func(c *poison.Case, now int64) *poison.Case {
				if c == nil || c.Class != bezoar.Crash || !strings.HasPrefix(c.Reason, ReasonVanished) {
					return c
				}
				return p.Work(c, now)
			})
			e.complain(ctx, "take back what was held against a payload of queue "+q.Name, err)
		}
		e.unbury(ctx, q, b.id)
	}
}

// unbury deletes the letter of a message that is done.
func (e *Engine) unbury(ctx context.Context, q *Queue, id string) {
	d, err := e.store.Letter(ctx, id)
	if err != nil || d.Letter == nil || d.Letter.Origin != q.Name || d.Letter.Class != bezoar.Crash || d.Letter.Discarded != nil ||
		!strings.HasPrefix(d.Letter.Reason, ReasonVanished) {
		if CodeOf(err) != ErrLetterNotFound {
			e.complain(ctx, "look for the letter of a message that is done", err)
		}
		return
	}
	if _, err := e.store.Delete(ctx, d.Receipt.Queue, false, []Receipt{d.Receipt}); err != nil {
		e.complain(ctx, "delete the letter of a message that is done", err)
		return
	}
	e.config.Log.Info("a message was done after all: its letter is deleted", "queue", q.Name, "message", id)
}
