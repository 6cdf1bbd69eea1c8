package elastic

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// wildcardPattern measures a pattern of * and ? on a field; nil when the field is not
// known.
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

// madeForWildcards: fields of the type wildcard index n-grams, so that no
// pattern has to read every term.
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
		m.Detail = quoted(p) + " begins with a wildcard: every term of the field is read"
	}
}

// wildcards finds the first of them, and counts stars: a ? is one more state of an
// automaton, like a letter. A pattern of nothing but stars reads no terms: it asks
// whether there is a value.
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

// isQuestion: the mark at the end of a question, where people write it apart. It
// finds terms of one letter.
func isQuestion(word []byte) bool { return string(word) == "?" || string(word) == "??" }

// regexpPattern measures a regular expression of Lucene.
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

// group is one level of parentheses while an expression is read. The last one
// stands for all that are deeper than it can hold.
type group struct {
	states float64 // needed by what was read of it
	start  bool    // it begins where the expression begins
}

const maxGroups = 64

// expression is what is known of a regular expression while it is read.
type expression struct {
	groups   [maxGroups]group
	depth    int
	atStart  bool    // nothing that must match has been read
	leading  bool    // it begins with something that matches nearly any character
	loops    bool    // a loop over more than one character has been read
	narrow   bool    // and a narrower atom behind it
	doubling float64 // counts of a wide atom behind both
	beside   float64 // product of varied counts right beside each other
}

// automaton estimates the states that a regular expression needs when it is made
// deterministic, and says whether it begins with something that matches nearly
// any character. Counted repeats multiply what they repeat; and one that comes
// behind a loop and a narrower atom doubles the states with each count, because
// every position in the text may be where it began.
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
	for ; x.depth > 0; x.depth-- { // unclosed
		x.groups[x.depth-1].states += x.groups[x.depth].states
	}
	states = x.groups[0].states
	if x.doubling > 0 {
		states = max(states, math.Exp2(min(x.doubling, 1023)))
	}
	if whole := string(p); whole == ".*" || whole == "@" {
		x.leading = false // rewritten: is there a value
	}
	return states, x.leading
}

// close ends a group, with what is written behind it.
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

// atom reads one that is no group.
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

// shownStates is what the reference of the backend itself asks for in an example;
// it counts as what it allows without being asked.
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
		r.pattern(cost.PatternLength, utf8.RuneCount(prefix), text) // an automaton of one state for each character
	}
	return selStrong
}

// patternQuery: wildcard and regexp.
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

// determinized: the states that a query asks to be allowed.
func (r *Reader) determinized(options int) {
	if at := firstOf(r.get(options, "max_determinized_states"), r.get(options, "max_determined_states")); at > none {
		states := r.quantity(at, 0)
		if states <= shownStates {
			states = min(states, allowedStates)
		}
		r.add(cost.RegexStates, states, at).Cap = r.bodyCap(at, "", "", 0, 1)
	}
}
