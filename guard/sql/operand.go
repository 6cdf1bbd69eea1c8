package sql

// operand is one side of a comparison, or any range of tokens that is searched.
type operand struct {
	from, to int

	columns   int  // number of columns outside of queries in it
	column    int  // token of the first column
	qualifier int  // token of its alias; -1: none
	relation  int  // relation of the column
	second    int  // another relation; outerRelation if there is only one
	inner     bool // a column belongs to the block itself, as far as known

	bare      bool // only columns, for which there may be an index
	value     bool // it contains a literal or a placeholder
	query     bool // it contains a query
	aggregate bool // an aggregate over the block
	call      int  // token of the first function; -1
	regex     int  // token of the first function that matches an expression; -1
	apart     bool // it contains an operator other than arithmetic, such as a distance
	random    int  // token of a function that gives random values; -1
}

func (e *operand) single() bool { return e.to == e.from+1 }

// constant reports whether it has one value for all rows that is known before the query
// runs, at least approximately.
func (e *operand) constant() bool { return e.columns == 0 && !e.query }

// outside reports whether its value is known before the rows of the block are read, so that
// an index lookup is possible.
func (e *operand) outside() bool {
	return (e.value || e.query || e.call >= 0 || e.columns > 0) && !e.inner
}

// pairs reports whether it is a function, or a distance, of two relations.
func (e *operand) pairs() bool {
	return e.columns > 1 && e.relation >= 0 && e.second >= 0 && (e.call >= 0 || e.apart)
}

// quotedAlone reports whether it is one name in double quotes.
func (e *operand) quotedAlone(r *Reader) bool {
	return e.single() && r.kindAt(e.from) == quoted && r.text[r.tokens[e.from].start] == '"'
}

// scanAll searches tokens for queries and calls only.
func (r *Reader) scanAll(i, j int) { r.scan(i, j, nil) }

// scan searches the tokens from i to j, and reads the queries among them. b is the block of
// their columns; nil if that does not matter.
func (r *Reader) scan(i, j int, b *block) (e operand) {
	r.scanTo(&e, i, j, b)
	return e
}

// scanTo is scan for an existing operand, which is large.
func (r *Reader) scanTo(e *operand, i, j int, b *block) {
	*e = operand{from: i, to: j, column: -1, qualifier: -1, relation: unknownRelation, second: outerRelation, call: -1, regex: -1, random: -1}
	j = min(j, len(r.tokens))
	if j == i+1 && r.scanOne(e, b) {
		return
	}
	plain := true
	after := false // a value has just ended
	for k := i; k < j; {
		r.steps++
		t := &r.tokens[k]
		switch t.kind {
		case openParen:
			if r.holdsQuery(k) {
				s := r.query(k+1, r.skip(k)-1, false)
				if b != nil && !s.fixed {
					b.vague = true
					if !s.unasked {
						b.named++
					}
				}
				r.every, r.item = s.every, s.item
				e.query, plain, after = true, false, true
				k = r.skip(k)
				continue
			}
			after = false
		case closeParen:
			after = true
		case closeBrack:
			after, plain = true, false
		case comma:
			after = false
		case text, number, param:
			e.value, plain, after = true, false, true
			if t.kind == param && b != nil && !r.system(t) {
				b.named++
			}
		case operator:
			plain = false
			switch t.word {
			case oCast:
				k = r.typeName(k+1, j)
				after = true
				continue
			case oLike:
				r.likeWithin(e, k, j, b)
			case oOther, oHolds:
				e.apart = e.apart || t.end-t.start > 1
			}
			after = t.word == oStar && !after
		case bare, quoted:
			var p bool
			k, after, p = r.scanWord(e, k, j, after, b)
			plain = plain && p
			continue
		case openBrack, dot, semicolon, atEnd:
			plain, after = false, false
		}
		k++
	}
	e.bare = plain && e.columns > 0
}

// scanOne handles a value of one token, the usual case. It returns false for unusual
// tokens.
func (r *Reader) scanOne(e *operand, b *block) bool {
	t := &r.tokens[e.from]
	switch {
	case t.kind == text, t.kind == number:
		e.value = true
	case t.kind == param:
		e.value = true
		if b != nil && !r.system(t) {
			b.named++
		}
	case t.kind == quoted, t.kind == bare && t.word == none:
		r.column(e, -1, e.from, b)
		e.bare = true
	default:
		return false
	}
	r.steps++
	return true
}

// system reports whether a token is a variable of the server, as @@version.
func (r *Reader) system(t *token) bool {
	return t.end-t.start > 2 && r.text[t.start] == '@' && r.text[t.start+1] == '@'
}

