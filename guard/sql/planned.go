package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// planning reports whether a predictor applies to a statement that is only planned.
func planning(p cost.Predictor) bool {
	switch p {
	case cost.InList, cost.JoinCount, cost.SubqueryDepth, cost.DeniedFunction, cost.Generated, cost.MultiStatement, cost.Unparsable,
		cost.RegexExponential, cost.RegexPolynomial, cost.RegexUnknown, cost.RegexStates, cost.RegexLength:
		return true // some planners compute functions of constants
	default:
		return false
	}
}

// unrun removes the measures from mark on that apply only to a statement that runs.
func (r *Reader) unrun(mark int) {
	kept := r.out[:mark]
	for _, m := range r.out[mark:] {
		if planning(m.Predictor) {
			kept = append(kept, m)
		}
	}
	r.out, r.full = kept, false // a removed measure may have been the largest
}

// explain reads EXPLAIN, which only plans, and EXPLAIN ANALYZE, which runs; in MariaDB also
// ANALYZE alone.
func (r *Reader) explain(i, j int) {
	mark, outermost := len(r.out), !r.planned
	runs := r.wordIs(i, "analyze", "analyse")
	for k := i + 1; k < j; k = r.skip(k) {
		switch {
		case r.wordAt(k) == wTable && k == i+1, r.wordAt(k) == wFor: // ANALYZE TABLE t, EXPLAIN FOR CONNECTION 5
			return
		case r.beginsStatement(k):
			r.planned = r.planned || !runs
			r.run(k, j)
			if r.planned && outermost {
				r.planned = false
				r.unrun(mark)
			}
			return
		case r.kindAt(k) == openParen:
			runs = r.analyzes(k+1, r.skip(k)-1, runs)
		case r.wordIs(k, "analyze", "analyse"):
			runs = true
		}
	}
}

// analyzes reads the options in EXPLAIN (ANALYZE, BUFFERS off). The last option of a name
// counts.
func (r *Reader) analyzes(i, j int, runs bool) bool {
	for k := i; k < j; k = r.skip(k) {
		if r.wordIs(k, "analyze", "analyse") {
			t := r.tok(k + 1)
			value := r.text[t.start:t.end]
			if t.kind == text {
				value = inside(value)
			}
			runs = !foldEqual(value, "false") && !foldEqual(value, "off") && !foldEqual(value, "0")
		}
	}
	return runs
}

// beginsStatement reports whether a statement that can be explained begins at k.
func (r *Reader) beginsStatement(k int) bool {
	switch r.wordAt(k) {
	case wSelect, wValues, wWith, wUpdate, wDelete, wInsert, wReplace, wMerge, wCreate, wDeclare, wTable:
		return true
	}
	return r.kindAt(k) == openParen && r.holdsQuery(k)
}
