package queue

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/poison"
)

const (
	// loneFleet is the number of workers up to which a vanished worker may have been stopped on purpose. A worker that
	// stops asking counts for seenFor.
	loneFleet = 2
	seenFor   = time.Minute
	maxSeen   = 10_000
	maxFormer = 16 // earlier lives of one name that are remembered
	// maxBlamed bounds the deliveries that are remembered because their worker has vanished; the oldest are dropped. All
	// processes know, for sharedFor, the first maxShared of those that one process blames at once.
	maxBlamed = 10_000
	maxShared = 100
	sharedFor = time.Hour
)

const blamedMarks = "blamed/"

// share tells all processes, and the next life of this one, which deliveries are blamed: a late delete may come to any of
// them.
func (e *Engine) share(ctx context.Context, receipts []Receipt) {
	for _, r := range receipts[:min(len(receipts), maxShared)] {
		e.holdings.mu.Lock()
		b := e.holdings.blamed[r]
		e.holdings.mu.Unlock()
		doc, err := json.Marshal(b)
		if err == nil && b.ID != "" {
			_, err = e.store.PutMark(ctx, Mark{Key: blamedMarks + r.String(), Doc: doc, TTL: sharedFor})
		}
		if !errors.Is(err, ErrConflict) { // it is there already
			e.complain(ctx, "tell others who vanished", err)
		}
	}
}

// blameToo learns which deliveries other processes blame.
func (e *Engine) blameToo(marks []Mark) {
	h := e.holdings
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range marks {
		r, err := ParseReceipt(strings.TrimPrefix(m.Key, blamedMarks))
		if _, known := h.blamed[r]; known || err != nil {
			continue
		}
		var b blamed
		if json.Unmarshal(m.Doc, &b) == nil {
			h.accuse(r, b)
		}
	}
}

// blamed is a delivery whose worker has vanished.
type blamed struct {
	ID      string             `json:"id"` // of its message
	Payload bezoar.Fingerprint `json:"payload,omitzero"`
}

// seen is a worker that has asked for messages.
type seen struct {
	at     time.Time
	life   string   // the latest
	former []string // earlier ones, the newest last
	shared bool     // several live workers have this name
}

// arrives notes that a worker asks for messages. If a new life of it has begun, the old one is dead and has vanished,
// unless both go on asking.
func (e *Engine) arrives(worker, life string, now time.Time) {
	if worker == "" {
		return
	}
	h := e.holdings
	h.mu.Lock()
	died := h.asks(instance(worker), life, now)
	h.mu.Unlock()
	if died {
		e.stats.vanished.Add(1)
		e.hurry()
	}
}

// asks reports whether a worker's former life has died with messages. The caller
// holds the lock.
func (h *holdings) asks(worker, life string, now time.Time) (died bool) {
	s, known := h.seen[worker]
	if !known && len(h.seen) >= maxSeen {
		maps.DeleteFunc(h.seen, func(_ string, s seen) bool { return now.Sub(s.at) > seenFor })
		if len(h.seen) >= maxSeen {
			return false // many enough
		}
	}
	if life != "" && life != s.life {
		s.shared = s.shared || slices.Contains(s.former, life)
		if s.life != "" && !s.shared {
			died = h.depart(worker, reborn, now)
			s.former = append(s.former[max(0, len(s.former)-maxFormer+1):], s.life)
		}
		s.life = life
	}
	s.at = now
	h.seen[worker] = s
	return died
}

// instance is a worker's name without the number of its receive.
func instance(worker string) string {
	if at := strings.LastIndexByte(worker, '#'); at > 0 {
		return worker[:at]
	}
	return worker
}

// join merges everything that a worker holds, over all its numbered receives, into one holder. It returns nil if the worker
// holds nothing. The caller holds the lock.
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

// fleet counts the workers that hold something or have asked lately, including the one that goes. The caller holds the
// lock.
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
	for name, s := range h.seen {
		if now.Sub(s.at) <= seenFor {
			if there[name] = true; len(there) > loneFleet {
				break
			}
		}
	}
	return len(there)
}

// accuse remembers a delivery whose worker has vanished. The caller holds the
// lock.
func (h *holdings) accuse(r Receipt, b blamed) {
	if _, known := h.blamed[r]; !known {
		if len(h.order) >= maxBlamed {
			delete(h.blamed, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, r)
	}
	h.blamed[r] = b
}

// absolve returns a blamed delivery, once.
func (h *holdings) absolve(r Receipt) (b blamed, was bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b, was = h.blamed[r]; was && b.ID != "" {
		h.blamed[r] = blamed{} // its place in the order stays
		return b, true
	}
	return b, false
}

// alive takes back what was held against payloads because their workers had vanished: these workers delete now, so they
// lived and are done. A letter that was made of the message is deleted.
func (e *Engine) alive(ctx context.Context, q *Queue, receipts []Receipt) {
	for _, r := range receipts {
		b, was := e.holdings.absolve(r)
		if !was {
			continue
		}
		e.complain(ctx, "forget a delivery that was blamed", e.store.DeleteMark(ctx, blamedMarks+r.String(), 0))
		if !b.Payload.IsZero() {
			p := q.Settings.Quarantine.Poison()
			err := e.store.ChangeCase(ctx, q.ID, b.Payload, func(c *poison.Case, now int64) *poison.Case {
				if c == nil || c.Class != bezoar.Crash || !strings.HasPrefix(c.Reason, ReasonVanished) {
					return c
				}
				return p.Work(c, now)
			})
			e.complain(ctx, "take back what was held against a payload of queue "+q.Name, err)
		}
		e.unbury(ctx, q, b.ID)
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
