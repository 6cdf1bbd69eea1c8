package h1

import (
	"strings"
	"unicode/utf8"
)

// LowerName returns a header's name in the form for SameName.
func LowerName(header string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(header))
}

// SameName reports whether servers may take a field's name for lower: with - for _ and other signs.
func SameName(name, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'A' <= c && c <= 'Z':
			c |= 0x20
		case c < '0' || c > '9' && c < 'a' || c > 'z':
			c = '-'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// PlainText reports whether b can be logged unchanged.
func PlainText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(b)
}

// HexValue returns the value of a hexadecimal digit, -1 for another character.
func HexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// Unreserved reports whether c is an unreserved character of URLs.
func Unreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~'
}

// Value returns the value of the field with this lower-case name, compared by [SameName]. clear is false if the field is
// repeated with another value.
func Value(fields []Field, lower string) (value string, clear bool) {
	seen := false
	for i := range fields {
		f := &fields[i]
		if !SameName(f.Name, lower) {
			continue
		}
		if seen && f.Value != value {
			return "", false
		}
		value, seen = f.Value, true
	}
	return value, true
}
