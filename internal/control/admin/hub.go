package admin

import (
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// HubSize is the number of events that a [Hub] keeps.
const HubSize = 1024

// Hub keeps the newest events in a ring and wakes waiting readers. A reader holds a
// position, not a queue: a reader that falls more than [HubSize] events behind misses some
// and sees the gap in Seq. It delays nobody. The zero Hub is ready to use.
type Hub struct {
	mu   sync.Mutex // guards the fields below
	ring [HubSize]adminapi.Event
	last uint64        // Seq of the newest event; the first is 1
	more chan struct{} // closed by the next Publish; nil while no reader waits
}

// Publish stores e and sets its Seq, and At if it is zero. It never blocks.
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

// After returns up to limit events newer than seq, oldest first. If there are none, it
// returns a channel that is closed when a new event arrives. A seq from the future, as
// after a restart, counts as 0.
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

// Last returns the Seq of the newest event, or 0 if there is none.
func (h *Hub) Last() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}
