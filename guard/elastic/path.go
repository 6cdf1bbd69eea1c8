package elastic

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxPath is the maximum length of a path, maxStep the maximum length of a decoded name in
// it, and maxPaths the maximum length of all paths together. Longer paths are cut.
const (
	maxStep  = 256
	maxPath  = 2 << 10
	maxPaths = 4 << 20
)

// step is one level of the path to the last requested node: a container, and the key or
// element on the path.
type step struct{ container, child, index int }

// path returns the JSON path of a node, for display. It starts at the last requested node
// if possible, so that the paths of nodes in order cost one traversal in total.
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

// label returns the text of a key. It does not decode a long key, so that repeated calls
// stay cheap.
func (r *Reader) label(key int) []byte {
	if v := &r.t.nodes[key]; v.end-v.off > maxStep {
		return r.t.text[v.off : v.off+maxStep]
	}
	return r.bytes(key)
}

func (r *Reader) walkTo(target int) {
	t := r.t
	for len(t.way) > 0 { // back to a common ancestor
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

// advance moves a step to the child that contains the target, and returns its value.
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
	if target < value { // the target is the key
		return target
	}
	return value
}

// longName is the maximum length of a name in a path.
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

// figure formats a number for display.
func figure(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "unbounded"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// quoted returns a shortened quote of a query's text.
func quoted(b []byte) string {
	if len(b) > longName {
		return strconv.Quote(strings.ToValidUTF8(string(b[:longName]), "")) + fmt.Sprintf("… (%d bytes)", len(b))
	}
	return strconv.Quote(string(b))
}
