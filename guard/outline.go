package guard

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// outline returns the text of a query with ? in place of each value. Names and operators
// stay. The outline of a regular expression is empty.
func outline(q *Query) string {
	var o outliner
	switch {
	case q.Kind == Regex || q.packed():
	case len(bytes.TrimSpace(q.Body)) == 0 && q.Kind != SQL:
		o.path(q.Path)
		o.parameters(q.RawQuery)
	case q.Kind == SQL:
		o.sql(q.Body, q.Dialect)
	case q.Kind == GraphQL:
		o.request(q.Body)
	default:
		o.sizes = true
		o.json(q.Body)
	}
	return string(o.out)
}

// outlineDepth is the maximum nesting depth of containers that outline follows.
const outlineDepth = 32

type outliner struct {
	out   []byte
	sizes bool // keep numbers that are result sizes, as in Elasticsearch
	comma bool // a comma is pending

	keys  [outlineDepth]string // current member at each depth
	depth int
	aggs  int // depth at which aggregations begin; 0: outside
}

// value writes a value, or the ? in place of it. Several values in a row become one ?.
func (o *outliner) value(text string) {
	if text == "?" && bytes.HasSuffix(o.out, []byte{'?'}) {
		o.comma = false
		return
	}
	o.flush()
	o.out = append(o.out, text...)
}

func (o *outliner) flush() {
	if o.comma {
		o.out = append(o.out, ", "...)
		o.comma = false
	}
}

// json writes JSON, even if it is incomplete. It omits comments.
func (o *outliner) json(text []byte) {
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '{', '[':
			o.open(c)
			i++
		case '}', ']':
			o.close(c)
			i++
		case ',':
			o.comma = true
			i++
		case '/', '#':
			i = afterComment(text, i)
		case '"':
			size := stringEnd(text[i+1:], '"', true)
			content := text[i+1 : i+1+size]
			i = min(i+size+2, len(text))
			if j := i + len(text[i:]) - len(bytes.TrimLeft(text[i:], " \t\r\n")); j < len(text) && text[j] == ':' {
				i = j + 1
				o.key(content)
			} else {
				o.value(o.named(content))
			}
		default:
			n := 1
			for i+n < len(text) && strings.IndexByte(" \t\r\n{}[],:\"/#", text[i+n]) < 0 {
				n++
			}
			o.value(o.plain(string(text[i : i+n])))
			i += n
		}
	}
}

func (o *outliner) open(c byte) {
	o.flush()
	o.out = append(o.out, c)
	o.depth++
	if key := o.at(o.depth - 1); o.aggs == 0 && (key == "aggs" || key == "aggregations") {
		o.aggs = o.depth
	}
	if o.depth < outlineDepth {
		o.keys[o.depth] = o.at(o.depth - 1)
		if c == '{' {
			o.keys[o.depth] = ""
		}
	}
}

func (o *outliner) close(c byte) {
	o.comma = false
	o.out = append(o.out, c)
	if o.aggs == o.depth {
		o.aggs = 0
	}
	o.depth = max(o.depth-1, 0)
}

// at returns the current member at a depth.
func (o *outliner) at(depth int) string {
	if depth < 0 || depth >= outlineDepth {
		return ""
	}
	return o.keys[depth]
}

// key writes the name of a member. Names of filters, and keys inside vectors, may be users'
// words.
func (o *outliner) key(name []byte) {
	o.flush()
	text := string(name)
	switch o.at(o.depth - 1) {
	case "filters", "tokens", "query_vector", "query_tokens":
		text = "?"
	}
	if !isName(text) {
		text = "?"
	}
	o.out = append(append(append(o.out, '"'), text...), "\": "...)
	if o.depth < outlineDepth {
		o.keys[o.depth] = text
	}
}

// isName reports whether a text looks like the name of a field.
func isName(text string) bool {
	return text != "" && len(text) <= longestName && !strings.ContainsFunc(text, func(r rune) bool {
		return (r >= 0x80 || !letter(byte(r))) && (r < '0' || r > '9') && !strings.ContainsRune("_.@*-^", r)
	})
}

// named writes a string. It keeps only the field of an aggregation.
func (o *outliner) named(content []byte) string {
	if o.sizes && o.at(o.depth) == "field" && o.aggregation() && isName(string(content)) {
		return `"` + string(content) + `"`
	}
	return "?"
}

