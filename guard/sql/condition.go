package sql

// truth is the value of a condition for all rows.
type truth uint8

const (
	depends truth = iota
	always
	never
)

func (t truth) not() truth {
	switch t {
	case always:
		return never
	case never:
		return always
	default:
		return depends
	}
}

func truthOf(is bool) truth {
	if is {
		return always
	}
	return never
}

// verdict is the effect of a condition.
type verdict struct {
	truth   truth
	selects bool // an index can find the rows
	chosen  bool // by an equality
	joins   bool // columns of two tables are equal
}

// condition reads a boolean expression. on means that it belongs to a join.
func (r *Reader) condition(b *block, i, j int, on bool) verdict {
	for r.kindAt(i) == openParen && r.skip(i) == j && !r.holdsQuery(i) {
		i, j = i+1, j-1
	}
	if !r.enter(i) {
		return verdict{}
	}
	var v verdict
	if or := r.or(i, j); or < j {
		v = r.alternatives(b, i, j, or, on)
	} else {
		v = r.conjunction(b, i, j, on)
	}
	r.levels--
	return v
}

// find returns the first such word at this level, or j.
func (r *Reader) find(i, j int, w word) int {
	for i < j && r.tokens[i].word != w {
		i = r.skip(i)
	}
	return min(i, j)
}

// or returns the first OR at this level, or j. In MySQL || is also an OR, unless it is used
// like in other servers: after LIKE it concatenates texts.
func (r *Reader) or(i, j int) int {
	if !r.ors {
		return j
	}
	if r.dialect.kind != mysql {
		return r.find(i, j, wOr)
	}
	texts := false
	for ; i < j; i = r.skip(i) {
		switch r.tokens[i].word {
		case wOr:
			return i
		case oConcat:
			if !texts {
				return i
			}
		case wLike:
			texts = true
		case wAnd:
			texts = false
		}
	}
	return j
}

// conjunction reads a AND b AND c.
func (r *Reader) conjunction(b *block, i, j int, on bool) verdict {
	v := verdict{truth: always}
	between := 0
	for from, k := i, i; from < j; {
		for k < j {
			w := r.tokens[k].word
			if w == wBetween {
				between++
			}
			if w == wAnd && between > 0 {
				between--
			} else if w == wAnd || w == oHolds && r.dialect.kind == mysql {
				break
			}
			k = r.skip(k)
		}
		k = min(k, j)
		f := verdict{truth: always} // text that only some servers execute does not count
		if r.conditional(from) {
			r.scanAll(from, k)
		} else {
			f = r.factor(b, from, k, on)
		}
		v.selects, v.chosen, v.joins = v.selects || f.selects, v.chosen || f.chosen, v.joins || f.joins
		switch {
		case f.truth == never:
			v.truth = never
		case f.truth == depends && v.truth == always:
			v.truth = depends
		}
		k++
		from = k
	}
	if i >= j {
		v.truth = depends
	}
	return v
}

// conditional reports whether token i is in a comment that only some servers execute, in a
// statement that is not.
func (r *Reader) conditional(i int) bool { return r.hides && !r.whole && r.tok(i).hidden }

// factor reads NOT, brackets, or one comparison.
func (r *Reader) factor(b *block, i, j int, on bool) verdict {
	not := false
	for i < j && (r.wordAt(i) == wNot || r.kindAt(i) == operator && r.text[r.tokens[i].start] == '!' && r.tokens[i].end == r.tokens[i].start+1) {
		not, i = !not, i+1
	}
	grouped := r.kindAt(i) == openParen && r.skip(i) == j && !r.holdsQuery(i)
	switch {
	case i >= j:
		return verdict{}
	case not && grouped:
		return r.denies(b, i+1, j-1, on)
	case grouped:
		return r.condition(b, i+1, j-1, on)
	}
	v := r.predicate(b, i, j, on, not)
	if not {
		v = verdict{truth: v.truth.not()}
	}
	return v
}

// denies reads a negated condition: NOT (…).
func (r *Reader) denies(b *block, i, j int, on bool) verdict {
	edges, nulls := len(r.edges), len(r.nulls)
	b.hold++
	b.negative = !b.negative
	v := r.condition(b, i, j, on)
	b.negative = !b.negative
	b.hold--
	r.edges, r.nulls = r.edges[:edges], r.nulls[:nulls]
	return verdict{truth: v.truth.not()}
}
