package sql

import "slices"

// manyAlternatives is the length from which a chain of OR counts as a list.
const manyAlternatives = 100

// maxNulls is the number of possibly absent columns that are remembered at once.
const maxNulls = 64

// null is a column that an alternative says is NULL; relation -1 ends the columns of one
// alternative.
type null struct {
	relation int16
	column   int32
}

// alternatives reads a OR b OR c. It joins tables only if every alternative joins them.
func (r *Reader) alternatives(b *block, i, j, or int, on bool) verdict {
	edges, nulls := len(r.edges), len(r.nulls)
	joined, all := false, true // some alternative joins tables; every one does
	var arms arms
	var list chunks
	v := verdict{truth: never, selects: true, chosen: true}
	b.hold++
	n, start := 0, i
	for ; i < j; n++ {
		arm, absent := len(r.edges), len(r.nulls)
		a := r.conjunction(b, i, or, on)
		switch {
		case len(r.edges) > arm:
			if joined { // those of the first alternative stand for all
				r.edges = r.edges[:arm]
			}
			joined = true
			r.nulls = r.nulls[:absent]
		case a.truth == never, r.bothAbsent(absent): // a.x = b.x OR a.x IS NULL AND b.x IS NULL
			r.nulls = r.nulls[:absent]
		case len(r.nulls) > absent:
			r.nulls = append(r.nulls, null{relation: -1})
		default:
			all = false
		}
		r.chunk(&list, b, i, or)
		if b.writes {
			arms.add(i, or)
		}
		v.selects, v.chosen = v.selects && a.selects, v.chosen && a.chosen
		switch {
		case a.truth == always:
			v.truth = always
		case a.truth == depends && v.truth == never:
			v.truth = depends
		}
		i = or + 1
		or = r.or(i, j)
	}
	b.hold--
	if n > manyAlternatives {
		r.measureList(b, float64(n), start, "OR")
	}
	if !joined || !all || !r.optional(edges, nulls) {
		r.edges = r.edges[:edges]
	}
	r.nulls = r.nulls[:nulls]
	r.release(b, edges)
	if v.truth == depends && r.complete(&arms) {
		v.truth = always
	}
	return v
}

// absent records that a column is NULL in the current alternative.
func (r *Reader) absent(b *block, e *operand) {
	if b.hold > 0 && e.bare && e.columns == 1 && e.relation >= 0 && len(r.nulls) < maxNulls {
		r.nulls = append(r.nulls, null{int16(e.relation), int32(e.column)})
	}
}

// bothAbsent reports whether columns of two relations are NULL, of those that were
// noted from mark on.
func (r *Reader) bothAbsent(mark int) bool {
	return slices.ContainsFunc(r.nulls[mark:], func(n null) bool { return n.relation != r.nulls[mark].relation })
}

// optional reports whether each alternative that joins nothing is one where a column
// that joins in another is absent: a.x = b.x OR b.x IS NULL.
func (r *Reader) optional(edges, nulls int) bool {
	found := false
	for _, n := range r.nulls[nulls:] {
		if n.relation < 0 {
			if !found {
				return false
			}
			found = false
			continue
		}
		found = found || r.joinedBy(n, edges)
	}
	return true
}

// joinedBy reports whether a column joins its relation, among the edges from mark on.
func (r *Reader) joinedBy(n null, mark int) bool {
	h := r.hash(int(n.column))
	return slices.ContainsFunc(r.edges[mark:], func(e edge) bool {
		return e.a == n.relation && e.left >= 0 && r.hash(int(e.left)) == h || e.b == n.relation && e.right >= 0 && r.hash(int(e.right)) == h
	})
}

// chunks is a list written in parts: id IN (…) OR id IN (…).
type chunks struct {
	column uint64
	parts  int
	values float64
}

// chunk adds the alternative in tokens i to j, if it is a list, and measures all parts
// together.
func (r *Reader) chunk(c *chunks, b *block, i, j int) {
	for r.kindAt(i) == openParen && r.skip(i) == j {
		i, j = i+1, j-1
	}
	if r.listed.span != (span{i, j}) || j <= i {
		return
	}
	if h := r.hash(r.listed.column); h != c.column {
		*c = chunks{column: h}
	}
	c.parts++
	if c.values += r.listed.values; c.parts > 1 {
		r.measureList(b, c.values, i, "OR")
	}
}
