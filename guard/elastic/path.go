package elastic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxPath is how long a path, maxStep how long a name that is decoded for it, and maxPaths how
// long all of them together may become. Beyond that only the beginning is told.
const (
	maxStep  = 256
	maxPath  = 2 << 10
	maxPaths = 4 << 20
)

// step is one level of the way to the last node whose path was asked for: a
// container, and the key or element in it that the way went through.
type step struct{ container, child, index int }

// path is the JSON path of a node, for people. It walks down from the root, or on
// from the last node, so that the paths of nodes in order cost one walk.
func (r *Reader) path(target int) string {
	r.walkTo(target)
	var b strings.Builder
	b.WriteString(r.t.prefix)
	if r.t.prefix == "" {
		b.WriteByte('$')
	}
	for _, s := range r.t.way {
		if b.Len() > maxPath || r.told > maxPaths {
			b.WriteString("…")
			break
		}
		if r.kind(s.container) == kindArray {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		} else {
			b.WriteString(pathStep(r.label(s.child)))
		}
	}
	r.told += b.Len()
	return b.String()
}

// label is the text of a key. A long one is not decoded, so that it costs nothing
// to say it often.
func (r *Reader) label(key int) []byte {
	if v := &r.t.nodes[key]; v.end-v.off > maxStep {
		return r.t.text[v.off : v.off+maxStep]
	}
	return r.bytes(key)
}

func (r *Reader) walkTo(target int) {
	t := r.t
	for len(t.way) > 0 { // back to what also leads to the target
		last := t.way[len(t.way)-1]
		if target > last.container && target < r.next(last.container) && target >= last.child {
			break
		}
		t.way = t.way[:len(t.way)-1]
	}
	n := 0
	if len(t.way) > 0 {
		last := &t.way[len(t.way)-1]
		n = r.advance(last, target)
	}
	for n != target {
		s := step{container: n, child: n + 1}
		if k := r.kind(n); k != kindObject && k != kindArray || target < n || target >= r.next(n) {
			return
		}
		n = r.advance(&s, target)
		t.way = append(t.way, s)
	}
}

// advance moves a step to the child that holds the target, and gives its value.
func (r *Reader) advance(s *step, target int) int {
	value := s.child
	if r.kind(s.container) == kindObject {
		value++
	}
	for target >= r.next(value) && r.next(value) < r.next(s.container) {
		s.child, s.index = r.next(value), s.index+1
		value = s.child
		if r.kind(s.container) == kindObject {
			value++
		}
	}
	if target < value { // the key itself
		return target
	}
	return value
}

// longName is how much of a name a path shows.
const longName = 80

func shortName(name []byte) string {
	if len(name) > longName {
		return strings.ToValidUTF8(string(name[:longName]), "") + "…"
	}
	return string(name)
}

func pathStep(key []byte) string {
	name := shortName(key)
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
