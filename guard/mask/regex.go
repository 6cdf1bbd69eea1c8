package mask

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// expression returns a regular expression with other literals. A letter becomes
// one that all classes of the expression hold, or do not hold, as they do the
// letter itself, everywhere the same, in both cases: what may match what does not
// change.
func (m *masker) expression(text []byte) []byte {
	x := expressionMask{text: text}
	x.classes()
	x.draw(m.draw(text))
	x.write()
	return x.out
}

type expressionMask struct {
	text  []byte
	fixed []bool      // bytes that are no literals
	sign  [128]uint64 // of a letter or digit: which classes hold it
	to    [128]byte
	far   map[rune]rune // beyond ASCII
	class bool          // there are classes with letters beyond ASCII
	out   []byte
}

// classes finds what is no literal, and which classes hold which letters.
func (x *expressionMask) classes() {
	x.fixed = make([]bool, len(x.text))
	for i := range x.sign {
		x.sign[i] = 1
	}
	for i := 0; i < len(x.text); {
		end := i + 1
		switch c := x.text[i]; {
		case c == '\\':
			end = x.escape(i)
			x.names(x.text[i+1 : min(end, len(x.text))])
		case c == '[':
			end = x.bracket(i)
		case c == '{':
			end = x.counted(i)
		case c == '(' && i+1 < len(x.text) && (x.text[i+1] == '?' || x.text[i+1] == '*'):
			end = x.group(i)
		case c >= utf8.RuneSelf || alnum(c):
			i++
			continue
		}
		for end = min(end, len(x.text)); i < end; i++ {
			x.fixed[i] = true
		}
	}
}

// names tells the letter that an escape stands for from all others.
func (x *expressionMask) names(escape []byte) {
	base, digits := 16, bytes.Trim(escape, "xuUo{}")
	if len(escape) > 0 && (escape[0] == 'o' || escape[0] >= '0' && escape[0] <= '7') {
		base = 8
	} else if len(digits) == len(escape) {
		return
	}
	if n, err := strconv.ParseUint(string(digits), base, 32); err == nil && n < 128 {
		x.sign[n] = x.sign[n]*0x100000001b3 ^ n
	}
}

func alnum(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }

// escape is behind \d, \x41, \u{41}, \p{L}, \k<name>, \12.
func (x *expressionMask) escape(i int) int {
	i++
	if i >= len(x.text) {
		return i
	}
	c := x.text[i]
	i++
	if c >= utf8.RuneSelf {
		_, size := utf8.DecodeRune(x.text[i-1:])
		return i - 1 + size
	}
	if i < len(x.text) && bytes.IndexByte([]byte("xupPkgNo"), c) >= 0 {
		for _, pair := range [...]string{"{}", "<>", "''"} {
			if x.text[i] == pair[0] {
				if n := bytes.IndexByte(near(x.text[i+1:]), pair[1]); n >= 0 {
					return i + n + 2
				}
			}
		}
	}
	most := 0
	switch {
	case c == 'x':
		most = 2
	case c == 'u':
		most = 4
	case c == 'U':
		most = 8
	case c == 'c' || c == 'p' || c == 'P':
		return i + 1
	case c >= '0' && c <= '9':
		most = 2
	}
	for ; most > 0 && i < len(x.text) && nibble(x.text[i]) >= 0; most-- {
		i++
	}
	return i
}

// bracket is behind a class; the letters that it names are told apart from
// others from now on.
func (x *expressionMask) bracket(i int) int {
	from := i
	i++
	if i < len(x.text) && x.text[i] == '^' {
		i++
	}
	if i < len(x.text) && x.text[i] == ']' {
		i++
	}
	var in [128]bool
	last := byte(0)
	depth, nested := 1, false
	for ; i < len(x.text) && depth > 0; i++ {
		c := x.text[i]
		switch {
		case c == '\\' && i+1 < len(x.text):
			end := x.escape(i)
			if x.text[i+1] != '\\' && !alnum(x.text[i+1]) {
				last = x.text[i+1]
			}
			i = end - 1
			continue
		case c == '[' && i+1 < len(x.text) && bytes.IndexByte([]byte(":.="), x.text[i+1]) >= 0:
			if n := bytes.Index(near(x.text[i+2:]), []byte{x.text[i+1], ']'}); n >= 0 {
				i += n + 3
				continue
			}
		case c == '[':
			nested = true // in some dialects: then it matters which letter is named
		case c == '&' || c == '~' || c == '-' && i+1 < len(x.text) && x.text[i+1] == '-':
			nested = true
		case c == ']':
			depth--
			continue
		case c == '-' && last != 0 && i+1 < len(x.text) && x.text[i+1] < 128:
			for l := int(last); l <= int(x.text[i+1]); l++ {
				in[l] = true
			}
		case c >= utf8.RuneSelf:
			x.class = true
		}
		if last = 0; c < 128 {
			in[c], last = true, c
		}
	}
	for c, is := range in {
		x.sign[c] *= 0x100000001b3
		switch {
		case is && nested:
			x.sign[c] ^= uint64(c + 1)
		case is:
			x.sign[c] ^= uint64(from + 1)
		}
	}
	return i
}

