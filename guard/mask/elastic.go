package mask

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// what a value is.
type what uint8

const (
	settled     what = iota // part of the request's structure
	words                   // something that is looked for
	bounds                  // of a range
	places                  // coordinates
	expressions             // regular expressions
)

// scope is what holds for a value of a body.
type scope struct {
	is     what
	fields bool   // the names of this object's members are those of fields
	deep   bool   // all below is a value
	params bool   // of a template, which may say how much is asked for
	key    string // of the member that the value is of
	parent string // of the member that the object is of
	verb   string // the endpoint
	hints  bool   // below suggest, where a term names its field
}

// elastic returns a body, or several lines of it, with other values.
func (m *masker) elastic(path string, body []byte) []byte {
	m.spans = m.spans || bytes.Contains(body, []byte("histogram")) || bytes.Contains(body, []byte("auto_date"))
	m.grids = m.grids || bytes.Contains(body, []byte("grid"))
	verb := path[strings.LastIndexByte(strings.TrimRight(path, "/"), '/')+1:]
	if strings.Contains(path, "template") {
		verb = "template"
	}
	if strings.Contains(path, "/_plugins/") || strings.Contains(path, "/_opendistro/") {
		verb = "_plugins" + verb
	}
	m.templates = strings.Contains(path, "template") || strings.Contains(path, "_scripts") || strings.Contains(path, "_watcher") || strings.Contains(path, "_ingest")
	return m.document(body, scope{verb: verb})
}

func (m *masker) document(body []byte, in scope) []byte {
	w := walk[scope]{text: body, out: make([]byte, 0, len(body)), below: m.below, scalar: m.scalar, key: m.name}
	if w.documents(in) {
		return w.out
	}
	return m.strings(nil, body)
}

// below is what holds for a member.
func (m *masker) below(w *walk[scope], in scope, key []byte, value int) scope {
	name := string(key)
	s := scope{key: name, parent: in.key, verb: in.verb, is: in.is, deep: in.deep, params: in.params || name == "params", hints: in.hints || name == "suggest"}
	object := value < len(w.text) && w.text[value] == '{'
	switch {
	case in.deep:
	case in.fields: // name is a field: its value, or an object with the value and what is to be done with it
		s.key = in.key
	case in.is != settled: // such an object
		switch scalar := !object && (value >= len(w.text) || w.text[value] != '['); {
		case in.is == bounds && scalar && name == "from": // as versions before 8 take it
		case verbatim(name):
			s.is = settled
		case in.is == places || scalar:
		case isValues(name):
			s.deep = true
		case name == "query" || name == "value" || name == "terms":
		default:
			s.is = settled
			return m.clause(w, s, name, value, object)
		}
	default:
		return m.clause(w, s, name, value, object)
	}
	return s
}

// clause is what holds below a member of the structure.
func (m *masker) clause(w *walk[scope], s scope, name string, value int, object bool) scope {
	kind, isLeaf := leaf(name)
	switch {
	case isLeaf && object && !(namesField(name, s.hints) && aggregates(w.text, value)):
		s.is, s.fields = kind, true
	case isValues(name):
		s.is, s.deep = words, true
	case located(name):
		s.is, s.deep = places, true
	}
	return s
}

// aggregates reports whether the object at i is one of an aggregation: it names
// the field, or has a script.
func aggregates(text []byte, i int) bool {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return false
			}
		case '"':
			end := stringEnd(text, i)
			token := text[i:end]
			i = end - 1
			if depth != 1 || string(token) != `"field"` && string(token) != `"script"` {
				continue
			}
			rest, is := bytes.CutPrefix(bytes.TrimLeft(text[end:], " \t\r\n"), []byte(":"))
			if rest = bytes.TrimLeft(rest, " \t\r\n"); is && len(rest) > 0 && (rest[0] == '"' || string(token) == `"script"`) {
				return true
			}
		}
	}
	return false
}

// name appends the name of a member. Tokens of vectors are words of users, and so
// are filters often called.
func (m *masker) name(dst []byte, in scope, token []byte) []byte {
	if in.is == settled && in.key == "filters" && (in.parent == "filters" || in.parent == "adjacency_matrix") {
		return requote(dst, token, m.word)
	}
	if in.deep && (in.key == "tokens" || in.key == "query_vector" || in.key == "query_tokens") {
		return requote(dst, token, m.word)
	}
	return append(dst, token...)
}

