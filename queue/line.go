package queue

import (
	"slices"
	"sync"
)

// hub keeps a line of waiting receives for each queue.
type hub struct {
	mu    sync.Mutex // guards all below; never held while waiting
	lines map[string][]*waiter
	held  map[string]bool // queues with copies that wait for others in flight
}

// waiter is one waiting receive. Its turn is signalled when it is first in line and there may be a message.
type waiter struct{ turn chan struct{} }

func (w *waiter) signal() {
	select {
	case w.turn <- struct{}{}:
	default: // it has not used the last signal yet
	}
}

func (h *hub) join(queue string) *waiter {
	me := &waiter{turn: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines == nil {
		h.lines = make(map[string][]*waiter)
	}
	h.lines[queue] = append(h.lines[queue], me)
	if len(h.lines[queue]) == 1 {
		me.signal() // a message may have come since its first look
	}
	return me
}

func (h *hub) leave(queue string, me *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	line := h.lines[queue]
	i := slices.Index(line, me)
	line = slices.Delete(line, i, i+1)
	if len(line) == 0 {
		delete(h.lines, queue)
		return
	}
	h.lines[queue] = line
	if i == 0 {
		line[0].signal()
	}
}

// wake tells the first in line that something may be there.
func (h *hub) wake(queue string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if line := h.lines[queue]; len(line) > 0 {
		line[0].signal()
	}
}

// hold notes whether a queue has copies that wait for others in flight.
func (h *hub) hold(queue string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !held:
		delete(h.held, queue)
	case h.held == nil:
		h.held = map[string]bool{queue: true}
	default:
		h.held[queue] = true
	}
}

// ended wakes receives that the end of a delivery may unblock.
func (h *hub) ended(queue string, fifo bool) {
	h.mu.Lock()
	held := h.held[queue]
	h.mu.Unlock()
	if fifo || held { // a group may be free, or a copy's turn may have come
		h.wake(queue)
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, line := range h.lines {
		line[0].signal()
	}
}
