package sql

import (
	"math"
	"slices"
)

// block is one SELECT, or the tables and the condition of a statement that writes.
type block struct {
	base  int // index of its first relation
	all   int // number of relations, including those beyond maxRelations
	light int // functions, lists and derived tables of those

	selects  bool    // a condition that an index can serve selects rows
	key      bool    // at most one row
	share    float64 // share of the rows that its equalities leave, as far as known
	chosen   bool    // an equality is among them
	joined   bool    // an inner join has a condition
	joining  int     // first relation of the side that is being joined
	loose    int     // equalities between columns that no alias assigns to a table
	writes   bool    // the statement writes
	vague    bool    // a condition names a column without an alias, or contains a query
	hold     int     // inside alternatives: their joins are kept separately
	negative bool    // inside a negated condition
	named    int     // columns, placeholders and queries in conditions
	below    float64 // the least upper bound of a column
	self     int     // number of the part of WITH RECURSIVE that contains it and that it reads, from 1; 0: none

	constant bool // the WHERE has the same value for every row

	never int // token of an unknown part of the FROM, after which no join is called missing; -1
	where bool
	truth truth
}

// clauses holds the positions of the parts of a SELECT; -1: absent.
type clauses struct {
	list, from, where, group, having, window, end int
}

// clausesOf finds the parts of the SELECT in tokens i to j.
func (r *Reader) clausesOf(i, j int) clauses {
	c := clauses{list: i + 1, from: -1, where: -1, group: -1, having: -1, window: -1, end: j}
	if r.wordAt(i) == wFrom {
		c.list = -1
	}
	for k := i; k < j; k = r.skip(k) {
		switch r.tokens[k].word {
		case none:
		case wSelect:
			if c.list < 0 {
				c.list = k + 1
			}
		case wFrom:
			if c.from < 0 && (c.where < 0 || c.list > c.where) && !r.distinctFrom(k) {
				c.from = k
			}
		case wWhere:
			if c.where < 0 {
				c.where = k
			} else if r.wordAt(c.where) == wPrewhere {
				r.tokens[k].word = wAnd
			}
		case wPrewhere: // ClickHouse's; elsewhere it is a name
			if c.where < 0 && c.from >= 0 && r.dialect.kind == generic && k+1 < j && r.name(k+1) && !r.beginsJoin(k+1) && !r.wordAt(k+1).tails() {
				c.where = k
			}
		case wGroup:
			if c.group < 0 && (r.wordAt(k+1) == wBy) {
				c.group = k
			}
		case wHaving:
			if c.having < 0 && k > i {
				c.having = k
			}
		case wOrdinary:
			if c.having < 0 && c.from >= 0 && r.wordIs(k, "start") && r.wordAt(k+1) == wWith { // START WITH … CONNECT BY
				c.having = k + 1
			}
		case wQualify, wConnect:
			if c.having < 0 && c.from >= 0 && (r.wordAt(k) == wQualify && r.kindAt(k+1) != comma && r.kindAt(k+1) != dot || r.wordAt(k+1) == wBy) {
				c.having = k
			}
		case wWindow:
			if c.window < 0 && c.from >= 0 && r.wordAt(k+2) == wAs {
				c.window = k
			}
		}
	}
	return c
}

// distinctFrom reports whether the FROM at k is that of IS DISTINCT FROM.
func (r *Reader) distinctFrom(k int) bool {
	return r.wordAt(k-1) == wDistinct && (r.wordAt(k-2) == wIs || r.wordAt(k-2) == wNot)
}

// after returns the end of the clause that begins at from.
func (c *clauses) after(from int) int {
	end := c.end
	if c.from > from {
		end = c.from
	}
	if c.where > from {
		end = min(end, c.where)
	}
	if c.group > from {
		end = min(end, c.group)
	}
	if c.having > from {
		end = min(end, c.having)
	}
	if c.window > from {
		end = min(end, c.window)
	}
	return end
}

