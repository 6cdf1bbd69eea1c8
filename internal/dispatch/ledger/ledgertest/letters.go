package ledgertest

import (
	"fmt"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func letterQuery(fleet string) ledger.LetterQuery { return ledger.LetterQuery{Fleet: fleet} }

// letterAt is a letter of work n, last seen this many seconds after the epoch.
func letterAt(n byte, seconds int) bezoar.Letter {
	l := fullLetter(fmt.Sprintf("dl-%03d", n), "search", mark(n))
	l.Last = after(seconds)
	return l
}

func testLetterMerged(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	first := fullLetter("dl-00000000000a", "search", mark(1))
	if diff := diff(first, putLetter(t, s, first)); diff != "" {
		t.Fatalf("a new letter is stored as given (-want +got)\n%s", diff)
	}

	copied := bezoar.Letter{
		ID: "dl-00000000000b", Fingerprint: first.Fingerprint, Variant: first.Variant, Shape: mark(9), Verdict: "q-00000000000b", Fleet: "search",
		Route: "/other", Class: bezoar.Crash, Reason: "crashed the lane", First: after(100), Last: after(200), Copies: 41,
		Request:  bezoar.Request{Method: "GET", Target: "/copy", Body: []byte("copy"), BodySize: 4},
		Evidence: []bezoar.Evidence{fullEvidence("search-7"), fullEvidence("search-8")},
	}
	want := first // keeps ID, First, Request, Shape and Route
	want.Copies, want.Last = 42, copied.Last
	want.Verdict, want.Class, want.Reason, want.Evidence = copied.Verdict, copied.Class, copied.Reason, copied.Evidence
	if diff := diff(want, putLetter(t, s, copied)); diff != "" {
		t.Fatalf("PutLetter of a copy returns the merged letter (-want +got)\n%s", diff)
	}
	wantLetter(t, s, want)
	wantListed(t, s, ledger.LetterQuery{}, first.ID)
	_, err := s.Letter(t.Context(), copied.ID)
	wantNotFound(t, "Letter of a merged copy's id", err)

	// The last put decides, even if its Last is the older one.
	older := copied
	older.Last, older.Copies, older.Evidence = after(-50), 0, nil
	want.Last, want.Evidence = older.Last, nil
	if diff := diff(want, putLetter(t, s, older)); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	wantLetter(t, s, want)
}

// Two variants of one fingerprint are two letters, and the complete fingerprint is a third.
func testLetterVariants(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	letter := func(id string, variant bezoar.Fingerprint, seconds int) bezoar.Letter {
		l := fullLetter(id, "search", mark(1))
		l.Variant, l.Last = variant, after(seconds)
		return l
	}
	for i, variant := range []bezoar.Fingerprint{mark(11), mark(12), {}} {
		l := letter([]string{"dl-a", "dl-b", "dl-c"}[i], variant, i)
		if diff := diff(l, putLetter(t, s, l)); diff != "" {
			t.Fatalf("a letter of another variant is new (-want +got)\n%s", diff)
		}
	}
	stored := putLetter(t, s, letter("dl-d", mark(12), 3))
	suite.ErrorIf(t, stored.ID != "dl-b" || stored.Copies != 2 || stored.Variant != mark(12), "a copy of a variant is stored as %s of %v with %d copies", stored.ID, stored.Variant, stored.Copies)
	if stored = putLetter(t, s, letter("dl-e", bezoar.Fingerprint{}, 4)); stored.ID != "dl-c" || !stored.Variant.IsZero() {
		t.Errorf("a copy of the fingerprint is stored as %s of %v", stored.ID, stored.Variant)
	}
	wantListed(t, s, ledger.LetterQuery{Fingerprint: mark(1)}, "dl-c", "dl-b", "dl-a")
	wantListed(t, s, ledger.LetterQuery{Key: mark(12)}, "dl-b")
	wantListed(t, s, ledger.LetterQuery{Key: mark(1)}, "dl-c")
	wantListed(t, s, ledger.LetterQuery{Fingerprint: mark(1), Key: mark(11)}, "dl-a")
	wantListed(t, s, ledger.LetterQuery{Fingerprint: mark(2), Key: mark(11)})
	wantListed(t, s, ledger.LetterQuery{Fingerprint: mark(12)})
}

func testLetterAgain(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	first := fullLetter("dl-00000000000a", "search", mark(1))
	putLetter(t, s, first)
	suite.Must(t, s.DeleteLetter(t.Context(), first.ID))
	wantListed(t, s, ledger.LetterQuery{})
	again := fullLetter("dl-00000000000b", "search", mark(1))
	if diff := diff(again, putLetter(t, s, again)); diff != "" {
		t.Fatalf("a deleted letter leaves nothing behind (-want +got)\n%s", diff)
	}
	wantListed(t, s, ledger.LetterQuery{}, again.ID)
}

func testLetterIDTaken(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	first := fullLetter("dl-00000000000a", "search", mark(1))
	putLetter(t, s, first)
	other := fullLetter("dl-00000000000a", "search", mark(2))
	if _, err := s.PutLetter(t.Context(), other); err == nil {
		t.Fatal("a letter took the id of a letter of other work")
	}
	wantLetter(t, s, first)
	wantListed(t, s, ledger.LetterQuery{}, first.ID)
}

func testLetterPages(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	const n = 120
	var want []string
	for i := range n {
		// Pairs share their Last; ids ascend within a pair.
		l := letterAt(byte(i), -(i / 2))
		putLetter(t, s, l)
		want = append(want, l.ID)
	}
	wantListed(t, s, ledger.LetterQuery{}, want[:100]...)
	wantListed(t, s, ledger.LetterQuery{Limit: 1000}, want...)
	wantListed(t, s, ledger.LetterQuery{Offset: 117}, want[117:]...)
	wantListed(t, s, ledger.LetterQuery{Offset: n}) // beyond the end is empty
	wantListed(t, s, ledger.LetterQuery{Offset: 1 << 40})
	var paged []string
	for offset := 0; ; offset += 7 {
		page := listed(t, s, ledger.LetterQuery{Limit: 7, Offset: offset})
		if paged = append(paged, page...); len(page) < 7 {
			break
		}
	}
	if diff := diff(want, paged); diff != "" {
		t.Fatalf("pages of 7 (-want +got)\n%s", diff)
	}
}

func testLetterFilter(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	for i, fleet := range []string{"search", "reports"} {
		for n := range byte(3) {
			l := fullLetter(fmt.Sprintf("dl-%s-%d", fleet, n), fleet, mark(n))
			l.Last = after(10*i + int(n))
			putLetter(t, s, l)
		}
	}
	wantListed(t, s, ledger.LetterQuery{Fleet: "search"}, "dl-search-2", "dl-search-1", "dl-search-0")
	wantListed(t, s, ledger.LetterQuery{Fingerprint: mark(1)}, "dl-reports-1", "dl-search-1")
	wantListed(t, s, ledger.LetterQuery{Fleet: "search", Fingerprint: mark(1)}, "dl-search-1")
	wantListed(t, s, ledger.LetterQuery{Fleet: "search", Offset: 1, Limit: 1}, "dl-search-1")
	wantListed(t, s, ledger.LetterQuery{Fleet: "search", Fingerprint: mark(7)})
	wantListed(t, s, ledger.LetterQuery{Fleet: "nobody"})
	for _, q := range []ledger.LetterQuery{{Limit: -1}, {Limit: 1001}, {Offset: -1}} {
		if got, err := s.Letters(t.Context(), q); err == nil {
			t.Errorf("Letters(%+v) = %d letters, want a refusal", q, len(got))
		}
	}
}

func testLetterBodies(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	want := putLetter(t, s, fullLetter("dl-00000000000a", "search", mark(1)))
	letters, err := s.Letters(t.Context(), ledger.LetterQuery{})
	suite.Must(t, err)
	want.Request.Body = nil // and nothing else
	if diff := diff([]bezoar.Letter{want}, letters); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
}

func testLetterBound(t *testing.T, h Harness) {
	s := h.Open(t, 3)
	for i, seconds := range []int{20, 10, 30} {
		putLetter(t, s, letterAt(byte(i), seconds))
	}
	wantListed(t, s, ledger.LetterQuery{}, "dl-002", "dl-000", "dl-001")
	putLetter(t, s, letterAt(3, 15)) // the oldest Last is 10
	wantListed(t, s, ledger.LetterQuery{}, "dl-002", "dl-000", "dl-003")

	// A copy needs no room, and moves its letter away from the edge.
	putLetter(t, s, letterAt(3, 40))
	wantListed(t, s, ledger.LetterQuery{}, "dl-003", "dl-002", "dl-000")
	putLetter(t, s, letterAt(4, 50))
	wantListed(t, s, ledger.LetterQuery{}, "dl-004", "dl-003", "dl-002")

	// The bound belongs to the store: fleets share it.
	other := letterAt(5, 60)
	other.Fleet = "reports"
	putLetter(t, s, other)
	wantListed(t, s, ledger.LetterQuery{}, "dl-005", "dl-004", "dl-003")

	// A deletion makes room as well.
	suite.Must(t, s.DeleteLetter(t.Context(), "dl-005"))
	putLetter(t, s, letterAt(6, 5))
	wantListed(t, s, ledger.LetterQuery{}, "dl-004", "dl-003", "dl-006")
}

// A letter that PutLetter has returned must be there, however old its Last is.
func testLetterBoundOldNewcomer(t *testing.T, h Harness) {
	s := h.Open(t, 2)
	putLetter(t, s, letterAt(1, 10))
	putLetter(t, s, letterAt(2, 10))
	newcomer := putLetter(t, s, letterAt(3, -1000))
	wantLetter(t, s, newcomer)
	// Of equals, the one that is listed last made room.
	wantListed(t, s, ledger.LetterQuery{}, "dl-001", "dl-003")
}
