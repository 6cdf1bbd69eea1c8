package ledgertest

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// testReopen makes inserts, replacements, merges, deletions and evictions, and expects all of them, and the bound, in the
// reopened store.
func testReopen(t *testing.T, h Harness) {
	s := h.Open(t, 3)
	kept, replaced, deleted := fullVerdict("q-1", "search"), fullVerdict("q-2", "search"), fullVerdict("q-3", "search")
	for _, v := range []bezoar.Verdict{kept, replaced, deleted} {
		putVerdict(t, s, v)
	}
	replaced.Level, replaced.Evidence = 9, nil
	putVerdict(t, s, replaced)
	suite.Must(t, s.DeleteVerdict(t.Context(), deleted.ID))
	for i := range byte(4) { // 0 makes room for 3
		putLetter(t, s, letterAt(i, int(i)))
	}
	merged := putLetter(t, s, letterAt(1, 100))
	suite.Must(t, s.DeleteLetter(t.Context(), "dl-002"))

	for range 2 {
		s = h.Reopen(t, s)
		wantVerdicts(t, s, "search", kept, replaced)
		wantListed(t, s, ledger.LetterQuery{}, "dl-001", "dl-003")
		wantLetter(t, s, merged)
	}
	putLetter(t, s, letterAt(5, 5))
	putLetter(t, s, letterAt(6, 6))
	wantListed(t, s, ledger.LetterQuery{}, "dl-001", "dl-006", "dl-005")
}
