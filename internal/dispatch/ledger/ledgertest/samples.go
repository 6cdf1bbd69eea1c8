package ledgertest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

// epoch is when the samples happen, in whole microseconds.
func epoch() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 123_456_000, time.UTC) }

func after(seconds int) time.Time { return epoch().Add(time.Duration(seconds) * time.Second) }

func mark(n byte) bezoar.Fingerprint { return bezoar.Fingerprint{0: n, 15: 0xa5} }

func fullEvidence(worker string) bezoar.Evidence {
	return bezoar.Evidence{
		Worker: worker, Epoch: 1<<63 + 11, At: after(-5), Class: bezoar.OOM,
		Detail: "signal: killed (out of memory, limit 256 MiB)", ExitCode: -1, Signal: "SIGKILL",
		Stderr: []string{"", "panic: \xff\xfe", "goroutine 1 [running]:"},
		Lane:   true, InFlight: 3, Share: 0.1 + 0.2,
		Others: []bezoar.Suspect{{Fingerprint: mark(201), Share: 0.25}, {Fingerprint: mark(202), Share: 5e-324}},
	}
}

func fullVerdict(id, fleet string) bezoar.Verdict {
	return bezoar.Verdict{
		ID: id, Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fingerprint: mark(1), Shape: mark(2),
		Fleet: fleet, Route: "/search/*", Cause: bezoar.Crash, Reason: "killed 2 of 2 workers, alone in the lane",
		Sample: "GET /search?q=%28a%2B%29", Score: 1.9375, Level: 3, Since: after(0), Until: after(60),
		Refused: 1 << 40, Manual: true, ReportOnly: true, Node: "edge-1",
		Variant: mark(4), Client: mark(5), Features: []string{"header X-Theme: neon", "parameter q"}, FeatureHashes: []uint64{1<<64 - 1, 7},
		Killers: 3, Successes: 32, Pace: 0.25, SidePace: 0.5, Late: true, Why: []string{"All 3 killers have it.", "None of 32 successes has it."},
		Evidence: []bezoar.Evidence{fullEvidence("search-1"), fullEvidence("search-2")},
	}
}

func variantOf(fingerprint bezoar.Fingerprint) bezoar.Fingerprint {
	fingerprint[7] = 0x5a
	return fingerprint
}

func fullLetter(id, fleet string, fingerprint bezoar.Fingerprint) bezoar.Letter {
	return bezoar.Letter{
		ID: id, Fingerprint: fingerprint, Variant: variantOf(fingerprint), Shape: mark(2), Verdict: "q-00000000000a", Fleet: fleet, Route: "/search/*",
		Class: bezoar.Timeout, Reason: "overdue three times", First: after(1), Last: after(2), Copies: 1,
		Request: bezoar.Request{
			Method: "POST", Target: "/search/a?b=c", Host: "shop.example",
			Header:   map[string][]string{"Content-Type": {"application/json"}, "X-Many": {"one", "", "two"}},
			Order:    []string{"x-many", "Content-Type", "X-Many", "X-MANY"},
			Body:     []byte(`{"q":"(a+)+$"}`),
			Trailer:  map[string][]string{"X-Sum": {"9", ""}},
			BodySize: 14, Truncated: true, Digest: mark(3), Client: "192.0.2.7:4711",
		},
		Evidence: []bezoar.Evidence{fullEvidence("search-1")},
	}
}

// checkFull fails if a field at or below v is zero: a sample that lacks a new field of the root types would not test it.
func checkFull(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for i := range v.NumField() {
			checkFull(t, path+"."+v.Type().Field(i).Name, v.Field(i))
		}
		return
	case reflect.Slice:
		if v.Len() > 0 && v.Type().Elem().Kind() == reflect.Struct {
			checkFull(t, path+"[0]", v.Index(0))
		}
	default: // zero or not, below
	}
	suite.FatalIf(t, v.IsZero(), "the sample leaves %s zero: set it in ledgertest/samples.go", path)
}

func putVerdict(t *testing.T, s ledger.Store, v bezoar.Verdict) {
	t.Helper()
	if err := s.PutVerdict(t.Context(), v); err != nil {
		t.Fatalf("PutVerdict(%s): %v", v.ID, err)
	}
}

func putLetter(t *testing.T, s ledger.Store, l bezoar.Letter) bezoar.Letter {
	t.Helper()
	stored, err := s.PutLetter(t.Context(), l)
	suite.FatalIf(t, err != nil, "PutLetter(%s): %v", l.ID, err)
	return stored
}

func wantVerdicts(t *testing.T, s ledger.Store, fleet string, want ...bezoar.Verdict) {
	t.Helper()
	got, err := s.Verdicts(t.Context(), fleet)
	suite.FatalIf(t, err != nil, "Verdicts(%q): %v", fleet, err)
	if diff := diff(want, got); diff != "" {
		t.Fatalf("Verdicts(%q) (-want +got)\n%s", fleet, diff)
	}
}

func wantLetter(t *testing.T, s ledger.Store, want bezoar.Letter) {
	t.Helper()
	got, err := s.Letter(t.Context(), want.ID)
	suite.FatalIf(t, err != nil, "Letter(%s): %v", want.ID, err)
	if diff := diff(want, got); diff != "" {
		t.Fatalf("Letter(%s) (-want +got)\n%s", want.ID, diff)
	}
}

func wantListed(t *testing.T, s ledger.Store, q ledger.LetterQuery, want ...string) {
	t.Helper()
	if got := listed(t, s, q); diff(want, got) != "" {
		t.Fatalf("Letters(%+v) = %v, want %v", q, got, want)
	}
}

func listed(t *testing.T, s ledger.Store, q ledger.LetterQuery) []string {
	t.Helper()
	letters, err := s.Letters(t.Context(), q)
	suite.FatalIf(t, err != nil, "Letters(%+v): %v", q, err)
	var ids []string
	for _, l := range letters {
		ids = append(ids, l.ID)
	}
	return ids
}

func wantNotFound(t *testing.T, what string, err error) {
	t.Helper()
	suite.ErrorIf(t, !errors.Is(err, ledger.ErrNotFound), "%s = %v, want ErrNotFound", what, err)
}

func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// empty clears s through its own methods.
func empty(ctx context.Context, s ledger.Store) error {
	verdicts, err := s.Verdicts(ctx, "")
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if err := s.DeleteVerdict(ctx, v.ID); err != nil {
			return err
		}
	}
	letters, err := s.Letters(ctx, ledger.LetterQuery{Limit: 1000})
	if err != nil {
		return err
	}
	for _, l := range letters {
		if err := s.DeleteLetter(ctx, l.ID); err != nil {
			return err
		}
	}
	return nil
}
