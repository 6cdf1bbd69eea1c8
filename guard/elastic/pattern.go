package elastic

import (
	"math"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// wildcardPattern measures a pattern of * and ? on a field; nil when the field is not
// known.
func (r *Reader) wildcardPattern(p []byte, n int, field []byte) {
	stars, leading := wildcards(p)
	r.add(cost.PatternLength, float64(utf8.RuneCount(p)), n)
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
	m := r.add(cost.LeadingWildcard, 1, n)
	if r.o.Explain {
		m.Detail = quoted(p) + " begins with a wildcard: every term of the field is read"
	}
}

// wildcards counts them. A pattern of nothing but stars reads no terms: it asks
// whether there is a value.
func wildcards(p []byte) (stars int, leading bool) {
	other := false
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
			other = true
		case '*':
			stars++
			leading = leading || !other
		case '?':
			stars++
			leading = leading || !other
			other = true
		default:
			other = true
		}
	}
	return stars, leading && other
}

// regexpPattern measures a regular expression of Lucene.
func (r *Reader) regexpPattern(p []byte, n int, field []byte) {
	r.add(cost.RegexLength, float64(utf8.RuneCount(p)), n)
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

// automaton estimates the states that a regular expression needs when it is made
// deterministic, and says whether it begins with something that matches nearly
// any character. Counted repeats multiply what they repeat; and one that comes
// behind a loop and a narrower atom doubles the states with each count, because
// every position in the text may be where it began.
func automaton(p []byte) (states float64, leading bool) {
	var groups [maxGroups]group
	depth := 0
	groups[0].start = true
	atStart := true // nothing that must match has been read
	loops, narrow := false, false
	doubling, beside := 0.0, 1.0 // beside: varied counts right beside each other
	for i := 0; i < len(p); {
		a := atomAt(p, i)
		switch a.kind {
		case atomOpen:
			if depth < maxGroups-1 {
				depth++
			}
			groups[depth] = group{start: atStart}
			beside = 1
			i = a.end
			continue
		case atomOr:
			atStart, beside = groups[depth].start, 1
			i = a.end
			continue
		case atomSkip:
			i = a.end
			continue
		}
		q := quantifierAt(p, a.end)
		inner := 1.0
		if a.kind == atomClose {
			inner = max(1, groups[depth].states)
			if q.optional && groups[depth].start {
				atStart = true
			}
			if depth > 0 {
				depth--
			}
		}
		if atStart && (a.kind == atomAny || a.kind == atomClass && q.unbounded) {
			leading = true
		}
		counted := 1.0
		if q.counted {
			counted = max(1, q.max)
		}
		switch {
		case q.unbounded && a.kind != atomLiteral:
			loops, narrow = true, false
		case q.counted && loops && narrow && (a.kind == atomAny || a.kind == atomClass):
			doubling = max(doubling, counted)
		default:
			narrow = true
		}
		varied := q.counted && q.varied && (a.kind == atomAny || a.kind == atomClass)
		if varied {
			beside *= counted
			counted = beside
		} else {
			beside = 1
		}
		groups[depth].states += inner * counted
		if !q.optional && a.kind != atomClose {
			atStart = false
		}
		i = q.end
	}
	for depth > 0 { // unclosed
		groups[depth-1].states += groups[depth].states
		depth--
	}
	states = groups[0].states
	if doubling > 0 {
		states = max(states, math.Exp2(min(doubling, 1023)))
	}
	if whole := string(p); whole == ".*" || whole == "@" {
		leading = false // rewritten: is there a value
	}
	return states, leading
}

type atomKind uint8

const (
	atomLiteral atomKind = iota
	atomAny              // . @ ~
	atomClass
	atomOpen
	atomClose
	atomOr
	atomSkip // ^ and $, which people write although Lucene anchors by itself
)

type atom struct {
	kind atomKind
	end  int
}

func atomAt(p []byte, i int) atom {
	switch p[i] {
	case '(':
		if i+2 < len(p) && p[i+1] == '?' { // (?: and (?i), which Lucene does not know
			for j := i + 2; j < min(len(p), i+16); j++ {
				if p[j] == ':' {
					return atom{atomOpen, j + 1}
				}
				if p[j] == ')' {
					return atom{atomSkip, j + 1}
				}
			}
		}
		return atom{atomOpen, i + 1}
	case ')':
		return atom{atomClose, i + 1}
	case '|', '&':
		return atom{atomOr, i + 1}
	case '^', '$':
		return atom{atomSkip, i + 1}
	case '.', '@', '~', '#':
		return atom{atomAny, i + 1}
	case '[':
		return atom{atomClass, classEnd(p, i)}
	case '"':
		for j := i + 1; j < len(p); j++ {
			if p[j] == '"' {
				return atom{atomLiteral, j + 1}
			}
		}
	case '<': // a numeric interval
		for j := i + 1; j < len(p) && j < i+32; j++ {
			if p[j] == '>' {
				return atom{atomClass, j + 1}
			}
		}
	case '\\':
		if i+1 >= len(p) {
			return atom{atomLiteral, i + 1}
		}
		switch p[i+1] {
		case 'd', 'D', 'w', 'W', 's', 'S', 'p', 'P':
			return atom{atomClass, i + 2}
		}
		return atom{atomLiteral, i + 2}
	}
	return atom{atomLiteral, i + 1}
}

func classEnd(p []byte, i int) int {
	for j := i + 1; j < len(p); j++ {
		switch p[j] {
		case '\\':
			j++
		case ']':
			if j > i+1 {
				return j + 1
			}
		}
	}
	return len(p)
}

type quantifier struct {
	end       int
	optional  bool // may match nothing
	unbounded bool
	counted   bool
	varied    bool // {n,m}
	max       float64
}

// quantifierAt reads the quantifiers behind an atom; several multiply.
func quantifierAt(p []byte, i int) quantifier {
	q := quantifier{end: i, max: 1}
	for q.end < len(p) {
		switch p[q.end] {
		case '*':
			q.optional, q.unbounded = true, true
		case '+':
			q.unbounded = true
		case '?':
			q.optional = true
		case '{':
			lo, hi, end, ok := bracesAt(p, q.end)
			if !ok {
				return q
			}
			q.counted, q.max = true, q.max*max(1, max(lo, hi))
			q.varied = q.varied || lo != hi
			q.optional = q.optional || lo == 0
			q.unbounded = q.unbounded || hi < 0
			q.end = end
			continue
		default:
			return q
		}
		q.end++
	}
	return q
}

// bracesAt reads {n}, {n,} (hi below 0) or {n,m}.
func bracesAt(p []byte, i int) (lo, hi float64, end int, ok bool) {
	number := func(j int) (float64, int) {
		v, from := 0.0, j
		for j < len(p) && p[j] >= '0' && p[j] <= '9' {
			v = v*10 + float64(p[j]-'0')
			j++
		}
		if j == from {
			return -1, j
		}
		return v, j
	}
	lo, j := number(i + 1)
	hi = lo
	if j < len(p) && p[j] == ',' {
		hi, j = number(j + 1)
		lo = max(lo, 0)
	}
	if j >= len(p) || p[j] != '}' || lo < 0 {
		return 0, 0, i, false
	}
	return lo, hi, j + 1, true
}
