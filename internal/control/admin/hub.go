package admin

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// HubSize is how many of the newest events a [Hub] keeps.
const HubSize = 1024

// A Hub keeps the newest events in a ring and wakes those who wait for more.
// Readers hold a position, not a queue: one that falls more than [HubSize]
// events behind misses some, sees the gap in Seq, and costs nobody anything.
// The zero Hub is ready to use.
type Hub struct {
	mu   sync.Mutex // guards the rest
	ring [HubSize]adminapi.Event
	last uint64        // Seq of the newest event; Seq counts from 1
	more chan struct{} // closed by the next Publish; nil while nobody waits
}

// Publish gives e its Seq, and At when it has none, and keeps it. It never
// blocks.
func (h *Hub) Publish(e adminapi.Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	e.Seq = h.last
	h.ring[e.Seq%HubSize] = e
	if h.more != nil {
		close(h.more)
		h.more = nil
	}
}

// After returns up to limit events newer than seq, oldest first, and when there
// are none a channel that is closed as soon as there are. A seq from the future,
// as a reader has after a restart, counts as 0.
func (h *Hub) After(seq uint64, limit int) ([]adminapi.Event, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq > h.last {
		seq = 0
	}
	if h.last > HubSize {
		seq = max(seq, h.last-HubSize)
	}
	n := min(h.last-seq, uint64(limit))
	if n == 0 {
		if h.more == nil {
			h.more = make(chan struct{})
		}
		return nil, h.more
	}
	events := make([]adminapi.Event, 0, n)
	for s := seq + 1; s <= seq+n; s++ {
		events = append(events, h.ring[s%HubSize])
	}
	return events, nil
}

// Last returns the Seq of the newest event, 0 when there is none.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}
