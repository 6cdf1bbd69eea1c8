package guard

import (
	"fmt"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// expressionReader reads regular expressions that are queries themselves. It caches the
// last result, because the second pass reads the same expression.
type expressionReader struct {
	pattern, dialect string
	result           redos.Result
	known            bool
}

// Read implements cost.Reader. Flags may follow the dialect, as in js/i.
func (r *expressionReader) Read(dst []cost.Measure, q cost.Query, o cost.Options) ([]cost.Measure, error) {
	name, flags, _ := strings.Cut(q.Dialect, "/")
	dialect := redos.JS
	if name != "" {
		d, err := redos.ParseDialect(name)
		if err != nil {
			return dst, &cost.Unreadable{Reason: err.Error(), Offset: -1}
		}
		dialect = d
	}
	if !r.known || r.dialect != q.Dialect || r.pattern != string(q.Body) {
		*r = expressionReader{pattern: string(q.Body), dialect: strings.Clone(q.Dialect), known: true}
		r.result = redos.Analyze(r.pattern, redos.Options{Dialect: dialect, Flags: flags})
	}
	if len(r.pattern) > redos.MaxPattern { // too large to cache
		r.known, r.pattern = false, ""
	}
	return r.measures(dst, len(q.Body), dialect.Backtracks(), o.Explain), nil
}

func (r *expressionReader) measures(dst []cost.Measure, length int, backtracks, explain bool) []cost.Measure {
	at := max(r.result.Offset, 0)
	add := func(p cost.Predictor, value float64) {
		m := cost.Measure{Predictor: p, Value: value, Offset: at}
		if explain {
			m.Path, m.Detail = "pattern", r.detail(p)
			if p != cost.RegexLength && p != cost.RegexStates {
				m.Fix = r.result.Fix
			}
		}
		dst = append(dst, m)
	}
	switch r.result.Class {
	case redos.Exponential:
		add(cost.RegexExponential, math.Inf(1))
	case redos.Polynomial:
		p := cost.RegexPolynomial
		if r.result.SearchOnly {
			p = cost.RegexSearch
		}
		add(p, float64(max(r.result.Degree, 2)))
	case redos.Unknown:
		add(cost.RegexUnknown, 1)
	case redos.Safe:
	}
	if !backtracks {
		at = 0
		add(cost.RegexLength, float64(length))
		add(cost.RegexStates, float64(r.result.States))
	}
	return dst
}

// detail returns the attack, or the reason of the result.
func (r *expressionReader) detail(p cost.Predictor) string {
	switch p {
	case cost.RegexLength, cost.RegexStates:
		return fmt.Sprintf("%d states, counted repeats multiply to %d", r.result.States, r.result.Repeat)
	default:
	}
	w := r.result.Witness
	if w.Pump == "" {
		return r.result.Reason
	}
	sure := "confirmed by running it"
	if !r.result.Confirmed {
		sure = "not confirmed"
	}
	return fmt.Sprintf("%s; attack %s, then %s again and again, then %s (%s)", r.result.Reason, short(w.Prefix), short(w.Pump), short(w.Suffix), sure)
}

// short quotes a part of an attack, shortened.
func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%q…", s[:40])
	}
	return fmt.Sprintf("%q", s)
}
