package sim

// event is something that happens at a time. What a and b mean depends on kind.
type event struct {
	at   int64
	seq  uint64 // ties happen in the order in which they were planned
	kind eventKind
	a    int32
	b    uint32
}

// heap is a priority queue of events: four children per node, which halves the
// cache misses of two.
type heap struct {
	es  []event
	seq uint64
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (h *heap) push(e event) {
	h.seq++
	e.seq = h.seq
	h.es = append(h.es, e)
	i := len(h.es) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(&h.es[p]) {
			break
		}
		h.es[i] = h.es[p]
		i = p
	}
	h.es[i] = e
}

func (h *heap) pop() event {
	top := h.es[0]
	n := len(h.es) - 1
	last := h.es[n]
	h.es = h.es[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		best := c
		for j := c + 1; j < min(c+4, n); j++ {
			if h.es[j].before(&h.es[best]) {
				best = j
			}
		}
		if !h.es[best].before(&last) {
			break
		}
		h.es[i] = h.es[best]
		i = best
	}
	h.es[i] = last
	return top
}
