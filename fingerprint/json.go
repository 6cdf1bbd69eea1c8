package fingerprint

import (
	"bytes"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a JSON document that is canonicalised.
const maxDepth = 64

// json appends the canonical form of one document to buf and its skeleton to
// skel in a single pass, or reports that b is not a document within bounds.
// It never writes more bytes than it reads.
func (s *scratch) json(b []byte, ignore *node) bool {
	i := s.value(b, blank(b, 0), 0, ignore)
	s.keys, s.items = s.keys[:0], s.items[:0] // an error leaves members behind
	return i >= 0 && blank(b, i) == len(b)
}

// lines is json for documents that stand on a line each; blank lines are
// skipped.
func (s *scratch) lines(b []byte, ignore *node) bool {
	defer func() { s.keys, s.items = s.keys[:0], s.items[:0] }()
	s.skel = append(s.skel, "lines["...)
	start, more := len(s.skel), false
	for i := blank(b, 0); i < len(b); {
		at := len(s.skel)
		end := s.value(b, i, 0, ignore)
		if end < 0 || bytes.IndexByte(b[i:end], '\n') >= 0 {
			return false
		}
		i = blank(b, end)
		if i < len(b) && bytes.IndexByte(b[end:i], '\n') < 0 {
			return false
		}
		s.buf = append(s.buf, '\n')
		more = s.element(0, at) || more
	}
	s.endElements(0, start, more)
	return true
}

// blank returns the index of the first byte from i on that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// value appends the value at b[i:] and returns the index behind it, or -1.
func (s *scratch) value(b []byte, i, depth int, ignore *node) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		at := len(s.buf) + 1
		end, k := s.str(b, i+1)
		if end >= 0 {
			s.skel = appendClass(s.skel, s.buf[at:len(s.buf)-1], k)
		}
		return end
	case '{', '[':
		if depth == maxDepth {
			s.deep = true
			return -1
		}
		if b[i] == '{' {
			return s.object(b, i+1, depth+1, ignore)
		}
		return s.array(b, i+1, depth+1, ignore)
	case 't':
		return s.literal(b, i, "true", "bool")
	case 'f':
		return s.literal(b, i, "false", "bool")
	case 'n':
		return s.literal(b, i, "null", "null")
	}
	return s.number(b, i)
}

func (s *scratch) literal(b []byte, i int, word, class string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	s.buf = append(s.buf, word...)
	s.skel = append(s.skel, class...)
	return i + len(word)
}

// object appends the members sorted by name. Members of one name keep their
// order, all of them: parsers disagree about which of them counts.
func (s *scratch) object(b []byte, i, depth int, ignore *node) int {
	s.buf = append(s.buf, '{')
	s.skel = append(s.skel, '{')
	start, sstart := len(s.buf), len(s.skel)
	base, ibase := len(s.keys), len(s.items)
	ordered := true
	if i = blank(b, i); i < len(b) && b[i] == '}' {
		s.buf = append(s.buf, '}')
		s.skel = append(s.skel, '}')
		return i + 1
	}
	for {
		at, sat := len(s.buf), len(s.skel)
		if i = blank(b, i); i >= len(b) || b[i] != '"' {
			return -1
		}
		var k set
		if i, k = s.str(b, i+1); i < 0 {
			return -1
		}
		if i = blank(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		end := len(s.buf) - 1
		name := s.buf[at+1 : end]
		s.skel = append(appendName(s.skel, name, k), '=')
		s.buf = append(s.buf, ':')
		below, drop := ignore.member(name)
		if i = s.value(b, blank(b, i+1), depth, below); i < 0 {
			return -1
		}
		if drop {
			s.buf, s.skel = s.buf[:at], s.skel[:sat]
		} else {
			s.buf = append(s.buf, ',')
			s.skel = append(s.skel, ',')
			ordered = s.push(base, at, span{int32(at + 1), int32(end)}) && ordered
			s.item(sat)
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			break
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
	if !ordered {
		s.arrange(base, start)
	}
	s.unite(ibase, sstart)
	s.keys, s.items = s.keys[:base], s.items[:ibase]
	s.buf = seal(s.buf, start, '}')
	s.skel = seal(s.skel, sstart, '}')
	return i + 1
}

// seal replaces the separator at the end of what began at start by the bracket.
func seal(b []byte, start int, bracket byte) []byte {
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return append(b, bracket)
}

// array appends the elements in their order; to the shape they are a set.
func (s *scratch) array(b []byte, i, depth int, ignore *node) int {
	s.buf = append(s.buf, '[')
	s.skel = append(s.skel, '[')
	start, sstart, ibase := len(s.buf), len(s.skel), len(s.items)
	below, drop := ignore.element()
	more := false
	if i = blank(b, i); i < len(b) && b[i] == ']' {
		s.buf = append(s.buf, ']')
		s.skel = append(s.skel, ']')
		return i + 1
	}
	for {
		at, sat := len(s.buf), len(s.skel)
		if i = s.value(b, blank(b, i), depth, below); i < 0 {
			return -1
		}
		if drop {
			s.buf, s.skel = s.buf[:at], s.skel[:sat]
		} else {
			s.buf = append(s.buf, ',')
			more = s.element(ibase, sat) || more
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			break
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
	s.buf = seal(s.buf, start, ']')
	s.endElements(ibase, sstart, more)
	return i + 1
}

// element keeps the skeleton skel[at:] if it is new among those since base and
// there is room, and reports whether there was none.
func (s *scratch) element(base, at int) (full bool) {
	s.skel = append(s.skel, ',')
	its := s.items[base:]
	for i := len(its) - 1; i >= 0; i-- {
		if bytes.Equal(s.text(its[i]), s.skel[at:]) {
			s.skel = s.skel[:at]
			return false
		}
	}
	if len(its) == maxElements {
		s.skel = s.skel[:at]
		return true
	}
	s.item(at)
	return false
}

// endElements closes an array's skeleton.
func (s *scratch) endElements(base, start int, more bool) {
	s.unite(base, start)
	s.items = s.items[:base]
	if more {
		s.skel = append(s.skel, "+,"...)
	}
	s.skel = seal(s.skel, start, ']')
}

// number appends a number. Only what no parser can tell apart is made alike:
// the exponent's letter, plus sign and leading zeros. 1, 1.0 and 1e0 differ, as
// they do to every parser that knows integers or decimals.
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

// str appends the string whose first byte is b[i], quotes included, and returns
// the index behind it, or -1, and the kinds of its bytes.
func (s *scratch) str(b []byte, i int) (end int, k set) {
	s.buf = append(s.buf, '"')
	from := i
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
			s.buf = append(append(s.buf, b[from:i]...), '"')
			return i + 1, k
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

// escape appends what the escape behind the backslash stands for: the bare
// character if JSON allows it, the shortest escape if not. Half a surrogate pair
// stays an escape: parsers disagree about it.
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

// appendRune appends r as the inside of a canonical string has it.
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
