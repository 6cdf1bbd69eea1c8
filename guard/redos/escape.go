package redos

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// escape parses the text after a backslash outside brackets.
func (p *parser) escape(start int) *node {
	if p.pos >= len(p.src) {
		return p.fail("trailing backslash")
	}
	if p.dialect == Lucene {
		if s, ok := p.shorthand(); ok {
			return p.class(start, s)
		}
		return p.class(start, one(p.next()))
	}
	if kind, ok := p.assertion(); ok {
		p.pos++
		return p.node(node{op: opAssert, assert: kind, off: start})
	}
	switch c := p.peek(); {
	case c >= '1' && c <= '9':
		return p.numbered(start)
	case c == 'k' && p.dialect != Postgres:
		if n := p.byName(start); n != nil {
			return n
		}
	case c == 'g' && p.dialect.is(PCRE, Ruby):
		return p.gRef(start)
	case c == 'Q' && p.dialect.is(PCRE, Java, MySQL, RE2):
		p.pos++
		return p.quoted(start)
	case c == 'E' && p.dialect.is(PCRE, Java, MySQL, RE2):
		p.pos++
		return nil
	case c == 'K' && p.dialect.is(PCRE, Ruby):
		p.pos++
		return p.node(node{op: opKeep, off: start})
	case c == 'R' && p.dialect.is(PCRE, Java, Ruby, MySQL):
		p.pos++
		crlf := node{op: opConcat, off: start, subs: []*node{p.class(start, one('\r')), p.class(start, one('\n'))}}
		return p.node(node{op: opAtomic, off: start, subs: []*node{
			{op: opAlt, off: start, subs: []*node{&crlf, p.class(start, vertical())}},
		}})
	case c == 'X' && p.dialect.is(PCRE, Java, Ruby, MySQL):
		p.pos++
		return p.class(start, allRunes())
	}
	if s, ok := p.shorthand(); ok {
		return p.class(start, s)
	}
	return p.class(start, one(p.character()))
}

// assertion returns the assertion for the letter at p.pos.
func (p *parser) assertion() (assert, bool) {
	c, d := p.peek(), p.dialect
	if d == Postgres {
		switch c {
		case 'm', '<':
			return atWordIn, true
		case 'M', '>':
			return atWordOut, true
		case 'y':
			return atWord, true
		case 'Y':
			return atNoWord, true
		case 'b', 'B':
			return 0, false
		}
	}
	switch {
	case c == 'b' && !strings.HasPrefix(p.rest(), "b{"):
		return atWord, true
	case c == 'B':
		return atNoWord, true
	case d == JS:
		return 0, false
	case c == 'A', c == '`':
		return atStart, true
	case c == 'z', c == '\'' && d == Ruby, c == 'Z' && d.is(Python, Postgres):
		return atEnd, true
	case c == 'Z':
		return atEndLine, true
	case c == 'G' && d.is(PCRE, Java, DotNet, Ruby, MySQL):
		return atSearch, true
	}
	return 0, false
}

// shorthand parses \d, \p{…} and similar escapes.
func (p *parser) shorthand() (set, bool) {
	c := p.peek()
	var s set
	switch {
	case c == 'd' || c == 'D':
		s = p.digitRunes()
	case c == 'w' || c == 'W':
		s = p.wordRunes()
	case c == 's' || c == 'S':
		s = p.spaces()
	case (c == 'h' || c == 'H') && p.dialect == Ruby:
		s = hexes()
	case (c == 'h' || c == 'H') && p.dialect.is(PCRE, Java, MySQL):
		s = horizontal()
	case (c == 'v' || c == 'V') && p.dialect.is(PCRE, Java, MySQL):
		s = vertical()
	case c == 'N' && p.dialect == PCRE && !strings.HasPrefix(p.rest(), "N{"):
		p.pos++
		return p.newlines().negate(), true
	case (c == 'p' || c == 'P') && (p.dialect != JS || p.flags.unicode) && !p.dialect.is(Python, Lucene):
		return p.property(c == 'P')
	default:
		return nil, false
	}
	p.pos++
	if c >= 'A' && c <= 'Z' {
		s = s.negate()
	}
	return s, true
}

// property parses \pL, \p{…} and \p{^…}.
func (p *parser) property(neg bool) (set, bool) {
	p.pos++
	name := ""
	if p.take("{") {
		name, _ = p.until('}')
	} else if p.more() {
		name = string(p.next())
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, neg = rest, !neg
	}
	key := name
	if neg {
		key = "^" + name
	}
	if s, ok := p.properties[key]; ok {
		return s, true
	}
	s, ok := property(name)
	if !ok { // unknown: any rune beyond ASCII letters may belong to it
		s = letters().with(set{{128, maxRune}})
	}
	if neg {
		s = s.negate()
	}
	if p.properties == nil {
		p.properties = map[string]set{}
	}
	p.properties[key] = slices.Clip(s)
	return p.properties[key], true
}

// numbered parses \1 and so on: a backreference if that group exists, otherwise octal or
// text.
func (p *parser) numbered(start int) *node {
	end := p.pos
	for end < len(p.src) && end < p.pos+3 && p.src[end] >= '0' && p.src[end] <= '9' {
		end++
	}
	for ; end > p.pos; end-- {
		if n, _ := decimal(p.src[p.pos:end]); n <= p.closed || end == p.pos+1 && p.dialect != JS {
			p.pos = end
			return p.backref(start, n)
		}
		if p.dialect != Java { // other engines do not try fewer digits
			break
		}
	}
	if c := p.peek(); c >= '8' {
		p.pos++
		return p.class(start, one(rune(c)))
	}
	return p.class(start, one(p.octal(3)))
}

