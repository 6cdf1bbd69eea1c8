package redos

import "strings"

// advice is what can be done about a finding, with the parts of the pattern that
// it is about.
type advice struct {
	src     string
	dialect Dialect
	graph   *graph
	auto    *automaton
}

// loop is the innermost loop around a state; 0: none.
func (v *advice) loop(state int32) int32 {
	if p := v.auto.states[state].pos; p >= 0 {
		return v.graph.positions[p].loop
	}
	return 0
}

// around is the innermost loop around all of some states.
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

// text is how a loop is written; "" if it is not known.
func (v *advice) text(l int32) string {
	if n := v.graph.repeats[l]; n != nil && n.end > n.off && n.end <= len(v.src) {
		return short(v.src[n.off:n.end])
	}
	return ""
}

// offset is where a loop begins, or else where a state reads.
func (v *advice) offset(l, state int32) int {
	if n := v.graph.repeats[l]; n != nil {
		return n.off
	}
	return v.auto.offset(v.graph, state)
}

// exponential says which loop has two ways through one text, and how it gets one.
func (v *advice) exponential(c candidate) (fix string, offset int) {
	l := v.around(c.along)
	inner := int32(0)
	for _, s := range c.along {
		if in := v.loop(s); in != l {
			inner = in
		}
	}
	if c.twice && v.graph.outer[l] != 0 { // which of the two goes round is the choice
		inner, l = l, v.graph.outer[l]
	}
	offset = v.offset(l, c.pivot)
	outer, part := v.text(l), v.text(inner)
	switch {
	case outer == "":
		return "rewrite the repeat so that a text matches it in one way only, or bound it to a few rounds", offset
	case inner != 0 && part != "":
		return "keep one of the two repeats " + part + " and " + outer + ", or end each round of the outer one with a character that " +
			part + " does not match" + v.atomic(part), offset
	case v.graph.repeats[l].alternates():
		return "let the alternatives inside " + outer + " begin with different characters, or make one class of them, so that none matches what others do" +
			v.atomic(""), offset
	default:
		return "make what can be absent in " + outer + " required, or take it out, so that a round has one way through a text" + v.atomic(""), offset
	}
}

// polynomial says which two loops share a text.
func (v *advice) polynomial(c candidate) (fix string, offset int) {
	a, b := v.loop(c.pivot), v.loop(c.target)
	offset = v.offset(b, c.target)
	first, second := v.text(a), v.text(b)
	switch {
	case c.seek && second == "":
		return "anchor the expression with ^, or bound its repeats", offset
	case c.seek:
		return "anchor the expression with ^, let it begin with what cannot stand inside " + second + ", or bound " + second + ", as in {1,100}", offset
	case first == "" || second == "":
		return "bound the repeats, as in {0,100}, or put what they do not match between them", offset
	case a == b:
		return "rewrite " + first + " so that a round ends where the next begins, or bound it, as in {1,100}" + v.atomic(first), offset
	}
	return first + " and " + second + " match the same text: make one of them, put what neither matches between them, or bound them, as in {0,100}" +
		v.atomic(first), offset
}

// atomic is the way out by a repeat that is never entered again.
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

// alternates says whether n has alternatives.
func (n *node) alternates() bool {
	if n.op == opAlt {
		return true
	}
	for _, s := range n.subs {
		if s.alternates() {
			return true
		}
	}
	return false
}

// short cuts a part of the pattern.
func short(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// repair is what can be done about an expression that was not judged.
func repair(t *tree) string {
	if t.beyond != "" {
		return "write it without " + t.beyond + ", so that it can be judged"
	}
	return "repeat less, nest less or split the expression, so that it can be judged"
}
