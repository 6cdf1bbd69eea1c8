package graphql

import "github.com/bezoar-dev/bezoar/guard/cost"

// taker is who wants to know of arguments; nil when nobody does.
type taker struct {
	node   *node
	strict bool // first and last only
	spread bool // they are settings of variables
}

// argument is a value: how long a list it asks for.
type argument struct {
	plain    float64 // a number
	within   float64 // the greatest length in an object
	variable span
	node     *node // that gets the variables within
	fixed    bool  // may hold no variables
}

// arguments reads ( name: value … ).
func (d *document) arguments(t *taker) bool {
	if !d.next() {
		return false
	}
	if d.lex.is(')') {
		return d.wrong("no arguments")
	}
	for !d.lex.is(')') {
		if d.lex.tok != tokName {
			return d.wrong("no name of an argument")
		}
		name := d.lex.span()
		if !d.next() {
			return false
		}
		if !d.lex.is(':') {
			return d.wrong("an argument without a value")
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

// value reads a value with everything in it, and stands behind it.
func (d *document) value(a *argument) bool {
	d.values = d.values[:0]
	key := span{} // of the member that is being read, when it is right in the outermost object
	for {
		switch {
		case d.lex.is('{') || d.lex.is('['):
			if len(d.values) >= d.max.depth {
				d.fault = fault{cost.BodyDepth, "values nested deeper than is read", d.lex.off}
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
		return d.wrong("no name of a member")
	}
	if len(d.values) == 1 {
		*key = d.lex.span()
	}
	if !d.next() {
		return false
	}
	if !d.lex.is(':') {
		return d.wrong("a member without a value")
	}
	return d.next()
}

func (d *document) scalar(a *argument, key span) bool {
	number := 0.0
	var variable span
	switch {
	case d.lex.is('$'):
		if a.fixed {
			return d.wrong("a variable as what another is by default")
		}
		if !d.next() {
			return false
		}
		if d.lex.tok != tokName {
			return d.wrong("a variable without a name")
		}
		variable = d.lex.span()
	case d.lex.tok == tokNumber || d.lex.tok == tokString:
		number = lengthOf(d.lex.text[d.lex.off:d.lex.pos])
	case d.lex.tok == tokName:
	default:
		return d.wrong("no value")
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
