package graphql

import "github.com/bezoar-dev/bezoar/guard/cost"

// document is one parsed text. It keeps its memory for the next document.
type document struct {
	lex      lexer
	nodes    []node
	defs     []definition
	refs     []ref
	defaults []setting // default values of variables
	mutation bool      // the current operation is a mutation
	values   []bool    // open values: an object (true) or a list (false)
	max      limits
	fault    fault
}

type limits struct{ tokens, depth int }

// setting is a default value of a variable.
type setting struct {
	name          span
	value, within float64 // of the value itself, and the greatest length in it
}

type fault struct {
	predictor cost.Predictor
	reason    string
	at        int
}

func (d *document) wrong(reason string) bool {
	if d.fault.reason == "" {
		if d.lex.tok == tokFault {
			reason = d.lex.fault
		}
		d.fault = fault{cost.Unparsable, reason, d.lex.off}
	}
	return false
}

// next moves to the next token. It returns false above the limit on tokens.
func (d *document) next() bool {
	if d.lex.count >= d.max.tokens {
		d.lex.skip()
		if d.lex.off = d.lex.pos; d.lex.pos < len(d.lex.text) {
			d.fault = fault{cost.GQLTokens, "more tokens than the limit", d.lex.pos}
			return false
		}
	}
	d.lex.next()
	return d.lex.tok != tokFault || d.wrong("")
}

func (d *document) parse(text []byte, max limits) bool {
	d.nodes, d.defs, d.refs, d.defaults = d.nodes[:0], d.defs[:0], d.refs[:0], d.defaults[:0]
	d.max, d.fault = max, fault{}
	d.lex.begin(text)
	if d.lex.tok == tokFault {
		return d.wrong("")
	}
	for d.lex.tok != tokEnd {
		if d.lex.tok == tokString { // a description
			if !d.next() {
				return false
			}
			if d.lex.is('{') {
				return d.wrong("a description before a definition without a name")
			}
		}
		if !d.definition() {
			return false
		}
	}
	return true
}

func (d *document) definition() bool {
	n := node{kind: kindOperation, parent: none, off: int32(d.lex.off), below: nothing()}
	def := definition{from: int32(len(d.nodes))}
	d.mutation = false
	switch {
	case d.lex.is('{'):
	case d.lex.word("fragment"):
		n.kind = kindFragment
		if !d.next() {
			return false
		}
		if d.lex.tok != tokName || d.lex.word("on") {
			return d.wrong("expected the name of a fragment")
		}
	case d.lex.word("query"), d.lex.word("subscription"), d.lex.word("mutation"):
		d.mutation = d.lex.word("mutation")
		n.name = d.lex.span()
		if !d.next() {
			return false
		}
	default:
		return d.wrong("expected an operation or a fragment")
	}
	if d.lex.tok == tokName {
		def.name = d.lex.span()
		if !d.next() {
			return false
		}
	}
	if d.lex.is('(') && !d.variables(&n) {
		return false
	}
	if n.kind == kindFragment {
		if !d.lex.word("on") {
			return d.wrong("expected the type of a fragment")
		}
		if !d.next() || !d.typeName() {
			return false
		}
	}
	if !d.directives(&n) {
		return false
	}
	if !d.lex.is('{') {
		return d.wrong("expected selections")
	}
	n.object = true
	d.nodes = append(d.nodes, n)
	if !d.selections(def.from) {
		return false
	}
	def.end = int32(len(d.nodes))
	d.defs = append(d.defs, def)
	return true
}

func (d *document) typeName() bool {
	if d.lex.tok != tokName {
		return d.wrong("expected the name of a type")
	}
	return d.next()
}

// variables reads variable definitions: ($a: Int = 5, …).
func (d *document) variables(n *node) bool {
	if !d.next() {
		return false
	}
	if d.lex.is(')') {
		return d.wrong("expected a variable definition")
	}
	for !d.lex.is(')') {
		if d.lex.tok == tokString && !d.next() {
			return false
		}
		if !d.lex.is('$') || !d.next() || d.lex.tok != tokName {
			return d.wrong("expected a variable")
		}
		s := setting{name: d.lex.span()}
		if !d.next() {
			return false
		}
		if !d.lex.is(':') {
			return d.wrong("expected the type of a variable")
		}
		if !d.next() || !d.variableType() {
			return false
		}
		if d.lex.is('=') {
			if !d.next() || !d.setting(s, true) {
				return false
			}
		}
		if !d.directives(n) {
			return false
		}
	}
	return d.next()
}

