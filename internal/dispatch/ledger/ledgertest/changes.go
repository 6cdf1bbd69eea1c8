package ledgertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func changes(t *testing.T, s ledger.Store, fleet string, since int64) ledger.Changes {
	t.Helper()
	c, err := s.Changes(t.Context(), fleet, since)
	suite.Must(t, err)
	return c
}

// wantChanges compares c with the ids that were put, in order, and those that were deleted.
func wantChanges(t *testing.T, c ledger.Changes, all bool, put, deleted []string) {
	t.Helper()
	var ids []string
	for _, v := range c.Put {
		ids = append(ids, v.ID)
	}
	suite.FatalIf(t, c.All != all || !slices.Equal(ids, put) || !slices.Equal(c.Deleted, deleted), "all %v, put %v, deleted %v; want %v, %v, %v", c.All, ids, c.Deleted, all, put, deleted)
}

func testChanges(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	c := changes(t, s, "search", 0)
	suite.FatalIf(t, c.Revision != 0, "the first revision is %d", c.Revision)
	wantChanges(t, c, true, nil, nil)

	putVerdict(t, s, fullVerdict("q-00000000000b", "search"))
	putVerdict(t, s, fullVerdict("q-00000000000a", "search"))
	putVerdict(t, s, fullVerdict("q-00000000000c", "other"))
	c = changes(t, s, "search", c.Revision)
	wantChanges(t, c, true, []string{"q-00000000000b", "q-00000000000a"}, nil)
	stored, err := s.Verdicts(t.Context(), "search")
	suite.Must(t, err)
	for _, v := range stored {
		if i := slices.IndexFunc(c.Put, func(p bezoar.Verdict) bool { return p.ID == v.ID }); i < 0 || diff(c.Put[i], v) != "" {
			t.Errorf("verdict %s is not what was put: %+v", v.ID, c.Put)
		}
	}
	if d := changes(t, s, "search", c.Revision); d.Revision != c.Revision || d.All || len(d.Put)+len(d.Deleted) > 0 {
		t.Errorf("without a change: %+v", d)
	}

	// A change and a deletion. A deleted id that is put again is in Put.
	first := c.Revision
	putVerdict(t, s, fullVerdict("q-00000000000b", "search"))
	for range 2 {
		suite.Must(t, s.DeleteVerdict(t.Context(), "q-00000000000a"))
		c = changes(t, s, "search", first)
		wantChanges(t, c, false, []string{"q-00000000000b"}, []string{"q-00000000000a"})
		putVerdict(t, s, fullVerdict("q-00000000000a", "search"))
		wantChanges(t, changes(t, s, "search", first), false, []string{"q-00000000000b", "q-00000000000a"}, nil)
		wantChanges(t, changes(t, s, "search", c.Revision), false, []string{"q-00000000000a"}, nil)
		suite.Must(t, s.DeleteVerdict(t.Context(), "q-00000000000a"))
		putVerdict(t, s, fullVerdict("q-00000000000a", "search"))
		first = changes(t, s, "search", 0).Revision
		putVerdict(t, s, fullVerdict("q-00000000000b", "search"))
	}
	wantChanges(t, changes(t, s, "search", first+1000), true, []string{"q-00000000000a", "q-00000000000b"}, nil)
	wantChanges(t, changes(t, s, "none", 0), true, nil, nil)
}

// A revision that the store no longer remembers gives everything.
func testChangesForgotten(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	putVerdict(t, s, fullVerdict("q-00000000000a", "search"))
	first := changes(t, s, "search", 0).Revision
	v := bezoar.Verdict{ID: "q-00000000000b", Fleet: "search", Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Cause: bezoar.Crash}
	suite.Together(t, 8, func(w int) error {
		v := v
		v.ID = fmt.Sprintf("q-%d", w)
		for range ledger.RememberDeleted/16 + 1 {
			if err := s.PutVerdict(t.Context(), v); err != nil {
				return err
			}
			if err := s.DeleteVerdict(t.Context(), v.ID); err != nil {
				return err
			}
		}
		return nil
	})
	c := changes(t, s, "search", first)
	wantChanges(t, c, true, []string{"q-00000000000a"}, nil)
	if c = changes(t, s, "search", c.Revision-16); c.All || len(c.Deleted) == 0 || len(c.Deleted) > 8 {
		t.Errorf("of the last 16 changes: %+v", c)
	}
}

// A follower sees the concurrent writes of others, each change once it is stored, and ends with the stored state.
func testChangesConcurrent(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	const writers, rounds = 6, 10
	known := map[string]int{}
	var revision int64
	follow := func() error {
		c, err := s.Changes(t.Context(), "search", revision)
		if err != nil {
			return err
		}
		if c.Revision < revision {
			return fmt.Errorf("the revision went from %d to %d", revision, c.Revision)
		}
		if c.All {
			clear(known)
		}
		for _, v := range c.Put {
			known[v.ID] = v.Level
		}
		for _, id := range c.Deleted {
			delete(known, id)
		}
		revision = c.Revision
		return nil
	}
	suite.Together(t, writers+1, func(w int) error {
		for round := range rounds {
			if w == writers {
				if err := follow(); err != nil {
					return err
				}
				continue
			}
			v := fullVerdict(fmt.Sprintf("q-%d", w), "search")
			v.Level = round
			if err := s.PutVerdict(t.Context(), v); err != nil {
				return err
			}
			if round%3 == 1 {
				if err := s.DeleteVerdict(t.Context(), v.ID); err != nil {
					return err
				}
			}
		}
		return nil
	})
	suite.Must(t, follow())
	want := map[string]int{}
	for w := range writers {
		want[fmt.Sprintf("q-%d", w)] = rounds - 1
	}
	suite.ErrorIf(t, !maps.Equal(known, want), "who followed knows %v, want %v", known, want)
}
