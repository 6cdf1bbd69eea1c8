package accesslog

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Requester gives access to parts of a request that are not in its Record.
type Requester interface {
	// HeaderValue returns the value of the header field with this lower-case name. clear is false if the field is repeated
	// with another value.
	HeaderValue(lower string) (value string, clear bool)
	Address() string  // of the caller
	Protocol() string // HTTP/1.1
}

// said returns a field of the request for a line; "" for none.
func (r *Record) said(lower string) string {
	if r.From == nil {
		return ""
	}
	v, _ := r.From.HeaderValue(lower)
	return v[:min(len(v), maxLogged)]
}

// referer returns the referring page without query and fragment, which may contain secrets.
func (r *Record) referer() string {
	u, err := url.Parse(r.said("referer"))
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.ForceQuery = nil, "", "", false
	return u.String()
}

// remote returns the caller's address, in the form that the log shows callers.
func (l *Log) remote(r *Record) string {
	if r.From == nil {
		return ""
	}
	return l.caller(r.From.Address())
}

// appendCombined appends the line of r in the combined format of Apache and nginx. A missing value is a hyphen. Without
// Paths, the name of the route replaces the path.
func (l *Log) appendCombined(b []byte, r *Record) []byte {
	path, referer, proto := r.Route, "", "-"
	if l.cfg.Paths {
		path, referer = r.Path, r.referer()
	}
	if r.From != nil {
		proto = r.From.Protocol()
	}
	b = appendWord(b, l.remote(r))
	b = append(b, " - "...)
	b = appendWord(b, l.caller(r.Caller))
	b = append(b, " ["...)
	b = r.Time.AppendFormat(b, "02/Jan/2006:15:04:05 -0700")
	b = append(b, `] "`...)
	b = appendQuoted(b, r.Method)
	b = append(b, ' ')
	b = appendQuoted(b, path[:min(len(path), maxLogged)])
	b = append(append(append(b, ' '), proto...), `" `...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, r.BytesOut, 10)
	b = append(b, ` "`...)
	b = appendQuoted(b, dash(referer))
	b = append(b, `" "`...)
	b = appendQuoted(b, dash(r.said("user-agent")))
	return append(b, "\"\n"...)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// appendWord appends text that must be one word.
func appendWord(b []byte, s string) []byte {
	return appendQuoted(b, strings.ReplaceAll(dash(s[:min(len(s), maxLogged)]), " ", "_"))
}

// appendQuoted appends text in quotes, escaped as by nginx, so that nobody can forge a line.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return b
}

// combined writes r's line.
func (l *Log) combined(r *Record) {
	local := *r
	if local.Time.IsZero() {
		local.Time = time.Now()
	}
	_, _ = l.cfg.Combined.Write(l.appendCombined(make([]byte, 0, 512), &local)) // an error has nowhere to go
}
