package elastic

import (
	"bytes"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// keeps measures the room that an aggregation is asked to make, which backends
// make before there is anything to keep.
func (r *Reader) keeps(v int, names ...string) {
	for _, name := range names {
		at := r.get(v, name)
		if at <= none {
			continue
		}
		weight, of := 1.0, name
		if name == "initial_buffer" { // five times as many as anything else by the backend's own choice
			weight = bufferWeight
		}
		m := r.add(cost.AggSize, r.quantity(at, 0)*weight, at)
		if weight == 1 {
			m.Cap = r.bodyCap(at, "", "", 0, 1)
		}
		if r.o.Explain {
			m.Detail = "room for " + figure(r.quantity(at, 0)) + ", by its " + of
		}
	}
}

const (
	bufferWeight = 1.0 / 5

	// Backends refuse more than 10 000 fragments, 1000 tokens and 1024 slices, or
	// have died of them. They are limited with what has limits of 100, 10 000
	// and 100.
	fragmentWeight = 1.0 / 100
	tokenWeight    = 10.0
	sliceWeight    = 100.0 / 1024

	ordinaryFragments = 100 // so few need no words
)

// fragments measures how many pieces of a field a highlighter gets ready for.
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
		m.Detail = "fragments, a hundred of them as much as one doc value field: " + figure(asked)
	}
}

// slice measures how many parts a scroll, or a point in time, is cut into: for
// each, the backend goes through the same documents.
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

// shapeDepth measures the parentheses of a shape that is written as text. Parsers
// of backends go down one call for each.
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

// Patterns that are short alone add up: each is an automaton of its own.
const (
	ordinaryPatterns = 10_000
	patternWeight    = 1.0 / 50
)

// pattern measures the length of a pattern, and keeps it for the sum of all.
func (r *Reader) pattern(p cost.Predictor, length, n int) {
	r.add(p, float64(length), n)
	if r.query.patternsAt <= none {
		r.query.patternsAt = n
	}
	r.query.patterns += float64(length)
}

// allPatterns measures their sum.
func (r *Reader) allPatterns() {
	q := &r.query
	if q.patterns <= ordinaryPatterns {
		return
	}
	m := r.add(cost.PatternLength, q.patterns*patternWeight, q.patternsAt)
	if r.o.Explain {
		m.Detail = "patterns of " + figure(q.patterns) + " characters, fifty of them as much as one of a single pattern"
	}
}
