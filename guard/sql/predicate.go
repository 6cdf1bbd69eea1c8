package sql

import "github.com/bezoar-dev/bezoar/guard/cost"

// comparison is the operator of a predicate.
type comparison struct {
	at, right int // the operator, and the start of its right side
	word      word
	not       bool
}

// compare finds the operator at this level: the first one that compares.
func (r *Reader) compare(i, j int) comparison {
	found := comparison{at: -1}
	for k := i; k < j; k = r.skip(k) {
		switch w := r.tokens[k].word; w {
		case oEqual, oUnequal, oOrdered, oLike:
			return comparison{k, k + 1, w, r.text[r.tokens[k].start] == '!'}
		case oRegex:
			if k > i { // at the start it is a complement
				return comparison{k, k + 1, w, r.text[r.tokens[k].start] == '!'}
			}
		case wLike, wGlob, wRegexp, wIn, wBetween:
			if k > i && !(w == wRegexp && r.kindAt(k+1) == openParen && r.kindAt(k-1) == operator) {
				return comparison{k, k + 1, w, r.wordAt(k-1) == wNot}
			}
		case wSimilar:
			if r.wordAt(k+1) == wTo {
				return comparison{k, k + 2, w, r.wordAt(k-1) == wNot}
			}
		case wIs:
			return r.is(k)
		case wAgainst:
			found = comparison{at: k, right: k + 1, word: oHolds}
		case oHolds:
			if found.at < 0 {
				found = comparison{at: k, right: k + 1, word: oHolds}
			}
		}
	}
	return found
}

// is reads IS NOT DISTINCT FROM, which is an equality, and other kinds of IS.
func (r *Reader) is(k int) comparison {
	n := k + 1
	not := r.wordAt(n) == wNot
	if not {
		n++
	}
	if r.wordAt(n) == wDistinct && r.wordAt(n+1) == wFrom {
		w := oUnequal
		if not {
			w = oEqual
		}
		return comparison{k, n + 2, w, false}
	}
	return comparison{k, n, wIs, not}
}

// predicate reads one comparison. negated means that a NOT precedes it.
func (r *Reader) predicate(b *block, i, j int, on, negated bool) verdict {
	c := r.compare(i, j)
	if c.at < 0 {
		return r.flag(b, i, j, negated)
	}
	end := c.at
	if r.wordAt(end-1) == wNot {
		end--
	}
	if s, says, ok := r.asserts(c, i, end, j); ok && says {
		return r.condition(b, s.from, s.to, on)
	} else if ok {
		return r.denies(b, s.from, s.to, on)
	}
	var sides [2]operand
	left, right := &sides[0], &sides[1]
	mark := len(r.reached)
	r.scanTo(left, i, end, b)
	r.scanTo(right, c.right, j, b)
	if len(r.reached) > mark {
		r.correlate(b, mark, negated || c.not || c.word == oUnequal, left, right)
	}
	if left.random >= 0 || right.random >= 0 {
		b.named++ // another value for each row
	}
	switch c.word {
	case oEqual:
		return r.equal(b, left, right, on)
	case oOrdered:
		return r.ordered(b, c, left, right)
	case oUnequal:
		if t := r.keys(b, r.bytes(c.at), left, right); t != depends {
			return verdict{truth: t}
		}
		return verdict{truth: r.sameConstant(left, right).not()}
	case wLike, wSimilar, wGlob, oLike:
		return r.like(b, c, left, right, negated)
	case oRegex, wRegexp:
		return r.regex(b, c, left, right)
	case wIn:
		return r.in(b, c, left, right)
	case wBetween:
		return r.between(b, c, left, right)
	case wIs:
		return r.isTruth(b, c, left, right)
	}
	r.connect(b, left, right)
	return verdict{selects: left.columns+right.columns > 0}
}

// flag reads a condition without a comparison: a column, a call, EXISTS.
func (r *Reader) flag(b *block, i, j int, negated bool) verdict {
	mark := len(r.reached)
	e := r.scan(i, j, b)
	if len(r.reached) > mark {
		r.correlate(b, mark, negated, &e, &operand{})
	}
	if e.random >= 0 {
		b.named++
	}
	switch {
	case r.wordAt(i) == wExists:
		if r.kindAt(i+1) == openParen && r.skip(i+1) == j && r.oneRow(i+2, j-1) {
			return verdict{truth: always}
		}
		return verdict{selects: true}
	case r.kindAt(i) == openParen && r.holdsQuery(i):
		return verdict{}
	case e.constant() && j == i+1:
		return verdict{truth: r.literalTruth(i)}
	case e.constant() && e.call < 0:
		if v, ok := r.arithmetic(span{i, j}); ok {
			return verdict{truth: truthOf(v != 0)}
		}
	case e.regex >= 0:
		r.regexCondition(span{i, j})
	case e.call < 0 && e.relation >= 0 && e.second >= 0: // a.name % b.name, (a.s, a.e) OVERLAPS (b.s, b.e)
		r.connect(b, &e, &operand{})
	case e.call >= 0:
		r.connect(b, &e, &operand{})
		return verdict{selects: r.indexed(e.call) && e.columns > 0}
	}
	return verdict{}
}

