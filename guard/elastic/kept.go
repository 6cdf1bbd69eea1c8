package elastic

import (
	"bytes"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// keeps measures the memory that an aggregation reserves, which backends allocate in
// advance.
func (r *Reader) keeps(v int, names ...string) {
	for _, name := range names {
		at := r.get(v, name)
		if at <= none {
			continue
		}
		weight, of := 1.0, name
		if name == "initial_buffer" { // the backend's own default is five times as large
			weight = bufferWeight
		}
		m := r.add(cost.AggSize, r.quantity(at, 0)*weight, at)
		if weight == 1 {
			m.Cap = r.bodyCap(at, "", "", 0, 1)
		}
		if r.o.Explain {
			m.Detail = "reserves room for " + figure(r.quantity(at, 0)) + " by its " + of
		}
	}
}

const (
	bufferWeight = 1.0 / 5

	// Backends reject more than 10 000 fragments, 1000 tokens and 1024 slices, or have
	// crashed on them. The weights map these to predictors with limits of 100, 10 000 and
	// 100.
	fragmentWeight = 1.0 / 100
	tokenWeight    = 10.0
	sliceWeight    = 100.0 / 1024

	ordinaryFragments = 100 // up to this number no measure is added
)

// fragments measures the fragments that a highlighter prepares.
func (r *Reader) fragments(n int) {
	at := r.get(n, "number_of_fragments")
	if at <= none {
		return
	}
	asked := r.quantity(at, 0)
	if asked <= ordinaryFragments {
		return
	}
	m := r.add(cost.Fetch, asked*fragmentWeight, at)
	if r.o.Explain {
		m.Detail = "fragments, a hundred counted as one doc value field: " + figure(asked)
	}
}

// slice measures the number of slices of a scroll or point in time. The backend reads the
// same documents for each slice.
func (r *Reader) slice(n int) {
	at := r.get(n, "max")
	if at <= none {
		return
	}
	m := r.add(cost.Batch, r.quantity(at, 1)*sliceWeight, at)
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s slices; backends allow 1024 of them", figure(r.quantity(at, 1)))
	}
}

// shapeDepth measures the parentheses of a shape in text form. Parsers of backends recurse
// for each.
func (r *Reader) shapeDepth(n int) {
	if n <= none || !r.isText(n) {
		return
	}
	text := r.bytes(n)
	depth, deepest := 0, 0
	for i := bytes.IndexByte(text, '('); i >= 0 && i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth--
		}
	}
	if deepest > r.query.depth {
		r.query.depth, r.query.depthAt = deepest, n
	}
}

// Short patterns add up, because each is a separate automaton.
const (
	ordinaryPatterns = 10_000
	patternWeight    = 1.0 / 50
)

// pattern measures the length of a pattern, and adds it to the sum of all patterns.
func (r *Reader) pattern(p cost.Predictor, length, n int) {
	r.add(p, float64(length), n)
	if r.query.patternsAt <= none {
		r.query.patternsAt = n
	}
	r.query.patterns += float64(length)
}

// allPatterns measures the sum of the patterns.
func (r *Reader) allPatterns() {
	q := &r.query
	if q.patterns <= ordinaryPatterns {
		return
	}
	m := r.add(cost.PatternLength, q.patterns*patternWeight, q.patternsAt)
	if r.o.Explain {
		m.Detail = "patterns of " + figure(q.patterns) + " characters, fifty counted as one character of a single pattern"
	}
}
