package sql

import "bytes"

// asserts finds the condition in (condition) IS TRUE, 0 = (condition) and so on. says
// reports whether the whole holds if the condition does.
func (r *Reader) asserts(c comparison, i, end, j int) (s span, says, ok bool) {
	if c.word != wIs && c.word != oEqual && c.word != oUnequal {
		return span{}, false, false
	}
	s, value := span{i, end}, c.right
	if r.kindAt(i) != openParen && c.word != wIs {
		s, value = span{c.right, j}, i
		if end != i+1 {
			return span{}, false, false
		}
	} else if j != c.right+1 {
		return span{}, false, false
	}
	if r.kindAt(s.from) != openParen || r.skip(s.from) != s.to || r.holdsQuery(s.from) || r.compare(s.from+1, s.to-1).at < 0 {
		return span{}, false, false
	}
	t := r.literalTruth(value)
	if t == depends || r.wordAt(value) == wNull {
		return span{}, false, false
	}
	return span{s.from + 1, s.to - 1}, (t == always) == (!c.not && c.word != oUnequal), true
}

// oneRow reports whether a query reads nothing and has no condition, as SELECT 1.
func (r *Reader) oneRow(i, j int) bool {
	if r.wordAt(i) != wSelect {
		return false
	}
	for k := i + 1; k < j; k = r.skip(k) {
		switch r.wordAt(k) {
		case wFrom, wWhere, wHaving, wLimit, wOffset, wFetch, wUnion:
			return false
		}
	}
	return true
}

// literalTruth returns the truth of a single value.
func (r *Reader) literalTruth(i int) truth {
	switch r.wordAt(i) {
	case wTrue:
		return always
	case wFalse, wNull:
		return never
	}
	if t := r.tok(i); t.kind == text && (foldEqual(inside(r.text[t.start:t.end]), "true") || foldEqual(inside(r.text[t.start:t.end]), "t")) {
		return always
	}
	if v, ok := r.numberAt(i); ok {
		return truthOf(v != 0)
	}
	return depends
}

// sameConstant compares two constants for equality, or two references to one column.
func (r *Reader) sameConstant(x, y *operand) truth {
	switch {
	case x.columns == 1 && y.columns == 1 && x.bare && y.bare:
		same := x.qualifier < 0 && y.qualifier < 0 || x.relation >= 0 && x.relation == y.relation ||
			x.qualifier >= 0 && y.qualifier >= 0 && r.hash(x.qualifier) == r.hash(y.qualifier)
		if same && r.hash(x.column) == r.hash(y.column) {
			return always
		}
	case x.single() && y.single():
		if a, ok := r.numberAt(x.from); ok {
			if b, ok := r.numberAt(y.from); ok {
				return truthOf(a == b)
			}
		}
		if r.kindAt(x.from) == text && r.kindAt(y.from) == text {
			return truthOf(bytes.Equal(inside(r.bytes(x.from)), inside(r.bytes(y.from))))
		}
		if x.constant() && y.constant() && r.kindAt(x.from) == bare && r.wordAt(x.from) == r.wordAt(y.from) && r.wordAt(x.from) != wNull {
			return always // true = true
		}
	}
	if r.sameExpression(x, y) {
		return always
	}
	if a, ok := r.folded(x); ok {
		if b, ok := r.folded(y); ok {
			return truthOf(a == b)
		}
	}
	return depends
}

func orderedTruth(op []byte, x, y float64) truth {
	switch string(op) {
	case "<":
		return truthOf(x < y)
	case ">":
		return truthOf(x > y)
	case "<=":
		return truthOf(x <= y)
	case ">=":
		return truthOf(x >= y)
	}
	return depends
}

// isTruth reads IS NULL, IS TRUE and the like.
func (r *Reader) isTruth(b *block, c comparison, left, right *operand) verdict {
	if r.wordAt(right.from) == wNull && right.single() {
		if !c.not {
			r.absent(b, left)
		} else if r.numbersRows(b, left) { // keys are never NULL
			return verdict{truth: always}
		}
	}
	if !left.constant() || !left.single() || !right.single() {
		return verdict{}
	}
	t := depends
	isNull := r.wordAt(left.from) == wNull
	switch r.wordAt(right.from) {
	case wNull:
		if r.kindAt(left.from) != param {
			t = truthOf(isNull)
		}
	case wTrue:
		t = r.literalTruth(left.from)
	case wFalse:
		t = r.literalTruth(left.from).not()
	}
	if c.not {
		t = t.not()
	}
	return verdict{truth: t}
}