func (r *Reader) selectBlock(s *shape, i, j int) {
	c := r.clausesOf(i, j)
	b := block{base: len(r.relations), share: 1, never: -1, below: math.Inf(1)}
	items, edges, pending, reached := len(r.items), len(r.edges), len(r.pending), len(r.reached)
	r.depth++
	if r.depth-1 > r.deepest.depth {
		r.deepest = nesting{r.depth - 1, i}
	}
	if c.group >= 0 {
		r.reports++
	}
	outside := r.rowsEach
	r.rowsEach = 1
	aggregate, distinct := r.selectList(&c, s)
	listed := r.rowsEach
	r.rowsEach = outside
	if c.from >= 0 {
		r.from(&b, c.from+1, c.after(c.from))
	}
	r.around += b.all
	if c.where >= 0 {
		r.where(&b, c.where, c.after(c.where))
	}
	r.around -= b.all
	if c.having >= 0 {
		r.having(c.having, c.after(c.having))
	}
	if c.window >= 0 {
		r.scanAll(c.window+1, c.after(c.window))
	}
	if b.all == b.light && c.from >= 0 {
		r.connects(c.having, j)
	}
	r.conclude(&b, i, c.from, pending)
	if listed > 1 {
		r.meets(&b, i, listed)
	}
	r.recurs(&b, i)
	if c.group >= 0 {
		r.reports--
	}
	switch {
	case c.group >= 0:
		r.group(&b, &c, items)
	case distinct >= 0 && !aggregate:
		r.distinct(&b, distinct, items)
	}
	r.gives(s, &b, &c, given{items, listed, aggregate, distinct >= 0})
	r.relations, r.items, r.edges = r.relations[:b.base], r.items[:items], r.edges[:edges]
	if len(r.reached) > reached {
		r.outer(reached, b.base)
	}
	r.depth--
}

// given is what is known about a SELECT list.
type given struct {
	items     int     // index of its first expression in Reader.items
	listed    float64 // rows that it generates per row
	aggregate bool
	distinct  bool
}

func (r *Reader) gives(s *shape, b *block, c *clauses, g given) {
	s.fixed, s.groups = b.all == 0, c.group >= 0
	s.values = g.distinct && !r.listsAll(g.items)
	s.light, s.narrow = b.all == b.light, b.selects
	if s.rows = g.listed * r.rowsMade(b); g.aggregate && c.group < 0 || s.rows <= 1 {
		s.rows = 0
	}
	s.eager = g.aggregate || c.group >= 0 || g.distinct
	s.single = s.single || b.all == 0 && !r.makesRows(c) || g.aggregate && c.group < 0 || b.key && b.all == 1
	s.whole = c.from >= 0 && (!b.where || b.truth == always) && !g.aggregate && c.group < 0 && !g.distinct && b.all > 0 && math.IsInf(s.limit, 1)
	s.at, s.docs = c.from, r.docs(b)
	if b.all == 1 && c.group < 0 && c.having < 0 && (!b.where || b.truth == always) {
		r.unasked(b, s, g.items, g.aggregate)
	}
	if s.whole && r.onlyNamed(b) {
		s.whole = false
	}
	if c.group >= 0 || g.aggregate {
		s.limit = min(s.limit, math.MaxFloat64) // the rows are groups, which GroupCardinality counts
	}
}

// unasked sets the shape of a query of one table without a condition.
func (r *Reader) unasked(b *block, s *shape, items int, aggregate bool) {
	rel, list := &r.relations[b.base], r.items[items:]
	if len(list) != 1 || rel.derived && rel.every == 0 {
		return
	}
	item := list[0]
	n := item.to - item.from
	const longest = 4 // tokens of count(*): a longer list may name a column of an enclosing query
	s.unasked = n == 1 || aggregate && n <= longest
	if aggregate || n != 1 && (n != 3 || r.kindAt(item.from+1) != dot) {
		return
	}
	s.every, s.item = rel.name, r.hash(item.to-1)
	if rel.derived {
		s.every = rel.every
	}
}

