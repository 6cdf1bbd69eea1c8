package sql

import (
	"bytes"
	"slices"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// lexer splits a text into tokens in one pass. It reads no byte more than a few times: a
// failed search is not repeated.
type lexer struct {
	text      []byte
	words     *dictionary
	dialect   dialect
	maxDepth  int
	maxTokens int

	tokens   []token
	previous kind    // kind of the last token
	seen     words   // of the tokens
	open     []int32 // tokens of open brackets and CASEs
	params   int     // placeholders without a number or a name

	hidden   bool // inside /*! … */
	hides    bool // some token was
	several  bool // a semicolon was read
	ors      bool // an OR was read, or a token that may be one
	noDollar bool // a $tag$ was not closed, so that there is no further one
	steps    int  // bytes and tokens read, for the test of linear time

	fault *cost.Unreadable // the first fault; reading stops there
}

// lex reads the text from byte from on. Tokens before a fault stay valid.
func (l *lexer) lex(from int) {
	i := from
	for i < len(l.text) && l.fault == nil {
		c := l.text[i]
		if c == ' ' { // the usual separator
			i++
			continue
		}
		switch l.words.classes[c] {
		case space:
			i++
		case letter:
			i = l.word(i)
		case digit:
			i = l.number(i)
		case quote:
			i = l.quoted(i, i)
		case bracket:
			i = l.bracket(i)
		case sign:
			i = l.sign(i)
		case special:
			i = l.special(i)
		case other:
			if c == 0 && i == len(l.text)-1 {
				return // end of a C string
			}
			i = l.add(operator, oOther, i, i+1)
		}
		if len(l.tokens) > l.maxTokens {
			l.fail(cost.BodyBytes, "too many tokens", i) // the database may read more than the guard has
		}
	}
	if l.hidden {
		l.fail(cost.Unparsable, "unterminated comment", len(l.text))
	}
	l.hidden = false
}

func (l *lexer) fail(p cost.Predictor, reason string, at int) {
	if l.fault == nil {
		l.fault = &cost.Unreadable{Predictor: p, Reason: reason, Offset: at}
	}
}

// add appends a token and returns the position after it.
func (l *lexer) add(k kind, w word, start, end int) int {
	if len(l.tokens) == cap(l.tokens) {
		l.tokens = slices.Grow(l.tokens, 1)
	}
	n := len(l.tokens)
	l.tokens = l.tokens[:n+1]
	t := &l.tokens[n] // assigning single fields is twice as fast as copying a whole token
	t.start, t.end, t.match = int32(start), int32(end), -1
	t.kind, t.word, t.hidden = k, w, l.hidden
	l.previous = k
	l.seen.add(w)
	l.steps += end - start
	return end
}

// addParam appends a placeholder identified only by its order.
func (l *lexer) addParam(start, end int) int {
	l.add(param, none, start, end)
	l.tokens[len(l.tokens)-1].match = int32(l.params)
	l.params++
	return end
}

func (l *lexer) last() token {
	if n := len(l.tokens); n > 0 {
		return l.tokens[n-1]
	}
	return token{}
}

// afterOperand reports whether the last token ends a value, so that a following sign is an
// operator.
func (l *lexer) afterOperand() bool {
	if !l.previous.operand() {
		return false
	}
	t := l.last()
	return t.kind != bare || t.word == none || t.word == wEnd || t.word == wTrue || t.word == wFalse || t.word == wNull || t.word == wNow
}

func (l *lexer) word(i int) int {
	start, in := i, &l.words.inWord
	for i < len(l.text) && in[l.text[i]] {
		i++
	}
	n := i - start
	if n <= 2 && i < len(l.text) && (l.text[i] == '\'' || l.text[i] == '"' || l.text[i] == '&') {
		if to := l.prefixed(start, i); to > 0 {
			return to
		}
	}
	w := none
	if n > 1 && n <= maxWord && l.previous != dot {
		w = l.meaning(start, i)
	}
	l.add(bare, w, start, i)
	if w == wEnd {
		l.end()
	}
	return i
}

// meaning returns the meaning of a bare word, and records properties of the whole text.
func (l *lexer) meaning(start, end int) word {
	w := l.words.find(l.text, start, end)
	switch w {
	case wCase:
		l.push(len(l.tokens))
	case wOr:
		l.ors = true
	}
	return w
}

// prefixed reads E'…', N'…', X'…', B'…' and U&'…'; 0 when it is none.
func (l *lexer) prefixed(start, i int) int {
	switch c := l.text[start] | 0x20; {
	case i-start == 1 && l.text[i] == '\'' && (c == 'e' || c == 'n' || c == 'x' || c == 'b'):
		return l.quoted(start, i)
	case i-start == 1 && c == 'u' && l.text[i] == '&' && i+1 < len(l.text) && (l.text[i+1] == '\'' || l.text[i+1] == '"'):
		return l.quoted(start, i+1)
	}
	return 0
}

func (l *lexer) number(i int) int {
	start := i
	hex := false
	if l.text[i] == '0' && i+1 < len(l.text) && (l.text[i+1]|0x20 == 'x' || l.text[i+1]|0x20 == 'b' || l.text[i+1]|0x20 == 'o') {
		hex, i = true, i+2
	}
	point := false
	for ; i < len(l.text); i++ {
		switch c := l.text[i]; {
		case c >= '0' && c <= '9', c == '_':
		case c == '.' && !point && !hex && (i+1 == len(l.text) || l.text[i+1] != '.'): // 1..2 is a range
			point = true
		case (c|0x20 == 'e') && !hex && i+1 < len(l.text) && exponent(l.text[i+1:]):
			i++ // and its sign
		case classOf(c) == letter:
			if !point && !hex { // a name may begin with a digit, as in 2fa_codes
				for ; i < len(l.text) && (classOf(l.text[i]) == letter || classOf(l.text[i]) == digit); i++ {
				}
				return l.add(bare, none, start, i)
			}
			if !hex {
				return l.add(number, none, start, i)
			}
		default:
			return l.add(number, none, start, i)
		}
	}
	return l.add(number, none, start, i)
}

// exponent reports whether b goes on with the exponent of a number.
func exponent(b []byte) bool {
	if b[0] == '+' || b[0] == '-' {
		return len(b) > 1 && b[1] >= '0' && b[1] <= '9'
	}
	return b[0] >= '0' && b[0] <= '9'
}

func (l *lexer) bracket(i int) int {
	switch l.text[i] {
	case '(':
		l.push(len(l.tokens))
		return l.add(openParen, none, i, i+1)
	case ')':
		return l.pop(i, openParen, closeParen)
	case '[':
		if to := l.bracketed(i); to > 0 {
			return to
		}
		l.push(len(l.tokens))
		return l.add(openBrack, none, i, i+1)
	case ']':
		return l.pop(i, openBrack, closeBrack)
	case ',':
		return l.add(comma, none, i, i+1)
	case ';':
		l.several = true
		return l.add(semicolon, none, i, i+1)
	}
	if i+1 < len(l.text) && classOf(l.text[i+1]) == digit && !l.afterOperand() && (i == 0 || l.text[i-1] != '.') { // 1..10 is a range
		end := i + 1
		for end < len(l.text) && (classOf(l.text[end]) == digit || l.text[end] == '_') {
			end++
		}
		if end+1 < len(l.text) && l.text[end]|0x20 == 'e' && exponent(l.text[end+1:]) {
			for end += 2; end < len(l.text) && classOf(l.text[end]) == digit; end++ {
			}
		}
		return l.add(number, none, i, end)
	}
	return l.add(dot, none, i, i+1)
}

// push opens a level with token t.
func (l *lexer) push(t int) {
	if len(l.open) >= l.maxDepth {
		l.fail(cost.BodyDepth, "nested too deep", int(l.at(t)))
		return
	}
	l.open = append(l.open, int32(t))
}

// at is where token t begins, or would.
func (l *lexer) at(t int) int32 {
	if t < len(l.tokens) {
		return l.tokens[t].start
	}
	if n := len(l.tokens); n > 0 {
		return l.tokens[n-1].end
	}
	return 0
}

// pop closes the innermost bracket of a kind. It ignores a CASE without END inside.
func (l *lexer) pop(i int, k, closer kind) int {
	n := len(l.open)
	for n > 0 && l.tokens[l.open[n-1]].word == wCase {
		n--
	}
	if n == 0 || l.tokens[l.open[n-1]].kind != k {
		l.fail(cost.Unparsable, "a closing bracket without an opening one", i)
		return l.add(closer, none, i, i+1)
	}
	l.add(closer, none, i, i+1)
	l.pair(n - 1)
	return i + 1
}

// end closes the open CASE, if there is one, with the last token.
func (l *lexer) end() {
	if n := len(l.open); n > 0 && l.tokens[l.open[n-1]].word == wCase {
		l.pair(n - 1)
	}
}

// pair makes the last token the closer of an open one.
func (l *lexer) pair(n int) {
	o, last := l.open[n], len(l.tokens)-1
	l.tokens[o].match, l.tokens[last].match = int32(last), o
	l.open = l.open[:n]
}

// settle reports unclosed brackets.
func (l *lexer) settle() {
	for _, o := range l.open {
		if l.tokens[o].kind != bare {
			l.fail(cost.Unparsable, "unclosed bracket", int(l.tokens[o].start))
			break
		}
	}
}

// bracketed reads a [name] in SQL Server's syntax. It returns 0 for a subscript or a list.
func (l *lexer) bracketed(i int) int {
	if l.dialect.kind != generic || l.afterOperand() || l.last().word == wArray {
		return 0
	}
	const longest = 128 // SQL Server's
	rest := l.text[i+1 : min(len(l.text), i+1+longest)]
	n := bytes.IndexByte(rest, ']')
	if n <= 0 || classOf(rest[0]) != letter {
		return 0
	}
	for _, c := range rest[:n] {
		if cl := classOf(c); cl != letter && cl != digit && cl != space {
			return 0
		}
	}
	return l.add(quoted, none, i, i+n+2)
}
