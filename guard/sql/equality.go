package sql

func (r *Reader) equal(b *block, left, right *operand, on bool) verdict {
	v := verdict{truth: r.sameConstant(left, right)}
	if v.truth == always && left.columns > 0 && b.all > 1 && left.qualifier < 0 {
		v.truth = depends
	}
	if left.bare && right.bare && v.truth != always {
		if left.quotedAlone(r) != right.quotedAlone(r) && left.relation != outerRelation && r.dialect.kind == generic {
			right.columns, right.bare, right.value = 0, false, true // "text" where it may be a name
		}
	}
	r.connect(b, left, right)
	if r.sameRow(b, left, right) {
		return verdict{truth: always}
	}
	if right.query && r.wordAt(right.from) == wAny && r.ownRows(b, left, r.every, r.item) {
		return verdict{truth: always}
	}
	v.joins = left.bare && right.bare && left.relation != right.relation
	r.wrapped(b, left, right, "=")
	n := r.anyOf(b, right)
	switch {
	case n > 1 && left.bare:
		v.selects, v.chosen = r.choose(b, left, n, on)
	case r.boolean(left), r.boolean(right):
	case left.bare && right.outside():
		v.selects, v.chosen = r.choose(b, left, 1, on)
	case right.bare && left.outside():
		v.selects, v.chosen = r.choose(b, right, 1, on)
	}
	return v
}

// boolean reports whether an operand is TRUE or FALSE: half of a table may equal it.
func (r *Reader) boolean(e *operand) bool {
	w := r.wordAt(e.from)
	return e.single() && (w == wTrue || w == wFalse)
}

// choose records that a column equals one of n values.
func (r *Reader) choose(b *block, column *operand, n float64, on bool) (selects, chosen bool) {
	card := 0.0
	h, ok := r.fieldHint(b, column.column, column.relation)
	if ok {
		card = h.Cardinality
	}
	const few = 10 // an index on a column with so few values selects little
	if card > 0 && card < few {
		return false, false
	}
	if b.hold > 0 {
		return true, true
	}
	key := n <= fewLooked && r.keyName(column.column)
	if b.all > 1 && column.relation >= 0 && (key || n <= fewLooked && r.calledName(column.column)) {
		r.relations[b.base+column.relation].looked = true
	}
	if card > 0 {
		b.share *= min(1, n/card)
	} else {
		b.share *= min(1, n/orFloat(r.o.Defaults.Cardinality, defaultCardinality))
	}
	if n == 1 && (ok && h.Unique || key) {
		b.key = true
		r.pin(b, column.relation)
	} else if n == 1 && on && column.relation >= b.joining { // a lookup joins what it finds
		r.pin(b, column.relation)
	}
	return true, true
}

// fewLooked is the maximum number of names in a condition that still finds few rows.
const fewLooked = 100

// calledName reports whether a column is called as what people tell things apart by.
func (r *Reader) calledName(column int) bool {
	t := r.tok(column)
	name := r.text[t.start:t.end]
	if t.kind == quoted {
		name = inside(name)
	}
	return foldEqual(name, "name") || foldEqual(name, "email") || foldEqual(name, "login") || foldEqual(name, "username")
}

func (r *Reader) keyName(column int) bool {
	t := r.tok(column)
	name := r.text[t.start:t.end]
	if t.kind == quoted {
		name = inside(name)
	}
	const longest = len("token")
	if len(name) == 0 || len(name) > longest {
		return false
	}
	switch name[0] | 0x20 {
	case 'i':
		return foldEqual(name, "id")
	case 'u':
		return foldEqual(name, "uuid")
	case 'g':
		return foldEqual(name, "guid")
	case 'p':
		return foldEqual(name, "pk")
	case 'k':
		return foldEqual(name, "key")
	case 'c':
		return foldEqual(name, "code")
	case 's':
		return foldEqual(name, "slug") || foldEqual(name, "sku")
	case 't':
		return foldEqual(name, "token")
	}
	return false
}
