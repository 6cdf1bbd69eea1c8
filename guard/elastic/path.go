package elastic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// path is the JSON path of a node, for people. It walks down from the root, so
// it costs nothing until somebody asks.
func (r *Reader) path(target int) string {
	var b strings.Builder
	if r.t.prefix == "" {
		b.WriteByte('$')
	} else {
		b.WriteString(r.t.prefix)
	}
	n := 0
	for n != target && n < len(r.t.nodes) {
		child, step := r.childToward(n, target)
		if child <= none {
			break
		}
		b.WriteString(step)
		n = child
	}
	return b.String()
}

// childToward is the member or element of n that holds target.
func (r *Reader) childToward(n, target int) (int, string) {
	switch r.kind(n) {
	case kindObject:
		for k := n + 1; k < r.next(n); k = r.next(k + 1) {
			if target < r.next(k+1) {
				step := pathStep(string(r.bytes(k)))
				if target == k {
					return none, step
				}
				return k + 1, step
			}
		}
	case kindArray:
		for i, e := 0, n+1; e < r.next(n); i, e = i+1, r.next(e) {
			if target < r.next(e) {
				return e, "[" + strconv.Itoa(i) + "]"
			}
		}
	}
	return none, ""
}

// longName is how much of a name a path shows.
const longName = 80

func shortName(name []byte) string {
	if len(name) > longName {
		return strings.ToValidUTF8(string(name[:longName]), "") + "…"
	}
	return string(name)
}

func pathStep(name string) string {
	name = shortName([]byte(name))
	for _, c := range name {
		if c != '_' && c != '@' && c != '-' && c < 0x80 && !(c >= '0' && c <= '9') && !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			return "[" + strconv.Quote(name) + "]"
		}
	}
	if name == "" {
		return `[""]`
	}
	return "." + name
}

// figure writes a number for people.
func figure(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "unbounded"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// quoted is a short form of what a query says.
func quoted(b []byte) string {
	if len(b) > longName {
		return strconv.Quote(strings.ToValidUTF8(string(b[:longName]), "")) + fmt.Sprintf("… (%d bytes)", len(b))
	}
	return strconv.Quote(string(b))
}
