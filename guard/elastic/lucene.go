package elastic

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// syntax describes how to read a query string.
type syntax struct {
	simple    bool // simple_query_string: no fields, no leading wildcards, no regular expressions
	noLeading bool // the backend rejects leading wildcards, except in /…/
	and       bool
	fields    int    // node of the list of fields; none: all mapped fields
	field     []byte // default field of terms, if known
	every     bool
	kql       bool // operators are in lower case
}

// luceneState holds the sums over a query string.
type luceneState struct {
	terms, unfielded   float64
	patterns           float64 // wildcards and regular expressions without a field
	automata           float64 // those of them that are more than a prefix
	fuzzy              float64
	depth, deepest     int
	fieldDepth         int // depth of the parentheses after a field; 0: outside
	fielded            bool
	field              []byte
	compared           byte // > or < after the field; 0: equal
	everything, and    bool
	or, positive, weak bool
	negate             bool
}

// stringQuery reads query_string and related queries.
func (r *Reader) stringQuery(kind []byte, v int, every bool) selectivity {
	text := r.get(v, "query")
	if r.isText(max(v, 0)) {
		text = v
	}
	if text <= none || !r.isText(text) {
		r.clause(v, 1)
		return selAll
	}
	s := syntax{simple: string(kind) == "simple_query_string", kql: string(kind) == "kql", fields: firstOf(r.get(v, "fields"), r.get(v, "default_field")), every: every}
	if r.isArray(s.fields) && r.count(s.fields) == 0 {
		s.fields = firstOf(r.get(v, "default_field")) // same as unset
	}
	s.noLeading = r.isFalse(r.get(v, "allow_leading_wildcard"))
	if op := r.get(v, "default_operator"); op > none {
		s.and = bytes.EqualFold(r.bytes(op), []byte("and"))
	}
	if s.fields > none && r.isText(s.fields) {
		s.field = r.bytes(s.fields)
	} else if s.fields > none && r.isArray(s.fields) && r.count(s.fields) == 1 && r.isText(s.fields+1) {
		s.field = r.bytes(s.fields + 1)
	}
	r.determinized(v)
	return r.lucene(r.bytes(text), text, s)
}

// urlQuery reads q=.
func (r *Reader) urlQuery(p *parameters) selectivity {
	s := syntax{noLeading: p.noLeading, and: p.and, fields: none, field: p.df, every: true}
	return r.lucene(p.q, none, s)
}

// lucene reads the text of a query string at node n, or in the URL.
func (r *Reader) lucene(text []byte, n int, s syntax) selectivity {
	r.qs = luceneState{and: s.and}
	q := &r.qs
	first := len(r.bounds)
	for i := 0; i < len(text); {
		i = r.luceneToken(text, i, n, &s)
	}
	if q.or || !q.and && q.terms > 1 {
		r.bounds = r.bounds[:first] // alternatives bound nothing
	}
	if q.deepest > 0 {
		r.add(cost.QueryDepth, float64(q.deepest), n)
	}
	r.luceneFields(n, &s)
	switch {
	case q.everything && (!q.positive || !q.and):
		return selAll
	case q.positive:
		return selStrong
	case q.weak:
		return selWeak
	}
	return selAll
}

// luceneFields measures the number of fields that terms without a field are searched in.
func (r *Reader) luceneFields(n int, s *syntax) {
	q := &r.qs
	f := fieldSet{named: 1}
	if q.unfielded > 0 && s.fields > none {
		f = r.fieldsOf(s.fields)
	} else if q.unfielded > 0 && s.field == nil {
		f = fieldSet{spread: r.mapped(), all: true}
	}
	counted := f.named + f.spread
	if f.all {
		counted = min(counted, r.hintedFields())
	}
	r.clause(n, max(1, q.terms-q.unfielded+q.unfielded*counted+q.fuzzy*fuzzyExpansions))
	if q.unfielded > 0 {
		r.fanout(f, q.patterns, q.automata, n)
	}
}

// luceneToken reads the token at i and returns the start of the next one.
func (r *Reader) luceneToken(text []byte, i, n int, s *syntax) int {
	q := &r.qs
	switch c := text[i]; {
	case c <= ' ':
		return i + 1
	case c == '(':
		q.depth++
		q.deepest = max(q.deepest, q.depth)
		if q.fielded && q.fieldDepth == 0 {
			q.fieldDepth = q.depth
		}
		return i + 1
	case c == ')':
		if q.depth > 0 && q.depth == q.fieldDepth {
			q.fieldDepth, q.fielded = 0, false
		}
		q.depth = max(0, q.depth-1)
		return i + 1
	case c == '+':
		return i + 1
	case c == '-' || c == '!':
		q.negate = true
		return i + 1
	case c == '|':
		q.or = true
		return i + 1
	case c == '&':
		q.and = true
		return i + 1
	case c == '"':
		end := quoteEnd(text, i+1, '"')
		r.luceneCompared(bytes.Trim(text[i:end], `"`), s)
		r.luceneTerm(plain)
		return end
	case c == '/' && !s.simple:
		if end := quoteEnd(text, i+1, '/'); end <= len(text) && text[end-1] == '/' && end > i+1 {
			r.luceneRegexp(text[i+1:end-1], n)
			return end
		}
	case (c == '[' || c == '{') && !s.simple:
		return r.luceneRange(text, i, s)
	case c == '^' || c == '~': // a boost, or the slop of a phrase
		return afterNumber(text, i+1)
	}
	return r.luceneWord(text, i, n, s)
}