// counted is behind {2,5}, or behind a brace.
func (x *expressionMask) counted(i int) int {
	n := bytes.IndexByte(near(x.text[i:]), '}')
	if n < 0 || n > 20 {
		return i + 1
	}
	for _, c := range x.text[i+1 : i+n] {
		if (c < '0' || c > '9') && c != ',' && c != ' ' {
			return i + 1
		}
	}
	return i + n + 1
}

// group is behind (?<name>, (?i), (?i:, (?=, (*VERB).
func (x *expressionMask) group(i int) int {
	if x.text[i+1] == '?' && i+2 < len(x.text) && x.text[i+2] == '#' { // a comment
		return i + 3
	}
	if bytes.HasPrefix(x.text[i:], []byte("(?P=")) || bytes.HasPrefix(x.text[i:], []byte("(?P>")) || bytes.HasPrefix(x.text[i:], []byte("(?&")) {
		if n := bytes.IndexByte(near(x.text[i:]), ')'); n >= 0 {
			return i + n + 1
		}
	}
	for i += 2; i < len(x.text); i++ {
		switch c := x.text[i]; {
		case alnum(c), c == '_', c == '<', c == '-', c == '!', c == '=', c == '|', c == '&', c == '^', c == '\'':
			if c == '=' || c == '!' {
				return i + 1
			}
		default: // : > ) and what nobody knows
			return i + 1
		}
	}
	return i
}

// draw chooses for each letter one of those that nothing tells from it.
func (x *expressionMask) draw(d draw) {
	for i := range x.to {
		x.to[i] = byte(i)
	}
	shuffle := func(first, last byte, sign func(c byte) [2]uint64) {
		for c := first; c <= last; c++ {
			for n, other := 0, c+1; other <= last; other++ { // a fair choice among those that are left
				if sign(other) == sign(c) {
					n++
					if d.next(n+1) == 0 {
						x.to[c], x.to[other] = x.to[other], x.to[c]
					}
				}
			}
		}
	}
	shuffle('a', 'z', func(c byte) [2]uint64 { return [2]uint64{x.sign[c], x.sign[c-'a'+'A']} })
	for c := byte('a'); c <= 'z'; c++ {
		x.to[c-'a'+'A'] = x.to[c] - 'a' + 'A'
	}
	shuffle('0', '9', func(c byte) [2]uint64 { return [2]uint64{x.sign[c]} })
}

func (x *expressionMask) write() {
	x.out = make([]byte, 0, len(x.text))
	for i := 0; i < len(x.text); {
		c := x.text[i]
		switch {
		case x.fixed[i]:
			x.out = append(x.out, c)
		case c < utf8.RuneSelf:
			x.out = append(x.out, x.to[c])
		default:
			r, size := utf8.DecodeRune(x.text[i:])
			x.out = utf8.AppendRune(x.out, x.beyond(r, size))
			i += size
			continue
		}
		i++
	}
}

// beyond is what stands for a letter beyond ASCII: each for one.
func (x *expressionMask) beyond(r rune, size int) rune {
	if x.class || r == utf8.RuneError {
		return r
	}
	if to, ok := x.far[r]; ok {
		return to
	}
	if x.far == nil {
		x.far = map[rune]rune{}
	}
	to := rune(len(x.far)) + map[int]rune{2: 0x561, 3: 0x4e00, 4: 0x20000}[size] // letters without case, or nearly
	x.far[r] = to
	return to
}
