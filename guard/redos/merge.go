package redos

import (
	"slices"
	"strings"
)

// Some engines rewrite alternatives before they run them, so that two ways to write the
// same thing become one:
//
//   - CPython takes out what all of them begin with, and makes one class of them
//     if each is a single character or class that is not negated.
//   - .NET makes one class of single characters and classes side by side.
//
// The rules are those of CPython's _parser.py and .NET's RegexNode.cs. V8 merges literals
// among three or more alternatives, but JavaScriptCore does not. So this package leaves
// alternatives of JavaScript and of all other engines unchanged.

// plain reports whether the rune read since start is written as a character, or as a class
// that is not negated.
func (p *parser) plain(start int) bool {
	text := p.src[start:p.pos]
	return text != "" && text[0] != '.' && !strings.HasPrefix(text, "[^") && !(text[0] == '[' && strings.Contains(text, "-["))
}

// merge creates a node for alternatives in the way of the dialect's engine.
func (p *parser) merge(start int, subs []*node) *node {
	switch p.dialect {
	case Python:
		return p.mergeAll(start, subs)
	case DotNet:
		subs = p.mergeBeside(start, subs)
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

// union combines several classes into one.
func (p *parser) union(start int, subs []*node) *node {
	var all set
	for _, n := range subs {
		all = append(all, n.set...)
	}
	return p.node(node{op: opClass, set: all.norm(), plain: true, off: start})
}

// mergeAll merges alternatives as CPython does.
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
		single = single && len(of) == 1 && of[0].mergeable()
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

// items appends the parts of n in sequence.
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

// same reports whether two nodes are written alike.
func (n *node) same(m *node) bool {
	if n == m {
		return true
	}
	return n.op == m.op && n.assert == m.assert && n.lazy == m.lazy && n.possessive == m.possessive && n.behind == m.behind &&
		n.neg == m.neg && n.fold == m.fold && n.min == m.min && n.max == m.max && n.n == m.n && n.kept == m.kept &&
		n.set.equal(m.set) && slices.EqualFunc(n.subs, m.subs, (*node).same)
}

func (n *node) mergeable() bool { return n.op == opClass && n.plain && !n.kept }

// mergeBeside combines adjacent classes into one.
func (p *parser) mergeBeside(start int, subs []*node) []*node {
	var out []*node
	for i := 0; i < len(subs); {
		end := i
		for end < len(subs) && subs[end].mergeable() {
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
