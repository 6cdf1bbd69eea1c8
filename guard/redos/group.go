package redos

import "strings"

// group parses the text after an opening parenthesis at start.
func (p *parser) group(start int) *node {
	if !p.take("?") {
		if p.dialect == PCRE && p.peek() == '*' {
			return p.verb(start)
		}
		if p.flags.quiet {
			return p.body()
		}
		return p.capture(start, "")
	}
	switch {
	case p.take("#"):
		end := strings.IndexByte(p.rest(), ')')
		if end < 0 {
			return p.fail("unfinished comment")
		}
		p.pos += end + 1
		return nil
	case p.take(":"), p.dialect == PCRE && p.take("|"):
		n := p.body()
		n.kept = n.kept || p.dialect == JS
		return n
	case p.take(">"):
		p.tree.inexact = true
		return p.node(node{op: opAtomic, off: start, subs: []*node{p.body()}})
	case p.take("="):
		return p.look(start, false, false)
	case p.take("!"):
		return p.look(start, false, true)
	case p.take("<="):
		return p.look(start, true, false)
	case p.take("<!"):
		return p.look(start, true, true)
	case p.take("("):
		return p.conditional(start)
	}
	return p.namedGroup(start)
}

func (p *parser) namedGroup(start int) *node {
	closer := byte('>')
	switch {
	case p.take("P<"), p.take("<"):
	case p.take("'"):
		closer = '\''
	case p.take("P="):
		name, _ := p.until(')')
		return p.refNamed(start, name)
	case p.take("P>"), p.take("&"), p.take("R"), p.peek() >= '0' && p.peek() <= '9':
		_, _ = p.until(')')
		return p.subroutine(start)
	default:
		return p.inlineFlags(start)
	}
	name, ok := p.until(closer)
	if !ok || name == "" {
		return p.fail("unfinished group name")
	}
	name, _, _ = strings.Cut(name, "-") // .NET's balancing groups; their stack is not modelled
	return p.capture(start, name)
}

// until reads up to c, inclusive.
func (p *parser) until(c byte) (string, bool) {
	end := strings.IndexByte(p.rest(), c)
	if end < 0 {
		p.fail("unfinished name")
		return "", false
	}
	s := p.rest()[:end]
	p.pos += end + 1
	return s, true
}

// body parses alternatives and the closing parenthesis. Flags set inside end with it.
func (p *parser) body() *node {
	saved := p.flags
	n := p.alternatives()
	p.flags = saved
	if !p.take(")") {
		return p.fail("missing )")
	}
	return n
}

func (p *parser) capture(start int, name string) *node {
	n := p.node(node{op: opCapture, off: start, n: len(p.tree.groups)})
	p.tree.groups = append(p.tree.groups, n)
	if name != "" {
		if _, ok := p.names[name]; !ok {
			p.names[name] = n.n
		}
	}
	n.subs = []*node{p.body()}
	return n
}

func (p *parser) look(start int, behind, neg bool) *node {
	n := p.node(node{op: opLook, off: start, behind: behind, neg: neg})
	n.subs = []*node{p.body()}
	if _, ok := n.single(); !ok {
		p.tree.inexact = true
		p.tree.behind = p.tree.behind || behind
	}
	return n
}

// single returns the set of a lookaround over one rune. It looks through a group and
// alternatives of single runes.
func (n *node) single() (set, bool) {
	switch s := n.subs[0]; s.op {
	case opClass:
		return s.set, true
	case opCapture:
		return s.single()
	case opAlt:
		var all set
		for _, alt := range s.subs {
			if alt.op != opClass {
				return nil, false
			}
			all = all.with(alt.set)
		}
		return all, true
	default:
		return nil, false
	}
}

// conditional parses (?(1)yes|no), (?(<name>)…) and (?(?=…)yes|no).
func (p *parser) conditional(start int) *node {
	n := p.node(node{op: opIf, off: start})
	p.tree.inexact = true
	if p.peek() == '?' {
		p.group(p.pos)
		n.n = -1
	} else {
		name, _ := p.until(')')
		name = strings.Trim(name, "<>'")
		if number, ok := decimal(name); ok {
			n.n = number
		} else if g, ok := p.names[name]; ok {
			n.n = g
		} else {
			n.n = -1
		}
	}
	body := p.body()
	if body.op == opAlt && len(body.subs) == 2 {
		n.subs = body.subs
	} else {
		n.subs = []*node{body, p.node(node{op: opEmpty, off: start})}
	}
	return n
}

// subroutine parses a call of a group, which automata cannot express.
func (p *parser) subroutine(start int) *node {
	p.tree.beyond = "recursion"
	p.tree.inexact = true
	return p.node(node{op: opEmpty, off: start})
}

// inlineFlags parses (?i), (?i-s:…), (?^…).
func (p *parser) inlineFlags(start int) *node {
	saved := p.flags
	on := true
	for p.more() {
		switch r := p.next(); {
		case r == '-':
			on = false
		case r == ')':
			return nil // until the end of the enclosing group
		case r == ':':
			n := p.body()
			n.kept = true
			p.flags = saved
			return n
		case !p.setFlag(r, on):
			p.pos = start
			return p.fail("unknown kind of group")
		}
	}
	return p.fail("unfinished group")
}

// verb parses (*VERB) and (*atomic:…).
func (p *parser) verb(start int) *node {
	for name, put := range map[string]string{
		"*atomic:": ">", "*pla:": "=", "*positive_lookahead:": "=", "*nla:": "!", "*negative_lookahead:": "!",
		"*plb:": "<=", "*positive_lookbehind:": "<=", "*nlb:": "<!", "*negative_lookbehind:": "<!",
	} {
		if !p.take(name) {
			continue
		}
		switch put {
		case ">":
			p.tree.inexact = true
			return p.node(node{op: opAtomic, off: start, subs: []*node{p.body()}})
		default:
			return p.look(start, put[0] == '<', put[len(put)-1] == '!')
		}
	}
	p.tree.beyond = "backtracking verbs"
	p.tree.inexact = true
	_, _ = p.until(')')
	return p.node(node{op: opEmpty, off: start})
}

// countGroups counts capturing groups, to distinguish the backreference \8 from a
// character.
func (p *parser) countGroups() int {
	n, inClass := 0, false
	for i := 0; i < len(p.src); i++ {
		switch p.src[i] {
		case '\\':
			i++
		case '[':
			inClass = true
		case ']':
			inClass = false
		case '(':
			if strings.HasPrefix(p.src[i:], "(?(") { // the condition of a conditional is not a group
				i += 2
				continue
			}
			if inClass || i+1 < len(p.src) && p.src[i+1] == '?' && !captures(p.src[i+2:]) {
				continue
			}
			n++
		}
	}
	return n
}

// captures reports whether the text after (? names a group.
func captures(s string) bool {
	return strings.HasPrefix(s, "P<") || strings.HasPrefix(s, "'") ||
		strings.HasPrefix(s, "<") && !strings.HasPrefix(s, "<=") && !strings.HasPrefix(s, "<!")
}
