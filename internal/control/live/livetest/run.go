package livetest

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// Harness opens the stores under test.
type Harness struct {
	// Open returns an empty store, which it closes with t.Cleanup.
	Open func(t *testing.T) live.Store
	// Reopen closes s, which Open or Reopen returned, and opens its data again. Nil means
	// that the store is in memory; the tests of durability are then skipped.
	Reopen func(t *testing.T, s live.Store) live.Store
	// Beside returns another store with the same data, like another process. Nil means that
	// only one process can use the data.
	Beside func(t *testing.T, s live.Store) live.Store
	// Age makes everything in s older, or waits for that time.
	Age func(t *testing.T, s live.Store, d time.Duration)
	// Copy copies the override ov-0001 in s to ov-0002 and so on until there are n, if that
	// is faster than single puts; copy i is for caller i. Nil: each is put.
	Copy func(t *testing.T, s live.Store, n int)
	// Games is the number of random games against a model; 0 means 3.
	Games uint64
	// Around wraps each test; nil runs it in parallel.
	Around func(t *testing.T, test func(*testing.T))
}

// Run runs the suite on the stores that h opens.
func Run(t *testing.T, h Harness) {
	if h.Around == nil {
		h.Around = func(t *testing.T, test func(*testing.T)) {
			t.Parallel()
			test(t)
		}
	}
	alone := map[string]func(*testing.T, Harness){
		"versions/put and read":          testVersions,
		"versions/compare and swap":      testCompareAndSwap,
		"versions/bounded":               testVersionsBounded,
		"versions/of the file":           testFileVersionStays,
		"versions/refused":               testVersionsRefused,
		"versions/any bytes":             testAnyBytes,
		"versions/nothing is shared":     testNothingShared,
		"overrides/put, list and delete": testOverrides,
		"overrides/replaced":             testOverrideReplaced,
		"overrides/end":                  testOverrideEnds,
		"overrides/bounded":              testOverridesBounded,
		"overrides/refused":              testOverridesRefused,
		"revision":                       testRevision,
		"nodes":                          testNodes,
		"nodes/refused":                  testNodesRefused,
		"model":                          testModel,
	}
	if h.Reopen != nil {
		alone["survives reopening"] = testReopen
	}
	atOnce := map[string]func(*testing.T, Harness){
		"cancelled":              testCancelled,
		"versions/many at once":  testManyPuts,
		"overrides/many at once": testManyOverrides,
	}
	if h.Beside != nil {
		atOnce["shared"] = testShared
	}
	for name, test := range alone {
		t.Run(name, func(t *testing.T) {
			if h.Reopen != nil { // in memory it takes no time
				pace.Alone(t)
			}
			h.Around(t, func(t *testing.T) { test(t, h) })
		})
	}
	for name, test := range atOnce {
		t.Run(name, func(t *testing.T) {
			h.Around(t, func(t *testing.T) { test(t, h) })
		})
	}
}
