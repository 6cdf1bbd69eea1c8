package elastic

import (
	"bytes"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// language reads the endpoints whose query is a text: SQL, ES|QL, EQL, PPL. It has no
// grammar. It finds patterns, limits and indices by the words before them, which these
// languages share.
func (r *Reader) language(root int, p *parameters, ep endpoint) {
	r.query.reset()
	r.bounds, r.areas = r.bounds[:0], r.areas[:0]
	if p.statement != nil {
		l := lexer{r: r, text: p.statement, node: none}
		l.run()
	}
	text := r.get(root, "query")
	if text <= none || !r.isText(text) {
		if r.isObject(root) && r.get(root, "cursor") > none {
			return // the next page of an earlier query
		}
		if root > none {
			r.add(cost.DeniedEndpoint, 1, root)
		}
		return
	}
	if f := r.get(root, "filter"); f > none {
		r.walkQuery(f, 1, 0, true)
	}
	for _, name := range [...]string{"fetch_size", "size"} {
		r.sized(cost.ResultWindow, r.get(root, name), 0)
	}
	r.runtime(r.get(root, "runtime_mappings"))
	l := lexer{r: r, text: r.bytes(text), node: text, esql: ep == epESQL, search: strings.Contains(r.q.Path, "_ppl")}
	l.run()
	if l.asked {
		r.each(r.get(root, "params"), l.parameter)
	}
	r.finishQuery()
}

// lexer iterates over the words of a query.
type lexer struct {
	r    *Reader
	text []byte
	node int
	at   int
	last operator // operator for the next literal
	held bool     // last applies until the closing parenthesis: like(field, pattern)

	esql   bool
	search bool // PPL, up to the first pipe: words and comparisons are patterns
	asked  bool // a pattern is a parameter

	listed bool // the next index belongs to the same list
}

// parameter processes a value that may be a pattern.
func (l *lexer) parameter(n int) {
	r := l.r
	if r.isObject(n) { // {"name": value}, or {"value": …}
		for k := n + 1; k < r.next(n); k = r.next(k + 1) {
			l.parameter(k + 1)
		}
		return
	}
	if n > none && r.isText(n) {
		l.last = opLike
		l.pattern(r.bytes(n))
	}
}

// esqlRows is the maximum number of rows that ES|QL returns; a higher LIMIT is lowered.
const esqlRows = 10_000

type operator uint8

const (
	opNone operator = iota
	opLike
	opRegexp
	opLucene
	opColon
	opLimit
	opFrom
)

func (l *lexer) run() {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c <= ' ':
			l.at++
		case c == '-' && l.follows('-'), c == '/' && l.follows('/'):
			l.skipTo("\n")
		case c == '/' && l.follows('*'):
			l.skipTo("*/")
		case c == '\'' || c == '"' || c == '`':
			l.literal(c)
		case c >= '0' && c <= '9':
			l.number()
		case isLetter(c) || c == '*' && l.last == opFrom || c == '@':
			l.word()
		case c == '=' && l.last == opFrom: // source=index
			l.at++
		case l.search && c == '=':
			l.last = opColon
			l.at++
		case l.search && (c == '*' || c == '?'):
			l.bare()
		case c == '|':
			l.search, l.last, l.held = false, opNone, false
			l.at++
		case c == ':':
			l.last = opColon
			l.at++
		case c == '?':
			l.asked = l.asked || l.last == opLike || l.last == opRegexp
			l.at++
		case c == '(' || c == ',' || c == '~' || l.held && (c == '[' || c == ']'):
			l.held = l.held || c == '(' && l.last != opNone
			l.at++ // a list of patterns; like~
		default:
			l.last, l.held = opNone, false
			l.at++
		}
	}
}

func (l *lexer) follows(c byte) bool { return l.at+1 < len(l.text) && l.text[l.at+1] == c }

func (l *lexer) skipTo(end string) {
	if n := bytes.Index(l.text[l.at+2:], []byte(end)); n >= 0 {
		l.at += 2 + n + len(end)
		return
	}
	l.at = len(l.text)
}

// bare processes an unquoted pattern that begins with a wildcard.
func (l *lexer) bare() {
	from := l.at
	for l.at < len(l.text) && l.text[l.at] > ' ' && l.text[l.at] != '|' && l.text[l.at] != ')' {
		l.at++
	}
	l.pattern(l.text[from:l.at])
	l.last = opNone
}

