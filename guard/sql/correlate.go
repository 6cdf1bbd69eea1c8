package sql

import "slices"

const (
	maxOuter   = 64   // relations of enclosing queries to which a column may belong; more are ignored
	maxReached = 1024 // columns of enclosing queries that are remembered at once
	sameReach  = 8    // last ones that are compared, because repeated names are often close together
)

// reach records that a query names a column of an enclosing query: the condition that
// contains the query is then about that relation. first is the first relation of the inner
// query.
func (r *Reader) reach(first, qualifier int) {
	if first == 0 || len(r.reached) >= maxReached {
		return
	}
	h := r.hash(qualifier)
	for i := first - 1; i >= max(0, first-maxOuter); i-- {
		if rel := &r.relations[i]; rel.alias == h || rel.name == h {
			rel.named = true
			if !slices.Contains(r.reached[max(0, len(r.reached)-sameReach):], int32(i)) {
				r.reached = append(r.reached, int32(i))
			}
			return
		}
	}
}

// correlate joins the relations of a block that the queries in one condition name, from
// mark on, as in EXISTS (… c.a = a.id AND c.b = b.id): with each other, and with the
// columns beside those queries. A negated condition leaves nearly all pairs.
func (r *Reader) correlate(b *block, mark int, negated bool, x, y *operand) {
	if negated {
		r.outer(mark, b.base)
		return
	}
	last, have := 0, false
	for _, e := range [...]*operand{x, y} {
		if e.columns > 0 && e.relation != outerRelation {
			last, have = e.relation, true
		}
	}
	for _, at := range r.reached[mark:] {
		rel := int(at) - b.base
		if rel < 0 {
			continue
		}
		if have {
			r.link(b, last, rel)
		}
		last, have = rel, true
	}
	r.outer(mark, b.base)
}

// outer removes what queries named of the block that begins with relation base. It keeps
// what they named of the enclosing blocks.
func (r *Reader) outer(mark, base int) {
	kept := r.reached[:mark]
	for _, at := range r.reached[mark:] {
		if int(at) < base {
			kept = append(kept, at)
		}
	}
	r.reached = kept
}
