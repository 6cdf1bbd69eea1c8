package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func testCancelled(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	v, l := fullVerdict("q-00000000000a", "search"), fullLetter("dl-00000000000a", "search", mark(1))
	putVerdict(t, s, v)
	putLetter(t, s, l)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	overdue, done := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer done()
	for ctx, want := range map[context.Context]error{cancelled: context.Canceled, overdue: context.DeadlineExceeded} {
		for method, call := range map[string]func(context.Context) error{
			"PutVerdict":    func(ctx context.Context) error { return s.PutVerdict(ctx, fullVerdict("q-0", "search")) },
			"DeleteVerdict": func(ctx context.Context) error { return s.DeleteVerdict(ctx, v.ID) },
			"Changes":       func(ctx context.Context) error { _, err := s.Changes(ctx, "search", 0); return err },
			"Verdicts":      func(ctx context.Context) error { _, err := s.Verdicts(ctx, ""); return err },
			"PutLetter": func(ctx context.Context) error {
				_, err := s.PutLetter(ctx, fullLetter("dl-0", "search", mark(2)))
				return err
			},
			"Letters":      func(ctx context.Context) error { _, err := s.Letters(ctx, ledger.LetterQuery{}); return err },
			"Letter":       func(ctx context.Context) error { _, err := s.Letter(ctx, l.ID); return err },
			"DeleteLetter": func(ctx context.Context) error { return s.DeleteLetter(ctx, l.ID) },
		} {
			if err := call(ctx); !errors.Is(err, want) {
				t.Errorf("%s = %v, want %v", method, err, want)
			}
		}
	}
	wantVerdicts(t, s, "", v)
	wantListed(t, s, ledger.LetterQuery{}, l.ID)
}

// However many copies arrive at once, there is one letter, and no copy is lost.
func testConcurrentCopies(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	const writers, copies = 8, 8
	var mu sync.Mutex // guards ids
	ids := map[string]int{}
	suite.Together(t, writers, func(w int) error {
		for c := range copies {
			l := fullLetter(fmt.Sprintf("dl-%d-%d", w, c), "search", mark(1))
			l.Copies = 3
			stored, err := s.PutLetter(t.Context(), l)
			if err != nil {
				return err
			}
			mu.Lock()
			ids[stored.ID]++
			mu.Unlock()
		}
		return nil
	})
	suite.FatalIf(t, len(ids) != 1, "one work has the letters %v", ids)
	for id := range ids {
		l, err := s.Letter(t.Context(), id)
		suite.Must(t, err)
		if want := int64(writers * copies * 3); l.Copies != want {
			t.Fatalf("%d copies are counted, want %d", l.Copies, want)
		}
	}
}

func testConcurrentNewcomers(t *testing.T, h Harness) {
	const bound = 10
	s := h.Open(t, bound)
	suite.Together(t, 8, func(w int) error {
		for i := range 8 {
			n := byte(8*w + i)
			if _, err := s.PutLetter(t.Context(), letterAt(n, int(n))); err != nil {
				return err
			}
		}
		return nil
	})
	if got := listed(t, s, ledger.LetterQuery{}); len(got) != bound {
		t.Fatalf("%d letters are left, want the bound of %d", len(got), bound)
	}
}

// Concurrent writers of separate records lose nothing, and readers see no partial writes.
func testConcurrentMix(t *testing.T, h Harness) {
	s := h.Open(t, 0)
	const writers, rounds = 6, 8
	suite.Together(t, 2*writers, func(i int) error {
		for round := range rounds {
			if i >= writers {
				if err := readAll(t.Context(), s); err != nil {
					return err
				}
				continue
			}
			v := fullVerdict(fmt.Sprintf("q-%d", i), "search")
			v.Level, v.Reason = round, fmt.Sprint("round ", round)
			if err := s.PutVerdict(t.Context(), v); err != nil {
				return err
			}
			if _, err := s.PutLetter(t.Context(), letterAt(byte(i), round)); err != nil {
				return err
			}
			gone := fmt.Sprintf("q-gone-%d", i)
			if err := s.PutVerdict(t.Context(), fullVerdict(gone, "search")); err != nil {
				return err
			}
			if err := s.DeleteVerdict(t.Context(), gone); err != nil {
				return err
			}
		}
		return nil
	})
	verdicts, err := s.Verdicts(t.Context(), "search")
	suite.Must(t, err)
	suite.FatalIf(t, len(verdicts) != writers, "%d verdicts are left, want %d", len(verdicts), writers)
	for _, v := range verdicts {
		suite.ErrorIf(t, v.Level != rounds-1, "verdict %s is of round %d, want the last", v.ID, v.Level)
	}
}

func readAll(ctx context.Context, s ledger.Store) error {
	verdicts, err := s.Verdicts(ctx, "search")
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if v.Reason != fullVerdict("", "").Reason && v.Reason != fmt.Sprint("round ", v.Level) {
			return fmt.Errorf("verdict %s mixes two writes: level %d, %q", v.ID, v.Level, v.Reason)
		}
	}
	letters, err := s.Letters(ctx, ledger.LetterQuery{})
	if err != nil {
		return err
	}
	for _, l := range letters {
		var whole bezoar.Letter
		if whole, err = s.Letter(ctx, l.ID); err != nil {
			return err
		}
		if want := whole.Last.Sub(after(0)).Seconds() + 1; float64(whole.Copies) != want {
			return fmt.Errorf("letter %s has %d copies at second %v", l.ID, whole.Copies, want-1)
		}
	}
	return nil
}
