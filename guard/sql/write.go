package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// writing is where the parts of an UPDATE or a DELETE begin; -1 when absent.
type writing struct {
	set, from, using, where, order, limit, returning, end int
}

func (r *Reader) writingOf(i, j int) writing {
	w := writing{-1, -1, -1, -1, -1, -1, -1, j}
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

// until is where the part that begins at from ends.
func (w writing) until(from int) int {
	end := w.end
	for _, k := range [...]int{w.set, w.from, w.using, w.where, w.order, w.limit, w.returning} {
		if k > from && k < end {
			end = k
		}
	}
	return end
}

// update reads UPDATE.
func (r *Reader) update(i, j int) {
	w := r.writingOf(i, j)
	b := block{base: len(r.relations), share: 1, never: -1}
	pending := len(r.pending)
	if w.set < 0 {
		r.scanAll(i+1, j)
		r.unreadable(i, "UPDATE without SET")
		return
	}
	k := r.ignorable(i+1, w.set)
	if r.wordAt(k) == wTop {
		k = r.skip(k + 1)
		w.limit = k - 1
	}
	r.from(&b, k, min(w.set, w.until(i)))
	r.scanAll(w.set+1, w.until(w.set))
	if w.from > w.set {
		targets := len(r.relations)
		r.from(&b, w.from+1, w.until(w.from))
		r.sameTable(&b, targets)
	}
	r.writes(&b, w, i, pending, "UPDATE")
}

// delete reads DELETE.
func (r *Reader) delete(i, j int) {
	w := r.writingOf(i, j)
	b := block{base: len(r.relations), share: 1, never: -1}
	pending := len(r.pending)
	k := r.ignorable(i+1, j)
	if r.wordAt(k) == wTop {
		w.limit = k
		k = r.skip(k + 1)
	}
	switch {
	case w.from < 0: // DELETE t WHERE …
		r.from(&b, k, w.until(i))
	case w.using > w.from: // what is deleted is among what is used, or beside it
		r.from(&b, w.from+1, w.using)
		targets := len(r.relations)
		r.from(&b, w.using+1, w.until(w.using))
		r.sameTable(&b, targets)
	default:
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

// sameTable frees the targets, those before n, that are named again: it is one
// table.
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

// writes reads what UPDATE and DELETE have in common.
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
	if !bounded {
		at, why := i, "no WHERE: every row is written"
		if w.where >= 0 {
			at, why = w.where, "the WHERE is true for every row"
			if b.constant {
				why = "the WHERE names no column: it is true for every row, or for none"
			}
		}
		m := r.add(cost.MissingWhere, 1, at, path)
		m.Target = r.target(b)
		if r.o.Explain {
			m.Detail = why
		}
	}
	r.relations = r.relations[:b.base]
}

// insert reads INSERT and REPLACE: what they read, not what they write.
func (r *Reader) insert(i, j int) {
	k := i + 1
	for k < j {
		switch w := r.wordAt(k); {
		case w == wOn && r.wordAt(k+1) == wConflict, w == wReturning && k > i+2, w == wSet && k > i+2:
			r.scanAll(k+1, j)
			return
		case w == wValues && (r.kindAt(k+1) == openParen || r.wordIs(k+1, "row")):
			r.scanAll(k+1, j) // a list that is written is no condition: its length is that of the text
			return
		case w == wSelect, w == wWith && (r.wordAt(k+1) == wRecursive || r.wordAt(k+2) == wAs || r.kindAt(k+2) == openParen), w == wTable && k > i+2,
			r.kindAt(k) == openParen && r.holdsQuery(k):
			end := k
			for end < j && !(r.wordAt(end) == wOn && r.wordAt(end+1) == wConflict) && r.wordAt(end) != wReturning {
				end = r.skip(end)
			}
			end = min(end, j)
			r.query(k, end, false)
			r.scanAll(end, j)
			return
		}
		k = r.skip(k)
	}
}

// merge reads MERGE INTO target USING source ON condition WHEN ….
func (r *Reader) merge(i, j int) {
	using, on, when := r.find(i+1, j, wUsing), r.find(i+1, j, wOn), r.find(i+1, j, wWhen)
	if using >= j || on >= j || on < using {
		r.scanAll(i+1, j)
		r.unreadable(i, "MERGE without USING and ON")
		return
	}
	when = max(when, on)
	b := block{base: len(r.relations), share: 1, never: -1}
	pending := len(r.pending)
	k := i + 1
	if r.wordAt(k) == wInto {
		k++
	}
	r.from(&b, k, using)
	r.from(&b, using+1, on)
	v := r.condition(&b, on+1, when, true)
	b.selects = b.selects || v.selects
	r.scanAll(when, j)
	r.conclude(&b, i, using, pending)
	if v.truth == always {
		m := r.add(cost.MissingWhere, 1, on, "MERGE")
		m.Target = r.target(&b)
		if r.o.Explain {
			m.Detail = "the ON is true for every row"
		}
	}
	r.relations = r.relations[:b.base]
}
