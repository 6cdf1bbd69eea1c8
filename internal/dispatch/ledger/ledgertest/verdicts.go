package ledgertest

import (
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func testVerdictReplaced(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	first := fullVerdict("q-00000000000a", "search")
	putVerdict(t, s, first)
	wantVerdicts(t, s, "search", first)

	// Everything but the id may change, also back to zero.
	second := bezoar.Verdict{
		ID: first.ID, Fleet: "reports", Since: after(9), Until: after(10), Scope: bezoar.ScopeShape, State: bezoar.Laned,
		Cause: bezoar.Invalid,
	}
	putVerdict(t, s, second)
	wantVerdicts(t, s, "", second)
	wantVerdicts(t, s, "search")
	wantVerdicts(t, s, "reports", second)
}

func testVerdictOrder(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	at := func(id string, seconds int) bezoar.Verdict {
		v := fullVerdict(id, "search")
		v.Since = after(seconds)
		return v
	}
	oldest, tieA, tieB, newest := at("q-z", 1), at("q-a", 2), at("q-b", 2), at("q-B", 3)
	for _, v := range []bezoar.Verdict{tieB, newest, oldest, tieA} {
		putVerdict(t, s, v)
	}
	wantVerdicts(t, s, "search", oldest, tieA, tieB, newest)

	// Bytes decide the order, not an alphabet: "B" is before "a".
	newest.Since = after(2)
	putVerdict(t, s, newest)
	wantVerdicts(t, s, "", oldest, newest, tieA, tieB)
}

func testVerdictDeleted(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	keep, drop := fullVerdict("q-keep", "search"), fullVerdict("q-drop", "search")
	putVerdict(t, s, keep)
	putVerdict(t, s, drop)
	suite.Must(t, s.DeleteVerdict(t.Context(), drop.ID))
	wantVerdicts(t, s, "search", keep)
	wantNotFound(t, "second DeleteVerdict", s.DeleteVerdict(t.Context(), drop.ID))
	putVerdict(t, s, drop)
	wantVerdicts(t, s, "search", drop, keep)
}

func testFleetsApart(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	// A careless query or collation would take some of these names for each other.
	fleets := []string{"search", "Search", "search ", "se_rch", "%", "поиск", "'; DROP TABLE letters; --", "search-2"}
	for i, fleet := range fleets {
		v := fullVerdict("q-"+string(rune('a'+i)), fleet)
		putVerdict(t, s, v)
		l := fullLetter("dl-"+string(rune('a'+i)), fleet, mark(1))
		if stored := putLetter(t, s, l); stored.ID != l.ID || stored.Copies != 1 {
			t.Fatalf("the letter of fleet %q merged into %s", fleet, stored.ID)
		}
	}
	for i, fleet := range fleets {
		wantVerdicts(t, s, fleet, fullVerdict("q-"+string(rune('a'+i)), fleet))
		letters, err := s.Letters(t.Context(), letterQuery(fleet))
		suite.Must(t, err)
		suite.FatalIf(t, len(letters) != 1 || letters[0].Fleet != fleet, "Letters of fleet %q = %v", fleet, letters)
	}
	if got := listed(t, s, letterQuery("")); len(got) != len(fleets) {
		t.Fatalf("all fleets list %d letters, want %d", len(got), len(fleets))
	}
	if got, err := s.Verdicts(t.Context(), "\xff\x00"); err != nil || len(got) > 0 {
		t.Errorf("Verdicts of a fleet that cannot be = %v, %v; want none", got, err)
	}
	if got, err := s.Letters(t.Context(), letterQuery("\xff\x00")); err != nil || len(got) > 0 {
		t.Errorf("Letters of a fleet that cannot be = %v, %v; want none", got, err)
	}
}
