package redos

import (
	"strings"
	"unicode/utf8"
)

// bracket parses a bracket expression after its [.
func (p *parser) bracket() set {
	if p.depth++; p.depth > maxDepth {
		p.fail("brackets nest too deep")
		return nil
	}
	defer func() { p.depth-- }()
	neg := p.take("^")
	var s set
	var both []set // operands of &&
	first := p.dialect != JS
	for {
		if p.pos >= len(p.src) {
			p.fail("missing ]")
			return nil
		}
		if c := p.peek(); c == ']' && !first {
			p.pos++
			break
		}
		switch {
		case p.nests() && p.take("&&"):
			both, s = append(both, s.norm()), nil
		case p.flags.sets && p.take("--"), p.dialect == DotNet && len(s) > 0 && p.take("-["):
			if p.flags.sets {
				s = s.norm().less(p.operand())
			} else {
				s = s.norm().less(p.bracket())
			}
		default:
			s = append(s, p.member(first)...)
		}
		first = false
		if p.err != nil {
			return nil
		}
	}
	s = s.norm()
	for _, other := range both {
		s = s.and(other)
	}
	if neg {
		if p.flags.fold {
			s = p.fold(s)
		}
		s = s.negate()
	}
	return s
}

// nests reports whether brackets may contain brackets.
func (p *parser) nests() bool { return p.dialect.is(Java, Ruby, MySQL) || p.flags.sets }

// operand parses the operand of --.
func (p *parser) operand() set {
	if p.take("[") {
		return p.bracket()
	}
	return p.member(false)
}

// member parses a nested bracket, a named class, a range or a character.
func (p *parser) member(first bool) set {
	if strings.HasPrefix(p.rest(), "[:") && p.dialect != JS {
		if s, ok := p.posixClass(); ok {
			return s
		}
	}
	if strings.HasPrefix(p.rest(), "[.") || strings.HasPrefix(p.rest(), "[=") {
		if c := p.src[p.pos+1]; p.dialect.is(Postgres, MySQL) && strings.Contains(p.rest()[2:], string(c)+"]") {
			p.pos += 2
			r := p.next() // of a longer collating element, only the first character
			_, _ = p.until(']')
			return one(r)
		}
	}
	if !first && p.nests() && p.take("[") {
		return p.bracket()
	}
	if p.flags.extended && p.dialect == Java {
		if c := p.peek(); c == ' ' || c >= '\t' && c <= '\r' {
			p.pos++
			return nil
		}
	}
	lo, class := p.endpoint()
	if class != nil {
		return class
	}
	rest := p.rest()
	if len(rest) < 2 || rest[0] != '-' || rest[1] == ']' || rest[1] == '[' && p.dialect.is(DotNet, Java, Ruby) ||
		rest[1] == '-' && p.flags.sets {
		return one(lo)
	}
	p.pos++
	hi, class := p.endpoint()
	if class != nil {
		return class.with(chars("-")).with(one(lo))
	}
	if hi < lo { // an error in all engines: read as three characters
		return spans(lo, lo, '-', '-', hi, hi)
	}
	return set{{lo, hi}}
}

// endpoint parses one character, or a class such as \d.
func (p *parser) endpoint() (rune, set) {
	if p.peek() != '\\' {
		return p.next(), nil
	}
	p.pos++
	if p.pos >= len(p.src) {
		p.fail("trailing backslash")
		return 0, nil
	}
	if s, ok := p.shorthand(); ok {
		return 0, s
	}
	switch c := p.peek(); {
	case c == 'b':
		p.pos++
		return '\b', nil
	case c == 'R' || c == 'X':
		if p.dialect.is(PCRE, Java, Ruby) {
			p.pos++
			return 0, vertical()
		}
	case c >= '1' && c <= '7':
		return p.octal(3), nil
	case c == 'Q' && p.dialect.is(PCRE, Java, MySQL, RE2):
		p.pos++
		text, _, _ := strings.Cut(p.rest(), `\E`)
		p.pos = min(p.pos+len(text)+2, len(p.src))
		return 0, chars(text).with(nil)
	case c == 'E' && p.dialect.is(PCRE, Java):
		p.pos++
		return 0, set{}
	case c == 'q' && p.flags.sets && strings.HasPrefix(p.rest(), "q{"):
		p.pos += 2
		text, _ := p.until('}')
		return 0, singles(text)
	}
	return p.character(), nil
}

// singles returns the one-character strings of \q{…}. It omits longer strings.
func singles(text string) set {
	var s set
	for part := range strings.SplitSeq(text, "|") {
		if utf8.RuneCountInString(part) == 1 {
			s = s.with(chars(part))
		}
	}
	return s.with(nil)
}

// posixClass parses [:name:] and [:^name:].
func (p *parser) posixClass() (set, bool) {
	end := strings.Index(p.rest(), ":]")
	if end < 3 || end > 12 {
		return nil, false
	}
	name, neg := strings.CutPrefix(p.rest()[2:end], "^")
	s, ok := posix(name)
	if !ok {
		return nil, false
	}
	p.pos += end + 2
	if neg {
		s = s.negate()
	}
	return s, true
}

// wordEdge parses [[:<:]] and [[:>:]] after the first bracket.
func (p *parser) wordEdge(start int) *node {
	if !p.dialect.is(Postgres, MySQL, RE2) {
		return nil
	}
	switch {
	case p.take("[:<:]]"):
		return p.node(node{op: opAssert, assert: atWordIn, off: start})
	case p.take("[:>:]]"):
		return p.node(node{op: opAssert, assert: atWordOut, off: start})
	}
	return nil
}

// lucene parses Lucene's own operators.
func (p *parser) lucene(start int) *node {
	switch c := p.peek(); c {
	case '@': // any text
		p.pos++
		return p.node(node{op: opRepeat, min: 0, max: unbounded, off: start, subs: []*node{p.class(start, allRunes())}})
	case '#': // no text at all
		p.pos++
		return p.class(start, nil)
	case '~': // all but what follows: its states are those of what follows
		p.pos++
		return nil
	case '"':
		p.pos++
		text, ok := p.until('"')
		if !ok {
			return p.fail("missing \"")
		}
		var subs []*node
		for i, r := range text {
			subs = append(subs, p.class(start+1+i, one(r)))
		}
		return p.node(node{op: opConcat, subs: subs, off: start})
	case '<': // an interval <1-100>
		if end := strings.IndexByte(p.rest(), '>'); end > 0 {
			lo, hi, _ := strings.Cut(p.rest()[1:end], "-")
			if _, ok := decimal(lo); ok {
				p.pos += end + 1
				return p.node(node{op: opRepeat, min: 1, max: max(len(hi), 1), off: start, subs: []*node{p.class(start, digits())}})
			}
		}
	}
	return p.class(start, one(p.next()))
}
