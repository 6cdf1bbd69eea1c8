package fingerprint

import "unicode/utf8"

// number appends a number. Only spellings that every parser reads alike become equal: the exponent's letter, plus sign and
// leading zeros. 1, 1.0 and 1e0 differ, as they do for parsers with integers or decimals.
func (s *scratch) number(b []byte, i int) int {
	from, at := i, len(s.buf)
	class := "int"
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || !digit(b[i]):
		return -1
	case b[i] == '0':
		i++
	default:
		i = digits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		class = "dec"
		whole := i + 1
		if i = digits(b, whole); i == whole {
			return -1
		}
	}
	s.buf = append(s.buf, b[from:i]...)
	if i < len(b) && b[i]|0x20 == 'e' {
		class = "dec"
		if i = s.exponent(b, i+1); i < 0 {
			return -1
		}
	}
	s.skel = appendBucket(append(s.skel, class...), int64(len(s.buf)-at))
	return i
}

func (s *scratch) exponent(b []byte, i int) int {
	minus := false
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		minus = b[i] == '-'
		i++
	}
	from := i
	if i = digits(b, i); i == from {
		return -1
	}
	for from < i-1 && b[from] == '0' {
		from++
	}
	s.buf = append(s.buf, 'e')
	if minus && b[from] != '0' {
		s.buf = append(s.buf, '-')
	}
	s.buf = append(s.buf, b[from:i]...)
	return i
}

func digit(c byte) bool { return c-'0' <= 9 }

func digits(b []byte, i int) int {
	for i < len(b) && digit(b[i]) {
		i++
	}
	return i
}

// str appends the string whose first byte is b[i], including the quotes. It returns the index after it, or -1, and the
// kinds of its bytes.
func (s *scratch) str(b []byte, i int) (end int, k set) {
	from := i - 1
	for {
		var c set
		for i < len(b) {
			if c = kindOf(b[i]); c&kStop != 0 {
				break
			}
			k |= c
			i++
		}
		if i >= len(b) {
			return -1, 0
		}
		switch c {
		case kQuote:
			i++
			s.buf = append(s.buf, b[from:i]...)
			return i, k
		case kHigh:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n == 1 {
				return -1, 0
			}
			k |= kHigh
			i += n
		case kBack:
			s.buf = append(s.buf, b[from:i]...)
			var esc set
			if i, esc = s.escape(b, i+1); i < 0 {
				return -1, 0
			}
			k |= esc
			from = i
		default:
			if b[i] != 0x7f {
				return -1, 0 // control characters must be escaped
			}
			k |= kCtl
			i++
		}
	}
}

// escape appends the canonical form of the escape after the backslash: the bare character if JSON allows it, otherwise the
// shortest escape. Half a surrogate pair stays an escape, because parsers disagree about it.
func (s *scratch) escape(b []byte, i int) (end int, k set) {
	if i >= len(b) {
		return -1, 0
	}
	r := rune(b[i])
	switch b[i] {
	case '"', '\\', '/':
	case 'b':
		r = '\b'
	case 'f':
		r = '\f'
	case 'n':
		r = '\n'
	case 'r':
		r = '\r'
	case 't':
		r = '\t'
	case 'u':
		if r = unhex4(b, i+1); r < 0 {
			return -1, 0
		}
		i += 4
		if r >= 0xd800 && r < 0xdc00 && i+2 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
			if low := unhex4(b, i+3); low >= 0xdc00 && low < 0xe000 {
				r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
				i += 6
			}
		}
	default:
		return -1, 0
	}
	s.buf = appendRune(s.buf, r)
	if r >= utf8.RuneSelf {
		return i + 1, kHigh
	}
	return i + 1, kindOf(byte(r))
}

// appendRune appends r as in the inside of a canonical string.
func appendRune(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r < ' ' || r >= 0xd800 && r < 0xe000 {
		return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

func unhex4(b []byte, i int) (r rune) {
	if i+4 > len(b) {
		return -1
	}
	for _, c := range b[i : i+4] {
		h := unhex(c)
		if h > 15 {
			return -1
		}
		r = r<<4 | rune(h)
	}
	return r
}
