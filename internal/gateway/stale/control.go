package stale

import (
	"strings"
	"time"
)

// maxControl bounds a line of Cache-Control that is read.
const maxControl = 4 << 10

// control is the parsed Cache-Control of an answer (RFC 9111 §5.2.2, RFC 5861). A duration below 0 was not given.
type control struct {
	noStore, private, public, noCache bool
	mustRevalidate, proxyRevalidate   bool

	maxAge, sharedMaxAge, staleIfError time.Duration
}

// judge decides whether a shared cache may keep an answer to a request with or without credentials (§3, §3.5).
func (c *control) judge(credentials bool) Reason {
	switch {
	case c.noStore:
		return NoStore
	case c.private:
		return Private
	case c.noCache, c.strict() && c.lifetime() <= 0:
		return Revalidate
	case credentials && !c.public && !c.mustRevalidate && c.sharedMaxAge < 0:
		return Credentials
	}
	return Kept
}

// strict reports whether the answer may not be shown stale.
func (c *control) strict() bool {
	return c.mustRevalidate || c.proxyRevalidate || c.sharedMaxAge >= 0
}

// lifetime returns how long the answer is fresh; 0 if it does not say so. Expires is not read: it could only extend the
// limit.
func (c *control) lifetime() time.Duration {
	if c.sharedMaxAge >= 0 {
		return c.sharedMaxAge
	}
	return max(c.maxAge, 0)
}

// limit returns the largest age at which the answer may be shown. must-revalidate, proxy-revalidate and s-maxage forbid a
// stale answer; stale-if-error allows it for a time (§4.2.4).
func (c *control) limit() time.Duration {
	switch {
	case c.strict():
		return c.lifetime()
	case c.staleIfError >= 0:
		return c.lifetime() + c.staleIfError
	}
	return forever
}

func newControl() control { return control{maxAge: -1, sharedMaxAge: -1, staleIfError: -1} }

// read parses one line of Cache-Control, and reports whether it can be read. Of a repeated directive the stricter one
// counts. private and no-cache with the names of fields apply to the complete answer, as §5.2.2 allows.
func (c *control) read(line string) bool {
	if len(line) > maxControl {
		return false
	}
	for line != "" {
		name, value, rest, ok := directive(line)
		if !ok {
			return false
		}
		c.take(name, value)
		line = rest
	}
	return true
}

func (c *control) take(name, value string) {
	switch strings.ToLower(name) {
	case "no-store":
		c.noStore = true
	case "private":
		c.private = true
	case "public":
		c.public = true
	case "no-cache":
		c.noCache = true
	case "must-revalidate":
		c.mustRevalidate = true
	case "proxy-revalidate":
		c.proxyRevalidate = true
	case "max-age":
		stricter(&c.maxAge, value)
	case "s-maxage":
		stricter(&c.sharedMaxAge, value)
	case "stale-if-error":
		stricter(&c.staleIfError, value)
	}
}

func stricter(d *time.Duration, value string) {
	if s := seconds(value); *d < 0 || s < *d {
		*d = s
	}
}

// directive cuts the next directive from a list: a token, optionally with = and a token or a quoted string. An empty one
// has no name.
func directive(s string) (name, value, rest string, ok bool) {
	s = trim(s)
	name, s = token(s)
	if strings.HasPrefix(s, "=") && name != "" {
		if s = s[1:]; strings.HasPrefix(s, `"`) {
			if value, s, ok = quoted(s[1:]); !ok {
				return "", "", "", false
			}
		} else if value, s = token(s); value == "" {
			return "", "", "", false
		}
	}
	if s = trim(s); s == "" {
		return name, value, "", true
	}
	if s[0] != ',' {
		return "", "", "", false
	}
	return name, value, s[1:], true
}

// quoted reads a quoted string after its opening quote.
func quoted(s string) (value, rest string, ok bool) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return text.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		text.WriteByte(s[i])
	}
	return "", "", false
}

// seconds reads delta-seconds: an invalid value is 0, and 2³¹ means for ever (§1.2.2).
func seconds(s string) time.Duration {
	n := int64(0)
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0
		}
		n = min(10*n+int64(s[i]-'0'), 1<<31)
	}
	return time.Duration(n) * time.Second
}

// token cuts a token off s.
func token(s string) (name, rest string) {
	i := 0
	for i < len(s) && tchar(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

func isToken(s string) bool {
	name, rest := token(s)
	return name != "" && rest == ""
}

func tchar(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

func trim(s string) string { return strings.Trim(s, " \t") }
