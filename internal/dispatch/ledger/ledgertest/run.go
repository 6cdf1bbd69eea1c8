package ledgertest

import (
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// Harness opens the stores under test.
type Harness struct {
	// Open returns an empty store that keeps at most maxLetters letters; 0 means the default. It closes the store with
	// t.Cleanup.
	Open func(t *testing.T, maxLetters int) ledger.Store
	// Reopen closes s, which Open or Reopen returned, and reopens its data with the same bound. Nil says that the store is
	// in memory and promises nothing beyond its process; the durable part of the suite is skipped.
	Reopen func(t *testing.T, s ledger.Store) ledger.Store
	// Games bounds the random games against an oracle; 0 means rapid's number, as with -rapid.checks and BEZOAR_SOAK.
	Games int
}

// Run runs the suite on the stores that h opens.
func Run(t *testing.T, h Harness) {
	alone := map[string]func(*testing.T, Harness){
		"verdicts/replaced by id":         testVerdictReplaced,
		"verdicts/ordered":                testVerdictOrder,
		"verdicts/deleted":                testVerdictDeleted,
		"changes/followed":                testChanges,
		"changes/forgotten":               testChangesForgotten,
		"letters/merged":                  testLetterMerged,
		"letters/one of each variant":     testLetterVariants,
		"letters/put again after delete":  testLetterAgain,
		"letters/id of other work":        testLetterIDTaken,
		"letters/ordered and paged":       testLetterPages,
		"letters/filtered":                testLetterFilter,
		"letters/listed without bodies":   testLetterBodies,
		"letters/bounded":                 testLetterBound,
		"letters/newcomer is not evicted": testLetterBoundOldNewcomer,
		"fleets are apart":                testFleetsApart,
		"not found":                       testNotFound,
		"features":                        testFeatures,
		"refused":                         testRefused,
		"every field":                     testEveryField,
		"any bytes":                       testAnyBytes,
		"big bodies":                      testBigBodies,
		"microseconds":                    testMicroseconds,
		"nothing is shared":               testNothingShared,
		"model":                           testModel,
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
		"cancelled":             testCancelled,
		"changes/concurrent":    testChangesConcurrent,
		"concurrent copies":     testConcurrentCopies,
		"concurrent newcomers":  testConcurrentNewcomers,
		"concurrent everything": testConcurrentMix,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}
