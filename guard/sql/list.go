package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// anyOf measures the list in = ANY (ARRAY[…]), = ANY ('{…}') and = ANY ($1); 1 if there is
// none, or it is unknown.
func (r *Reader) anyOf(b *block, right *operand) float64 {
	k := right.from
	if w := r.wordAt(k); w != wAny && w != wAll || r.kindAt(k+1) != openParen {
		return 1
	}
	n := r.members(k + 2)
	if n > 1 {
		r.measureList(b, float64(n), k, "ANY")
	}
	return float64(n)
}

// members returns the number of values in ARRAY[…], '{…}' or a bound array at k; 1 if there
// is none, or it is unknown.
func (r *Reader) members(k int) int {
	switch r.kindAt(k) {
	case bare:
		if r.wordAt(k) == wArray && r.kindAt(k+1) == openBrack {
			return r.list(k+2, r.skip(k+1)-1)
		}
	case text:
		if n, ok := arrayLength(inside(r.bytes(k))); ok {
			return n
		}
	case param:
		if v, ok := r.bound(k); ok {
			if n, ok := lengthOf(v); ok {
				return n
			}
		}
	}
	return 1
}

// in reads a IN (list) and a IN (query).
func (r *Reader) in(b *block, c comparison, left, right *operand) verdict {
	n := 1.0
	i := right.from
	listed := r.kindAt(i) == openParen && !r.holdsQuery(i)
	if listed {
		n = float64(r.list(i+1, r.skip(i)-1))
	} else if r.kindAt(i) == param {
		if v, ok := r.bound(i); ok {
			if l, ok := lengthOf(v); ok {
				n = float64(l)
			}
		}
	} else if r.wordIs(i+2, "unnest") && r.kindAt(i+3) == openParen { // IN (SELECT unnest(…))
		n = float64(r.members(i + 4))
	}
	if n > 1 {
		r.measureList(b, n, c.at, "IN")
	}
	if listed && left.columns == 1 {
		r.listed = listing{span{left.from, right.to}, left.column, n}
	}
	if listed && left.constant() && left.single() && right.constant() {
		return verdict{truth: r.inList(left.from, i+1, r.skip(i)-1, c.not)}
	}
	r.connect(b, left, right)
	if c.not {
		return verdict{}
	}
	if right.query && r.holdsQuery(i) && r.skip(i) == right.to && r.ownRows(b, left, r.every, r.item) {
		return verdict{truth: always}
	}
	r.wrapped(b, left, &operand{value: true, column: -1}, "IN")
	v := verdict{}
	if left.bare {
		if listed || r.kindAt(i) == param {
			v.selects, v.chosen = r.choose(b, left, max(n, 1), false)
			if n > 1 {
				return v
			}
		}
		v.selects = v.selects || right.query
	}
	return v
}

// inList reports whether a constant is in a list of constants.
func (r *Reader) inList(at, i, j int, not bool) truth {
	x := &operand{from: at, to: at + 1, value: true}
	for k := i; k < j; k++ {
		if r.sameConstant(x, &operand{from: k, to: k + 1, value: true}) == always {
			return truthOf(!not)
		}
	}
	return depends
}

// list counts the members of a list.
func (r *Reader) list(i, j int) int {
	if i >= j {
		return 0
	}
	n := 1
	for k := i; k < j; k = r.skip(k) {
		if r.tokens[k].kind == comma {
			n++
		}
	}
	if n == 1 && j == i+1 && r.kindAt(i) == param { // one placeholder that stands for all values
		if v, ok := r.bound(i); ok {
			if l, ok := lengthOf(v); ok {
				return l
			}
		}
	}
	return n
}

func (r *Reader) measureList(b *block, n float64, at int, path string) {
	m := r.add(cost.InList, n, at, path)
	if b != nil {
		m.Target = r.target(b)
	}
	if r.o.Explain {
		m.Detail = "values in one list"
	}
}
