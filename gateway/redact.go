package gateway

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/h1"
)

// Redacted stands in dead letters for values that are not kept.
const Redacted = bezoar.Redacted

const maxSample = 200

// Sample describes the request in one line without secrets.
func (j *job) Sample() string {
	s := strings.ToValidUTF8(j.req.Method+" "+j.s.redact.target(j.req.Target), "?")
	if len(s) > maxSample {
		s = strings.ToValidUTF8(s[:maxSample-len("…")], "") + "…"
	}
	return s
}

// Keep returns the copy of the request for a dead letter.
func (j *job) Keep() bezoar.Request {
	r := bezoar.Request{
		Method:   strings.Clone(j.req.Method),
		Target:   j.s.redact.target(j.req.Target),
		Host:     strings.Clone(j.req.Host),
		Header:   make(map[string][]string, len(j.req.Fields)),
		BodySize: j.req.Length,
		Client:   strings.Clone(j.callerIP()),
	}
	for _, f := range j.req.Fields {
		if f.Key == h1.Host {
			continue
		}
		name := http.CanonicalHeaderKey(strings.Clone(f.Name))
		r.Header[name] = append(r.Header[name], j.s.redact.header(f.Name, f.Value))
		r.Order = append(r.Order, strings.Clone(f.Name))
	}
	limit := len(j.body)
	if j.route != nil {
		limit = min(limit, j.route.Buffer)
	}
	r.Body = bytes.Clone(j.body[:limit])
	r.Truncated = !j.whole || limit < len(j.body)
	switch {
	case j.whole:
		r.BodySize = int64(len(j.body))
	case !j.digest.IsZero():
		r.BodySize, r.Digest = j.size, j.digest
	}
	return r
}

// redactor knows which names have secret values.
type redactor struct{ parts []string }

// newRedactor returns a redactor for the names that contain one of the usual
// parts or of more.
func newRedactor(more []string) redactor {
	r := redactor{parts: []string{
		"auth", "cookie", "token", "secret", "passw", "passphrase", "pwd", "key", "session", "sessid",
		"signature", "credential", "jwt", "csrf", "xsrf", "bearer",
	}}
	for _, m := range more {
		if m != "" {
			r.parts = append(r.parts, strings.ToLower(m))
		}
	}
	return r
}

// secret reports whether a header or parameter of the name is to be hidden.
func (r redactor) secret(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "sig", "sid", "pin", "pass", "pw", "otp", "code":
		return true
	case "idempotency-key", "sec-websocket-key": // public, and needed to run the request again
		return false
	}
	for _, p := range r.parts {
		if strings.Contains(name, p) {
			return true
		}
	}
	return false
}

func (r redactor) header(name, value string) string {
	switch {
	case r.secret(name):
		return Redacted
	case strings.Contains(value, "://"): // Referer and the like
		return r.target(value)
	}
	return strings.Clone(value)
}

// target hides secret values of parameters and the user information of URLs.
func (r redactor) target(s string) string {
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
		b.WriteString(r.param(pair))
		query, sep = rest, next
		if query == "" {
			b.WriteString(sep)
		}
	}
	return b.String()
}

func (r redactor) param(pair string) string {
	name, value, ok := strings.Cut(pair, "=")
	if !ok {
		return pair
	}
	plain := name
	if p, err := url.QueryUnescape(name); err == nil {
		plain = p
	}
	if r.secret(plain) {
		return name + "=" + Redacted
	}
	if p, err := url.QueryUnescape(value); err == nil && hideUser(p) != p {
		return name + "=" + Redacted
	}
	return name + "=" + hideUser(value)
}

// hideUser hides what stands before the @ in the authority of URLs.
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
			s = s[:start] + Redacted + s[start+at:]
			end = start + len(Redacted)
		}
		from = end
	}
}
