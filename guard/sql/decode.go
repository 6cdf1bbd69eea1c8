package sql

import "github.com/bezoar-dev/bezoar/guard/internal/unescape"

// textAt returns the text of a string or a bound placeholder, decoded as far as wildcards
// require.
func (r *Reader) textAt(k int) ([]byte, bool) {
	t := r.tok(k)
	if t.kind == param {
		v, ok := r.bound(k)
		if !ok {
			return nil, false
		}
		room, ok := asText(r.room[:0], v)
		r.room = room
		return room, ok
	}
	raw := r.text[t.start:t.end]
	in := inside(raw)
	switch raw[0] | 0x20 {
	case 'e':
		return r.unescape(in), true
	case 'u':
		return r.unicode(in), true
	case 'x':
		return r.hexText(in), true
	}
	return in, true // MySQL keeps \% unchanged
}

// unescape decodes the escapes of E'…' that could hide a wildcard: \x25, \45, \u0025.
func (r *Reader) unescape(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 >= len(b) {
			r.room = append(r.room, b[i])
			continue
		}
		i++
		switch c := b[i]; {
		case c == 'x' || c == 'u' || c == 'U':
			v, n := unescape.Digits(b[i+1:], hexDigits(c))
			i += n
			r.room = append(r.room, byte(min(v, 0xff)))
		case c >= '0' && c <= '7':
			v, n := 0, 0
			for ; n < 3 && i+n < len(b) && b[i+n] >= '0' && b[i+n] <= '7'; n++ {
				v = v<<3 | int(b[i+n]-'0')
			}
			i += n - 1
			r.room = append(r.room, byte(v))
		case c == '\\':
			r.room = append(r.room, '\\')
		default:
			r.room = append(r.room, c)
		}
	}
	return r.room
}

// unslash decodes a MySQL string, in which '\\\\d' is the expression \\d.
func (r *Reader) unslash(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i < len(b); i++ {
		if c := b[i]; c != '\\' || i+1 >= len(b) {
			r.room = append(r.room, c)
			continue
		}
		i++
		switch c := b[i]; c {
		case 'n':
			r.room = append(r.room, '\n')
		case 't':
			r.room = append(r.room, '\t')
		case 'r':
			r.room = append(r.room, '\r')
		case '0':
			r.room = append(r.room, 0)
		case '%', '_': // these stay unchanged
			r.room = append(r.room, '\\', c)
		default:
			r.room = append(r.room, c)
		}
	}
	return r.room
}

// hexDigits returns the maximum number of hexadecimal digits of an escape.
func hexDigits(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	}
	return 8
}

// unicode decodes U&'\0025'.
func (r *Reader) unicode(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			if v, n := unescape.Digits(b[i+1:], 4); n == 4 {
				i += n
				r.room = append(r.room, byte(min(v, 0xff)))
				continue
			}
		}
		r.room = append(r.room, b[i])
	}
	return r.room
}

// hexNumber returns the text that 0x25 stands for in MySQL.
func (r *Reader) hexNumber(k int) ([]byte, bool) {
	b := r.bytes(k)
	if r.dialect.kind == postgres || len(b) < 4 || b[0] != '0' || b[1]|0x20 != 'x' {
		return nil, false
	}
	return r.hexText(b[2:]), true
}

// hexText decodes X'25'.
func (r *Reader) hexText(b []byte) []byte {
	r.room = r.room[:0]
	for i := 0; i+1 < len(b); i += 2 {
		h, _ := unescape.Hex(b[i])
		l, _ := unescape.Hex(b[i+1])
		r.room = append(r.room, h<<4|l)
	}
	return r.room
}