// quoteEnd returns the position after the closing quote, or the end of the text.
func quoteEnd(text []byte, i int, quote byte) int {
	for ; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(text)
}

// term is the kind of work to find a term.
type term uint8

const (
	plain     term = iota
	beginning      // prefix of a word: a range of terms
	pattern        // an automaton
)

func (r *Reader) luceneTerm(t term) {
	q := &r.qs
	q.terms++
	if !q.fielded || string(q.field) == "*" {
		q.unfielded++
		if t != plain {
			q.patterns++
		}
		if t == pattern {
			q.automata++
		}
	}
	if q.negate || q.fielded && string(q.field) == "_exists_" {
		q.weak = true
	} else {
		q.positive = true
	}
	q.negate, q.compared = false, 0
	if q.fieldDepth == 0 {
		q.fielded = false
	}
}

func (r *Reader) luceneRegexp(expression []byte, n int) {
	field := r.luceneField(nil)
	r.regexpPattern(expression, n, field)
	r.luceneTerm(pattern)
}

func (r *Reader) luceneField(otherwise []byte) []byte {
	if r.qs.fielded {
		return r.qs.field
	}
	return otherwise
}

// luceneWord reads a word, an operator, or the name of a field with its colon.
func (r *Reader) luceneWord(text []byte, i, n int, s *syntax) int {
	q := &r.qs
	end, fuzzy := i, false
	for ; end < len(text); end++ {
		c := text[end]
		if c == '\\' {
			end++
			continue
		}
		if c <= ' ' || c == '(' || c == ')' || c == '"' || c == '^' || c == ':' && !s.simple {
			break
		}
		if c == '~' {
			fuzzy = true
			break
		}
	}
	end = min(end, len(text))
	word := text[i:end]
	if end < len(text) && text[end] == ':' && !s.simple {
		r.luceneFieldName(word, n)
		next := luceneOperator(text, end+1)
		if at := bytes.IndexAny(text[end:next], "<>"); at >= 0 {
			q.compared = text[end+at]
		}
		return next
	}
	if end == i {
		return i + 1
	}
	switch string(word) {
	case "and", "or", "not":
		if !s.kql {
			break // ordinary words
		}
		fallthrough
	case "AND", "OR", "NOT", "TO":
		q.and = q.and || word[0]|0x20 == 'a'
		q.or = q.or || word[0]|0x20 == 'o'
		q.negate = q.negate || word[0]|0x20 == 'n'
		return end
	}
	if fuzzy {
		q.fuzzy++
		r.luceneTerm(plain)
		return afterNumber(text, end+1)
	}
	r.lucenePattern(word, n, s)
	return end
}

func afterNumber(text []byte, i int) int {
	for i < len(text) && (text[i] >= '0' && text[i] <= '9' || text[i] == '.') {
		i++
	}
	return min(i, len(text))
}

func (r *Reader) luceneFieldName(name []byte, n int) {
	q := &r.qs
	if stars := bytes.Count(name, []byte("*")); stars > 0 && string(name) != "*" {
		r.add(cost.WildcardStars, float64(stars), n)
	}
	q.field, q.fielded, q.compared = name, true, 0
}

// lucenePattern reads a term with possible wildcards.
func (r *Reader) lucenePattern(word []byte, n int, s *syntax) {
	q := &r.qs
	first, stars, leading := wildcards(word)
	if q.fielded && !q.negate && (string(q.field) == "_index" || isEverywhere(q.field) && len(bytes.Trim(word, "*")) == 0 ||
		string(q.field) == "_exists_" && isEverywhere(word)) {
		q.everything, q.fielded = true, q.fieldDepth > 0
		return
	}
	if first < 0 || isQuestion(word) {
		r.luceneCompared(word, s)
		r.luceneTerm(plain)
		return
	}
	if len(bytes.Trim(word, "*")) == 0 {
		switch {
		case q.fielded && string(q.field) != "*": // asks whether there is a value
			q.weak = true
		case !q.negate:
			q.everything = true
		}
		q.negate = false
		if q.fieldDepth == 0 {
			q.fielded = false
		}
		return
	}
	r.pattern(cost.PatternLength, len(word), n)
	if !s.simple {
		if stars > 0 {
			r.add(cost.WildcardStars, float64(stars), n)
		}
		field := r.luceneField(s.field)
		if leading && !s.noLeading && !r.madeForWildcards(field) {
			r.leading(word, n)
		}
	}
	if first == len(word)-1 && word[first] == '*' {
		r.luceneTerm(beginning)
	} else {
		r.luceneTerm(pattern)
	}
}
