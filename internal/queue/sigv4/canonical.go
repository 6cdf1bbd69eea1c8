package sigv4

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxParams is the most parameters of a query.
const maxParams = 10_000

// param is one parameter of a query, decoded.
type param struct{ name, value string }

// target returns the encoded path and query as sent. RequestURI holds what the server received; it is empty in requests
// that the program itself created.
func target(r *http.Request) (path, query string) {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, query, _ = strings.Cut(r.RequestURI, "?")
		return path, query
	}
	if r.URL == nil {
		return "/", ""
	}
	return r.URL.EscapedPath(), r.URL.RawQuery
}

// parseQuery decodes a query. It refuses anything ambiguous: the signed parameters must be the ones that are read later.
func parseQuery(raw string) ([]param, error) {
	if raw == "" {
		return nil, nil
	}
	if n := strings.Count(raw, "&") + 1; n > maxParams {
		return nil, refuse(CodeInvalidQuery, "the query has %d parameters, at most %d", n, maxParams)
	}
	var params []param
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(part, "=")
		name, ok := unescape(rawName)
		value, ok2 := unescape(rawValue)
		if !ok || !ok2 {
			return nil, refuse(CodeInvalidQuery, "the query's parameter %s is not encoded as it should be", shown(part))
		}
		params = append(params, param{name, value})
	}
	return params, nil
}

// unescape decodes %XX, and + to a space.
func unescape(s string) (string, bool) {
	if strings.IndexByte(s, ';') >= 0 { // some programs treat it as a separator
		return "", false
	}
	plain, err := url.QueryUnescape(s)
	return plain, err == nil
}

// isUnreserved reports whether RFC 3986 leaves c unencoded.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.' || c == '~'
}

// appendEscaped encodes every byte of s except unreserved ones, and except slashes if slashes is true.
func appendEscaped(b []byte, s string, slashes bool) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if isUnreserved(c) || slashes && c == '/' {
			b = append(b, c)
		} else {
			b = append(b, '%', digits[c>>4], digits[c&15])
		}
	}
	return b
}

// canonicalQuery encodes and sorts the parameters, without the signature.
func canonicalQuery(params []param) string {
	encoded := make([]param, 0, len(params))
	size := 0
	for _, p := range params {
		if p.name == "X-Amz-Signature" {
			continue
		}
		e := param{string(appendEscaped(nil, p.name, false)), string(appendEscaped(nil, p.value, false))}
		size += len(e.name) + len(e.value) + 2
		encoded = append(encoded, e)
	}
	slices.SortFunc(encoded, func(a, b param) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.value, b.value)
	})
	b := make([]byte, 0, size)
	for i, p := range encoded {
		if i > 0 {
			b = append(b, '&')
		}
		b = append(b, p.name...)
		b = append(b, '=')
		b = append(b, p.value...)
	}
	return string(b)
}

// canonicalPath removes empty and dot segments from the path as sent, and encodes it once more.
func canonicalPath(raw string) string {
	var kept []string
	for segment := range strings.SplitSeq(raw, "/") {
		switch segment {
		case "", ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, segment)
		}
	}
	clean := "/" + strings.Join(kept, "/")
	if len(kept) > 0 && strings.HasSuffix(raw, "/") {
		clean += "/"
	}
	return string(appendEscaped(make([]byte, 0, len(clean)), clean, true))
}

func canonicalHeaders(r *http.Request, signed []string) (string, error) {
	var b strings.Builder
	for _, name := range signed {
		values := headerValues(r, name)
		if len(values) == 0 {
			return "", refuse(CodeMismatch, "the header %s was signed but did not arrive; a proxy may have removed it", shown(name))
		}
		b.WriteString(name)
		b.WriteByte(':')
		for i, v := range values {
			if i > 0 {
				b.WriteByte(',')
			}
			writeTrimmed(&b, v)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// headerValues also returns headers that net/http stores outside of Header.
func headerValues(r *http.Request, name string) []string {
	switch name {
	case "host":
		return []string{r.Host}
	case "content-length":
		if v := r.Header.Values("Content-Length"); len(v) > 0 {
			return v
		}
		if r.ContentLength >= 0 {
			return []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		return nil
	case "transfer-encoding":
		return r.TransferEncoding
	}
	return r.Header.Values(name)
}

// writeTrimmed writes v without outer spaces, and with one space for each inner sequence of them.
func writeTrimmed(b *strings.Builder, v string) {
	v = strings.Trim(v, " \t")
	blank := false
	for i := range len(v) {
		if v[i] == ' ' {
			if !blank {
				b.WriteByte(' ')
			}
			blank = true
			continue
		}
		blank = false
		b.WriteByte(v[i])
	}
}