// plain writes an unquoted word.
func (o *outliner) plain(word string) string {
	switch word {
	case "true", "false", "null":
		return word
	}
	key := o.at(o.depth)
	if o.sizes && isSize(word) && (o.depth == 1 && (key == "size" || key == "from") || key == "size" && o.aggregation()) {
		return word
	}
	return "?"
}

// aggregation reports whether the current member is a setting of an aggregation.
func (o *outliner) aggregation() bool {
	if o.aggs == 0 {
		return false
	}
	switch o.at(o.depth - 1) {
	case "terms", "multi_terms", "rare_terms", "significant_terms", "histogram", "date_histogram", "auto_date_histogram", "range", "date_range",
		"cardinality", "value_count", "avg", "sum", "min", "max", "stats", "extended_stats", "percentiles", "top_hits", "composite",
		"geohash_grid", "geotile_grid", "missing", "sources":
		return true
	}
	return false
}

// isSize reports whether a word is a number small enough for a size: numbers of cards and
// accounts are longer.
func isSize(word string) bool {
	return len(word) <= 9 && strings.Trim(word, "0123456789") == ""
}

// afterComment returns the position after the comment or the character at i.
func afterComment(text []byte, i int) int {
	switch rest := text[i:]; {
	case rest[0] == '#', bytes.HasPrefix(rest, []byte("//")):
		if n := bytes.IndexAny(rest, "\r\n"); n >= 0 {
			return i + n
		}
		return len(text)
	case bytes.HasPrefix(rest, []byte("/*")):
		return after(text, i+2, "*/")
	}
	return i + 1
}

// request writes a GraphQL request: a document, or JSON that contains one.
func (o *outliner) request(body []byte) {
	text := bytes.TrimLeft(body, "\ufeff \t\r\n")
	inside := bytes.TrimLeft(bytes.TrimLeft(text, "{["), " \t\r\n{")
	word := text[:len(text)-len(bytes.TrimLeftFunc(text, func(r rune) bool { return r < 0x80 && letter(byte(r)) }))]
	begins := slices.Contains([]string{"query", "mutation", "subscription", "fragment"}, string(word)) && !bytes.HasPrefix(text[len(word):], []byte{'='})
	switch {
	case bytes.HasPrefix(inside, []byte{'"'}):
		o.json(body)
	case begins, bytes.HasPrefix(text, []byte{'{'}), bytes.HasPrefix(text, []byte{'#'}):
		o.graph(body)
	}
}

// graph writes a GraphQL document.
func (o *outliner) graph(text []byte) {
	last := ""
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '#':
			i = afterComment(text, i)
		case c == '"':
			o.value("?")
			if bytes.HasPrefix(text[i:], []byte(`"""`)) {
				i = blockEnd(text, i+3)
				continue
			}
			i = min(i+1+stringEnd(text[i+1:], c, true)+1, len(text))
		case letter(c) || c >= '0' && c <= '9':
			n := 1
			for i+n < len(text) && (letter(text[i+n]) || text[i+n] >= '0' && text[i+n] <= '9' || text[i+n] == '.') {
				n++
			}
			word := string(text[i : i+n])
			i += n
			switch {
			case letter(c):
				o.out, last = append(o.out, word...), word
			case isSize(word) && slices.Contains([]string{"first", "last", "limit", "size", "offset"}, last):
				o.out = append(o.out, word...)
			default:
				o.value("?")
			}
		default:
			o.out = append(o.out, c)
			i++
		}
	}
}

// blockEnd returns the position after the next unescaped triple quote.
func blockEnd(text []byte, from int) int {
	for {
		end := after(text, from, `"""`)
		if end == len(text) || text[end-4] != '\\' {
			return end
		}
		from = end
	}
}

// path writes a path without the part after the endpoint, which contains document IDs.
func (o *outliner) path(path string) {
	for i, part := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		o.out = append(o.out, '/')
		if i > 0 && !strings.HasPrefix(part, "_") {
			part = "?"
		}
		o.out = append(o.out, part...)
	}
}

// parameters writes the query of a URL.
func (o *outliner) parameters(query string) {
	sep := byte('?')
	for _, pair := range strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' }) { // some servers separate at both
		name, value, _ := strings.Cut(pair, "=")
		if !isName(name) || !strings.Contains(pair, "=") {
			name = "?"
		}
		o.out = append(append(append(o.out, sep), name...), '=')
		sep = '&'
		document, err := url.QueryUnescape(value)
		switch {
		case (name == "size" || name == "from") && isSize(value):
			o.out = append(o.out, value...)
		case name == "query" && err == nil:
			o.request([]byte(document))
		default:
			o.out = append(o.out, '?')
		}
	}
}
