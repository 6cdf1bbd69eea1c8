package sql_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/sql"
)

// limits are those that a guard has by default for what it refuses, and 0 for
// what is worth a report.
func limits() map[cost.Predictor]float64 {
	return map[cost.Predictor]float64{
		cost.MissingWhere: 0, cost.LeadingWildcard: 0, cost.LikeWildcards: 4, cost.CrossJoin: 1, cost.JoinCount: 8, cost.InList: 1000,
		cost.OffsetRows: 10_000, cost.GroupCardinality: 1_000_000, cost.SubqueryDepth: 5, cost.DeniedFunction: 0, cost.FullScan: 1_000_000,
		cost.RegexExponential: 0, cost.RegexPolynomial: 1, cost.RegexStates: 10_000, cost.RegexLength: 1000,
		cost.Generated:   10_000_000,
		cost.NonSargable: 0, cost.Regex: 0, cost.Sort: 0, cost.Recursive: 0, cost.MultiStatement: 1, cost.Unparsable: 0,
	}
}

// table is what hints know in tests.
type table map[string]cost.FieldHint

func (t table) Field(index, field string) (cost.FieldHint, bool) {
	h, ok := t[strings.ToLower(index+"."+field)]
	return h, ok
}

func (t table) Index(index string) (cost.IndexHint, bool) {
	h, ok := t[strings.ToLower(index)]
	return cost.IndexHint{Docs: h.Cardinality}, ok
}

func (table) Age() time.Duration { return 0 }

func read(t testing.TB, q cost.Query, o cost.Options) []cost.Measure {
	t.Helper()
	var r sql.Reader
	out, err := r.Read(nil, q, o)
	if err != nil {
		out = append(out, cost.Measure{Predictor: cost.Unparsable, Value: 1})
	}
	return out
}

// broken names the predictors whose limits a query breaks, in order.
func broken(measures []cost.Measure) string {
	var names []string
	for _, m := range measures {
		limit, ok := limits()[m.Predictor]
		if ok && m.Value > limit && !slices.Contains(names, m.Predictor.String()) {
			names = append(names, m.Predictor.String())
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

type check struct {
	text, dialect string
	want          string // predictors whose limits are broken
	args          []any
}

func run(t *testing.T, o cost.Options, checks []check) {
	t.Helper()
	for _, c := range checks {
		q := cost.Query{Body: []byte(c.text), Dialect: c.dialect, Args: c.args}
		measures := read(t, q, o)
		if got := broken(measures); got != c.want {
			t.Errorf("%s\n  breaks %q, want %q\n%s", c.text, got, c.want, show(measures))
		}
	}
}

func show(measures []cost.Measure) string {
	var b strings.Builder
	for _, m := range measures {
		fmt.Fprintf(&b, "    %s %v at %d: %s %s\n", m.Predictor, m.Value, m.Offset, m.Path, m.Detail)
	}
	return b.String()
}

// find is the value of the first measure of a predictor; NaN without one.
func find(measures []cost.Measure, p cost.Predictor) float64 {
	for _, m := range measures {
		if m.Predictor == p {
			return m.Value
		}
	}
	return math.NaN()
}
