package mask

import (
	"net/url"
	"strings"
)

// path returns a path without what stands behind an endpoint: ids of documents, of
// scrolls, of tasks.
func (m *masker) path(path string) string {
	parts := strings.Split(path, "/")
	before, names := "", 0
	for i, part := range parts {
		switch {
		case part == "":
			continue
		case (part == "status" || part == "delete" || part == "stop") && (strings.HasSuffix(before, "/async") || strings.HasSuffix(before, "search")): // before an id
		case strings.HasPrefix(part, "_"):
			names = 3
		default:
			if names++; names == 3 || endsPath(before) { // INDEX/TYPE/ID
				parts[i] = string(m.word(nil, []byte(part)))
			}
		}
		before += "/" + part
	}
	return strings.Join(parts, "/")
}

// endsPath reports whether an id stands behind a path.
func endsPath(path string) bool {
	switch last := path[strings.LastIndexByte(path, '/')+1:]; last {
	case "_doc", "_source", "_create", "_update", "_explain", "_termvectors", "_mlt", "_percolate", "_async_search", "_tasks", "scroll", "_scroll", "async":
		return true
	case "status", "delete", "stop":
		return strings.Contains(path, "/async/") || strings.Contains(path, "search/")
	case "search":
		return strings.HasSuffix(path, "/_eql/search")
	}
	return false
}

// url returns a query of a URL with other values. What cannot be decoded has no
// letters left.
func (m *masker) url(raw string, value func(name, value string) (string, bool)) string {
	if raw == "" {
		return ""
	}
	var out strings.Builder
	for raw != "" {
		end := strings.IndexAny(raw, "&;") // some part at both
		if end < 0 {
			end = len(raw)
		}
		out.WriteString(m.pair(raw[:end], value))
		if raw = raw[end:]; raw != "" {
			out.WriteByte(raw[0])
			raw = raw[1:]
		}
	}
	return out.String()
}

func (m *masker) pair(pair string, value func(name, value string) (string, bool)) string {
	key, text, has := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(key)
	plain, fault := url.QueryUnescape(text)
	switch {
	case err != nil || fault != nil, !has && !urlVerbatim(name):
		return string(m.word(nil, []byte(pair)))
	case has:
		if masked, changed := value(name, plain); changed {
			return key + "=" + url.QueryEscape(masked)
		}
	}
	return pair
}

// parameter is what stands for a parameter of Elasticsearch.
func (m *masker) parameter(name, value string) (string, bool) {
	switch {
	case urlVerbatim(name) || value == "" || value == "true" || value == "false":
		return "", false
	case name == "q":
		return string(m.lucene(nil, []byte(value))), true
	case name == "sql":
		return string(m.sql([]byte(value), "")), true
	case name == "source":
		return string(m.elastic("", []byte(value))), true
	}
	return string(m.word(nil, []byte(value))), true
}

// graphParameter is what stands for a parameter of GraphQL.
func (m *masker) graphParameter(name, value string) (string, bool) {
	switch name {
	case "query":
		return string(m.graphText([]byte(value))), true
	case "variables":
		return string(m.graphJSON([]byte(value), scope{key: "variables", deep: true})), true
	case "operationName", "":
		return "", false
	}
	return string(m.word(nil, []byte(value))), true
}
