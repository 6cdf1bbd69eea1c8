package gateway

import (
	"encoding/binary"
	"errors"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// sticky is what chooses a request's worker: the value of a header or a cookie.
type sticky struct {
	header string // in lower case; "": none
	cookie string // the cookie in this header; "": the complete value
}

// parseSticky reads header:NAME or cookie:NAME.
func parseSticky(s string) (out sticky, err error) {
	kind, name, _ := strings.Cut(s, ":")
	switch {
	case s == "":
	case kind == "header" && h1.Token(name):
		out.header = h1.LowerName(name)
	case kind == "cookie" && h1.Token(name):
		out.header, out.cookie = "cookie", name
	default:
		err = errors.New("want header:NAME or cookie:NAME")
	}
	return out, err
}

// stick returns the hash that chooses the worker; 0 if the request has no such value. It is the same on all nodes of a
// deployment.
func (j *job) stick() uint64 {
	by := j.route.sticky
	if by.header == "" {
		return 0
	}
	value := ""
	for i := range j.req.Fields {
		f := &j.req.Fields[i]
		if !h1.SameName(f.Name, by.header) {
			continue
		}
		if value = f.Value; by.cookie != "" {
			value = cookie(f.Value, by.cookie)
		}
		if value != "" {
			break
		}
	}
	if value == "" {
		return 0
	}
	sum := j.route.Printer.Client("\x00sticky:" + value)
	return max(binary.BigEndian.Uint64(sum[:]), 1)
}

func cookie(field, name string) string {
	for pair := range strings.SplitSeq(field, ";") {
		if n, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && n == name {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}
