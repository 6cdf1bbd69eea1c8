package elastic

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// wildcardPattern measures a pattern of * and ? on a field; field is nil if unknown.
func (r *Reader) wildcardPattern(p []byte, n int, field []byte) {
	_, stars, leading := wildcards(p)
	r.pattern(cost.PatternLength, utf8.RuneCount(p), n)
	if stars > 0 {
		r.add(cost.WildcardStars, float64(stars), n)
	}
	if leading && !r.madeForWildcards(field) {
		r.leading(p, n)
	}
}

// madeForWildcards reports whether the field has the type wildcard. Such a field indexes
// n-grams, so that no pattern reads every term.
func (r *Reader) madeForWildcards(field []byte) bool {
	h, ok := r.fieldHint(field)
	return ok && h.Type == "wildcard"
}

func (r *Reader) leading(p []byte, n int) {
	if r.query.leading == 0 {
		r.query.leadingAt = len(r.out)
	}
	r.query.leading++
	m := r.add(cost.LeadingWildcard, 1, n)
	if r.o.Explain {
		m.Detail = quoted(p) + " begins with a wildcard, so every term of the field is read"
	}
}

// wildcards finds the first wildcard, and counts stars. A ? is one more state of an
// automaton, like a letter. A pattern of stars only reads no terms: it asks whether there
// is a value.
func wildcards(p []byte) (first, stars int, leading bool) {
	other := false
	first = -1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
			other = true
		case '*', '?':
			if first < 0 {
				first = i
			}
			if p[i] == '*' {
				stars++
			}
			leading = leading || !other
			other = other || p[i] == '?'
		default:
			other = true
		}
	}
	return first, stars, leading && other && !isQuestion(p)
}

// isQuestion reports whether a word is a question mark at the end of a question, which
// people write with a space before. It matches terms of one letter.
func isQuestion(word []byte) bool { return string(word) == "?" || string(word) == "??" }

// regexpPattern measures a Lucene regular expression.
func (r *Reader) regexpPattern(p []byte, n int, field []byte) {
	r.pattern(cost.RegexLength, utf8.RuneCount(p), n)
	states, leading := automaton(p)
	if states > 1 {
		m := r.add(cost.RegexStates, states, n)
		if r.o.Explain {
			m.Detail = "counted repeats of " + quoted(p)
		}
	}
	if leading && !r.madeForWildcards(field) {
		r.leading(p, n)
	}
}

// group is one level of parentheses during parsing. The last one stands for all deeper
// levels.
type group struct {
	states float64 // states needed so far
	start  bool    // it starts at the start of the expression
}

const maxGroups = 64

// expression is the state of parsing a regular expression.
type expression struct {
	groups   [maxGroups]group
	depth    int
	atStart  bool    // nothing mandatory has been read
	leading  bool    // it begins with something that matches nearly any character
	loops    bool    // a loop over more than one character was read
	narrow   bool    // followed by a narrower atom
	doubling float64 // counts of a wide atom after both
	beside   float64 // product of adjacent varied counts
}

// automaton estimates the number of states of a regular expression after determinization.
// leading reports whether it begins with something that matches nearly any character.
// Counted repeats multiply the states of what they repeat. A counted repeat after a loop
// and a narrower atom doubles the states with each count, because the repeat may have begun
// at every position of the text.
func automaton(p []byte) (states float64, leading bool) {
	x := expression{atStart: true, beside: 1}
	x.groups[0].start = true
	for i := 0; i < len(p); {
		a := atomAt(p, i)
		i = a.end
		switch a.kind {
		case atomOpen:
			x.depth = min(x.depth+1, maxGroups-1)
			x.groups[x.depth] = group{start: x.atStart}
			x.beside = 1
		case atomOr:
			x.atStart, x.beside = x.groups[x.depth].start, 1
		case atomSkip:
		case atomClose:
			q := quantifierAt(p, i)
			x.close(q)
			i = q.end
		case atomLiteral, atomAny, atomClass:
			q := quantifierAt(p, i)
			x.atom(a.kind, q)
			i = q.end
		}
	}
	for ; x.depth > 0; x.depth-- { // unclosed groups
		x.groups[x.depth-1].states += x.groups[x.depth].states
	}
	states = x.groups[0].states
	if x.doubling > 0 {
		states = max(states, math.Exp2(min(x.doubling, 1023)))
	}
	if whole := string(p); whole == ".*" || whole == "@" {
		x.leading = false // rewritten: asks whether there is a value
	}
	return states, x.leading
}

// close ends a group with the quantifier after it.
func (x *expression) close(q quantifier) {
	inner := max(1, x.groups[x.depth].states)
	if q.optional && x.groups[x.depth].start {
		x.atStart = true
	}
	x.depth = max(0, x.depth-1)
	x.groups[x.depth].states += inner * q.count()
	x.beside = 1
	if q.unbounded {
		x.loops, x.narrow = true, false
	}
}

// atom processes an atom that is not a group.
func (x *expression) atom(k atomKind, q quantifier) {
	wide := k != atomLiteral
	if x.atStart && (k == atomAny || wide && q.unbounded) {
		x.leading = true
	}
	switch {
	case q.unbounded && wide:
		x.loops, x.narrow = true, false
	case q.counted && x.loops && x.narrow && wide:
		x.doubling = max(x.doubling, q.count())
	default:
		x.narrow = true
	}
	n := q.count()
	if q.varied && wide {
		x.beside *= n
		n = x.beside
	} else {
		x.beside = 1
	}
	x.groups[x.depth].states += n
	if !q.optional {
		x.atStart = false
	}
}

// shownStates is the number in an example of the backend's reference. It counts like the
// backend's default.
const (
	shownStates   = 20_000
	allowedStates = 10_000
)

func (r *Reader) prefixQuery(v int) selectivity {
	r.clause(v, 1)
	r.expensive(v)
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		if r.isMeta(k) {
			continue
		}
		text := k + 1
		if r.isObject(text) {
			text = firstOf(r.get(text, "value"), r.get(text, "prefix"))
		}
		if text <= none || !r.isText(text) {
			continue
		}
		prefix := r.bytes(text)
		if len(prefix) == 0 {
			return selWeak
		}
		r.pattern(cost.PatternLength, utf8.RuneCount(prefix), text) // an automaton with one state per character
	}
	return selStrong
}

// patternQuery reads wildcard and regexp queries.
func (r *Reader) patternQuery(v int, regex bool) selectivity {
	r.clause(v, 1)
	r.expensive(v)
	sel := selStrong
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		if r.isMeta(k) {
			continue
		}
		text, options := k+1, none
		if r.isObject(text) {
			options = text
			text = firstOf(r.get(options, "value"), r.get(options, "wildcard"), r.get(options, "regexp"), r.get(options, "query"))
		}
		if text <= none || !r.isText(text) {
			continue
		}
		pattern := r.bytes(text)
		if regex {
			r.regexpPattern(pattern, text, r.bytes(k))
			r.determinized(options)
		} else {
			r.wildcardPattern(pattern, text, r.bytes(k))
		}
		if len(bytes.Trim(pattern, "*")) == 0 || regex && string(pattern) == ".*" {
			sel = selWeak
		}
	}
	return sel
}

// determinized measures the number of states that a query allows.
func (r *Reader) determinized(options int) {
	if at := firstOf(r.get(options, "max_determinized_states"), r.get(options, "max_determined_states")); at > none {
		states := r.quantity(at, 0)
		if states <= shownStates {
			states = min(states, allowedStates)
		}
		r.add(cost.RegexStates, states, at).Cap = r.bodyCap(at, "", "", 0, 1)
	}
}
