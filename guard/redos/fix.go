package redos

import "strings"

// advice generates suggestions for a finding, from the parts of the pattern that cause it.
type advice struct {
	src     string
	dialect Dialect
	graph   *graph
	auto    *automaton
}

// loop returns the innermost loop around a state; 0: none.
func (v *advice) loop(state int32) int32 {
	if p := v.auto.states[state].pos; p >= 0 {
		return v.graph.positions[p].loop
	}
	return 0
}

// around returns the innermost loop around all given states.
func (v *advice) around(states []int32) int32 {
	common := int32(-1)
	for _, s := range states {
		l := v.loop(s)
		if common < 0 {
			common = l
		}
		for !v.within(l, common) {
			common = v.graph.outer[common]
		}
	}
	return max(common, 0)
}

func (v *advice) within(l, outer int32) bool {
	for l != outer && l != 0 {
		l = v.graph.outer[l]
	}
	return l == outer
}

// text returns the source text of a loop, or "" if it is unknown.
func (v *advice) text(l int32) string {
	if n := v.graph.repeats[l]; n != nil && n.end > n.off && n.end <= len(v.src) {
		return short(v.src[n.off:n.end])
	}
	return ""
}

// offset returns the start of a loop, or the position of a state if there is no loop.
func (v *advice) offset(l, state int32) int {
	if n := v.graph.repeats[l]; n != nil {
		return n.off
	}
	return v.auto.offset(v.graph, state)
}

// exponential explains which loop has two paths through one text, and how to avoid that.
func (v *advice) exponential(c candidate) (fix string, offset int) {
	l := v.around(c.along)
	inner := int32(0)
	for _, s := range c.along {
		if in := v.loop(s); in != l {
			inner = in
		}
	}
	if c.twice && v.graph.outer[l] != 0 { // the ambiguity is which of the two loops starts another round
		inner, l = l, v.graph.outer[l]
	}
	offset = v.offset(l, c.pivot)
	outer, part := v.text(l), v.text(inner)
	switch {
	case outer == "":
		return "rewrite the repeat so that a text matches it in only one way, or limit it to a few rounds", offset
	case inner != 0 && part != "":
		return "keep one of the two repeats " + part + " and " + outer + ", or end each round of the outer one with a character that " +
			part + " does not match" + v.atomic(part), offset
	case v.graph.repeats[l].alternates():
		return "let the alternatives inside " + outer + " begin with different characters, or combine them into one character class, so that no two match the same text" +
			v.atomic(""), offset
	default:
		return "make what can be absent in " + outer + " required, or take it out, so that a round has one way through a text" + v.atomic(""), offset
	}
}

// polynomial explains which two loops match the same text.
func (v *advice) polynomial(c candidate) (fix string, offset int) {
	a, b := v.loop(c.pivot), v.loop(c.target)
	offset = v.offset(b, c.target)
	first, second := v.text(a), v.text(b)
	switch {
	case c.seek && second == "":
		return "anchor the expression with ^, or bound its repeats", offset
	case c.seek:
		return "anchor the expression with ^, begin it with a character that cannot occur inside " + second + ", or bound " + second + ", as in {1,100}", offset
	case first == "" || second == "":
		return "bound the repeats, as in {0,100}, or put a separator between them that they do not match", offset
	case a == b:
		return "rewrite " + first + " so that a round ends where the next begins, or bound it, as in {1,100}" + v.atomic(first), offset
	}
	return first + " and " + second + " match the same text: combine them, put a separator between them that neither matches, or bound them, as in {0,100}" +
		v.atomic(first), offset
}

// atomic suggests a repeat without backtracking, if the dialect has one.
func (v *advice) atomic(part string) string {
	switch {
	case part == "" || strings.HasSuffix(part, "…"):
		return ""
	case v.dialect.is(PCRE, Java, Ruby, MySQL):
		return "; or make it possessive where that keeps the meaning: " + strings.TrimSuffix(part, "?") + "+"
	case v.dialect == Python:
		return "; or, from 3.11 on, make it possessive where that keeps the meaning: " + strings.TrimSuffix(part, "?") + "+"
	case v.dialect == DotNet:
		return "; or make it atomic where that keeps the meaning: (?>" + part + ")"
	}
	return ""
}

// alternates reports whether n contains alternatives.
func (n *node) alternates() bool {
	return n.any(func(s *node) bool { return s.op == opAlt })
}

// short returns a part of the pattern, shortened.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// repair returns advice for an expression that could not be analyzed.
func repair(t *tree) string {
	if t.beyond != "" {
		return "write it without " + t.beyond + ", so that it can be analyzed"
	}
	return "use fewer repeats, less nesting, or several expressions, so that it can be analyzed"
}
