package elastic

import (
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/redos"
)

// analysis is a text on its way through an analyzer.
type analysis struct {
	chars, words float64
	tokens       float64 // at present
	most         float64 // that there were, or that room was made for
	at           int     // what made the most
}

func (a *analysis) becomes(tokens float64, at int) {
	if a.tokens = tokens; tokens > a.most {
		a.most, a.at = tokens, at
	}
}

// analyze measures _analyze: the tokens that a text becomes, with the parts of an
// analyzer that are defined in place, and their scripts and expressions.
func (r *Reader) analyze(root int) {
	a := analysis{at: root}
	r.each(r.get(root, "text"), func(e int) {
		if r.isText(e) {
			text := r.bytes(e)
			a.chars += float64(len(text))
			a.words += float64(words(text))
		}
	})
	a.becomes(a.words, firstOf(r.get(root, "text"), root))
	for _, name := range [...]string{"char_filter", "char_filters", "tokenizer", "filter", "filters", "token_filters", "analyzer"} {
		r.each(r.get(root, name), func(e int) { r.piece(e, &a, name == "tokenizer") })
	}
	if a.most > 0 {
		m := r.add(cost.AnalysisTokens, a.most, a.at)
		if r.o.Explain {
			m.Detail = fmt.Sprintf("%s bytes in %s words become up to %s tokens", figure(a.chars), figure(a.words), figure(a.most))
		}
	}
}

// piece reads one part of an analyzer that is defined in place.
func (r *Reader) piece(n int, a *analysis, tokenizer bool) {
	kind := r.get(n, "type")
	if kind <= none || !r.isText(kind) {
		return
	}
	r.scriptIn(n, false)
	grams := func(least, most string, from, to float64) float64 {
		from, to = r.quantity(r.get(n, least), from), r.quantity(r.get(n, most), to)
		return max(1, min(to, max(a.chars, a.words))-from+1)
	}
	switch string(r.bytes(kind)) {
	case "ngram", "nGram":
		a.becomes(a.chars*grams("min_gram", "max_gram", 1, 2), n)
	case "edge_ngram", "edgeNGram":
		each := grams("min_gram", "max_gram", 1, 2)
		if tokenizer {
			a.becomes(each, n)
		} else {
			a.becomes(a.tokens*each, n)
		}
	case "shingle":
		a.becomes(a.tokens*grams("min_shingle_size", "max_shingle_size", 2, 2), n)
	case "min_hash":
		room := max(1, r.quantity(r.get(n, "hash_count"), 1)) * max(1, r.quantity(r.get(n, "bucket_count"), 512))
		a.becomes(room*max(1, r.quantity(r.get(n, "hash_set_size"), 1)), n)
	case "pattern", "pattern_replace", "pattern_capture", "keyword_marker":
		for _, name := range [...]string{"pattern", "patterns", "keywords_pattern"} {
			r.each(r.get(n, name), func(e int) {
				if r.isText(e) {
					r.backtracks(e, string(r.bytes(e)), redos.Java, false)
				}
			})
		}
	}
}

// Expressions of one request are analysed until they are so many, or have taken so
// many steps: some forty milliseconds.
const (
	maxExpressions = 64
	maxSteps       = 2 * redos.DefaultBudget
)

// backtracks measures an expression of node n for an engine that tries one way
// after the other. Where such texts are usual, only what doubles counts.
func (r *Reader) backtracks(n int, expression string, d redos.Dialect, usual bool) {
	if r.expressions > maxExpressions {
		return
	}
	if r.expressions++; r.expressions > maxExpressions || r.steps > maxSteps {
		r.expressions = maxExpressions + 1
		m := r.add(cost.RegexUnknown, 1, n)
		if r.o.Explain {
			m.Detail = "the expressions before it took as long as all of a request may"
		}
		return
	}
	got := redos.Analyze(expression, redos.Options{Dialect: d})
	r.steps += got.Steps
	p, value := cost.RegexUnknown, 1.0
	switch {
	case got.Class == redos.Exponential:
		p, value = cost.RegexExponential, math.Inf(1)
	case got.Class == redos.Safe, usual:
		return
	case got.Class == redos.Polynomial && got.SearchOnly:
		p, value = cost.RegexSearch, float64(got.Degree)
	case got.Class == redos.Polynomial:
		p, value = cost.RegexPolynomial, float64(got.Degree)
	}
	m := r.add(p, value, n)
	if r.o.Explain {
		m.Detail, m.Fix = got.Reason, got.Fix
		if got.Confirmed {
			m.Detail = fmt.Sprintf("%q, then %q again and again, then %q", got.Witness.Prefix, got.Witness.Pump, got.Witness.Suffix)
		}
	}
}
