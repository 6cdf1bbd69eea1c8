package redact

import (
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar"
)

// Field returns a header's value without secrets.
func (n Names) Field(name, value string) string {
	switch {
	case n.Secret(name):
		return bezoar.Redacted
	case strings.Contains(value, "://"): // Referer and similar headers
		return n.Target(value)
	}
	return strings.Clone(value)
}

// Target hides the values of secret parameters and the user information of URLs.
func (n Names) Target(s string) string {
	path, query, ok := strings.Cut(s, "?")
	path = hideUser(path)
	if !ok {
		return strings.Clone(path)
	}
	var b strings.Builder
	b.WriteString(path)
	if query == "" {
		b.WriteByte('?')
	}
	for sep := "?"; query != ""; {
		i := strings.IndexAny(query, "&;")
		pair, rest, next := query, "", ""
		if i >= 0 {
			pair, rest, next = query[:i], query[i+1:], query[i:i+1]
		}
		b.WriteString(sep)
		b.WriteString(n.param(pair))
		query, sep = rest, next
		if query == "" {
			b.WriteString(sep)
		}
	}
	return b.String()
}

func (n Names) param(pair string) string {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return pair
	}
	if n.Parameter(name) {
		return name + "=" + bezoar.Redacted
	}
	if p := unescaped(value); hideUser(p) != p {
		return name + "=" + bezoar.Redacted
	}
	return name + "=" + hideUser(value)
}

// Parameter is [Names.Secret] for the name of a parameter as written in a query.
func (n Names) Parameter(name string) bool {
	if strings.ContainsAny(name, "%+") {
		name = unescaped(name)
	}
	return n.Secret(name)
}

// unescaped decodes a part of a query. An invalid part is returned unchanged.
func unescaped(s string) string {
	if p, err := url.QueryUnescape(s); err == nil {
		return p
	}
	return s
}

// hideUser hides the text before the @ in the authority of URLs.
func hideUser(s string) string {
	const mark = "://"
	from := 0
	for {
		i := strings.Index(s[from:], mark)
		if i < 0 {
			return s
		}
		start := from + i + len(mark)
		end := start
		if n := strings.IndexAny(s[start:], "/?# "); n >= 0 {
			end += n
		} else {
			end = len(s)
		}
		if at := strings.LastIndexByte(s[start:end], '@'); at >= 0 {
			s = s[:start] + bezoar.Redacted + s[start+at:]
			end = start + len(bezoar.Redacted)
		}
		from = end
	}
}
