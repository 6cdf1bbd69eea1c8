package sample

import (
	"errors"
	"fmt"
	"strings"
)

// maxPattern bounds a filter. Short patterns backtrack exponentially just as
// well as long ones, so this bounds only the stack of the parser.
const maxPattern = 256

// errPattern is wrapped by every error of compile.
var errPattern = errors.New("filter cannot be read")

// A pattern is a regular expression matched by backtracking, as the engines of
// most languages do. It knows literals, escapes, ".", classes, groups, "|",
// "*", "+", "?", "^" and "$". Like theirs, its worst case is exponential.
type pattern struct {
	root node
}

// A node matches text from position at and hands every position where it can
// end to next, until next says yes.
type node interface {
	match(text string, at int, next func(at int) bool) bool
}

type (
	literal byte     // one byte
	anyByte struct{} // .
	start   struct{} // ^
	end     struct{} // $
	class   struct { // [a-z], [^a-z]
		negated bool
		set     [256]bool
	}
	sequence []node // one after the other
	choice   []node // a|b
	repeat   struct {
		item     node
		min, max int // max < 0: without end
	}
)

func (l literal) match(text string, at int, next func(int) bool) bool {
	return at < len(text) && text[at] == byte(l) && next(at+1)
}

func (anyByte) match(text string, at int, next func(int) bool) bool {
	return at < len(text) && next(at+1)
}

func (start) match(_ string, at int, next func(int) bool) bool { return at == 0 && next(at) }

func (end) match(text string, at int, next func(int) bool) bool {
	return at == len(text) && next(at)
}

func (c *class) match(text string, at int, next func(int) bool) bool {
	return at < len(text) && c.set[text[at]] != c.negated && next(at+1)
}

func (s sequence) match(text string, at int, next func(int) bool) bool {
	if len(s) == 0 {
		return next(at)
	}
	return s[0].match(text, at, func(at int) bool { return s[1:].match(text, at, next) })
}

func (c choice) match(text string, at int, next func(int) bool) bool {
	for _, n := range c {
		if n.match(text, at, next) {
			return true
		}
	}
	return false
}

func (r repeat) match(text string, at int, next func(int) bool) bool {
	return r.from(0, text, at, next)
}

// from matches the rest of a repetition of which done rounds have matched:
// greedy first, then giving back.
func (r repeat) from(done int, text string, at int, next func(int) bool) bool {
	if r.max < 0 || done < r.max {
		again := func(to int) bool {
			// A round that matched nothing would go on for ever.
			return (to > at || done < r.min) && r.from(done+1, text, to, next)
		}
		if r.item.match(text, at, again) {
			return true
		}
	}
	return done >= r.min && next(at)
}

// matches reports whether p matches anywhere in text.
func (p *pattern) matches(text string) bool {
	for at := 0; at <= len(text); at++ {
		if p.root.match(text, at, func(int) bool { return true }) {
			return true
		}
	}
	return false
}

// compile reads an expression.
func compile(expr string) (*pattern, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("%w: it has %d bytes, at most %d are allowed", errPattern, len(expr), maxPattern)
	}
	p := parser{rest: expr}
	root, err := p.choice()
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", errPattern, expr, err)
	}
	if p.rest != "" {
		return nil, fmt.Errorf("%w: %q: unexpected %q", errPattern, expr, p.rest[:1])
	}
	return &pattern{root}, nil
}

// A parser is a recursive-descent reader of one expression; its depth is
// bounded by maxPattern.
type parser struct {
	rest string
}

func (p *parser) choice() (node, error) {
	var all choice
	for {
		s, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if !strings.HasPrefix(p.rest, "|") {
			break
		}
		p.rest = p.rest[1:]
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) sequence() (node, error) {
	var all sequence
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		all = append(all, p.repeated(n))
	}
	return all, nil
}

func (p *parser) repeated(n node) node {
	for p.rest != "" {
		switch p.rest[0] {
		case '*':
			n = repeat{n, 0, -1}
		case '+':
			n = repeat{n, 1, -1}
		case '?':
			n = repeat{n, 0, 1}
		default:
			return n
		}
		p.rest = p.rest[1:]
	}
	return n
}

func (p *parser) atom() (node, error) {
	c := p.rest[0]
	p.rest = p.rest[1:]
	switch c {
	case '.':
		return anyByte{}, nil
	case '^':
		return start{}, nil
	case '$':
		return end{}, nil
	case '(':
		n, err := p.choice()
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.rest, ")") {
			return nil, errors.New("a group is not closed")
		}
		p.rest = p.rest[1:]
		return n, nil
	case '[':
		return p.class()
	case '\\':
		if p.rest == "" {
			return nil, errors.New("a backslash ends it")
		}
		c, p.rest = p.rest[0], p.rest[1:]
		return literal(c), nil
	case '*', '+', '?':
		return nil, fmt.Errorf("%q repeats nothing", string(c))
	}
	return literal(c), nil
}

func (p *parser) class() (node, error) {
	c := new(class)
	if strings.HasPrefix(p.rest, "^") {
		c.negated, p.rest = true, p.rest[1:]
	}
	closing := strings.IndexByte(p.rest, ']')
	if closing < 1 {
		return nil, errors.New("a class is empty or not closed")
	}
	body := p.rest[:closing]
	p.rest = p.rest[closing+1:]
	for i := 0; i < len(body); i++ {
		if i+2 < len(body) && body[i+1] == '-' {
			for b := int(body[i]); b <= int(body[i+2]); b++ {
				c.set[b] = true
			}
			i += 2
			continue
		}
		c.set[body[i]] = true
	}
	return c, nil
}
