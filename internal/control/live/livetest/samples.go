package livetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/suite"
)

func version(text string) live.Version {
	return live.Version{By: "ann@example", Source: live.FromAPI, Note: "why: ünïcode\n\tand lines", Sum: live.Sum([]byte(text)), Text: []byte(text)}
}

// override returns an override for the n-th caller.
func override(n int) live.Override {
	return live.Override{
		ID: fmt.Sprintf("ov-%04d", n), Route: "/search/*", Caller: fmt.Sprintf("it's \\ %d", n), Plan: "free",
		What: live.Rate, Factor: 0.1 + 0.2, By: "ann@example", Reason: "a greedy one",
	}
}

// limit changes o to an override of a query limit.
func limit(o *live.Override) {
	o.What, o.Factor, o.Value, o.Caller = live.GuardLimit, 0, "64k report", ""
	o.Class, o.Predictor, o.Index = "batch", "agg_product", "logs-*"
}

func node(name string) live.Node {
	return live.Node{
		Name: name, Running: 7, Sum: live.Sum(nil), Wanted: 8, Error: "bezoar.yaml:3:5: no such fleet", Overrides: 2,
		Since: time.Date(2026, 5, 4, 3, 2, 1, 123_456_000, time.UTC),
	}
}

func put(t *testing.T, s live.Store, base int64, text string) live.Version {
	t.Helper()
	v, err := s.PutVersion(t.Context(), base, version(text))
	suite.FatalIf(t, err != nil, "PutVersion on %d: %v", base, err)
	return v
}

func putOverride(t *testing.T, s live.Store, o live.Override, ttl time.Duration) live.Override {
	t.Helper()
	o, err := s.PutOverride(t.Context(), o, ttl)
	suite.FatalIf(t, err != nil, "PutOverride(%s): %v", o.ID, err)
	return o
}

func revision(t *testing.T, s live.Store) int64 {
	t.Helper()
	r, err := s.Revision(t.Context())
	suite.FatalIf(t, err != nil, "Revision: %v", err)
	return r
}

func history(t *testing.T, s live.Store, limit int) []live.Version {
	t.Helper()
	found, err := s.Versions(t.Context(), limit)
	suite.FatalIf(t, err != nil, "Versions: %v", err)
	return found
}

func overrides(t *testing.T, s live.Store) []live.Override {
	t.Helper()
	found, now, err := s.Overrides(t.Context())
	suite.FatalIf(t, err != nil, "Overrides: %v", err)
	for _, o := range found {
		suite.ErrorIf(t, !o.Until.After(now) || o.Since.After(now), "at %v override %s is listed, from %v until %v", now, o.ID, o.Since, o.Until)
	}
	return found
}

func nodes(t *testing.T, s live.Store) []live.Node {
	t.Helper()
	found, err := s.Nodes(t.Context())
	suite.FatalIf(t, err != nil, "Nodes: %v", err)
	return found
}

func want(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, append(opts, cmpopts.EquateEmpty())...); diff != "" {
		t.Errorf("%s (-want +got)\n%s", what, diff)
	}
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	suite.ErrorIf(t, !errors.Is(got, want), "%s = %v, want %v", what, got, want)
}

// bare returns v in the form of lists.
func bare(v live.Version) live.Version {
	v.Text = nil
	return v
}
