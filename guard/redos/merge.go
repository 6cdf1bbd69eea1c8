package redos

import (
	"cmp"
	"slices"
	"strings"
)

// Some engines rewrite alternatives before they run them, so that what is
// written in two ways is tried in one:
//
//   - CPython takes out what all of them begin with, and makes one class of them
//     if each is a single character or class that is not negated.
//   - V8, if there are more than two, sorts literals that stand side by side by
//     their first character, takes out what three or more of one first character
//     have in common, and makes one class of single characters side by side.
//   - .NET makes one class of single characters and classes side by side.
//
// The rules are those of CPython's _parser.py, V8's regexp-compiler-tonode.cc
// and .NET's RegexNode.cs. JavaScriptCore and the other engines leave
// alternatives as they are.

// form is how a node that reads one rune is written.
type form uint8

const (
	otherForm form = iota // a dot, a negated class, a difference of classes
	literal
	plainClass
)

// form looks at what was read since start.
func (p *parser) form(start int) form {
	text := p.src[start:p.pos]
	switch {
	case text == "" || text[0] == '.':
		return otherForm
	case text[0] == '[':
		if strings.HasPrefix(text, "[^") || strings.Contains(text, "-[") {
			return otherForm
		}
		return plainClass
	case len(text) > 1 && text[0] == '\\' && strings.IndexByte("dDwWsSpP", text[1]) >= 0:
		return plainClass
	}
	return literal
}

// merge makes a node of alternatives as the dialect's engine does.
func (p *parser) merge(start int, subs []*node) *node {
	switch p.dialect {
	case Python:
		return p.mergeAll(start, subs)
	case JS:
		if len(subs) > 2 {
			subs = p.mergeLiterals(start, subs)
		}
	case DotNet:
		subs = p.mergeBeside(start, subs, func(n *node) bool { return n.op == opClass && n.form != otherForm && !n.kept })
	default:
	}
	return p.either(start, subs)
}

func (p *parser) either(start int, subs []*node) *node {
	if len(subs) == 1 {
		return subs[0]
	}
	return p.node(node{op: opAlt, subs: subs, off: start})
}

func (p *parser) concat(start int, subs []*node) *node {
	switch len(subs) {
	case 0:
		return p.node(node{op: opEmpty, off: start})
	case 1:
		return subs[0]
	}
	return p.node(node{op: opConcat, subs: subs, off: start})
}

// union is one class of some.
func (p *parser) union(start int, subs []*node) *node {
	var all set
	for _, n := range subs {
		all = append(all, n.set...)
	}
	return p.node(node{op: opClass, set: all.norm(), form: plainClass, off: start})
}

// mergeAll is CPython's way.
func (p *parser) mergeAll(start int, subs []*node) *node {
	var items [][]*node
	shortest := maxNodes
	for _, n := range subs {
		items = append(items, n.items(nil))
		shortest = min(shortest, len(items[len(items)-1]))
	}
	same := 0
	for same < shortest && !slices.ContainsFunc(items, func(of []*node) bool { return !of[same].same(items[0][same]) }) {
		same++
	}
	single := true
	var rest []*node
	for i, of := range items {
		of = of[same:]
		single = single && len(of) == 1 && of[0].op == opClass && of[0].form != otherForm && !of[0].kept
		if same == 0 && len(of) != 1 {
			rest = append(rest, subs[i])
		} else {
			rest = append(rest, p.concat(start, of))
		}
	}
	if single {
		rest = []*node{p.union(start, rest)}
	}
	return p.concat(start, append(items[0][:same:same], p.either(start, rest)))
}

// items appends what follows one another in n.
func (n *node) items(to []*node) []*node {
	switch {
	case n.op == opEmpty:
		return to
	case n.op != opConcat || n.kept:
		return append(to, n)
	}
	for _, s := range n.subs {
		to = s.items(to)
	}
	return to
}

// same says whether two nodes are written alike.
func (n *node) same(m *node) bool {
	if n == m {
		return true
	}
	return n.op == m.op && n.assert == m.assert && n.lazy == m.lazy && n.possessive == m.possessive && n.behind == m.behind &&
		n.neg == m.neg && n.fold == m.fold && n.min == m.min && n.max == m.max && n.n == m.n && n.kept == m.kept &&
		n.set.equal(m.set) && slices.EqualFunc(n.subs, m.subs, (*node).same)
}

// mergeLiterals is V8's way.
func (p *parser) mergeLiterals(start int, subs []*node) []*node {
	var out []*node
	for i := 0; i < len(subs); {
		end := i
		for end < len(subs) && subs[end].literals() {
			end++
		}
		if end-i < 2 {
			out = append(out, subs[i])
			i++
			continue
		}
		out = append(out, p.mergeRun(start, slices.Clone(subs[i:end]))...)
		i = end
	}
	return p.mergeBeside(start, out, func(n *node) bool { return n.op == opClass && n.literals() })
}

// literals says whether n is one or more literal characters.
func (n *node) literals() bool {
	if n.kept || n.op == opConcat && slices.ContainsFunc(n.subs, func(s *node) bool { return !s.literals() }) {
		return false
	}
	return n.op == opConcat || n.op == opClass && n.form == literal
}

func (n *node) initial() set {
	if n.op == opConcat {
		return n.subs[0].initial()
	}
	return n.set
}

// mergeRun sorts literals, and takes out what those of one initial share.
func (p *parser) mergeRun(start int, run []*node) []*node {
	slices.SortStableFunc(run, func(a, b *node) int { return slices.CompareFunc(a.initial(), b.initial(), compareSpans) })
	var out []*node
	for i := 0; i < len(run); {
		end := i + 1
		for end < len(run) && run[end].initial().equal(run[i].initial()) {
			end++
		}
		if end-i < 3 {
			out = append(out, run[i:end]...)
		} else {
			out = append(out, p.factor(start, run[i:end]))
		}
		i = end
	}
	return out
}

func compareSpans(a, b span) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi)) }

func (p *parser) factor(start int, run []*node) *node {
	first := run[0].items(nil)
	same := len(first)
	for _, n := range run[1:] {
		of := n.items(nil)
		k := 0
		for k < min(same, len(of)) && of[k].set.equal(first[k].set) {
			k++
		}
		same = k
	}
	var rest []*node
	for _, n := range run {
		rest = append(rest, p.concat(start, n.items(nil)[same:]))
	}
	return p.concat(start, append(first[:same:same], p.either(start, p.mergeLiterals(start, rest))))
}

// mergeBeside makes one class of those that stand side by side.
func (p *parser) mergeBeside(start int, subs []*node, one func(*node) bool) []*node {
	var out []*node
	for i := 0; i < len(subs); {
		end := i
		for end < len(subs) && one(subs[end]) {
			end++
		}
		switch end - i {
		case 0, 1:
			out = append(out, subs[i])
			end = i + 1
		default:
			out = append(out, p.union(start, subs[i:end]))
		}
		i = end
	}
	return out
}