// literal reads a quoted text. A doubled quote stands for one quote.
func (l *lexer) literal(quote byte) {
	triple := []byte{quote, quote, quote}
	var text []byte
	if quote == '"' && bytes.HasPrefix(l.text[l.at:], triple) {
		from := l.at + 3
		n := bytes.Index(l.text[from:], triple)
		if n < 0 {
			n = len(l.text) - from
		}
		text = l.text[from : from+n]
		l.at = min(len(l.text), from+n+3)
	} else {
		from := l.at + 1
		end := quoteEnd(l.text, from, quote)
		for end < len(l.text) && l.text[end] == quote && quote == '\'' {
			end = quoteEnd(l.text, end+1, quote)
		}
		text = l.text[from:max(from, end-1)]
		l.at = end
	}
	switch l.last {
	case opLike, opColon:
		l.pattern(text)
	case opRegexp:
		l.r.regexpPattern(text, l.node, nil)
	case opLucene:
		l.r.lucene(text, l.node, syntax{fields: none})
	case opFrom:
		l.index(text)
	}
}

// pattern measures a LIKE pattern: % and _ in SQL, * and ? elsewhere.
func (l *lexer) pattern(text []byte) {
	stars, found := 0, false
	for _, c := range text {
		if c == '%' || c == '*' {
			stars++
		}
		found = found || stars > 0 || c == '?' && l.last == opLike
	}
	if !found {
		return
	}
	l.r.pattern(cost.PatternLength, len(text), l.node)
	if stars > 0 {
		l.r.add(cost.WildcardStars, float64(stars), l.node)
	}
	rest := bytes.Trim(text, "%*")
	if len(rest) > 0 && (text[0] == '%' || text[0] == '*' || text[0] == '?') {
		l.r.leading(text, l.node)
	}
}

func (l *lexer) number() {
	from := l.at
	for l.at < len(l.text) && (l.text[l.at] >= '0' && l.text[l.at] <= '9' || l.text[l.at] == '_') {
		l.at++
	}
	if l.last == opLimit {
		n, ok := parseNumber(l.text[from:l.at])
		if !ok {
			n = math.Inf(1)
		}
		if l.esql {
			n = min(n, esqlRows)
		}
		l.r.add(cost.ResultWindow, n, l.node)
	}
	l.last = opNone
}

func (l *lexer) word() {
	from := l.at
	for l.at < len(l.text) {
		c := l.text[l.at]
		if !isLetter(c) && (c < '0' || c > '9') && c != '.' && c != '@' && c < 0x80 &&
			!(l.last == opFrom && (c == '-' || c == '*' || c == ':')) {
			break
		}
		l.at++
	}
	if l.at == from {
		l.at++
		return
	}
	word := l.text[from:l.at]
	if l.last == opFrom {
		l.index(word)
		return
	}
	var lower [16]byte
	if len(word) > len(lower) {
		l.last = opNone
		return
	}
	for i, c := range word {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	switch string(lower[:len(word)]) {
	case "like", "ilike", "wildcard_query", "wildcardquery":
		l.last = opLike
	case "rlike", "regexp", "regex", "matches", "parse_regex":
		l.last = opRegexp
	case "query", "kql", "qstr", "query_string":
		l.last = opLucene
	case "limit", "head", "tail", "top":
		l.last = opLimit
	case "from", "source":
		l.last, l.listed = opFrom, false
	case "join":
		l.last, l.listed = opFrom, true
	default:
		if !l.held {
			l.last = opNone
		}
	}
}

// index processes the name of an index. Several names with commas are counted one by one.
func (l *lexer) index(name []byte) {
	r, one := l.r, l.r.interned.Of(name)
	switch {
	case !l.listed:
		r.index = one
	case len(r.index) < 4*longest:
		r.joined = append(append(append(r.joined[:0], r.index...), ','), name...)
		r.index = r.interned.Of(r.joined)
	}
	for l.at < len(l.text) && l.text[l.at] <= ' ' {
		l.at++
	}
	l.last = opNone
	if l.listed = l.at < len(l.text) && l.text[l.at] == ','; l.listed { // the list continues
		l.last = opFrom
	}
	if n, _ := r.countShards(one); n > 1 {
		r.add(cost.Shards, n, l.node)
	}
}
