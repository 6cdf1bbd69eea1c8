package health

import (
	"math/bits"
	"time"
)

// Result is how a measured call ended.
type Result uint8

// The results.
const (
	Good    Result = iota
	Failed         // the callee's error
	Timeout        // no answer in time
	Ignored        // says nothing about the callee: the caller gave up, the request was wrong
)

// String returns the result's stable name.
func (r Result) String() string {
	return [...]string{"good", "failed", "timeout", "ignored"}[min(uint(r), 3)]
}

// These are the cells of a histogram of latencies: four for each doubling, from 2^16 ns (66 µs) to 2^37 ns (137 s), one
// below and one above.
const (
	lowest  = 16
	highest = 37
	perPow  = 4
	// Cells is the number of cells.
	Cells = (highest-lowest)*perPow + 2
)

// Cell returns the cell of a latency.
func Cell(latency time.Duration) int {
	if latency < 1<<lowest {
		return 0
	}
	pow := bits.Len64(uint64(latency)) - 1
	if pow >= highest {
		return Cells - 1
	}
	quarter := int(uint64(latency)>>(pow-2)) & (perPow - 1)
	return 1 + (pow-lowest)*perPow + quarter
}

// Edge returns the latency at which a cell ends; latencies in it are up to a fifth less. The last cell has no end; for it,
// Edge returns its beginning.
func Edge(cell int) time.Duration {
	if cell <= 0 {
		return 1 << lowest
	}
	cell = min(cell, Cells-2) - 1
	pow, quarter := lowest+cell/perPow, cell%perPow
	return time.Duration(1<<pow + (quarter+1)<<(pow-2))
}

// Tally counts calls. Latency counts calls with an answer or a timeout. An immediate error would make a sick callee look
// fast.
type Tally struct {
	Good, Failed, Timeouts uint64
	Latency                [Cells]uint64
}

// Add counts one call.
func (t *Tally) Add(latency time.Duration, r Result) {
	switch r {
	case Good:
		t.Good++
		t.Latency[Cell(latency)]++
	case Timeout:
		t.Timeouts++
		t.Latency[Cell(latency)]++
	case Failed:
		t.Failed++
	case Ignored:
	}
}

// Calls returns the number of counted calls.
func (t *Tally) Calls() uint64 { return t.Good + t.Failed + t.Timeouts }

// Merge adds the counts of another tally.
func (t *Tally) Merge(o *Tally) {
	t.Good += o.Good
	t.Failed += o.Failed
	t.Timeouts += o.Timeouts
	for i, n := range o.Latency {
		t.Latency[i] += n
	}
}

// Quantile returns a latency that at least the share q of the calls did not exceed, up to a quarter too high; 0 without
// calls.
func (t *Tally) Quantile(q float64) time.Duration {
	var total uint64
	for _, n := range t.Latency {
		total += n
	}
	if total == 0 {
		return 0
	}
	rank := min(total, max(1, uint64(q*float64(total)+0.999999)))
	var sum uint64
	for i, n := range t.Latency {
		if sum += n; sum >= rank {
			return Edge(i)
		}
	}
	return Edge(Cells - 1)
}
