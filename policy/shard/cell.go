package shard

// Cell returns the cell of caller, from 0. If a cell is added, only callers of the new cell move. It is the jump consistent
// hash of Lamping and Veach ("A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
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

// WorkerCell returns the cell of the i-th worker. Workers are assigned in turn, so cells differ by at most one worker, no
// worker moves when one is added at the end, and people can compute the cell.
func WorkerCell(i, cells int) int {
	if cells <= 1 {
		return 0
	}
	return i % cells
}
