package sql

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// tailAt reports whether the part after a query begins at k.
func (r *Reader) tailAt(k int, seenFrom bool) bool {
	switch r.tokens[k].word {
	case wOrder:
		return r.wordAt(k+1) == wBy && r.wordAt(k-1) != wFor || r.wordIs(k+1, "siblings")
	case wLimit, wOffset:
		return r.ends(k-1) && r.counts(k+1)
	case wFetch:
		return r.wordIs(k+1, "first", "next")
	case wFor:
		return r.wordAt(k+1) == wUpdate || r.wordAt(k+1) == wFetch || r.wordIs(k+1, "share", "no", "key", "read", "browse", "xml", "json")
	case wLock:
		return r.wordAt(k+1) == wIn
	case wInto:
		return seenFrom || r.wordIs(k+1, "outfile", "dumpfile")
	case wProcedure:
		return r.wordIs(k+1, "analyse")
	default:
		return false
	}
}

// ends reports whether a clause may end with token k.
func (r *Reader) ends(k int) bool {
	t := r.tok(k)
	switch t.kind {
	case comma, dot, operator, openParen, openBrack:
		return t.word == oStar
	case bare:
		switch t.word {
		case wSelect, wWhere, wBy, wAnd, wOr, wNot, wAs, wOn, wHaving, wDistinct, wFrom, wLike, wBetween, wIn, wIs:
			return false
		}
	}
	return true
}

// counts reports whether a number of rows begins at k.
func (r *Reader) counts(k int) bool {
	switch t := r.tok(k); t.kind {
	case number, param, openParen, text:
		return true
	case operator:
		return t.word == oMinus && r.kindAt(k+1) == number
	case bare:
		return t.word == wAll || t.word == wNull || t.word == none && (r.kindAt(k+1) == atEnd || r.kindAt(k+1) == semicolon || r.kindAt(k+1) == openParen || r.kindAt(k+1) == closeParen || r.wordAt(k+1) == wOffset)
	default:
		return false
	}
}

// window holds LIMIT, OFFSET, FETCH and TOP.
type window struct {
	limit, offset span // their expressions
	keyword       int  // the keyword, such as LIMIT
	insert        int  // token after which LIMIT can be inserted
	hidden        bool // in a comment that only some servers execute
}

// tail reads ORDER BY, LIMIT and so on, after the query that began at start and with
// measure mark.
func (r *Reader) tail(k, j, start, mark int, s *shape, top bool) {
	w := window{insert: j - 1, keyword: -1}
	for k < j {
		next := k + 1
		for next < j && !(r.tokens[next].word.tails() && r.tailAt(next, true)) {
			next = r.skip(next)
		}
		next = min(next, j)
		switch r.wordAt(k) {
		case wOrder:
			r.order(k, next)
			s.eager = true
		case wLimit, wFetch, wOffset:
			r.rows(&w, k, next)
		default: // FOR UPDATE, INTO …
			w.insert = min(w.insert, k-1)
			if r.wordAt(k) == wInto && r.wordIs(k+1, "outfile", "dumpfile") && r.dialect.kind != postgres {
				r.denied(k+1, "INTO OUTFILE")
			}
			r.scanAll(k+1, next)
		}
		k = next
	}
	if w.keyword >= 0 && !w.hidden && r.amountOf(w.limit) == (amount{0, true}) {
		r.unrun(mark) // LIMIT 0 only requests the columns
	}
	r.measureWindow(&w, start, mark, s, top)
}

// order finds sorts that no index serves.
func (r *Reader) order(i, j int) {
	e := r.scan(i+2, j, nil)
	if e.random >= 0 {
		m := r.add(cost.Sort, 1, e.random, "ORDER BY")
		if r.o.Explain {
			m.Detail = "a random order reads and sorts every row"
		}
	}
}

// rows reads LIMIT n, LIMIT m, n, LIMIT n OFFSET m, OFFSET n ROWS, FETCH FIRST n
// ROWS ONLY.
func (r *Reader) rows(w *window, i, j int) {
	hidden := r.conditional(i)
	switch r.wordAt(i) {
	case wLimit:
		end := i + 1
		for end < j && r.kindAt(end) != comma && !r.wordIs(end, "by", "with") {
			end = r.skip(end)
		}
		limit := span{i + 1, end}
		if r.kindAt(end) == comma && end < j { // LIMIT offset, rows
			w.offset, limit = limit, span{end + 1, j}
		}
		if !hidden {
			w.keyword, w.limit = i, limit
		}
		w.hidden = w.hidden || hidden
	case wOffset:
		w.offset = span{i + 1, r.beforeRows(i+1, j)}
	case wFetch:
		if !hidden {
			w.keyword, w.limit = i, span{i + 2, r.beforeRows(i+2, j)}
		}
		w.hidden = w.hidden || hidden
	}
	r.scanAll(i+1, j)
}