// scanWord reads a word within a value: a column, a call, or a word that belongs to the
// previous value. It returns the next position, whether a value has ended, and whether the
// whole may still be a bare column.
func (r *Reader) scanWord(e *operand, k, j int, after bool, b *block) (next int, ended, plain bool) {
	t := &r.tokens[k]
	switch t.word {
	case none:
	case wIn:
		if r.depth > 0 && r.kindAt(k+1) == openParen && !r.holdsQuery(k+1) {
			if n := r.list(k+2, r.skip(k+1)-1); n > 1 {
				r.measureList(b, float64(n), k, "IN")
			}
		}
		return k + 1, false, false
	case wLike, wSimilar:
		r.likeWithin(e, k, j, b)
		return k + 1, false, false
	case wNull, wTrue, wFalse, wNow:
		e.value = true
		return k + 1, true, false
	case wCollate:
		next = k + 2
		for next+1 < j && r.kindAt(next) == dot {
			next += 2
		}
		return next, true, true
	case wAs:
		return r.typeName(k+1, j), true, false
	case wOver:
		if r.kindAt(k+1) == openParen {
			r.scanAll(k+2, r.skip(k+1)-1)
			return r.skip(k + 1), true, false
		}
		return k + 1, true, false
	case wOuter: // LEFT('abc', 2)
		if r.kindAt(k+1) == openParen {
			r.note(e, k)
		}
		return k + 1, false, false
	case wInsert, wReplace:
		if r.kindAt(k+1) == openParen {
			r.note(e, k)
			return k + 1, false, false
		}
	default:
		if !t.word.names() || after || r.kindAt(k+1) != dot && r.operandFollows(k+1) {
			return k + 1, false, false
		}
	}
	first, last := k, k
	for last+2 < len(r.tokens) && r.tokens[last+1].kind == dot && (r.tokens[last+2].kind == bare || r.tokens[last+2].kind == quoted) {
		first, last = last, last+2
	}
	switch {
	case last+1 < j && r.tokens[last+1].kind == openParen && !after:
		r.note(e, last)
		return last + 1, false, false
	case after: // a type, a unit, an alias
		return last + 1, true, false
	case r.tokens[last].kind == quoted && last+3 < j && r.tokens[last+2].kind == text && r.escaped(last) && r.wordIs(last+1, "uescape"):
		if r.kindAt(last+3) == openParen {
			r.denied(last, "a function whose name is in escapes")
		}
		return last + 3, true, false
	case last+1 < j && r.tokens[last+1].kind == text: // DATE '2026-01-01'
		return last + 1, false, false
	case r.wordAt(last+1) == wFrom && last+1 < j && r.wordIs(first-2, "extract", "trim"): // EXTRACT(minute FROM …)
		return last + 2, false, false
	}
	if last == first {
		first = -1
	}
	r.column(e, first, last, b)
	return last + 1, true, true
}

// operandFollows reports whether a value begins at k, so that the previous word is not a
// column.
func (r *Reader) operandFollows(k int) bool {
	switch t := r.tok(k); t.kind {
	case bare:
		return t.word == none
	case quoted, text, number, param, openParen, openBrack:
		return true
	default:
		return false
	}
}

func (r *Reader) column(e *operand, qualifier, column int, b *block) {
	e.columns++
	rel := unknownRelation
	if b != nil {
		b.named++
		rel = r.relationOf(b, qualifier)
		if rel == unknownRelation {
			rel = r.wholeRow(b, column)
		}
		switch rel {
		case outerRelation:
			r.reach(b.base, qualifier)
		case unknownRelation:
			b.vague = true
		default:
			r.relations[b.base+rel].named = true
		}
	}
	if rel != outerRelation {
		e.inner = true
	}
	switch {
	case e.columns == 1:
		e.column, e.qualifier, e.relation = column, qualifier, rel
	case e.second == outerRelation && (rel != e.relation || rel == unknownRelation):
		e.second = rel
	}
}

// wholeRow returns the relation that a column names as a whole, as in
// jsonb_array_elements(…) AS item WHERE item->>'a'.
func (r *Reader) wholeRow(b *block, column int) int {
	h := r.hash(column)
	for i, rel := range r.relations[b.base:] {
		if rel.derived && rel.alias == h {
			return i
		}
	}
	return unknownRelation
}

// connect records that a condition is about all relations of two operands.
func (r *Reader) connect(b *block, x, y *operand) {
	have := false
	last, column := 0, -1
	for _, e := range [...]*operand{x, y} {
		if e.columns == 0 {
			continue
		}
		for n, rel := range [...]int{e.relation, e.second} {
			if rel == outerRelation || n == 1 && e.columns < 2 {
				continue
			}
			at := -1
			if n == 0 {
				at = e.column
			}
			if have {
				r.linkBy(b, last, rel, column, at)
			}
			have, last, column = true, rel, at
		}
	}
}

// typeName skips the name of a type, or an alias, with its brackets.
func (r *Reader) typeName(k, j int) int {
	if k < j && (r.kindAt(k) == bare || r.kindAt(k) == quoted || r.kindAt(k) == text) {
		k++
	}
	for k+1 < j && r.kindAt(k) == dot {
		k += 2
	}
	for k < j && r.wordIs(k, "varying", "precision", "integer", "unsigned", "zone", "time") || k < j && r.wordAt(k) == wWith && r.wordIs(k+1, "time") {
		k++
	}
	for k < j && (r.kindAt(k) == openParen && !r.holdsQuery(k) || r.kindAt(k) == openBrack) {
		k = r.skip(k)
	}
	return min(k, j)
}