// makesRows reports whether a SELECT without tables gives more than one row.
func (r *Reader) makesRows(c *clauses) bool { return c.from >= 0 }

// listsAll reports whether a SELECT list, from items on, has a * in it.
func (r *Reader) listsAll(items int) bool {
	return slices.ContainsFunc(r.items[items:], func(s span) bool { return s.to > s.from && r.wordAt(s.to-1) == oStar })
}

// onlyNamed reports whether a block reads only derived tables, which are judged where they
// are written.
func (r *Reader) onlyNamed(b *block) bool {
	return !slices.ContainsFunc(r.relations[b.base:], func(rel relation) bool { return !rel.derived })
}

// selectList reads the part between SELECT and FROM. distinct is the token of DISTINCT, or
// -1.
func (r *Reader) selectList(c *clauses, s *shape) (aggregate bool, distinct int) {
	distinct = -1
	if c.list < 0 {
		return false, -1
	}
	i, end := c.list, c.after(c.list-1)
	for i < end {
		switch w := r.wordAt(i); {
		case w == wDistinct:
			distinct = i
			if r.wordAt(i+1) == wOn && r.kindAt(i+2) == openParen {
				r.scanAll(i+3, r.skip(i+2)-1)
				i = r.skip(i + 2)
				continue
			}
		case w == wAll, w == wIgnorable, w == wStraight, w == none && r.selectOption(i):
		case w == wTop && (r.kindAt(i+1) == number || r.kindAt(i+1) == openParen || r.kindAt(i+1) == param):
			i = r.topRows(i, end, s)
			continue
		default:
			return r.selectItems(i, end), distinct
		}
		i++
	}
	return false, distinct
}

// plain reports whether an expression of one token holds no query and no call.
func (r *Reader) plain(i int) bool {
	t := &r.tokens[i]
	return t.kind != openParen && (t.word == none || t.word == oStar)
}

// selectOption reports whether token i is SQL_NO_CACHE or the like.
func (r *Reader) selectOption(i int) bool {
	const shortest = len("sql_cache")
	t := r.tok(i)
	if t.kind != bare || int(t.end-t.start) < shortest || r.text[t.start]|0x20 != 's' {
		return false
	}
	return r.wordIs(i, "sql_calc_found_rows", "sql_no_cache", "sql_cache", "sql_small_result", "sql_big_result", "sql_buffer_result")
}

// topRows reads TOP n and TOP (n).
func (r *Reader) topRows(i, end int, s *shape) int {
	next := r.skip(i + 1)
	if a := r.amountOf(span{i + 1, next}); a.known && !r.wordIs(next, "percent") {
		s.limit, s.single = a.value, a.value <= 1
	}
	if r.wordIs(next, "percent") {
		next++
	}
	if r.wordAt(next) == wWith && r.wordIs(next+1, "ties") {
		next += 2
	}
	return min(next, end)
}

// selectItems stores the first expressions, which GROUP BY may name. It reports whether the
// whole list is one aggregate.
func (r *Reader) selectItems(i, end int) (aggregate bool) {
	mark := len(r.items)
	for from := i; from < end; {
		to := from
		for to < end && r.kindAt(to) != comma {
			to = r.skip(to)
		}
		to = min(to, end)
		if len(r.items)-mark < maxGroups {
			r.items = append(r.items, span{from, to})
		}
		if to != from+1 || !r.plain(from) {
			e := r.scan(from, to, nil)
			aggregate = aggregate || e.aggregate
		}
		from = to + 1
	}
	return aggregate
}

// tableBlock reads TABLE name.
func (r *Reader) tableBlock(s *shape, i, j int) {
	b := block{base: len(r.relations), share: 1, never: -1, below: math.Inf(1)}
	r.from(&b, i+1, j)
	s.whole, s.at, s.docs = true, i, r.docs(&b)
	if r.onlyNamed(&b) {
		s.whole = false
	}
	r.relations = r.relations[:b.base]
}
