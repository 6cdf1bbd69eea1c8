package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// insert reads INSERT and REPLACE: what they read, not what they write. It returns the
// shape of RETURNING.
func (r *Reader) insert(i, j int) shape {
	s := unlimited()
	k := i + 1
	for k < j {
		switch w := r.wordAt(k); {
		case w == wOn && r.wordAt(k+1) == wConflict, w == wReturning && k > i+2, w == wSet && k > i+2:
			r.scanAll(k+1, j)
			return s
		case w == wValues && (r.kindAt(k+1) == openParen || r.wordIs(k+1, "row")):
			r.scanAll(k+1, j) // a written list is not a condition, and the text limits its length
			s.light = true
			return s
		case w == wSelect, w == wWith && (r.wordAt(k+1) == wRecursive || r.wordAt(k+2) == wAs || r.kindAt(k+2) == openParen), w == wTable && k > i+2,
			r.kindAt(k) == openParen && r.holdsQuery(k):
			end := k
			for end < j && !(r.wordAt(end) == wOn && r.wordAt(end+1) == wConflict) && r.wordAt(end) != wReturning {
				end = r.skip(end)
			}
			end = min(end, j)
			r.inserted = k
			s = r.query(k, end, false)
			r.inserted, s.whole = -1, false
			r.scanAll(end, j)
			return s
		}
		k = r.skip(k)
	}
	return s
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
		m := r.add(cost.MissingWhere, 2, on, "MERGE")
		m.Target = r.target(&b)
		if r.o.Explain {
			m.Detail = "the ON is true for every row"
		}
	}
	r.relations = r.relations[:b.base]
}
