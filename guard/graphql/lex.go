package graphql

import (
	"bytes"
	"math"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

type token uint8

const (
	tokEnd    token = iota
	tokName         // includes keywords
	tokNumber       // Int or Float
	tokString       // of both forms, with quotes
	tokSpread       // ...
	tokPunct        // the byte at off
	tokFault        // an error; see fault
)

// lexer splits a document into tokens. It holds one token at a time.
type lexer struct {
	text  []byte
	pos   int // after the token
	tok   token
	off   int // start of the token, which is text[off:pos]
	count int // number of tokens so far
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
			l.wrong("a dot that is not part of ...")
			return
		}
		l.pos += 3
		l.tok = tokSpread
	case bytes.IndexByte([]byte("{}()[]:!$@=&|"), c) >= 0:
		l.pos++
		l.tok = tokPunct
	default:
		l.wrong("unexpected character")
	}
}

// skip skips spaces, commas, comments and byte order marks.
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

// number reads an Int or a Float. It accepts a name directly after the number, because some
// servers do.
func (l *lexer) number() {
	if l.text[l.pos] == '-' {
		l.pos++
	}
	zero := l.pos < len(l.text) && l.text[l.pos] == '0'
	if n := l.digits(); n == 0 || zero && n > 1 {
		l.wrong("malformed number")
		return
	}
	if l.pos < len(l.text) && l.text[l.pos] == '.' {
		if l.pos++; l.digits() == 0 {
			l.wrong("a number without digits after the point")
			return
		}
	}
	if l.pos < len(l.text) && l.text[l.pos]|0x20 == 'e' {
		if l.pos++; l.pos < len(l.text) && (l.text[l.pos] == '+' || l.text[l.pos] == '-') {
			l.pos++
		}
		if l.digits() == 0 {
			l.wrong("a number without digits in its exponent")
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
				l.wrong("invalid escape sequence")
				return
			}
		case '\n', '\r':
			l.wrong("a string that does not end on its line")
			return
		}
	}
	l.pos = len(l.text)
	l.wrong("unterminated string")
}

// escape moves from a backslash to the last byte of the escape.
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
	_, ok := unescape.Hex4(rest)
	l.pos += 4
	return ok
}

// braced skips the digits and the brace after \u{: one to eight hexadecimal digits of a
// valid character.
func (l *lexer) braced(rest []byte) bool {
	v, n := unescape.Digits(rest, 8)
	l.pos += n + 2
	return n > 0 && n < len(rest) && rest[n] == '}' && utf8.ValidRune(rune(v))
}

func (l *lexer) block() {
	for i := l.pos + 3; ; {
		n := bytes.Index(l.text[i:], []byte(`"""`))
		if n < 0 {
			l.wrong("unterminated string")
			return
		}
		i += n + 3
		if l.text[i-4] != '\\' { // \""" is part of the text
			if l.pos, l.tok = i, tokString; i < len(l.text) && l.text[i] == '"' {
				l.wrong("too many quotes at the end of a string") // there servers disagree on what is text
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

// lengthOf parses a requested list length, also in quotes, up to the decimal point. It
// returns 0 for other texts. For a negative number see backwards.
func lengthOf(b []byte) float64 {
	b = bytes.Trim(b, `"`)
	if rest, ok := bytes.CutPrefix(b, []byte{'-'}); ok {
		return backwards(positive(rest))
	}
	return positive(b)
}

// backwards interprets a negative length: some servers return that many items from the end,
// others return all.
func backwards(v float64) float64 {
	if v > 0 {
		return max(v, DefaultList)
	}
	return 0
}

// positive parses a number without a sign. It returns 0 for other texts.
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

// scaled returns v times ten to the power of b.
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
