package sql

import (
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

func format(f string, args ...any) string { return fmt.Sprintf(f, args...) }

// numberAt returns the value of a number, of text that contains one, or of a bound
// placeholder.
func (r *Reader) numberAt(i int) (float64, bool) {
	switch t := r.tok(i); t.kind {
	case number:
		return parseNumber(r.text[t.start:t.end])
	case text:
		return parseNumber(inside(r.text[t.start:t.end]))
	case param:
		v, ok := r.bound(i)
		if !ok {
			return 0, false
		}
		return asNumber(v)
	default:
		return 0, false
	}
}

// parseNumber parses a decimal or hexadecimal number without allocating.
func parseNumber(b []byte) (float64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		v := 0.0
		for _, c := range b[2:] {
			d, ok := unescape.Hex(c)
			if !ok {
				return 0, false
			}
			v = v*16 + float64(d)
		}
		return v, true
	}
	v, scale, i := 0.0, 0.0, 0
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			if v < 1e300 {
				v = v*10 + float64(c-'0')
			}
			scale *= 10
		case c == '.' && scale == 0:
			scale = 1
		case c == '_':
		case c|0x20 == 'e':
			return exponentOf(v, scale, b[i+1:])
		default:
			return 0, false
		}
	}
	if scale > 1 {
		v /= scale
	}
	return v, len(b) > 0
}

func exponentOf(v, scale float64, b []byte) (float64, bool) {
	if scale > 1 {
		v /= scale
	}
	sign, exp := 1.0, 0.0
	for i, c := range b {
		switch {
		case i == 0 && c == '-':
			sign = -1
		case i == 0 && c == '+':
		case c >= '0' && c <= '9':
			exp = min(exp*10+float64(c-'0'), 400)
		default:
			return 0, false
		}
	}
	return v * math.Pow(10, sign*exp), len(b) > 0
}

// bound returns the value of the placeholder at i: by its number, its name or its order.
func (r *Reader) bound(i int) (any, bool) {
	if len(r.args) == 0 {
		return nil, false
	}
	t := r.tok(i)
	if t.match >= 0 {
		return r.arg(int(t.match))
	}
	name := r.text[t.start:t.end]
	if n, ok := parseNumber(name[1:]); ok && n >= 1 && n < 1<<16 {
		return r.arg(int(n) - 1)
	}
	for len(name) > 0 && classOf(name[0]) != letter {
		name = name[1:]
	}
	name = name[:wordEnd(name, 0)]
	for _, a := range r.args[:min(len(r.args), maxNamed)] {
		if n, ok := a.(Named); ok && n.Name == string(name) {
			return n.Value, true
		}
	}
	if n := len(name); n > 1 && (name[0]|0x20 == 'p') { // @p1
		if v, ok := parseNumber(name[1:]); ok && v >= 1 && v < 1<<16 {
			return r.arg(int(v) - 1)
		}
	}
	return nil, false
}

func (r *Reader) arg(n int) (any, bool) {
	if n >= len(r.args) {
		return nil, false
	}
	if v, ok := r.args[n].(Named); ok {
		return v.Value, true
	}
	return r.args[n], true
}

func asNumber(v any) (float64, bool) {
	switch n := v.(type) {
	case nil:
		return math.Inf(1), true // LIMIT NULL
	case int64:
		return float64(n), true
	case int:
		return float64(n), true
	case float64:
		return n, true
	case string:
		f, err := strconv.ParseFloat(n, 64)
		return f, err == nil
	case []byte:
		return parseNumber(n)
	case bool:
		if n {
			return 1, true
		}
		return 0, true
	}
	switch rv := reflect.ValueOf(v); {
	case rv.CanInt():
		return float64(rv.Int()), true
	case rv.CanUint():
		return float64(rv.Uint()), true
	case rv.CanFloat():
		return rv.Float(), true
	case rv.Kind() == reflect.Pointer && !rv.IsNil() && rv.Elem().CanInt():
		return float64(rv.Elem().Int()), true
	}
	return 0, false
}

// lengthOf returns the number of values in a bound list: a slice, or an array in
// PostgreSQL's notation.
func lengthOf(v any) (int, bool) {
	switch l := v.(type) {
	case []byte:
		return arrayLength(l)
	case string:
		return arrayLength(l)
	case nil:
		return 0, true
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Kind() == reflect.Struct && rv.NumField() == 1 && rv.Type().Field(0).IsExported() { // a wrapper around a list
		rv = rv.Field(0)
		if rv.Kind() == reflect.Interface {
			rv = rv.Elem()
		}
	}
	if k := rv.Kind(); k == reflect.Slice || k == reflect.Array {
		return rv.Len(), true
	}
	return 0, false
}

// arrayLength counts the values of {a,"b,c",d}, or of a JSON array.
func arrayLength[T string | []byte](s T) (int, bool) {
	if len(s) < 2 || s[0] != '{' && s[0] != '[' {
		return 0, false
	}
	n, quoted := 1, false
	for i := 1; i < len(s)-1; i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			n++
		}
	}
	if len(s) == 2 {
		n = 0
	}
	return n, true
}

// maxText is the maximum length of a bound text that is read as a pattern.
const maxText = 1 << 16

// asText appends a bound value as text.
func asText(dst []byte, v any) ([]byte, bool) {
	switch s := v.(type) {
	case string:
		return append(dst, s[:min(len(s), maxText)]...), true
	case []byte:
		return append(dst, s[:min(len(s), maxText)]...), true
	case *string:
		if s != nil {
			return append(dst, (*s)[:min(len(*s), maxText)]...), true
		}
		return dst, false
	}
	rv := reflect.ValueOf(v)
	if rv.IsValid() && rv.Kind() == reflect.String {
		s := rv.String()
		return append(dst, s[:min(len(s), maxText)]...), true
	}
	return dst, false
}
