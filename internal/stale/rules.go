package stale

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// forever is the limit of an answer that sets none itself.
const forever = time.Duration(math.MaxInt64)

// head is what the header says about keeping the answer.
type head struct {
	age, limit time.Duration
	length     int64    // Content-Length; -1: none
	connection []string // fields that belong to the connection only, in lower case
}

// judge says whether an answer may be kept, by RFC 9111 §3, and how old it may
// become, by §4.2.4 and RFC 5861 §4.
func (c *Cache) judge(a Answer) (h head, why Reason) {
	switch a.Status {
	case 200, 203, 301, 308, 404, 410:
	default:
		return h, Status
	}
	h.length = -1
	var cacheControl, vary []string
	text := 0
	for _, f := range a.Header {
		text += len(f.Name) + len(f.Value)
		switch strings.ToLower(f.Name) {
		case "cache-control":
			cacheControl = append(cacheControl, f.Value)
		case "vary":
			vary = append(vary, f.Value)
		case "set-cookie", "set-cookie2":
			return h, SetCookie
		case "content-range":
			return h, Partial
		case "connection":
			h.connection = appendList(h.connection, f.Value)
		case "age":
			h.age = max(h.age, seconds(strings.TrimSpace(f.Value)))
		case "content-length":
			n, err := strconv.ParseInt(strings.TrimSpace(f.Value), 10, 64)
			if err != nil || n < 0 || h.length >= 0 && n != h.length {
				return h, Partial
			}
			h.length = n
		}
	}
	if len(a.Header) > maxFields || text > maxHead {
		return h, TooLarge
	}
	cc, ok := parseControl(cacheControl)
	if !ok {
		return h, Unreadable
	}
	if why := cc.judge(a.Credentials); why != Kept {
		return h, why
	}
	h.limit = cc.limit()
	if h.age > h.limit {
		return h, Revalidate
	}
	return h, c.judgeVary(vary)
}

func (c *Cache) judgeVary(lines []string) Reason {
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(trim(name))
			switch {
			case name == "":
			case name != "*" && !isToken(name):
				return Unreadable
			case !c.covers(name):
				return Vary
			}
		}
	}
	return Kept
}

func (c *Cache) covers(name string) bool {
	for _, covered := range c.vary {
		if covered == name {
			return true
		}
	}
	return false
}

// AppendVary appends to dst, of which the caller makes a key, the values that
// the request has for the names in Config.Vary. value returns one: its lines
// joined with ", ", or "".
func (c *Cache) AppendVary(dst []byte, value func(name string) string) []byte {
	for _, name := range c.config.Vary {
		v := trim(value(name))
		dst = binary.AppendUvarint(dst, uint64(len(v)))
		dst = append(dst, v...)
	}
	return dst
}

// clone copies fields, without those that belong to the connection and those
// that whoever shows the answer sets, and says what they take.
func clone(fields []Field, connection []string) ([]Field, int64) {
	var text strings.Builder
	keep := make([]Field, 0, len(fields))
	for _, f := range fields {
		if name := strings.ToLower(f.Name); !passing(name) && !contains(connection, name) {
			keep = append(keep, f)
			text.WriteString(f.Name)
			text.WriteString(f.Value)
		}
	}
	rest := text.String()
	for i, f := range keep {
		n, v := len(f.Name), len(f.Name)+len(f.Value)
		keep[i] = Field{rest[:n], rest[n:v]}
		rest = rest[v:]
	}
	return keep, int64(text.Len() + cap(keep)*32)
}

// passing reports whether a field is of one connection, or of one answer's way.
func passing(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
		"proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "age", "content-length":
		return true
	}
	return false
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func appendList(names []string, line string) []string {
	for name := range strings.SplitSeq(line, ",") {
		if name = strings.ToLower(trim(name)); name != "" && len(names) < maxFields {
			names = append(names, name)
		}
	}
	return names
}
