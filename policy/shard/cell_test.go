package shard_test

import (
	"math"
	"testing"

	"github.com/bezoar-dev/bezoar/policy/shard"
)

func TestCellsAreEvenAndGrowByMovingToTheNewOne(t *testing.T) {
	const callers = 20_000
	for cells := range 20 {
		count := make([]int, max(cells, 1))
		moved := 0
		for caller := range uint64(callers) {
			c := shard.Cell(caller, cells)
			count[c]++
			next := shard.Cell(caller, cells+1)
			if next != c && next != cells {
				t.Fatalf("with cell %d added, caller %d moved from %d to %d", cells, caller, c, next)
			}
			if next != c {
				moved++
			}
		}
		even := func(n, of int) bool {
			p := 1 / float64(of)
			return math.Abs(float64(n)-p*callers) <= 6*math.Sqrt(p*(1-p)*callers)+1
		}
		for c, n := range count {
			if !even(n, len(count)) {
				t.Errorf("cell %d of %d has %d of %d callers", c, cells, n, callers)
			}
		}
		if cells > 0 && !even(moved, cells+1) {
			t.Errorf("with cell %d added, %d of %d callers moved", cells, moved, callers)
		}
	}
}

func TestWorkersAreAssignedToCellsInTurn(t *testing.T) {
	for cells := 1; cells < 8; cells++ {
		for n := cells; n < 20; n++ {
			count := make([]int, cells)
			for i := range n {
				count[shard.WorkerCell(i, cells)]++
			}
			for c, got := range count {
				if got != n/cells && got != n/cells+1 {
					t.Errorf("cell %d of %d has %d of %d workers", c, cells, got, n)
				}
			}
		}
	}
	if got := shard.WorkerCell(7, 0); got != 0 {
		t.Errorf("without cells worker 7 is in cell %d", got)
	}
}
