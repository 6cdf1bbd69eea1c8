package sql

import (
	"bytes"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// maxNestedCalls limits the nesting of repeat(repeat(repeat(…))): a text that needs more of
// them contains a large number anyway.
const maxNestedCalls = 4

// generate measures the rows or bytes that a call generates, and returns their number; 1 if
// it is unknown.
func (r *Reader) generate(k int) float64 {
	n := r.made(k, 0)
	if n <= 1 {
		return 1
	}
	if r.wordIs(k, "generate_series") {
		r.rowsEach *= n
	}
	m := r.add(cost.Generated, n, k, "")
	if r.o.Explain {
		m.Path = r.excerpt(k, k+1) + "()"
		m.Detail = "rows, or bytes of text, according to the arguments"
	}
	return n
}

// connects measures Oracle's CONNECT BY LEVEL <= 1000, which makes rows of none.
func (r *Reader) connects(k, j int) {
	if k < 0 || r.wordAt(k) != wConnect || !r.wordIs(k+2, "level", "rownum") || r.kindAt(k+3) != operator || !(r.text[r.tok(k+3).start] == '<') {
		return
	}
	if n := r.amountOf(span{k + 4, j}); n.known && n.value > 1 {
		m := r.add(cost.Generated, n.value, k, "CONNECT BY")
		if r.o.Explain {
			m.Detail = "rows, according to the bound of its levels"
		}
	}
}

// made returns how much the call at k generates.
func (r *Reader) made(k, depth int) float64 {
	args := [3]span{}
	n := 0
	end := r.skip(k+1) - 1
	for from := k + 2; from < end && n < len(args); n++ {
		to := from
		for to < end && r.kindAt(to) != comma {
			to = r.skip(to)
		}
		args[n] = span{from, to}
		from = to + 1
	}
	switch {
	case n == 0:
		return 0
	case r.wordIs(k, "generate_series"):
		return r.series(args, n)
	case r.wordIs(k, "repeat", "replicate"):
		times := r.amountOf(args[1])
		if n < 2 || !times.known {
			return 0
		}
		return times.value * max(1, r.textLength(args[0], depth))
	case r.wordIs(k, "rpad", "lpad"):
		if length := r.amountOf(args[1]); n > 1 && length.known {
			return length.value
		}
		return 0
	}
	if length := r.amountOf(args[0]); length.known { // SPACE and similar functions
		return length.value
	}
	return 0
}

// textLength returns the length of the text that a call or a string yields.
func (r *Reader) textLength(s span, depth int) float64 {
	t := r.tok(s.from)
	switch {
	case s.to == s.from+1 && t.kind == text:
		return float64(len(inside(r.text[t.start:t.end])))
	case depth < maxNestedCalls && t.kind == bare && r.kindAt(s.from+1) == openParen && r.functionSort(r.text[t.start:t.end]) == makes:
		return r.made(s.from, depth+1)
	}
	return 1
}

// series returns the length of generate_series(from, to, step) for numbers.
func (r *Reader) series(args [3]span, n int) float64 {
	if n < 2 {
		return 0
	}
	from, okFrom := r.arithmetic(args[0])
	to, okTo := r.arithmetic(args[1])
	step, okStep := 1.0, true
	if n > 2 {
		step, okStep = r.arithmetic(args[2])
	}
	if !okTo && okFrom {
		to = r.atMost(args[1])
		okTo = to > 0
	} else if !okFrom && okTo {
		from = -r.atMost(args[0])
		okFrom = from < 0
	}
	switch {
	case !okFrom || !okTo || !okStep || step == 0:
		return 0
	case math.IsInf(from, 0) || math.IsInf(to, 0):
		return math.Inf(1)
	}
	return max(0, math.Floor((to-from)/step)+1)
}

// rounds measures the rounds of FOR n IN from..to.
func (r *Reader) rounds(at int, from, to span) {
	if by := r.find(to.from, to.to, wBy); by < to.to {
		to.to = by
	}
	first, okFirst := r.arithmetic(from)
	last, okLast := r.arithmetic(to)
	if n := math.Abs(last-first) + 1; okFirst && okLast && n > 1 {
		m := r.add(cost.Generated, n, at, "FOR")
		if r.o.Explain {
			m.Detail = "rounds of a loop"
		}
	}
}

// sequence returns the number of rows of a MariaDB sequence table such as seq_1_to_1000 or
// seq_1_to_1000_step_5; 0 for other names.
func (r *Reader) sequence(at int) float64 {
	const prefix, longest = "seq_", 80
	if r.dialect.kind != mysql {
		return 0
	}
	t := r.tok(at)
	name := r.text[t.start:t.end]
	if t.kind == quoted {
		name = inside(name)
	}
	if len(name) > 0 && name[0]|0x20 != 's' || len(name) <= len(prefix) || len(name) > longest || !foldEqual(name[:len(prefix)], prefix) {
		return 0
	}
	first, rest, ok := bytes.Cut(name[len(prefix):], []byte("_to_"))
	if !ok {
		return 0
	}
	last, step, _ := bytes.Cut(rest, []byte("_step_"))
	from, okFrom := parseNumber(first)
	to, okTo := parseNumber(last)
	by, okBy := parseNumber(step)
	if !okFrom || !okTo {
		return 0
	}
	if !okBy || by == 0 {
		by = 1
	}
	n := math.Floor(math.Abs(to-from)/by) + 1
	m := r.add(cost.Generated, n, at, "")
	if r.o.Explain {
		m.Path, m.Detail = r.excerpt(at, at+1), "rows of a sequence"
	}
	return n
}

// product measures series without a join: each row of one is combined with each row of the
// other.
func (r *Reader) product(b *block, at int) {
	series := 0
	for _, rel := range r.relations[b.base:] {
		if rel.made > 1 {
			series++
		}
	}
	if series < 2 {
		return
	}
	rows := r.rowsMade(b)
	m := r.add(cost.Generated, rows, at, "FROM")
	if r.o.Explain {
		m.Detail = "rows of unjoined series, multiplied"
	}
}

// meets measures a series in the SELECT list, which is generated for each row of the FROM.
func (r *Reader) meets(b *block, i int, listed float64) {
	if b.all == 0 || b.where && b.truth == never {
		return
	}
	if rows := r.rowsMade(b); rows > 1 {
		m := r.add(cost.Generated, rows*listed, i, "SELECT")
		if r.o.Explain {
			m.Detail = format("%v rows for each of %v", listed, rows)
		}
	}
	if listed > fewRows && b.all > b.light && !b.key {
		m := r.add(cost.CrossJoin, 2, i, "SELECT")
		m.Target = r.target(b)
		if r.o.Explain {
			m.Detail = format("a table × %v rows of a series", listed)
		}
	}
}

// rowsMade returns the number of rows that the series of a block generate together; 1 if
// unknown.
func (r *Reader) rowsMade(b *block) float64 {
	if b.light == 0 {
		return 1
	}
	var most [maxRelations]float64
	for i, rel := range r.relations[b.base:] {
		root := r.root(b, i)
		most[root] = max(most[root], rel.made)
	}
	rows := 1.0
	for _, n := range most[:len(r.relations)-b.base] {
		rows *= max(n, 1)
	}
	return rows
}

// recurs records how often a counting part of WITH RECURSIVE repeats: until it reaches a
// number, or for ever. A part that reads a table ends with it.
func (r *Reader) recurs(b *block, i int) {
	if b.self == 0 || b.all != 1 || b.self > len(r.named) {
		return
	}
	n := &r.named[b.self-1]
	switch {
	case !math.IsInf(b.below, 1):
		n.made = max(n.made, b.below)
	case !b.where || b.truth == always:
		if r.wordAt(i-1) == wAll || r.grows(i) { // UNION without ALL ends when no new row appears
			n.made = math.Inf(1)
		}
	}
}

// grows reports whether the SELECT at i returns a new value each time: a sum without a
// function around it.
func (r *Reader) grows(i int) bool {
	plus := false
	for k := i + 1; k < len(r.tokens); k++ {
		switch t := r.tokens[k]; {
		case t.word == wFrom:
			return plus
		case t.word == oMinus, t.word == oConcat:
			plus = true
		case t.kind == openParen && r.kindAt(k-1) != quoted && (r.kindAt(k-1) != bare || r.wordAt(k-1) != none): // no call
		case t.kind == operator && t.word != oCast, t.kind == openParen, t.word == wCase:
			return false
		}
	}
	return false
}

// counters measures the recursions among the parts of WITH from mark on. A query that takes
// only its first rows ends them, unless it needs all rows first.
func (r *Reader) counters(mark int, s shape) {
	if !math.IsInf(s.limit, 1) && !s.eager {
		return
	}
	for _, n := range r.named[min(mark, len(r.named)):] {
		if n.made <= 1 {
			continue
		}
		m := r.add(cost.Generated, n.made, n.at, "WITH RECURSIVE")
		if r.o.Explain {
			m.Detail = r.excerpt(n.at, n.at+1) + " counts, and reads no table"
		}
	}
}