// indexed reports whether a function is a condition that an index serves.
func (r *Reader) indexed(call int) bool {
	name := r.bytes(call)
	return len(name) > 3 && (name[0]|0x20 == 's') && (name[1]|0x20 == 't') && name[2] == '_' ||
		r.wordIs(call, "match", "contains", "freetext", "mbrcontains", "mbrwithin", "mbrintersects", "within", "search", "starts_with", "startswith")
}

// ordered reads a < b and similar comparisons.
func (r *Reader) ordered(b *block, c comparison, left, right *operand) verdict {
	if left.constant() && right.constant() {
		return verdict{truth: r.orderedConstants(r.bytes(c.at), left, right)}
	}
	if t := r.keys(b, r.bytes(c.at), left, right); t != depends {
		return verdict{truth: t}
	}
	if left.pairs() || right.pairs() {
		r.connect(b, left, right)
	}
	if left.relation != outerRelation && right.relation != outerRelation && left.columns > 0 && right.columns > 0 {
		r.linkRange(b, left.relation, right.relation)
	}
	if op := r.bytes(c.at); op[len(op)-1] == '=' && r.sameConstant(left, right) == always {
		return verdict{truth: always} // id >= id
	}
	r.wrapped(b, left, right, "an inequality")
	r.bounds(b, c, left, right)
	switch {
	case left.bare && right.outside():
		return verdict{selects: !r.trivial(c, right)}
	case right.bare && left.outside():
		return verdict{selects: true}
	}
	return verdict{}
}

// bounds records an upper bound of a column: the end of a counting recursion.
func (r *Reader) bounds(b *block, c comparison, left, right *operand) {
	less := r.text[r.tokens[c.at].start] == '<'
	limit := right
	if !less {
		limit = left
	}
	if b.hold > 0 || limit.columns > 0 || limit.query || left.columns+right.columns != 1 {
		return
	}
	if v, ok := r.arithmetic(span{limit.from, limit.to}); ok {
		b.below = min(b.below, v)
	}
}

// trivial reports whether nearly every row exceeds a bound: > 0.
func (r *Reader) trivial(c comparison, right *operand) bool {
	v, ok := r.numberAt(right.to - 1)
	if !ok || right.to-right.from > 2 || r.text[r.tokens[c.at].start] != '>' {
		return false
	}
	return v <= 0 || r.wordAt(right.from) == oMinus
}

// wrapped measures a column that a function, arithmetic or a cast hides from its index, if
// the other side allows no lookup either.
func (r *Reader) wrapped(b *block, left, right *operand, sign string) {
	hides := left
	switch {
	case left.columns > 0 && left.inner && !left.bare && !(right.bare && right.inner):
	case right.columns > 0 && right.inner && !right.bare && !(left.bare && left.inner):
		hides = right
	default:
		return
	}
	if hides.aggregate || hides.relation >= 0 && r.relations[b.base+hides.relation].derived {
		return // columns of queries and functions have no index
	}
	r.pending = append(r.pending, measured{
		predictor: cost.NonSargable, at: span{hides.from, hides.to}, value: 1, path: "WHERE",
		why: "no index on the column serves %s of an expression", sign: sign, always: true,
	})
}

func (r *Reader) between(b *block, c comparison, left, right *operand) verdict {
	r.connect(b, left, right)
	r.wrapped(b, left, &operand{value: true, column: -1}, "BETWEEN")
	if b.writes && !c.not && left.bare { // id BETWEEN id AND id
		and, all := r.find(right.from, right.to, wAnd), span{left.from, left.to}
		if r.sameText(all, span{right.from, and}) && r.sameText(all, span{and + 1, right.to}) {
			return verdict{truth: always}
		}
	}
	if left.constant() && right.constant() && !c.not {
		and := r.find(right.from, right.to, wAnd)
		x, okx := r.numberAt(left.from)
		low, okl := r.numberAt(right.from)
		high, okh := r.numberAt(and + 1)
		if okx && okl && okh && left.single() && and == right.from+1 && right.to == and+2 {
			return verdict{truth: truthOf(x >= low && x <= high)}
		}
	}
	return verdict{selects: !c.not && (left.bare && right.outside() || left.outside() && right.columns > 0)}
}
