package fingerprint

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// literal appends the word at b[i:], and returns the index after it, or -1.
func (s *scratch) literal(b []byte, i int, word string) int {
	end := literal(b, i, word)
	if end > 0 {
		s.buf = append(s.buf, word...)
	}
	return end
}

// number appends a number. Only spellings that every parser reads alike become equal: the exponent's letter, plus sign and
// leading zeros. 1, 1.0 and 1e0 differ, as they do for parsers with integers or decimals.
func (s *scratch) number(b []byte, i int) int {
	end, _ := scanNumber(b, i)
	if end < 0 {
		return -1
	}
	s.buf = append(s.buf, b[i:end]...)
	if end < len(b) && b[end]|0x20 == 'e' {
		return s.exponent(b, end+1)
	}
	return end
}

// scanNumber returns the index after a number without its exponent, or -1.
func scanNumber(b []byte, i int) (end int, c class) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || !digit(b[i]):
		return -1, cInt
	case b[i] == '0':
		i++
	default:
		i = digits(b, i)
	}
	if i == len(b) || b[i] != '.' {
		return i, cInt
	}
	whole := i + 1
	if i = digits(b, whole); i == whole {
		return -1, cInt
	}
	return i, cDecimal
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

// scanText reads the rest of a string, from b[i] on. It returns the index after it and the kinds of its characters, or -1 for
// text that is not valid, or 0 if the canonical form is another.
func scanText(b []byte, i int) (end int, k set) {
	from := i
	for {
		for len(b)-i >= 8 { // as plainRun, which is too long to be inlined
			w := binary.LittleEndian.Uint64(b[i:])
			n := run8(w)
			if n == 64 {
				k |= kindsOf8(w)
				i += 8
				continue
			}
			k |= kindsOf8(quoteFrom(w, n)) &^ kQuote
			i += n / 8
			break
		}
		if len(b)-i < 8 {
			if i, k = plainRun(b, i, k); i == len(b) {
				return -1, 0
			}
		}
		switch b[i] {
		case '"':
			if k&kHigh != 0 && !utf8.Valid(b[from:i]) {
				return -1, 0
			}
			return i + 1, k
		case '\\':
			e := set(0)
			if i+1 < len(b) {
				e = escaped(b[i+1])
			}
			if e == 0 {
				return 0, 0
			}
			k |= e
			i += 2
		default:
			return -1, 0 // control characters must be escaped
		}
	}
}

// escaped returns the kind of the character for which c stands behind a backslash, or 0 if it is not written like this in the
// canonical form.
func escaped(c byte) set {
	switch c {
	case '"', '\\':
		return kindOf(c)
	case 'n', 'r', 't':
		return kLine
	case 'b', 'f':
		return kCtl
	}
	return 0
}

// plainRun returns the index of the first byte, from i on, that ends a run of a string: a quote, a backslash or a control
// character other than DEL. It adds the kinds of the bytes before it.
func plainRun(b []byte, i int, k set) (int, set) {
	for len(b)-i >= 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		if n := run8(w); n < 64 {
			return i + n/8, k | kindsOf8(quoteFrom(w, n))&^kQuote
		}
		k |= kindsOf8(w)
		i += 8
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' {
		k |= kindOf(b[i])
		i++
	}
	return i, k
}

const ones = 0x0101010101010101 // times a byte: this byte eight times

// run8 returns how many bits of w are before the first byte that ends a run, or 64.
func run8(w uint64) int {
	q, e := w^'"'*ones, w^'\\'*ones
	return bits.TrailingZeros64(((q-ones)&^q|(e-ones)&^e|(w-' '*ones)&^w)&(0x80*ones)) &^ 7
}

// quoteFrom makes the bytes from bit n on quotes. What comes before them in a run has none.
func quoteFrom(w uint64, n int) uint64 {
	rest := ^uint64(0) << (n & 63)
	return w&^rest | '"'*ones&rest
}

// str appends the string whose first byte is b[i], including the quotes. It returns the index after it, or -1, and the
// kinds of its characters.
func (s *scratch) str(b []byte, i int) (end int, k set) {
	from := i - 1
	for {
		if i >= len(b) {
			return -1, 0
		}
		if b[i] != '\\' { // texts in other alphabets may consist of escapes
			run := i
			var ks set
			i, ks = plainRun(b, i, 0)
			if k |= ks; i == len(b) || ks&kHigh != 0 && !utf8.Valid(b[run:i]) {
				return -1, 0
			}
		}
		switch b[i] {
		case '"':
			s.buf = append(s.buf, b[from:i+1]...)
			return i + 1, k
		case '\\':
			if from < i {
				s.buf = append(s.buf, b[from:i]...)
			}
			var esc set
			if i, esc = s.escape(b, i+1); i < 0 {
				return -1, 0
			}
			k |= esc
			from = i
		default:
			return -1, 0 // control characters must be escaped
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
	q := b[i : i+4 : i+4]
	if !(kindOf(q[0]) | kindOf(q[1]) | kindOf(q[2]) | kindOf(q[3])).within(kHex) {
		return -1
	}
	for _, c := range q {
		r = r<<4 | rune(c&15+c>>6*9) // letters have bit 6, and a is 1 in the lower bits
	}
	return r
}
