package graphql

import "github.com/bezoar-dev/bezoar/guard/cost"

// taker receives arguments; nil if they do not matter.
type taker struct {
	node   *node
	strict bool // accept first and last only
	spread bool // arguments are values of a fragment's variables
}

// argument is a value, with the list length that it requests.
type argument struct {
	plain    float64 // its number
	within   float64 // the greatest length in an object
	variable span
	node     *node // node that gets the variables in it
	fixed    bool  // it must not contain variables
}

// arguments reads ( name: value … ).
func (d *document) arguments(t *taker) bool {
	if !d.next() {
		return false
	}
	if d.lex.is(')') {
		return d.wrong("expected an argument")
	}
	for !d.lex.is(')') {
		if d.lex.tok != tokName {
			return d.wrong("expected the name of an argument")
		}
		name := d.lex.span()
		if !d.next() {
			return false
		}
		if !d.lex.is(':') {
			return d.wrong("expected a value after the name of an argument")
		}
		if !d.next() || !d.argument(t, name) {
			return false
		}
	}
	return d.next()
}

func (d *document) argument(t *taker, name span) bool {
	var a argument
	if t == nil {
		return d.value(&a)
	}
	if t.spread {
		return d.setting(setting{name: name}, false)
	}
	text := d.lex.text[name.off:name.end]
	length, paging := isLength(text), isPaging(text)
	if t.strict {
		length, paging = string(text) == "first" || string(text) == "last", false
	}
	if paging {
		a.node = t.node
	}
	if !d.value(&a) {
		return false
	}
	switch {
	case length:
		t.node.limit = max(t.node.limit, a.plain)
	case paging:
		t.node.limit = max(t.node.limit, a.within)
	default:
		return true
	}
	if a.variable.end > 0 {
		d.refs = append(d.refs, ref{name: a.variable, paging: paging})
	}
	return true
}

// value reads a value with its content, and moves past it.
func (d *document) value(a *argument) bool {
	d.values = d.values[:0]
	key := span{} // current member, if it is directly in the outermost object
	for {
		switch {
		case d.lex.is('{') || d.lex.is('['):
			if len(d.values) >= d.max.depth {
				d.fault = fault{cost.BodyDepth, "values nested deeper than the limit", d.lex.off}
				return false
			}
			d.values = append(d.values, d.lex.is('{'))
			if !d.next() {
				return false
			}
		case !d.scalar(a, key):
			return false
		}
		for len(d.values) > 0 && d.closes() {
			d.values = d.values[:len(d.values)-1]
			if !d.next() {
				return false
			}
		}
		if len(d.values) == 0 {
			return true
		}
		if d.values[len(d.values)-1] {
			if !d.member(&key) {
				return false
			}
		}
	}
}

// closes reports whether the token ends the innermost open value.
func (d *document) closes() bool {
	if d.values[len(d.values)-1] {
		return d.lex.is('}')
	}
	return d.lex.is(']')
}

// member reads the name of a member of an object.
func (d *document) member(key *span) bool {
	if d.lex.tok != tokName {
		return d.wrong("expected the name of a member")
	}
	if len(d.values) == 1 {
		*key = d.lex.span()
	}
	if !d.next() {
		return false
	}
	if !d.lex.is(':') {
		return d.wrong("expected a value after the name of a member")
	}
	return d.next()
}

func (d *document) scalar(a *argument, key span) bool {
	number := 0.0
	var variable span
	switch {
	case d.lex.is('$'):
		if a.fixed {
			return d.wrong("a default value cannot contain a variable")
		}
		if !d.next() {
			return false
		}
		if d.lex.tok != tokName {
			return d.wrong("expected the name of a variable")
		}
		variable = d.lex.span()
	case d.lex.tok == tokNumber || d.lex.tok == tokString:
		number = lengthOf(d.lex.text[d.lex.off:d.lex.pos])
	case d.lex.tok == tokName:
	default:
		return d.wrong("expected a value")
	}
	switch {
	case len(d.values) == 0:
		a.plain, a.variable = number, variable
	case len(d.values) == 1 && d.values[0] && isLength(d.lex.text[key.off:key.end]):
		a.within = max(a.within, number)
		if a.node != nil && variable.end > 0 {
			d.refs = append(d.refs, ref{name: variable})
		}
	}
	return d.next()
}
