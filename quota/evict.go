package quota

const (
	// sample is how many cells a newcomer to a full table looks at.
	sample = 16
	// kept is the share of its limit from which a key makes no room for others.
	kept = 0.5
	// sweepSlots is how many slots are looked at under one hold of a lock.
	sweepSlots = 512
)

// victim is the cell that makes room for a newcomer: the least used of a few,
// unless all of them use much of their limit; then it is -1.
func (t *table) victim(k *scheme, now int64) int {
	best, least := -1, kept
	for seen, looked := 0, 0; seen < sample && looked < 4*sample; looked++ {
		t.hand = t.next(t.hand)
		if !t.taken(t.hand) {
			continue
		}
		seen++
		share := k.share(t.state(t.hand), now)
		if share == 0 {
			return t.hand
		}
		if share < least {
			best, least = t.hand, share
		}
	}
	return best
}

// sweep drops the idle of the slots below from. It returns how many it dropped,
// and below which slot to go on; 0 when all have been seen.
func (t *table) sweep(k *scheme, now int64, from int) (dropped, stop int) {
	from = min(from, t.slots)
	stop = max(from-sweepSlots, 0)
	for i := from - 1; i >= stop; i-- {
		if t.taken(i) && k.share(t.state(i), now) == 0 {
			t.remove(i) // what moves up, but for wrapping round, has been seen
			dropped++
		}
	}
	if stop == 0 {
		t.shrink()
	}
	return dropped, stop
}