// beforeRows returns the end of the number before ROW or ROWS.
func (r *Reader) beforeRows(i, j int) int {
	for k := i; k < j; k = r.skip(k) {
		if r.wordIs(k, "row", "rows") || r.wordAt(k) == wOnly {
			return k
		}
	}
	return j
}

// amount is a number of rows.
type amount struct {
	value float64
	known bool
}

// amountOf reads a number of rows. ALL and NULL are unbounded; an omitted number, as in
// FETCH FIRST ROW ONLY, is one.
func (r *Reader) amountOf(s span) amount {
	for s.to-s.from >= 2 && r.kindAt(s.from) == openParen && r.skip(s.from) == s.to {
		s.from, s.to = s.from+1, s.to-1
	}
	switch {
	case s.from >= s.to:
		return amount{1, true}
	case r.wordAt(s.from) == wAll, r.wordAt(s.from) == wNull:
		return amount{math.Inf(1), true}
	}
	v, ok := r.arithmetic(s)
	return amount{max(v, 0), ok}
}

// noLimit is the smallest number that stands for all rows, where OFFSET requires a LIMIT:
// MySQL's manual has 18446744073709551615, and Hibernate the largest int.
const noLimit = math.MaxInt32

// measureWindow measures the rows that a query skips, and those that it may return.
func (r *Reader) measureWindow(w *window, start, mark int, s *shape, top bool) {
	limit, aggregate := amount{math.Inf(1), true}, s.single
	if w.keyword >= 0 && !w.hidden {
		limit = r.amountOf(w.limit)
		if limit.value >= noLimit || r.wordAt(w.limit.from) == oMinus { // LIMIT -1 of SQLite
			limit.value = math.Inf(1)
		}
		if limit.known {
			s.limit = min(s.limit, limit.value)
			s.single = s.single || limit.value <= 1
		}
		s.whole, s.every = false, 0
	}
	if s.limit <= fewRows && !s.groups && !aggregate {
		r.bounded(mark)
	}
	if w.offset.to > w.offset.from {
		r.measureOffset(w, limit, s.groups)
	}
	if !top || s.fixed || s.single && w.keyword < 0 {
		return
	}
	if s.whole {
		m := r.add(cost.FullScan, max(1, s.docs), s.at, "FROM")
		if r.o.Explain {
			m.Detail = "every row, because there is no WHERE, LIMIT or aggregate"
		}
	}
	r.measureLimit(w, limit, start, s)
}

// measureOffset measures rows that are read only to be skipped. All groups are formed in
// any case, and GroupCardinality counts them, so only the skipped ones count here.
func (r *Reader) measureOffset(w *window, limit amount, groups bool) {
	offset := r.amountOf(w.offset)
	if !offset.known || offset.value == 0 {
		return
	}
	value := offset.value
	if limit.known && !math.IsInf(limit.value, 1) && !groups {
		value += limit.value
	}
	m := r.add(cost.OffsetRows, value, w.offset.from, "OFFSET")
	if r.o.Explain {
		m.Detail = format("%v skipped + %v read", offset.value, value-offset.value)
		if groups {
			m.Detail = format("%v groups skipped", offset.value)
		}
	}
}

// measureLimit measures the rows that go to the caller, and how to lower them: by another
// number, or by adding a LIMIT.
func (r *Reader) measureLimit(w *window, limit amount, start int, s *shape) {
	if !limit.known || w.keyword < 0 && !math.IsInf(s.limit, 1) && !math.IsNaN(s.limit) {
		return
	}
	at := start
	if w.keyword >= 0 {
		at = w.keyword
	}
	m := r.add(cost.MissingLimit, limit.value, at, "LIMIT")
	if r.o.Explain {
		m.Detail = "rows that may be returned"
	}
	if w.hidden {
		return
	}
	if w.keyword < 0 {
		t := r.tok(w.insert)
		if w.insert < start || t.hidden { // the text after it is still inside the comment
			return
		}
		m.Cap = cost.Cap{Place: cost.CapBody, Start: int(t.end), End: int(t.end), Prefix: " LIMIT ", Least: 0}
		return
	}
	from, to := r.tok(w.limit.from), r.tok(w.limit.to-1)
	switch {
	case w.limit.to <= w.limit.from || from.hidden || to.hidden: // FETCH FIRST ROW ONLY
	case from.kind == param: // the caller binds it: removing it would make the number of values wrong
		if r.dialect.kind == postgres && w.limit.to == w.limit.from+1 {
			prefix := ""
			if r.o.Explain {
				prefix = "LEAST(" + string(r.bytes(w.limit.from)) + "::bigint, "
			}
			m.Cap = cost.Cap{Place: cost.CapBody, Start: int(from.start), End: int(from.end), Prefix: prefix, Suffix: ")"}
		}
	case r.holdsParam(w.limit):
	default:
		m.Cap = cost.Cap{Place: cost.CapBody, Start: int(from.start), End: int(to.end)}
	}
}

func (r *Reader) holdsParam(s span) bool {
	for k := s.from; k < s.to; k++ {
		if r.tok(k).kind == param {
			return true
		}
	}
	return false
}
