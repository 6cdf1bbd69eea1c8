package sql

import (
	"math"
	"slices"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// shape describes the result of a query.
type shape struct {
	limit   float64 // maximum number of rows, as far as the text says; otherwise unbounded
	rows    float64 // rows that it generates, as far as known
	docs    float64 // rows of the table that it reads completely, according to hints
	at      int     // token of its FROM
	every   uint64  // hash of the table of which it returns a column of every row
	item    uint64  // hash of that column
	single  bool    // at most one row
	fixed   bool    // reads no table: its rows are in the text
	groups  bool    // its rows are groups
	values  bool    // its rows are distinct values of columns
	light   bool    // reads only functions, lists and derived tables of those
	narrow  bool    // an index can find the rows that it reads
	eager   bool    // its first row requires all rows that it reads
	unasked bool    // no condition restricts it: it is the same for each row around it
	whole   bool    // reads a table without a condition, and returns its rows
}

func unlimited() shape { return shape{limit: math.Inf(1)} }

// both returns the shape of a set operation on two queries.
func (s shape) both(o shape) shape {
	s.limit += o.limit
	s.every, s.unasked = 0, false
	s.single, s.groups, s.values = false, s.groups && o.groups, s.values && o.values
	s.light, s.narrow = s.light && o.light, s.narrow && o.narrow
	s.rows += o.rows
	s.fixed, s.eager = s.fixed && o.fixed, s.eager || o.eager
	if o.whole && (!s.whole || o.docs > s.docs) {
		s.at = o.at
	}
	s.whole = s.whole || o.whole
	s.docs += o.docs
	return s
}

// enter limits the stack depth, because some chains need no brackets.
func (r *Reader) enter(i int) bool {
	if r.levels > 2*r.o.MaxDepth+8 {
		r.fail(cost.BodyDepth, "nested too deep", int(r.tok(i).start))
		return false
	}
	r.levels++
	return true
}

// query reads a query with its content. top means that its rows go to the caller.
func (r *Reader) query(i, j int, top bool) shape {
	if !r.enter(i) {
		return unlimited()
	}
	var s shape
	r.arms(&s, i, j, top)
	r.levels--
	return s
}

// arms reads the parts of a set operation, usually one, and the parts after it: ORDER BY,
// LIMIT and so on.
func (r *Reader) arms(s *shape, i, j int, top bool) {
	mark := len(r.out)
	first, seenFrom := true, false
	n := 0
	arm := func(from, to int) {
		n++
		if first {
			first = false
			r.arm(s, from, to)
			return
		}
		var other shape
		r.arm(&other, from, to)
		*s = s.both(other)
	}
	if r.wordAt(i) == wWith {
		*s = r.with(i, j, top)
		return
	}
	start, k := i, i
	if r.seen&parts == 0 {
		k = j
	}
	for k < j {
		w := r.tokens[k].word
		if w == wFrom {
			seenFrom = true
		}
		if w == wUnion && r.setOperation(k, start) {
			arm(start, k)
			for k++; r.wordAt(k) == wAll || r.wordAt(k) == wDistinct; k++ {
			}
			start, seenFrom = k, false
			continue
		}
		if w.tails() && k > start && r.tailAt(k, seenFrom) {
			break
		}
		k = r.skip(k)
	}
	arm(start, min(k, j))
	if n > manyAlternatives && !(s.fixed && i == r.inserted) {
		m := r.add(cost.InList, float64(n), i, "UNION")
		if r.o.Explain {
			m.Detail = "queries in one UNION"
		}
	}
	r.tail(k, j, i, mark, s, top)
}

// setOperation reports whether the word at k combines two queries: a column may be called
// minus, and * EXCEPT (a, b) excludes columns.
func (r *Reader) setOperation(k, start int) bool {
	if k == start {
		return false
	}
	n := k + 1
	for r.wordAt(n) == wAll || r.wordAt(n) == wDistinct {
		n++
	}
	switch w := r.wordAt(n); {
	case w == wSelect, w == wValues, w == wTable, w == wWith, w == wFrom:
		return true
	case r.kindAt(n) == openParen:
		return r.holdsQuery(n)
	}
	return false
}

// holdsQuery reports whether the bracket at i is around a query.
func (r *Reader) holdsQuery(i int) bool {
	for r.kindAt(i) == openParen {
		in := i + 1
		if r.kindAt(in) != openParen {
			return r.beginsQuery(in)
		}
		if next := r.skip(in); next != r.skip(i)-1 && !r.goesOn(next) {
			return false // ((SELECT …) + 1), or ((SELECT …) a JOIN b)
		}
		i = in
	}
	return false
}

func (r *Reader) beginsQuery(i int) bool {
	switch r.wordAt(i) {
	case wSelect, wWith:
		return true
	case wValues, wTable:
		return r.kindAt(i+1) != closeParen && r.kindAt(i+1) != comma && r.kindAt(i+1) != operator
	case wFrom:
		return r.kindAt(i+1) == bare || r.kindAt(i+1) == quoted
	default:
		return false
	}
}

// goesOn reports whether a query in brackets may go on with token i.
func (r *Reader) goesOn(i int) bool {
	switch r.wordAt(i) {
	case wUnion, wOrder, wLimit, wOffset, wFetch, wFor:
		return true
	default:
		return false
	}
}

// arm reads one query without the parts after it.
func (r *Reader) arm(s *shape, i, j int) {
	*s = unlimited()
	switch w := r.wordAt(i); {
	case i >= j:
		r.unreadable(i, "expected a query")
	case r.kindAt(i) == openParen && r.skip(i) == j:
		*s = r.query(i+1, j-1, false)
	case w == wSelect, w == wFrom:
		r.selectBlock(s, i, j)
	case w == wValues:
		r.valuesList(i, j)
		s.fixed, s.light = true, true
	case w == wTable:
		r.tableBlock(s, i, j)
	default:
		r.scanAll(i, j)
		r.unreadable(i, "unknown kind of query")
	}
}

// valuesList counts the rows of VALUES.
func (r *Reader) valuesList(i, j int) {
	rows := 0
	for k := i + 1; k < j; k = r.skip(k) {
		if r.kindAt(k) == openParen {
			rows++
		}
	}
	r.scanAll(i+1, j)
	if rows > 1 {
		m := r.add(cost.InList, float64(rows), i, "VALUES")
		if r.o.Explain {
			m.Detail = "rows of VALUES"
		}
	}
}

type named struct {
	hash  uint64
	shape shape
	open  bool    // it is being read
	own   bool    // it reads itself
	made  float64 // rows that it counts up to
	at    int     // token of its name
}

// with reads the parts of WITH, and then the statement that uses them.
func (r *Reader) with(i, j int, top bool) shape {
	if !r.enter(i) {
		return unlimited()
	}
	mark := len(r.named)
	k := i + 1
	recursive := r.wordAt(k) == wRecursive && r.kindAt(k+1) != openParen && r.wordAt(k+1) != wAs
	if recursive {
		k++
	}
	ok := true
	for ok && k < j {
		if k, ok = r.withPart(k, j, recursive); !ok || r.kindAt(k) != comma {
			break
		}
		k++
	}
	s := unlimited()
	if ok && k < j {
		r.top = top
		s = r.runIn(k, j)
	}
	r.counters(mark, s)
	r.named = r.named[:min(mark, len(r.named))]
	r.levels--
	return s
}

// withPart reads name (columns) AS (statement), and returns the position after it.
func (r *Reader) withPart(k, j int, recursive bool) (int, bool) {
	name := k
	k++
	if r.kindAt(k) == openParen {
		k = r.skip(k)
	}
	if r.wordAt(k) != wAs {
		r.scanAll(k, j)
		r.unreadable(k, "expected AS after the name of a part of WITH")
		return k, false
	}
	for k++; r.wordAt(k) == wNot || r.wordIs(k, "materialized"); k++ {
	}
	if r.kindAt(k) != openParen || r.skip(k) > j {
		r.scanAll(k, j)
		r.unreadable(k, "expected a query after AS")
		return k, false
	}
	at := -1
	if len(r.named) < maxNamed {
		at = len(r.named)
		r.named = append(r.named, named{hash: r.hash(name), shape: unlimited(), open: recursive, at: name})
		if !recursive {
			r.named[at].hash = 0 // it is visible only after its end
		}
	}
	s := r.runIn(k+1, r.skip(k)-1)
	if at >= 0 {
		n := &r.named[at]
		if n.own {
			m := r.add(cost.Recursive, 1, name, "WITH RECURSIVE")
			if r.o.Explain {
				m.Detail = r.excerpt(name, name+1) + " reads itself"
			}
		}
		if !math.IsInf(s.limit, 1) {
			n.made = 0 // it has its own LIMIT
		}
		s.rows = max(s.rows, n.made)
		n.hash, n.shape, n.open = r.hash(name), s, false
	}
	k = r.skip(k)
	for k < j && r.kindAt(k) != comma && r.kindAt(k) != openParen && !r.beginsPart(k) { // SEARCH, CYCLE
		k = r.skip(k)
	}
	return k, true
}

func (r *Reader) beginsPart(k int) bool {
	switch r.wordAt(k) {
	case wSelect, wInsert, wReplace, wUpdate, wDelete, wMerge, wValues, wTable, wWith, wFrom:
		return true
	default:
		return false
	}
}

// runIn reads a statement inside another: a query, or one that writes.
func (r *Reader) runIn(i, j int) shape {
	top := r.top
	switch w := r.wordAt(i); {
	case w == wSelect, w == wValues, w == wFrom, w == wTable, r.kindAt(i) == openParen:
		r.top = false
		return r.query(i, j, top)
	case w == wWith:
		r.top = false
		return r.with(i, j, top)
	}
	s := unlimited()
	if r.enter(i) {
		if w := r.wordAt(i); w == wInsert || w == wReplace {
			r.top = false
			s = r.insert(i, j)
		} else {
			r.run(i, j)
		}
		r.levels--
	}
	return s
}

// lookup returns the index of the part of WITH that a table name refers to; negative for a
// table.
func (r *Reader) lookup(name int) int {
	if len(r.named) == 0 {
		return -1
	}
	h := r.hash(name)
	for i, n := range slices.Backward(r.named) {
		if n.hash == h {
			return i
		}
	}
	return -1
}

// hash returns the hash of an unquoted name in lower case.
func (r *Reader) hash(i int) uint64 {
	t := r.tok(i)
	b := r.text[t.start:t.end]
	if t.kind == quoted || t.kind == text {
		b = inside(b)
	}
	h := uint64(14695981039346656037)
	for _, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h | 1 // 0 means no name
}
