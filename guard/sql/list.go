package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// anyOf measures the list in = ANY (ARRAY[…]), = ANY ('{…}') and = ANY ($1); 1
// when it is none, or not known.
func (r *Reader) anyOf(b *block, right *operand) float64 {
	k := right.from
	if w := r.wordAt(k); w != wAny && w != wAll || r.kindAt(k+1) != openParen {
		return 1
	}
	n, in := 1, k+2
	switch r.kindAt(in) {
	case bare:
		if r.wordAt(in) == wArray && r.kindAt(in+1) == openBrack {
			n = r.list(in+2, r.skip(in+1)-1)
		}
	case text:
		if l, ok := arrayLength(inside(r.bytes(in))); ok {
			n = l
		}
	case param:
		if v, ok := r.bound(in); ok {
			if l, ok := lengthOf(v); ok {
				n = l
			}
		}
	}
	if n > 1 {
		r.measureList(b, float64(n), k, "ANY")
	}
	return float64(n)
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
	}
	if n > 1 {
		r.measureList(b, n, c.at, "IN")
	}
	if listed && left.constant() && left.single() && right.constant() {
		return verdict{truth: r.listed(left.from, i+1, r.skip(i)-1, c.not)}
	}
	r.connect(b, left, right)
	if c.not {
		return verdict{}
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

// listed says whether a constant is in a list of constants.
func (r *Reader) listed(at, i, j int, not bool) truth {
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
	if n == 1 && j == i+1 && r.kindAt(i) == param { // one placeholder that stands for all
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
	m.Target = r.target(b)
	if r.o.Explain {
		m.Detail = "values in one list"
	}
}
