package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// writing holds the positions of the parts of an UPDATE or a DELETE; -1: absent.
type writing struct {
	set, from, using, where, order, limit, returning, end int

	first, last int // tokens that name the written table if there are several; none: the first table
}

func (r *Reader) writingOf(i, j int) writing {
	w := writing{set: -1, from: -1, using: -1, where: -1, order: -1, limit: -1, returning: -1, end: j}
	first := func(to *int, k int) {
		if *to < 0 {
			*to = k
		}
	}
	for k := i + 1; k < j; k = r.skip(k) {
		switch r.tokens[k].word {
		case wSet:
			first(&w.set, k)
		case wFrom:
			if !r.distinctFrom(k) {
				first(&w.from, k)
			}
		case wUsing:
			if w.from >= 0 && r.kindAt(k+1) != openParen || r.kindAt(k+1) == openParen && r.holdsQuery(k+1) {
				first(&w.using, k)
			}
		case wWhere:
			first(&w.where, k)
		case wOrder:
			if r.wordAt(k+1) == wBy {
				first(&w.order, k)
			}
		case wLimit:
			if r.ends(k-1) && r.counts(k+1) {
				first(&w.limit, k)
			}
		case wReturning:
			if w.where >= 0 || w.set >= 0 || w.from >= 0 {
				first(&w.returning, k)
			}
		}
	}
	return w
}

// until returns the end of the part that begins at from.
func (w writing) until(from int) int {
	end := w.end
	for _, k := range [...]int{w.set, w.from, w.using, w.where, w.order, w.limit, w.returning} {
		if k > from && k < end {
			end = k
		}
	}
	return end
}

func (r *Reader) update(i, j int) {
	w := r.writingOf(i, j)
	b := block{base: len(r.relations), share: 1, never: -1}
	pending := len(r.pending)
	if w.set < 0 {
		r.scanAll(i+1, j)
		r.unreadable(i, "UPDATE without SET")
		return
	}
	b.writes = true
	k := r.ignorable(i+1, w.set)
	if r.wordAt(k) == wTop {
		k = r.skip(k + 1)
		w.limit = k - 1
	}
	r.from(&b, k, min(w.set, w.until(i)))
	r.scanAll(w.set+1, w.until(w.set))
	w.first, w.last = w.set+1, w.until(w.set)
	if w.from > w.set {
		w.last = w.first // the first table is written
		targets := len(r.relations)
		r.from(&b, w.from+1, w.until(w.from))
		r.sameTable(&b, targets)
	}
	r.writes(&b, w, i, pending, "UPDATE")
}

func (r *Reader) delete(i, j int) {
	w := r.writingOf(i, j)
	b := block{base: len(r.relations), share: 1, never: -1}
	pending := len(r.pending)
	b.writes = true
	k := r.ignorable(i+1, j)
	w.first, w.last = k, k
	if r.wordAt(k) == wTop {
		w.limit = k
		k = r.skip(k + 1)
	}
	switch {
	case w.from < 0: // DELETE t WHERE …
		r.from(&b, k, w.until(i))
	case w.using > w.from: // the deleted table is among the used ones, or beside them
		r.from(&b, w.from+1, w.using)
		targets := len(r.relations)
		r.from(&b, w.using+1, w.until(w.using))
		r.sameTable(&b, targets)
	default:
		w.last = w.from
		r.from(&b, w.from+1, w.until(w.from))
		if n := r.find(w.from+1, w.until(w.from), wFrom); n < w.until(w.from) { // DELETE FROM a FROM b JOIN a …
			r.from(&b, n+1, w.until(n))
		}
	}
	r.writes(&b, w, i, pending, "DELETE")
}

// ignorable skips LOW_PRIORITY and the like.
func (r *Reader) ignorable(k, j int) int {
	for k < j && r.wordAt(k) == wIgnorable {
		k++
	}
	return k
}

// sameTable makes the targets, those before n, free if they are named again: they are the
// same table.
func (r *Reader) sameTable(b *block, n int) {
	for i := b.base; i < n && i < len(r.relations); i++ {
		for k, other := range r.relations[n:] {
			if other.alias == r.relations[i].alias || other.name == r.relations[i].alias || other.alias == r.relations[i].name {
				r.relations[i].free = true
				r.link(b, i-b.base, n+k-b.base)
			}
		}
	}
}

// writes reads the common parts of UPDATE and DELETE.
func (r *Reader) writes(b *block, w writing, i, pending int, path string) {
	if w.where >= 0 {
		r.where(b, w.where, w.until(w.where))
	}
	if w.order >= 0 {
		r.order(w.order, w.until(w.order))
	}
	limited := w.limit >= 0 && !r.conditional(w.limit)
	if limited && r.wordAt(w.limit) == wLimit {
		r.scanAll(w.limit+1, w.until(w.limit))
		if a := r.amountOf(span{w.limit + 1, w.until(w.limit)}); a.known && a.value > 0 {
			m := r.add(cost.OffsetRows, a.value, w.limit, "LIMIT")
			m.Target = r.target(b)
			if r.o.Explain {
				m.Detail = "rows that are written at once"
			}
		}
	}
	if w.returning >= 0 {
		r.scanAll(w.returning+1, w.until(w.returning))
	}
	r.conclude(b, i, w.from, pending)
	bounded := b.where && b.truth != always && !b.constant || limited || b.joined && !b.where
	apart := bounded && !limited && b.all > 1 && r.unnamed(b, w)
	if !bounded || apart {
		at, why := i, "no WHERE: every row is written"
		switch {
		case apart:
			why = "no condition names the written table: every row of it is written, or none"
		case w.where >= 0 && b.constant:
			at, why = w.where, "the WHERE names no column: it is true for every row, or for none"
		case w.where >= 0:
			at, why = w.where, "the WHERE is true for every row"
		}
		value := 2.0
		if path == "DELETE" && w.where < 0 && b.all == 1 { // it is intended, like TRUNCATE
			value = 1
		}
		m := r.add(cost.MissingWhere, value, at, path)
		m.Target = r.target(b)
		if r.o.Explain {
			m.Detail = why
		}
	}
	r.relations = r.relations[:b.base]
}