// scalar appends a string, a number or a word.
func (m *masker) scalar(dst []byte, in scope, token []byte) []byte {
	if token[0] == '"' {
		return requote(dst, token, func(dst, text []byte) []byte { return m.text(dst, in, text) })
	}
	switch {
	case !isNumber(token):
		return m.bare(dst, token)
	case in.is == settled && m.told(in, token):
		return m.number(dst, token)
	case in.is == settled, in.verb == "template" && in.is == words && in.params && digits(token) <= mostDigits:
	case in.is == bounds && m.spans, in.is == places && m.grids:
	case in.is == places:
		return m.degrees(dst, token)
	default:
		return m.number(dst, token)
	}
	return append(dst, token...)
}

// mostDigits bounds how long a number is that says how much is asked for, where
// values may stand, too: those of cards and of accounts are longer.
const mostDigits = 9

// told reports whether a number of the structure is rather a value.
func (*masker) told(in scope, token []byte) bool {
	switch in.key {
	case "query", "value", "string", "text", "q":
		return true
	case "id":
		return in.parent != "slice"
	}
	return digits(token) > mostDigits && !verbatim(in.key) && !strings.HasSuffix(in.parent, "bounds")
}

// degrees appends a coordinate, of which whole degrees stay.
func (m *masker) degrees(dst, token []byte) []byte {
	n := bytes.IndexByte(token, '.')
	if n < 0 || bytes.ContainsAny(token, "eE") {
		return append(dst, token...)
	}
	d := m.draw(token)
	dst = append(dst, token[:n]...)
	for _, c := range token[n:] {
		dst = append(dst, d.byte(c))
	}
	return dst
}

// text appends what a string says.
func (m *masker) text(dst []byte, in scope, text []byte) []byte {
	switch in.is {
	case words:
		return m.word(dst, text)
	case bounds:
		if temporal(text) || m.spans && digits(text) > 0 && len(bytes.Trim(text, "0123456789.-+eE ")) == 0 {
			return append(dst, text...)
		}
		return m.word(dst, text)
	case places:
		if m.grids {
			return append(dst, text...)
		}
		return m.coordinates(dst, text)
	case expressions:
		return append(dst, m.expression(text)...)
	case settled:
	}
	return m.setting(dst, in, text)
}

// setting appends a string of the structure.
func (m *masker) setting(dst []byte, in scope, text []byte) []byte {
	script := strings.HasSuffix(in.key, "script")
	switch {
	case in.verb == "template" && (in.key == "source" || in.key == "template" || in.key == "inline" || in.key == "query" && in.parent == "template"):
		return append(dst, m.document(text, scope{})...)
	case script, strings.Contains(in.parent, "script") || in.parent == "filter" || in.parent == "_script", in.key == "source" && in.parent != "":
		if script || in.key == "source" || in.key == "inline" || in.key == "code" {
			return m.script(dst, text)
		}
	}
	switch {
	case in.key == "query" && (in.parent == "query_string" || in.parent == "simple_query_string" || in.parent == "queryString"), in.key == "q":
		return m.lucene(dst, text)
	case in.key == "query" && in.parent == "" && strings.HasPrefix(in.verb, "_sql"):
		return append(dst, m.sql(text, "")...)
	case in.key == "query" && in.parent == "" && (strings.HasPrefix(in.verb, "_plugins_") || strings.HasPrefix(in.verb, "_query") || in.verb == "_esql"):
		return append(dst, m.piped(text)...)
	case in.key == "query" && in.parent == "wrapper":
		return m.wrapped(dst, in, text)
	case in.key == "include" || in.key == "exclude" || in.key == "regex" || in.key == "pattern" && in.parent == "regexp":
		return append(dst, m.expression(text)...)
	case temporal(text), strings.HasSuffix(in.parent, "bounds"), verbatim(in.key) && (in.key != "from" || isNumber(text)):
		return append(dst, text...)
	}
	return m.word(dst, text)
}

// coordinates appends a place as a text: "52.37,4.89", "POINT (…)".
func (m *masker) coordinates(dst, text []byte) []byte {
	d := m.draw(text)
	point := false
	for _, c := range text {
		if c >= '0' && c <= '9' && point {
			c = d.byte(c)
		} else {
			point = c == '.'
		}
		dst = append(dst, c)
	}
	return dst
}

// wrapped appends a query in base64.
func (m *masker) wrapped(dst []byte, in scope, text []byte) []byte {
	plain, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return m.word(dst, text)
	}
	return base64.StdEncoding.AppendEncode(dst, m.document(plain, scope{verb: in.verb}))
}
