package redos

import "strings"

// quantified parses the quantifiers after n, which begins at from.
func (p *parser) quantified(n *node, from int) *node {
	for wrapped := 0; p.more(); wrapped++ {
		p.skipBlank()
		start := p.pos
		low, high, ok := p.quantifier()
		if !ok {
			return n
		}
		if wrapped == maxDepth {
			return p.fail("too many quantifiers")
		}
		if n.op == opAssert { // repeating an assertion has no effect
			n = p.node(node{op: opAlt, subs: []*node{n, {op: opEmpty}}, off: n.off})
			if low > 0 {
				n = n.subs[0]
			}
			p.suffix()
			continue
		}
		if high < low {
			p.pos = start
			return p.fail("the counts of a repeat are out of order")
		}
		r := node{op: opRepeat, min: low, max: high, off: from, subs: []*node{n}}
		r.lazy, r.possessive = p.suffix()
		if r.possessive && p.dialect == Ruby && p.src[start] == '{' { // in Ruby, the + of {n}+ is a second quantifier
			r.possessive = false
			inner := r
			r = node{op: opRepeat, min: 1, max: unbounded, off: from, subs: []*node{&inner}}
		}
		r.end = p.pos
		p.tree.inexact = p.tree.inexact || r.possessive
		n = p.node(r)
		if strings.HasPrefix(p.rest(), "*") && !p.dialect.is(Ruby, Java, MySQL, Lucene) && p.dialect != DotNet {
			return n // an error in most dialects; read as a quantifier of the next item
		}
	}
	return n
}

// quantifier parses *, +, ? or {…}.
func (p *parser) quantifier() (low, high int, ok bool) {
	switch p.peek() {
	case '*':
		p.pos++
		return 0, unbounded, true
	case '+':
		p.pos++
		return 1, unbounded, true
	case '?':
		p.pos++
		return 0, 1, true
	case '{':
		return p.counts()
	}
	return 0, 0, false
}

// counts parses {n}, {n,}, {n,m} and, if the dialect has it, {,m}. Any other text after a
// brace is literal.
func (p *parser) counts() (low, high int, ok bool) {
	end := strings.IndexByte(p.rest(), '}')
	if end < 2 || end > 24 {
		return 0, 0, false
	}
	a, b, ranged := strings.Cut(p.rest()[1:end], ",")
	if p.flags.extended || p.dialect == PCRE {
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	}
	low, okA := decimal(a)
	high, okB := decimal(b)
	switch {
	case !ranged:
		high, okB = low, okA
	case b == "":
		high, okB = unbounded, okA
	case a == "" && p.dialect.is(Python, Ruby, PCRE):
		low, okA = 0, true
	}
	if !okA || !okB {
		return 0, 0, false
	}
	p.pos += end + 1
	return low, high, true
}

// suffix parses the ? or + after a quantifier.
func (p *parser) suffix() (lazy, possessive bool) {
	switch p.peek() {
	case '?':
		if p.dialect != Lucene {
			p.pos++
			return true, false
		}
	case '+':
		if !p.dialect.is(Lucene, DotNet, RE2, Postgres) {
			p.pos++
			return false, true
		}
	}
	return false, false
}

// decimal parses a number. It stops at unbounded.
func decimal(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(s[i]-'0'), unbounded-1)
	}
	return n, true
}
