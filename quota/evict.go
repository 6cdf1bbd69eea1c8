package quota

import "sync/atomic"

const (
	// sample is how many cells a newcomer to a full table looks at.
	sample = 16
	// kept is the share of its limit from which a key makes no room for others.
	kept = 0.5
	// sweepCells is how many cells are looked at under one hold of a lock.
	sweepCells = 512
)

// victim is the cell that makes room for a newcomer: the least used of a few,
// unless all of them use much of their limit; then it is -1.
func (t *table) victim(k *scheme, now int64) int {
	best, least := -1, kept
	for range min(sample, t.n) {
		if t.hand++; t.hand >= t.n {
			t.hand = 0
		}
		if share := k.share(t.state(t.hand), now); share < least {
			best, least = t.hand, share
			if share == 0 {
				break
			}
		}
	}
	return best
}

// sweep drops the idle of the cells below from, and returns below which to go
// on; 0 when all have been seen.
func (t *table) sweep(k *scheme, h *hasher, now int64, from int, expired *atomic.Uint64) int {
	from = min(from, t.n)
	stop := max(from-sweepCells, 0)
	for i := from - 1; i >= stop; i-- {
		if k.share(t.state(i), now) == 0 {
			t.remove(h, i) // only the last, which has been seen, moves
			expired.Add(1)
		}
	}
	return stop
}
