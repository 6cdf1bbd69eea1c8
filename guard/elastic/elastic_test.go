package elastic_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

// limits are those of the backends, or of incidents: enough to tell ordinary
// queries from others. Those that a deployment uses are the engine's.
func limits() map[cost.Predictor]float64 {
	return map[cost.Predictor]float64{
		cost.ResultWindow: 10000, cost.InnerWindow: 100, cost.RescoreWindow: 10000, cost.AggProduct: 65536,
		cost.AggCardinality: 1e6, cost.AggSize: 10000, cost.HistogramSpan: 65536, cost.GeoCells: 65536,
		cost.AggDepth: 20, cost.QueryDepth: 30, cost.ClauseCount: 1024, cost.TermsCount: 65536, cost.IDsCount: 10000,
		cost.LeadingWildcard: 0, cost.PatternLength: 1000, cost.RegexLength: 1000, cost.RegexStates: 10000,
		cost.WildcardStars: 8, cost.FieldFanout: 100, cost.Script: 10, cost.Joining: 2, cost.ScrollTTL: 86400,
		cost.Fetch: 100, cost.Shards: 1000, cost.UnfilteredWrite: 0, cost.Batch: 100, cost.SuggestSize: 10000,
		cost.VectorCandidates: 10000, cost.DeniedEndpoint: 0, cost.UnreadEndpoint: 0,
		cost.RegexExponential: 0, cost.RegexPolynomial: 1,
	}
}

// hints for the tests: one index with everything.
type hints struct{}

func (hints) Age() time.Duration { return 0 }

func (hints) Index(index string) (cost.IndexHint, bool) {
	switch {
	case strings.HasPrefix(index, "shop"):
		return cost.IndexHint{Docs: 5e7, Fields: 40, Shards: 6}, true
	case index == "museums":
		return cost.IndexHint{Docs: 5000}, true
	case index == "metrics-*":
		return cost.IndexHint{Fields: 993, Endless: true}, true
	case index == "week":
		return cost.IndexHint{Span: 7 * 24 * time.Hour}, true
	}
	return cost.IndexHint{}, false
}

func (hints) Field(_, field string) (cost.FieldHint, bool) {
	switch field {
	case "order_id":
		return cost.FieldHint{Type: "keyword", Unique: true}, true
	case "customer", "url":
		return cost.FieldHint{Type: "keyword", Cardinality: 1e7}, true
	case "region":
		return cost.FieldHint{Type: "keyword", Cardinality: 10000}, true
	case "status":
		return cost.FieldHint{Type: "keyword", Cardinality: 12}, true
	case "trace":
		return cost.FieldHint{Type: "wildcard"}, true
	case "amount":
		return cost.FieldHint{Type: "long", HasRange: true, Min: 0, Max: 1e9}, true
	}
	return cost.FieldHint{}, false
}

func split(request string) (method, path, raw string) {
	method, uri, _ := strings.Cut(request, " ")
	path, raw, _ = strings.Cut(uri, "?")
	return method, path, raw
}

func read(t *testing.T, request, body string, o cost.Options) ([]cost.Measure, error) {
	t.Helper()
	method, path, raw := split(request)
	var r elastic.Reader
	return r.Read(nil, cost.Query{Method: method, Path: path, RawQuery: raw, Body: []byte(body)}, o)
}

// over are the names of what is over the limits, sorted.
func over(ms []cost.Measure) []string {
	var names []string
	for _, m := range ms {
		if limit, ok := limits()[m.Predictor]; ok && m.Value > limit {
			names = append(names, m.Predictor.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func valueOf(ms []cost.Measure, p cost.Predictor) (float64, bool) {
	largest, found := math.Inf(-1), false
	for _, m := range ms {
		if m.Predictor == p {
			largest, found = max(largest, m.Value), true
		}
	}
	return largest, found
}

// scenario is one request. over says what passes a limit with hints; "" is nothing.
type scenario struct{ name, request, body, over string }

func check(t *testing.T, list []scenario) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			ms, err := read(t, c.request, c.body, cost.Options{Hints: hints{}, Explain: true, Now: time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatalf("cannot be read: %v", err)
			}
			if got := strings.Join(over(ms), " "); got != c.over {
				for _, m := range ms {
					t.Logf("%v %v at %d %s: %s", m.Predictor, m.Value, m.Offset, m.Path, m.Detail)
				}
				t.Errorf("over the limits: %q, want %q", got, c.over)
			}
		})
	}
}
