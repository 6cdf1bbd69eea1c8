package graphql

import (
	"bytes"
	"math"
	"unicode/utf8"
)

type token uint8

const (
	tokEnd    token = iota
	tokName         // also keywords
	tokNumber       // Int and Float
	tokString       // both kinds, with quotes
	tokSpread       // ...
	tokPunct        // the byte at off
	tokFault        // fault says why
)

// lexer cuts a document into tokens. It holds one at a time.
type lexer struct {
	text  []byte
	pos   int // after the token
	tok   token
	off   int // the token is text[off:pos]
	count int // tokens so far
	fault string
}

func (l *lexer) begin(text []byte) {
	*l = lexer{text: text}
	l.next()
}

func bom() []byte { return []byte("\xef\xbb\xbf") }

// next reads a token.
func (l *lexer) next() {
	l.skip()
	l.off = l.pos
	if l.pos >= len(l.text) {
		l.tok = tokEnd
		return
	}
	l.count++
	c := l.text[l.pos]
	switch {
	case nameStart(c):
		for l.pos++; l.pos < len(l.text) && nameByte(l.text[l.pos]); l.pos++ {
		}
		l.tok = tokName
	case c == '-' || digit(c):
		l.number()
	case c == '"':
		l.str()
	case c == '.':
		if !bytes.HasPrefix(l.text[l.pos:], []byte("...")) {
			l.wrong("a dot that is no spread")
			return
		}
		l.pos += 3
		l.tok = tokSpread
	case bytes.IndexByte([]byte("{}()[]:!$@=&|"), c) >= 0:
		l.pos++
		l.tok = tokPunct
	default:
		l.wrong("a character that begins nothing")
	}
}

// skip goes over space, commas, comments and byte order marks, which may stand
// anywhere.
func (l *lexer) skip() {
	for l.pos < len(l.text) {
		switch l.text[l.pos] {
		case ' ', '\t', '\n', '\r', ',':
			l.pos++
		case '#':
			for l.pos < len(l.text) && l.text[l.pos] != '\n' && l.text[l.pos] != '\r' {
				l.pos++
			}
		case 0xef:
			if !bytes.HasPrefix(l.text[l.pos:], bom()) {
				return
			}
			l.pos += 3
		default:
			return
		}
	}
}

func (l *lexer) wrong(why string) { l.tok, l.fault = tokFault, why }

// number reads an Int or a Float. A name right behind it is taken: some read it
// as one.
func (l *lexer) number() {
	if l.text[l.pos] == '-' {
		l.pos++
	}
	zero := l.pos < len(l.text) && l.text[l.pos] == '0'
	if n := l.digits(); n == 0 || zero && n > 1 {
		l.wrong("a number that is none")
		return
	}
	if l.pos < len(l.text) && l.text[l.pos] == '.' {
		if l.pos++; l.digits() == 0 {
			l.wrong("a number that ends with its point")
			return
		}
	}
	if l.pos < len(l.text) && l.text[l.pos]|0x20 == 'e' {
		if l.pos++; l.pos < len(l.text) && (l.text[l.pos] == '+' || l.text[l.pos] == '-') {
			l.pos++
		}
		if l.digits() == 0 {
			l.wrong("a number without its exponent")
			return
		}
	}
	l.tok = tokNumber
}

func (l *lexer) digits() (n int) {
	for ; l.pos < len(l.text) && digit(l.text[l.pos]); l.pos++ {
		n++
	}
	return n
}

func (l *lexer) str() {
	if bytes.HasPrefix(l.text[l.pos:], []byte(`"""`)) {
		l.block()
		return
	}
	for l.pos++; l.pos < len(l.text); l.pos++ {
		switch l.text[l.pos] {
		case '"':
			l.pos++
			l.tok = tokString
			return
		case '\\':
			if !l.escape() {
				l.wrong("a backslash that escapes nothing")
				return
			}
		case '\n', '\r':
			l.wrong("a string that does not end on its line")
			return
		}
	}
	l.pos = len(l.text)
	l.wrong("a string without an end")
}

// escape goes from a backslash to the last byte of its escape.
func (l *lexer) escape() bool {
	rest := l.text[l.pos+1:]
	if len(rest) == 0 {
		return false
	}
	l.pos++
	if rest[0] != 'u' {
		return bytes.IndexByte([]byte(`"\/bfnrt`), rest[0]) >= 0
	}
	if rest = rest[1:]; len(rest) > 0 && rest[0] == '{' {
		return l.braced(rest[1:])
	}
	_, ok := hex4(rest)
	l.pos += 4
	return ok
}

// braced goes over what follows \u{: one to eight digits that name a character.
func (l *lexer) braced(rest []byte) bool {
	n, v := 0, rune(0)
	for ; n < len(rest) && n < 8; n++ {
		d, ok := hex(rest[n])
		if !ok {
			break
		}
		v = v<<4 | rune(d)
	}
	l.pos += n + 2
	return n > 0 && n < len(rest) && rest[n] == '}' && utf8.ValidRune(v)
}

func (l *lexer) block() {
	for i := l.pos + 3; ; {
		n := bytes.Index(l.text[i:], []byte(`"""`))
		if n < 0 {
			l.wrong("a string without an end")
			return
		}
		i += n + 3
		if l.text[i-4] != '\\' { // \""" is text
			if l.pos, l.tok = i, tokString; i < len(l.text) && l.text[i] == '"' {
				l.wrong("more quotes than end a string") // there servers disagree on what is text
			}
			return
		}
	}
}

// is reports whether the token is the punctuator c.
func (l *lexer) is(c byte) bool { return l.tok == tokPunct && l.text[l.off] == c }

// word reports whether the token is the name w.
func (l *lexer) word(w string) bool {
	return l.tok == tokName && string(l.text[l.off:l.pos]) == w
}

func (l *lexer) span() span { return span{int32(l.off), int32(l.pos)} }

func digit(c byte) bool     { return '0' <= c && c <= '9' }
func nameStart(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func nameByte(c byte) bool  { return nameStart(c) || digit(c) }

// lengthOf reads the length of a list that a number asks for, also one in quotes:
// to its first decimal; 0 when it is none. One below 0 asks some servers for so
// many from the end, and others for all there are.
func lengthOf(b []byte) float64 {
	b = bytes.Trim(b, `"`)
	if rest, ok := bytes.CutPrefix(b, []byte{'-'}); ok {
		return backwards(positive(rest))
	}
	return positive(b)
}

// backwards is a length that was written below 0.
func backwards(v float64) float64 {
	if v > 0 {
		return max(v, DefaultList)
	}
	return 0
}

// positive reads a number without a sign; 0 when it is none.
func positive(b []byte) float64 {
	if len(b) == 0 || !digit(b[0]) {
		return 0
	}
	v, i := 0.0, 0
	for ; i < len(b) && digit(b[i]); i++ {
		v = v*10 + float64(b[i]-'0')
	}
	if i+1 < len(b) && b[i] == '.' {
		v += float64(b[i+1]-'0') / 10
		for i++; i < len(b) && digit(b[i]); i++ {
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		return scaled(v, b[i+1:])
	}
	if i < len(b) {
		return 0
	}
	return v
}

// scaled is v × 10 to the power that b says.
func scaled(v float64, b []byte) float64 {
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	power := 0
	for _, c := range b {
		if !digit(c) {
			return 0
		}
		power = min(power*10+int(c-'0'), 1000)
	}
	if len(b) == 0 {
		return 0
	}
	return v * math.Pow10(sign*power)
}
