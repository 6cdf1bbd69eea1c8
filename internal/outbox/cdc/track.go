package cdc

import "sync"

// tracker finds the position up to which everything is acknowledged. Acknowledgements may
// arrive in any order.
type tracker struct {
	mu        sync.Mutex // guards the fields below
	confirmed LSN
	waiting   []*pending // in the order of the WAL
}

type pending struct {
	end  LSN
	done bool
}

// add registers a part of the WAL that ends at end. The returned function acknowledges it.
func (t *tracker) add(end LSN) func() {
	p := &pending{end: end}
	t.mu.Lock()
	t.waiting = append(t.waiting, p)
	t.mu.Unlock()
	return func() { t.acknowledge(p) }
}

func (t *tracker) acknowledge(p *pending) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.done = true
	n := 0
	for n < len(t.waiting) && t.waiting[n].done {
		t.confirmed = max(t.confirmed, t.waiting[n].end)
		n++
	}
	t.waiting = t.waiting[n:]
	if len(t.waiting) == 0 {
		t.waiting = nil // release the array
	}
}

func (t *tracker) position() (confirmed LSN, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.confirmed, len(t.waiting) == 0
}
