package queue

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is received, settled, extended, missed and forgotten in whatever
// order, who holds what agrees with what is held.
func TestHoldingsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, now, n := newHoldings(), time.Unix(1000, 0), int64(0)
		var all []Receipt
		pick := func() Receipt {
			if len(all) == 0 {
				return Receipt{}
			}
			return rapid.SampledFrom(all).Draw(t, "receipt")
		}
		workers := rapid.SampledFrom([]string{"", "a", "b", "c", "d"})
		t.Repeat(map[string]func(*rapid.T){
			"receive": func(t *rapid.T) {
				n++
				m := Message{Receipt: Receipt{Queue: 1 + n%2, Sequence: n, Generation: 1}, Alone: rapid.Bool().Draw(t, "alone")}
				all = append(all, m.Receipt)
				h.add(workers.Draw(t, "worker"), m.Receipt.Queue, now.Add(time.Duration(rapid.IntRange(1, 30).Draw(t, "lease"))*time.Second), []Message{m})
			},
			"settle": func(t *rapid.T) { h.settle(pick()) },
			"extend": func(t *rapid.T) { h.extend(pick(), now.Add(10*time.Second)) },
			"vanish": func(t *rapid.T) { h.depart(workers.Draw(t, "worker"), unseen, now) },
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			},
			"expire": func(t *rapid.T) { h.expire(now) },
			"blame": func(t *rapid.T) {
				due, mass, _ := h.due(now, time.Second)
				for i, d := range due {
					receipts, holding := h.blame(d, mass[i])
					total := 0
					for _, some := range receipts {
						total += len(some)
					}
					if total > holding || mass[i] && holding < 2 {
						t.Fatalf("%d receipts are blamed with %d, mass: %v", total, holding, mass[i])
					}
					h.forget(d)
				}
			},
			"": func(t *rapid.T) { agree(t, h) },
		})
	})
}

// agree checks that lists, counts and maps say the same.
func agree(t *rapid.T, h *holdings) {
	listed, queues := 0, map[int64]int{}
	check := func(w *holder) {
		count, alone := 0, 0
		for d := w.first; d != nil; d = d.next {
			if h.held[d.receipt] != d || d.by != w {
				t.Fatalf("%s lists what it does not hold", w.name)
			}
			count++
			queues[d.receipt.Queue]++
			if d.alone {
				alone++
			}
		}
		if count != w.count || alone != w.alone {
			t.Fatalf("%s holds %d and %d alone, counted %d and %d", w.name, count, alone, w.count, w.alone)
		}
		listed += count
	}
	for name, w := range h.holders {
		if w.count == 0 || w.gone || name == "" || name != w.name {
			t.Fatalf("%q is kept as a holder of %d", name, w.count)
		}
		check(w)
	}
	for _, d := range h.gone {
		if d.worker != nil {
			check(d.worker)
		}
	}
	if listed != len(h.held) {
		t.Fatalf("%d are listed, %d held", listed, len(h.held))
	}
	for id, n := range h.queues {
		if queues[id] != n || n == 0 {
			t.Fatalf("queue %d has %d, counted %d", id, queues[id], n)
		}
	}
}
