// Package unescape decodes what the readers of package guard find in queries: escapes of JSON strings and of URLs.
package unescape

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Hex returns the value of a hexadecimal digit.
func Hex(c byte) (value byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// Digits returns the value of the hexadecimal digits that b begins with, at most most, and their number.
func Digits(b []byte, most int) (value, n int) {
	for ; n < most && n < len(b); n++ {
		digit, ok := Hex(b[n])
		if !ok {
			break
		}
		value = value<<4 | int(digit)
	}
	return value, n
}

// Hex4 returns the value of the four hexadecimal digits that b begins with.
func Hex4(b []byte) (value rune, ok bool) {
	v, n := Digits(b, 4)
	return rune(v), n == 4
}

// JSON appends the text of a JSON string. Of an invalid escape, it drops only the backslash.
func JSON(dst, raw []byte) []byte {
	for len(raw) > 0 {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:n]...)
		raw = raw[n:]
		dst, n = One(dst, raw)
		raw = raw[n:]
	}
	return dst
}

// One appends the character for the escape of JSON in the first n bytes.
func One(dst, raw []byte) (out []byte, n int) {
	if len(raw) < 2 {
		return append(dst, raw...), len(raw)
	}
	switch c := raw[1]; c {
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'u':
		u, ok := Hex4(raw[2:])
		if !ok {
			return append(dst, c), 2
		}
		if utf16.IsSurrogate(u) && len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
			if low, ok := Hex4(raw[8:]); ok && utf16.DecodeRune(u, low) != utf8.RuneError {
				return utf8.AppendRune(dst, utf16.DecodeRune(u, low)), 12
			}
		}
		return utf8.AppendRune(dst, u), 6
	default:
		return append(dst, c), 2
	}
}

// Query appends a decoded name or value of a URL's query or of a form. A percent sign without two digits stays.
func Query[T string | []byte](dst []byte, raw T) []byte {
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(raw):
			high, ok := Hex(raw[i+1])
			low, okLow := Hex(raw[i+2])
			if ok && okLow {
				c = high<<4 | low
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst
}
