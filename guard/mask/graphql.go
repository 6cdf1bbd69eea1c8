package mask

import (
	"bytes"
	"strings"
)

// sizes are arguments that say how much is asked for.
func sizes(name string) bool {
	switch name {
	case "first", "last", "limit", "take", "count", "pageSize", "page_size", "perPage", "per_page", "itemsPerPage", "items_per_page", "hitsPerPage", "resultsPerPage",
		"maxResults", "max_results", "maxItems", "offset", "skip", "page", "size":
		return true
	}
	return false
}

// graph returns a body with other strings and numbers: a document, or JSON or a
// form that holds it.
func (m *masker) graph(contentType string, body []byte) []byte {
	switch text := bytes.TrimLeft(body, "\ufeff \t\r\n"); {
	case strings.Contains(contentType, "multipart"), contentType == "" && bytes.HasPrefix(text, []byte("--")):
		return m.word(nil, body)
	case strings.Contains(contentType, "urlencoded"), contentType == "" && aForm(text):
		return []byte(m.url(string(body), m.graphParameter))
	case strings.Contains(contentType, "graphql") && !strings.Contains(contentType, "json"):
	case len(text) > 0 && text[0] == '[', len(text) > 1 && text[0] == '{' && strings.HasPrefix(strings.TrimLeft(string(text[1:min(len(text), 64)]), " \t\r\n"), `"`):
		return m.graphJSON(body, scope{})
	}
	return m.graphText(body)
}

// aForm reports whether a body begins as name=, as a form does and no document.
func aForm(text []byte) bool {
	name, _, ok := bytes.Cut(text, []byte{'='})
	for _, c := range name {
		if !alnum(c) && c != '_' {
			return false
		}
	}
	return ok && len(name) > 0
}

// graphJSON is a request as JSON, or its variables. Numbers of variables that a
// size may be taken from stay: those that are short, or called like one.
func (m *masker) graphJSON(body []byte, is scope) []byte {
	asked := map[string]bool{}
	w := walk[scope]{text: body}
	w.below = func(_ *walk[scope], in scope, key []byte, _ int) scope {
		s := scope{key: string(key), parent: in.key, deep: in.deep || in.key == "variables"}
		return s
	}
	w.scalar = func(dst []byte, in scope, token []byte) []byte {
		switch {
		case token[0] == '"' && in.key == "query" && in.parent == "" && !in.deep:
			sized(content(token), asked)
			return requote(dst, token, func(dst, text []byte) []byte { return append(dst, m.graphText(text)...) })
		case token[0] == '"' && in.key == "operationName" && !in.deep:
		case token[0] == '"':
			return requote(dst, token, m.word)
		case !isNumber(token):
			return m.bare(dst, token)
		case !sizes(in.key) && !asked[in.key]:
			return m.number(dst, token)
		}
		return append(dst, token...)
	}
	// Twice: the variables may come before the query that says what they are.
	if !w.documents(is) {
		return m.strings(nil, body)
	}
	w.at, w.out = 0, make([]byte, 0, len(body))
	w.documents(is)
	return w.out
}

// sized notes the variables that a document takes sizes from.
func sized(text []byte, to map[string]bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			continue
		}
		end := i + 1
		for end < len(text) && (alnum(text[end]) || text[end] == '_') {
			end++
		}
		if before := bytes.TrimRight(text[:i], " \t\r\n,"); len(before) > 0 && before[len(before)-1] == ':' && sizes(lastName(before[:len(before)-1])) {
			to[string(text[i+1:end])] = true
		}
		i = end - 1
	}
}

// lastName is the name at the end of a text.
func lastName(text []byte) string {
	text = bytes.TrimRight(text, " \t\r\n,")
	from := len(text)
	for from > 0 && (alnum(text[from-1]) || text[from-1] == '_') {
		from--
	}
	return string(text[from:])
}

// graphText is a document with other strings and numbers.
func (m *masker) graphText(text []byte) []byte {
	asked := map[string]bool{}
	sized(text, asked)
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '#':
			n := bytes.IndexAny(text[i:], "\r\n")
			if n < 0 {
				n = len(text) - i
			}
			out = blank(out, text[i:i+n])
			i += n
		case c == '"':
			end := stringEnd(text, i)
			if bytes.HasPrefix(text[i:], []byte(`"""`)) {
				end = blockEnd(text, i)
			}
			out = m.escaped(out, text[i:end], false)
			i = end
		case c >= '0' && c <= '9':
			end := i
			for end < len(text) && (alnum(text[end]) || text[end] == '.') {
				end++
			}
			before := bytes.TrimRight(text[:i], " \t\r\n,-")
			name, is := bytes.CutSuffix(before, []byte(":"))
			if argument := lastName(name); is && (sizes(argument) || asked[argument]) || bytes.HasSuffix(before, []byte("=")) && end-i <= mostDigits { // a default
				out = append(out, text[i:end]...)
			} else {
				out = m.number(out, text[i:end])
			}
			i = end
		case alnum(c) || c == '_' || c == '$':
			for ; i < len(text) && (alnum(text[i]) || text[i] == '_' || text[i] == '$'); i++ {
				out = append(out, text[i])
			}
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// blockEnd is behind the """ that ends a block.
func blockEnd(text []byte, i int) int {
	for i += 3; i < len(text); i++ {
		switch {
		case bytes.HasPrefix(text[i:], []byte(`\"""`)):
			i += 3
		case bytes.HasPrefix(text[i:], []byte(`"""`)):
			return i + 3
		}
	}
	return len(text)
}
