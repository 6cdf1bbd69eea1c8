package guard

import (
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Limits of a cost in units.
const (
	maxShare = 1000    // of one measure
	maxCost  = 100_000 // of one query
)

// weigh returns the cost of a query in units: 1, plus for each measure its value divided by
// the price of its predictor. A unit corresponds to a search for one page of hits. mostly
// is the predictor of the measure with the largest part.
func weigh(measures []cost.Measure) (units float64, mostly cost.Predictor) {
	units = 1
	most := 0.0
	for i := range measures {
		if price := priceOf(measures[i].Predictor); price > 0 {
			part := min(measures[i].Value/price, maxShare)
			if units += part; part > most {
				most, mostly = part, measures[i].Predictor
			}
		}
	}
	return math.Round(100*min(units, maxCost)) / 100, mostly
}

// priceOf returns the amount of a predictor that costs one unit; 0 means free.
func priceOf(p cost.Predictor) float64 {
	switch p {
	case cost.LeadingWildcard, cost.NonSargable, cost.Regex, cost.Sort, cost.Script, cost.ScriptScore, cost.Recursive, cost.UnfilteredWrite, cost.MissingWhere:
		return 0.05 // twenty units each
	case cost.ExpensiveClass, cost.Joining, cost.Batch, cost.JoinCount, cost.GQLDepth, cost.RegexExponential, cost.RegexPolynomial:
		return 1
	case cost.ClauseCount, cost.FieldFanout, cost.Shards, cost.Fetch, cost.InnerWindow, cost.GQLCost, cost.InList:
		return 100
	case cost.ResultWindow, cost.AggProduct, cost.HistogramSpan, cost.GeoCells, cost.TermsCount, cost.OffsetRows, cost.RescoreWindow, cost.RegexStates, cost.GQLNodes:
		return 1000
	case cost.AggCardinality, cost.GroupCardinality, cost.Unfiltered, cost.FullScan, cost.Generated:
		return 100_000
	case cost.BodyBytes:
		return 1 << 20
	default:
		return 0
	}
}

// shapeOf returns a hash that queries of the same structure share: the endpoint, their
// constructs, and the amounts rounded to powers of two.
func shapeOf(q *Query, measures []cost.Measure) uint64 {
	h := mix(14695981039346656037, string(q.Kind))
	h = mix(h, q.Method)
	h = mix(h, endpoint(q.Path))
	for i := range measures {
		m := &measures[i]
		if m.Predictor == cost.BodyBytes {
			continue
		}
		size := byte(255)
		if m.Value < math.MaxUint32 {
			size = byte(math.Ilogb(m.Value + 1))
		}
		h = (h ^ uint64(m.Predictor)<<8 ^ uint64(size)) * 1099511628211
	}
	return h
}

func mix(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return (h ^ 0xff) * 1099511628211
}

// endpoint returns a path without the names of indices, such as /_search.
func endpoint(path string) string {
	if i := strings.Index(path, "/_"); i >= 0 {
		return path[i:]
	}
	return ""
}
