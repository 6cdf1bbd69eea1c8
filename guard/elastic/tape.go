package elastic

import (
	"bytes"
	"math"
	"strconv"

	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

// tape is a scanned text and its origin.
type tape struct {
	scanner
	base   int    // for decoded text: the byte of Query.Body that contains it, or -1; see derived
	prefix string // with Explain: the path of the enclosing value
	// derived means that the text was decoded: its offsets do not apply to Query.Body.
	derived bool
	way     []step // with Explain: path to the last requested node
}

// bytes returns the decoded text of a string, or the source text of any other value.
func (r *Reader) bytes(n int) []byte {
	v := &r.t.nodes[n]
	raw := r.t.text[v.off:v.end]
	if !v.escaped {
		return raw
	}
	from := len(r.arena)
	r.arena = unescape.JSON(r.arena, raw)
	return r.arena[from:len(r.arena):len(r.arena)]
}

func (r *Reader) kind(n int) kind     { return r.t.nodes[n].kind }
func (r *Reader) next(n int) int      { return int(r.t.nodes[n].next) }
func (r *Reader) count(n int) int     { return int(r.t.nodes[n].count) }
func (r *Reader) isText(n int) bool   { return r.t.nodes[n].kind == kindString }
func (r *Reader) isObject(n int) bool { return n > none && r.t.nodes[n].kind == kindObject }
func (r *Reader) isArray(n int) bool  { return n > none && r.t.nodes[n].kind == kindArray }

// none is the index of no node.
const none = -1

// get returns the value of a member, or none.
func (r *Reader) get(object int, name string) int {
	if !r.isObject(object) {
		return none
	}
	for k := object + 1; k < r.next(object); k = r.next(k + 1) {
		if string(r.t.name(int32(k))) == name {
			return k + 1
		}
	}
	return none
}

// first returns the key of an object's first member, or none.
func (r *Reader) first(object int) int {
	if !r.isObject(object) || r.count(object) == 0 {
		return none
	}
	return object + 1
}

// number parses a number, also in quotes, as the backend does.
func (r *Reader) number(n int) (float64, bool) {
	if n <= none {
		return 0, false
	}
	switch r.kind(n) {
	case kindNumber, kindString:
		return parseNumber(r.bytes(n))
	}
	return 0, false
}

// quantity parses a number that a limit applies to. A value that cannot be parsed counts as
// unbounded, because the backend may accept it.
func (r *Reader) quantity(n int, otherwise float64) float64 {
	if n <= none || r.kind(n) == kindNull || r.isText(n) && len(r.bytes(n)) == 0 {
		return otherwise
	}
	if v, ok := r.number(n); ok {
		return v
	}
	if r.isText(n) {
		if v, ok := javaNumber(r.bytes(n)); ok {
			return v
		}
	}
	return math.Inf(1)
}

// javaNumber parses the syntax of Java's Double.parseDouble, which allows surrounding
// space, a type letter and hexadecimal.
func javaNumber(b []byte) (float64, bool) {
	if v, ok := parseNumber(b); ok || len(b) == 0 {
		return v, ok
	}
	for len(b) > 0 && b[0] <= ' ' {
		b = b[1:]
	}
	for len(b) > 0 && b[len(b)-1] <= ' ' {
		b = b[:len(b)-1]
	}
	if len(b) == 0 || len(b) > longNumber {
		return 0, false
	}
	if c := b[len(b)-1] | 0x20; (c == 'd' || c == 'f') && !bytes.ContainsAny(b, "xX") || c == 'd' && bytes.ContainsAny(b, "pP") {
		b = b[:len(b)-1]
	}
	if v, ok := parseNumber(b); ok {
		return v, true
	}
	sign := bytes.TrimLeft(b, "+-")
	if len(sign) < 2 || sign[0] != '0' || sign[1]|0x20 != 'x' {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil && !math.IsNaN(v)
}

// longNumber is the maximum length of a number in characters.
const longNumber = 4096

func (r *Reader) numberOr(n int, or float64) float64 {
	if v, ok := r.number(n); ok {
		return v
	}
	return or
}

// isTrue accepts true and "true".
func (r *Reader) isTrue(n int) bool {
	return n > none && (r.kind(n) == kindTrue || r.isText(n) && string(r.bytes(n)) == "true")
}

func (r *Reader) isFalse(n int) bool {
	return n > none && (r.kind(n) == kindFalse || r.isText(n) && string(r.bytes(n)) == "false")
}

// parseNumber is fast for whole numbers, and correct for all.
func parseNumber(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > longNumber {
		return 0, false
	}
	if len(b) <= 15 {
		whole := 0.0
		for i, c := range b {
			if c < '0' || c > '9' {
				break
			}
			whole = whole*10 + float64(c-'0')
			if i == len(b)-1 {
				return whole, true
			}
		}
	}
	switch c := b[0]; {
	case c >= '0' && c <= '9', c == '-', c == '+', c == '.':
	default:
		return 0, false // strconv also accepts words and hexadecimal
	}
	for i, c := range b[1:] { // errors of strconv allocate, and intervals and dates are common here
		digit := c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E'
		if !digit && ((c != '-' && c != '+') || b[i]|0x20 != 'e') {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return v, true
}
