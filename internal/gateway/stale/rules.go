package stale

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
)

// forever is the limit of an answer without a limit of its own.
const forever = time.Duration(math.MaxInt64)

// head is what the header says about keeping the answer.
type head struct {
	age, limit time.Duration
	length     int64 // Content-Length; -1: none
}

// judge decides whether an answer may be kept, by RFC 9111 §3, and its largest age, by §4.2.4 and RFC 5861 §4. It allocates
// nothing, because some services have mostly answers that are refused.
func (c *Cache) judge(a Answer) (h head, why Reason) {
	switch a.Status {
	case 200, 203, 301, 308, 404, 410:
	default:
		return h, Status
	}
	h.length = -1
	cc, vary, text, readable := newControl(), Kept, 0, true
	for _, f := range a.Header {
		text += len(f.Name) + len(f.Value)
		switch {
		case is(f.Name, "cache-control"):
			readable = cc.read(f.Value) && readable
		case is(f.Name, "vary"):
			vary = max(vary, c.judgeVary(f.Value))
		case is(f.Name, "set-cookie"), is(f.Name, "set-cookie2"):
			return h, SetCookie
		case is(f.Name, "content-range"):
			return h, Partial
		case is(f.Name, "age"):
			h.age = max(h.age, seconds(trim(f.Value)))
		case is(f.Name, "content-length"):
			n, ok := length(trim(f.Value))
			if !ok || h.length >= 0 && n != h.length {
				return h, Partial
			}
			h.length = n
		}
	}
	if len(a.Header) > maxFields || text > maxHead {
		return h, TooLarge
	}
	if !readable {
		return h, Unreadable
	}
	if why := cc.judge(a.Credentials); why != Kept {
		return h, why
	}
	h.limit = cc.limit()
	if h.age > h.limit {
		return h, Revalidate
	}
	return h, vary
}

func (c *Cache) judgeVary(line string) Reason {
	for name := range strings.SplitSeq(line, ",") {
		name = trim(name)
		switch {
		case name == "":
		case !isToken(name): // includes *
			return Unreadable
		case !holds(c.config.Vary, name):
			return Vary
		}
	}
	return Kept
}

// AppendVary appends to dst the request's values of the headers in Config.Vary; the caller makes a key from dst. value
// returns the lines of one header joined with ", ", or "".
func (c *Cache) AppendVary(dst []byte, value func(name string) string) []byte {
	for _, name := range c.config.Vary {
		v := trim(value(name))
		dst = binary.AppendUvarint(dst, uint64(len(v)))
		dst = append(dst, v...)
	}
	return dst
}

// clone copies fields and returns their size. It leaves out fields of the connection and fields that are set when the
// answer is shown.
func clone(fields []Field) ([]Field, int64) {
	var text strings.Builder
	var hops []string
	for _, f := range fields {
		if is(f.Name, "connection") {
			for name := range strings.SplitSeq(f.Value, ",") {
				hops = append(hops, trim(name))
			}
		}
	}
	kept := make([]Field, 0, len(fields))
	size := 0
	for _, f := range fields {
		if !passing(f.Name) && !holds(hops, f.Name) {
			kept = append(kept, f)
			size += len(f.Name) + len(f.Value)
		}
	}
	text.Grow(size)
	for _, f := range kept {
		text.WriteString(f.Name)
		text.WriteString(f.Value)
	}
	rest := text.String()
	for i, f := range kept {
		n, v := len(f.Name), len(f.Name)+len(f.Value)
		kept[i] = Field{rest[:n], rest[n:v]}
		rest = rest[v:]
	}
	return kept, int64(size + cap(kept)*perField)
}

// passing reports whether a field belongs to one connection, or to one transfer of the answer.
func passing(name string) bool {
	return holds([]string{
		"te", "age", "trailer", "upgrade", "connection", "keep-alive", "content-length", "proxy-connection",
		"transfer-encoding", "proxy-authenticate", "proxy-authorization", "proxy-authentication-info",
	}, name)
}

func holds(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return is(name, n) })
}

// is compares the names of fields.
func is(name, other string) bool { return len(name) == len(other) && strings.EqualFold(name, other) }

// length reads Content-Length.
func length(s string) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(10*n+int64(s[i]-'0'), math.MaxInt64/20)
	}
	return n, s != ""
}
