package shard

// Cell returns which of the cells, from 0, caller belongs to. When a cell is
// added, only callers that move to it move. It is the jump consistent hash of
// Lamping and Veach ("A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
func Cell(caller uint64, cells int) int {
	key := mix(caller)
	at, next := 0, 0
	for next < cells {
		at = next
		key = key*2862933555777941757 + 1
		next = int(float64(at+1) * (float64(1<<31) / float64(key>>33+1)))
	}
	return at
}

// WorkerCell returns the cell of the i-th worker. Workers are assigned in turn, so
// that cells differ by one worker at most, nobody moves when one is added at the
// end, and people can tell by the number.
func WorkerCell(i, cells int) int {
	if cells <= 1 {
		return 0
	}
	return i % cells
}
