package cdc

import (
	"math/rand/v2"
	"testing"
)

func TestConfirmedIsBeforeEverythingUnacknowledged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tr tracker
	open := map[LSN]func(){}
	next := LSN(1)
	for range 2000 {
		if r.IntN(2) == 0 {
			open[next] = tr.add(next)
			next++
		} else {
			for _, done := range open {
				done()
				done() // twice is once
				break
			}
			for lsn := range open {
				if tr.pendingDone(lsn) {
					delete(open, lsn)
				}
			}
		}
		want := next - 1
		for lsn := range open {
			want = min(want, lsn-1)
		}
		got, idle := tr.position()
		if got != want || idle != (len(open) == 0) {
			t.Fatalf("confirmed %d, idle %v, with %d open; want %d", got, idle, len(open), want)
		}
	}
}

// pendingDone says whether what ends at lsn is acknowledged.
func (t *tracker) pendingDone(lsn LSN) bool {
	for _, p := range t.waiting {
		if p.end == lsn {
			return p.done
		}
	}
	return true
}
