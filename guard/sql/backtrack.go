package sql

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// backtracks adds the measures of an analysis for a backtracking engine.
func (r *Reader) backtracks(k int, got redos.Result) {
	p, value := cost.RegexUnknown, 1.0
	switch {
	case got.Class == redos.Safe:
		return
	case got.Class == redos.Exponential:
		p, value = cost.RegexExponential, math.Inf(1)
	case got.Class == redos.Polynomial && got.SearchOnly:
		p, value = cost.RegexSearch, float64(got.Degree)
	case got.Class == redos.Polynomial:
		p, value = cost.RegexPolynomial, float64(got.Degree)
	}
	m := r.add(p, value, k, "regular expression")
	if r.o.Explain {
		m.Detail, m.Fix = got.Reason, got.Fix
		if got.Confirmed {
			m.Detail = format("%q, then %q again and again, then %q", got.Witness.Prefix, got.Witness.Pump, got.Witness.Suffix)
		}
	}
}
