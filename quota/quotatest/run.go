package quotatest

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
	"github.com/bezoar-dev/bezoar/quota"
)

// Harness opens the stores under test.
type Harness struct {
	// Open returns an empty store. It closes the store with t.Cleanup.
	Open func(t *testing.T) quota.Store
	// Rows counts the rows of counts that s, which Open or Reopen returned,
	// holds, over or not.
	Rows func(t *testing.T, s quota.Store) int
	// Reopen closes s, which Open or Reopen returned, and opens what it left
	// behind. Nil says that the store lives in memory.
	Reopen func(t *testing.T, s quota.Store) quota.Store
}

// Run holds the stores that h opens to the whole contract.
func Run(t *testing.T, h Harness) {
	alone := map[string]func(*testing.T, Harness){
		"totals add up":           testTotals,
		"floors lift":             testFloors,
		"rows are apart":          testApart,
		"any values":              testAnyValues,
		"again is not more":       testAgain,
		"reading makes no rows":   testReading,
		"the biggest batch":       testBiggest,
		"the clock":               testClock,
		"refused":                 testRefused,
		"old rows go":             testExpiry,
		"used rows stay":          testKeep,
		"any sequence of batches": testModel,
	}
	if h.Reopen != nil {
		alone["survives reopening"] = testReopen
	}
	for name, test := range alone {
		t.Run(name, func(t *testing.T) {
			if h.Reopen != nil { // in memory it takes no time
				pace.Alone(t)
			}
			t.Parallel()
			test(t, h)
		})
	}
	for name, test := range map[string]func(*testing.T, Harness){
		"cancelled":              testCancelled,
		"cut off":                testCutOff,
		"many nodes at once":     testManyNodes,
		"the same batch at once": testSameAtOnce,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// row names a row by three numbers.
func row(q, key, bucket int) quota.Row {
	r := quota.Row{Quota: uint64(q), Bucket: int64(bucket)}
	binary.BigEndian.PutUint64(r.Key[8:], uint64(key))
	return r
}

// count adds n to a row that stays.
func count(r quota.Row, n int64) quota.Count {
	return quota.Count{Row: r, N: n, Keep: time.Hour}
}

func add(t *testing.T, s quota.Store, node string, seq int64, counts []quota.Count, want ...int64) quota.Totals {
	t.Helper()
	totals, err := s.AddCounts(t.Context(), quota.Batch{Node: node, Seq: seq, Counts: counts})
	suite.Must(t, err)
	suite.FatalIf(t, !slices.Equal(totals.N, want), "%s's batch %d gave the totals %v, want %v", node, seq, totals.N, want)
	return totals
}