func (p *parser) backref(start, n int) *node {
	p.tree.inexact = true
	if n > p.closed || n < 0 {
		return p.node(node{op: opEmpty, off: start})
	}
	return p.node(node{op: opBackref, n: n, off: start, fold: p.flags.fold})
}

func (p *parser) refNamed(start int, name string) *node {
	n := p.backref(start, 0)
	if n.op == opBackref {
		p.refs, p.refTo = append(p.refs, n), append(p.refTo, name)
	}
	return n
}

// byName parses \k<name>, \k'name' and \k{name}. It returns nil for other text.
func (p *parser) byName(start int) *node {
	closers := map[string]byte{"k<": '>', "k'": '\'', "k{": '}'}
	for open, closer := range closers {
		if strings.HasPrefix(p.rest(), open) && strings.IndexByte(p.rest(), closer) > 0 {
			p.pos += 2
			name, _ := p.until(closer)
			if n, ok := decimal(name); ok {
				return p.backref(start, n)
			}
			return p.refNamed(start, name)
		}
	}
	return nil
}

// gRef parses \g1, \g{-1}, \g{name}, and \g<name>, which is a call.
func (p *parser) gRef(start int) *node {
	p.pos++
	switch {
	case p.take("<"):
		_, _ = p.until('>')
		return p.subroutine(start)
	case p.take("'"):
		_, _ = p.until('\'')
		return p.subroutine(start)
	case p.take("{"):
		name, _ := p.until('}')
		if n, ok := decimal(name); ok {
			return p.backref(start, n)
		}
		if n, ok := decimal(strings.TrimPrefix(name, "-")); ok {
			return p.backref(start, len(p.tree.groups)-n)
		}
		return p.refNamed(start, name)
	}
	if c := p.peek(); c >= '1' && c <= '9' {
		return p.numbered(start)
	}
	return p.class(start, one('g'))
}

// quoted parses the text up to \E.
func (p *parser) quoted(start int) *node {
	text := p.rest()
	end := strings.Index(text, `\E`)
	if end >= 0 {
		text = text[:end]
	}
	p.pos += len(text)
	if end >= 0 {
		p.pos += 2
	}
	var subs []*node
	for i, r := range text {
		subs = append(subs, p.class(start+2+i, one(r)))
	}
	if len(subs) == 0 {
		return nil
	}
	if len(subs) > 1 { // a quantifier after \E applies to the last character
		last := p.quantified(subs[len(subs)-1], subs[len(subs)-1].off)
		subs[len(subs)-1] = last
	}
	return p.node(node{op: opConcat, subs: subs, off: start})
}

// character parses an escape for one rune.
func (p *parser) character() rune {
	r := p.next()
	switch r {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case 'v':
		return '\v'
	case 'a':
		if p.dialect != JS {
			return '\a'
		}
	case 'e':
		if p.dialect != JS && p.dialect != Python {
			return 0x1b
		}
	case '0':
		p.pos--
		return p.octal(4)
	case 'x':
		return p.hex('x', 2, true)
	case 'u':
		return p.hex('u', 4, p.dialect != JS || p.flags.unicode)
	case 'U':
		if p.dialect.is(Python, MySQL) {
			return p.hex('U', 8, false)
		}
	case 'c':
		if c := p.peek(); c|0x20 >= 'a' && c|0x20 <= 'z' {
			p.pos++
			return rune(c & 0x1f)
		}
		if p.dialect == JS { // the backslash then stands for itself
			p.pos--
			return '\\'
		}
	}
	return r
}

// hex parses the given number of digits, or any number in braces. Without digits, the
// letter stands for itself.
func (p *parser) hex(letter rune, digits int, braces bool) rune {
	s := p.rest()
	if braces && strings.HasPrefix(s, "{") && (p.dialect != JS || letter == 'u') {
		if end := strings.IndexByte(s, '}'); end > 1 && end <= 9 {
			if r, n := hexes16(s[1:end]); n == end-1 {
				p.pos += end + 1
				return r
			}
		}
	}
	r, n := hexes16(s[:min(digits, len(s))])
	if n == 0 || n < digits && p.dialect.is(JS, Python) {
		return letter
	}
	p.pos += n
	if low := p.rest(); r >= 0xd800 && r < 0xdc00 && strings.HasPrefix(low, `\u`) && len(low) >= 6 {
		if lo, n := hexes16(low[2:6]); n == 4 && lo >= 0xdc00 && lo < 0xe000 && (p.flags.unicode || p.dialect == Java) {
			p.pos += 6
			return (r-0xd800)<<10 + (lo - 0xdc00) + 0x10000
		}
	}
	return r
}

func hexes16(s string) (r rune, n int) {
	for ; n < len(s); n++ {
		i := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] >= '0' && s[n] <= '9' {
			i = int(s[n] - '0')
		}
		if i < 0 {
			break
		}
		r = min(r*16+rune(i), utf8.MaxRune)
	}
	return r, n
}

// octal parses up to n octal digits with a value up to \377.
func (p *parser) octal(n int) rune {
	r := rune(0)
	for ; n > 0 && p.peek() >= '0' && p.peek() <= '7' && r*8+rune(p.peek()-'0') <= 0o377; n-- {
		r = r*8 + rune(p.peek()-'0')
		p.pos++
	}
	return r
}
