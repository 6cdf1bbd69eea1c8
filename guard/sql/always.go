package sql

import "bytes"

// maxSame is the maximum number of tokens of compared expressions.
const maxSame = 32

// sameText reports whether two runs of tokens are the same expression.
func (r *Reader) sameText(x, y span) bool {
	if x.to-x.from != y.to-y.from || x.to-x.from > maxSame || x.to <= x.from {
		return false
	}
	for k := range x.to - x.from {
		a, b := r.tok(x.from+k), r.tok(y.from+k)
		if a.kind != b.kind || a.kind == param && a.match >= 0 { // each ? has a value of its own
			return false
		}
		same := bytes.Equal
		if a.kind == bare {
			same = bytes.EqualFold
		}
		if !same(r.text[a.start:a.end], r.text[b.start:b.end]) {
			return false
		}
	}
	return true
}

// sameExpression reports whether two operands always have the same value.
func (r *Reader) sameExpression(x, y *operand) bool {
	if x.query || y.query || x.random >= 0 || y.random >= 0 || x.single() && r.kindAt(x.from) != param {
		return false
	}
	return r.sameText(span{x.from, x.to}, span{y.from, y.to})
}

// folded returns the value of an expression that contains only numbers.
func (r *Reader) folded(e *operand) (float64, bool) {
	if !e.constant() || e.call >= 0 {
		return 0, false
	}
	return r.arithmetic(span{e.from, e.to})
}

// orderedConstants compares two constants.
func (r *Reader) orderedConstants(op []byte, x, y *operand) truth {
	if a, ok := r.folded(x); ok {
		if b, ok := r.folded(y); ok {
			return orderedTruth(op, a, b)
		}
	}
	if x.single() && y.single() && r.kindAt(x.from) == text && r.kindAt(y.from) == text {
		return orderedTruth(op, float64(bytes.Compare(inside(r.bytes(x.from)), inside(r.bytes(y.from)))), 0)
	}
	return depends
}

// keys compares a column with the name of a key to a value that no key has: id > 0, 0 < id,
// id <> -1. In a statement that writes, such a condition stands in for a missing one. A
// condition that no key fulfils is reported only where it must not hold: NOT (id < 0).
func (r *Reader) keys(b *block, op []byte, left, right *operand) truth {
	sign := string(op)
	if left.constant() {
		left, right, sign = right, left, turnedSign(sign)
	}
	if !r.numbersRows(b, left) || !right.constant() {
		return depends
	}
	v, ok := r.folded(right)
	empty := right.single() && r.kindAt(right.from) == text && len(inside(r.bytes(right.from))) == 0
	switch {
	case sign == ">" && ok && v <= 0, sign == ">=" && ok && v <= 1:
		return always
	case (sign == "<>" || sign == "!=") && (ok && v <= 0 || empty):
		return always
	case b.negative && ok && (sign == "<" && v <= 1 || sign == "<=" && v <= 0):
		return never
	}
	return depends
}

func turnedSign(sign string) string {
	switch sign {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return sign
}

// numbersRows reports whether an operand is the column id of the only table that is
// written.
func (r *Reader) numbersRows(b *block, e *operand) bool {
	if !b.writes || b.all != 1 || !e.bare || e.columns != 1 || e.relation == outerRelation {
		return false
	}
	t := r.tok(e.column)
	name := r.text[t.start:t.end]
	if t.kind == quoted {
		name = inside(name)
	}
	return foldEqual(name, "id") || foldEqual(name, "pk")
}

// sameRow reports whether an equality in a statement that writes compares a table
// with itself by one column: each row meets itself.
func (r *Reader) sameRow(b *block, left, right *operand) bool {
	if !b.writes || !left.bare || !right.bare || left.columns != 1 || right.columns != 1 ||
		left.relation < 0 || right.relation < 0 || left.relation == right.relation {
		return false
	}
	x, y := r.relations[b.base+left.relation], r.relations[b.base+right.relation]
	return !x.derived && !y.derived && x.name == y.name && r.hash(left.column) == r.hash(right.column)
}

// ownRows reports whether a query gives back a column of every row of the table that
// is written, and left is that column.
func (r *Reader) ownRows(b *block, left *operand, every, item uint64) bool {
	if !b.writes || every == 0 || !left.bare || left.columns != 1 || left.relation < 0 {
		return false
	}
	rel := r.relations[b.base+left.relation]
	return !rel.derived && rel.name == every && r.hash(left.column) == item
}

// maxArms is the maximum number of alternatives that are compared with each other.
const maxArms = 8

// arms holds the first alternatives of a condition.
type arms struct {
	list [maxArms]span
	n    int
}

func (a *arms) add(i, j int) {
	if a.n < len(a.list) {
		a.list[a.n] = span{i, j}
		a.n++
	}
}

// complete reports whether of two alternatives one holds where the other does not:
// a = 5 OR a <> 5.
func (r *Reader) complete(a *arms) bool {
	for x := range a.n {
		for y := range x {
			if r.opposite(a.list[x], a.list[y]) {
				return true
			}
		}
	}
	return false
}

func (r *Reader) opposite(x, y span) bool {
	x, notX := r.positive(x)
	y, notY := r.positive(y)
	if r.sameText(x, y) {
		return notX != notY
	}
	p, q := r.compare(x.from, x.to), r.compare(y.from, y.to)
	if notX || notY || p.at < 0 || q.at < 0 {
		return false
	}
	endX, endY := p.at, q.at
	if r.wordAt(endX-1) == wNot {
		endX--
	}
	if r.wordAt(endY-1) == wNot {
		endY--
	}
	if !r.sameText(span{x.from, endX}, span{y.from, endY}) || !r.sameText(span{p.right, x.to}, span{q.right, y.to}) {
		return false
	}
	switch {
	case p.word == oEqual || q.word == oEqual:
		return p.word == oUnequal || q.word == oUnequal
	case p.word == oOrdered && q.word == oOrdered:
		return r.reversed(p.at, q.at)
	default:
		return p.word == q.word && p.not != q.not
	}
}

// positive returns a condition without the brackets and the NOT around it.
func (r *Reader) positive(s span) (span, bool) {
	not := false
	for s.from < s.to {
		switch {
		case r.wordAt(s.from) == wNot:
			not = !not
			s.from++
		case r.kindAt(s.from) == openParen && r.skip(s.from) == s.to:
			s.from, s.to = s.from+1, s.to-1
		default:
			return s, not
		}
	}
	return s, not
}

// reversed reports whether of two signs one holds where the other does not.
func (r *Reader) reversed(x, y int) bool {
	p, q := string(r.bytes(x)), string(r.bytes(y))
	return p == "<" && q == ">=" || p == ">=" && q == "<" || p == ">" && q == "<=" || p == "<=" && q == ">"
}