// variableType reads a type such as [[T!]!]!.
func (d *document) variableType() bool {
	open := 0
	for ; d.lex.is('['); open++ {
		if open >= d.max.depth {
			d.fault = fault{cost.BodyDepth, "types nested deeper than the limit", d.lex.off}
			return false
		}
		if !d.next() {
			return false
		}
	}
	if !d.typeName() {
		return false
	}
	for {
		if d.lex.is('!') && !d.next() {
			return false
		}
		if open == 0 {
			return true
		}
		if !d.lex.is(']') {
			return d.wrong("unterminated list type")
		}
		if open--; !d.next() {
			return false
		}
	}
}

// setting reads the default value of a variable.
func (d *document) setting(s setting, fixed bool) bool {
	a := argument{fixed: fixed}
	if !d.value(&a) {
		return false
	}
	s.value, s.within = a.plain, a.within
	d.defaults = append(d.defaults, s)
	return true
}

func (d *document) directives(n *node) bool {
	for d.lex.is('@') {
		n.below.directives++
		if !d.next() {
			return false
		}
		if d.lex.tok != tokName {
			return d.wrong("expected the name of a directive")
		}
		if !d.next() {
			return false
		}
		if d.lex.is('(') && !d.arguments(nil) {
			return false
		}
	}
	return true
}

// selections reads { … } of the node from, with all its content.
func (d *document) selections(from int32) bool {
	open, depth := from, 1
	if !d.next() { // the token {
		return false
	}
	if d.lex.is('}') {
		return d.wrong("expected selections")
	}
	for {
		if d.lex.is('}') {
			open = d.nodes[open].parent
			if depth--; !d.next() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		}
		at := int32(len(d.nodes))
		if !d.selection(open, depth) {
			return false
		}
		if !d.lex.is('{') {
			continue
		}
		if d.nodes[at].kind == kindSpread {
			return d.wrong("a spread cannot have selections")
		}
		if depth++; depth > d.max.depth {
			d.fault = fault{cost.BodyDepth, "selections nested deeper than the limit", d.lex.off}
			return false
		}
		d.nodes[at].object = true
		open = at
		if !d.next() {
			return false
		}
		if d.lex.is('}') {
			return d.wrong("expected selections")
		}
	}
}

// selection reads a field, a spread or an inline fragment up to its {.
func (d *document) selection(parent int32, depth int) bool {
	n := node{kind: kindField, parent: parent, target: none, off: int32(d.lex.off), refs: int32(len(d.refs)), below: nothing()}
	switch d.lex.tok {
	case tokName:
		if !d.field(&n, depth) {
			return false
		}
	case tokSpread:
		if !d.spread(&n) {
			return false
		}
	case tokEnd:
		return d.wrong("the document ends within selections")
	default:
		return d.wrong("expected a selection")
	}
	n.refEnd = int32(len(d.refs))
	if !d.directives(&n) {
		return false
	}
	d.nodes = append(d.nodes, n)
	return n.kind != kindInline || d.lex.is('{') || d.wrong("expected the selections of an inline fragment")
}

func (d *document) field(n *node, depth int) bool {
	n.name = d.lex.span()
	if !d.next() {
		return false
	}
	if d.lex.is(':') {
		if n.alias = true; !d.next() {
			return false
		}
		if d.lex.tok != tokName {
			return d.wrong("expected a field after the alias")
		}
		n.name = d.lex.span()
		if !d.next() {
			return false
		}
	}
	n.intro = introOf(d.lex.text[n.name.off:n.name.end])
	if !d.lex.is('(') {
		return true
	}
	if d.mutation && depth == 1 {
		return d.arguments(&taker{node: n, strict: true})
	}
	return d.arguments(&taker{node: n})
}

func (d *document) spread(n *node) bool {
	n.kind = kindInline
	if !d.next() {
		return false
	}
	switch {
	case d.lex.word("on"):
		return d.next() && d.typeName()
	case d.lex.tok == tokName:
		n.kind, n.name = kindSpread, d.lex.span()
		if !d.next() {
			return false
		}
		if d.lex.is('(') { // arguments of a fragment's own variables
			return d.arguments(&taker{spread: true})
		}
	}
	return true
}
