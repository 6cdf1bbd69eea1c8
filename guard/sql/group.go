package sql

import (
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const (
	defaultCardinality = 100_000
	defaultDateSpan    = 1826 * 24 * time.Hour
)

func orFloat(v, otherwise float64) float64 {
	if v <= 0 {
		return otherwise
	}
	return v
}

// groups is the number of groups of some expressions. Bounds from hints and functions are
// multiplied. Of assumed bounds only the largest counts, because columns depend on each
// other.
type groups struct {
	known, assumed float64
	columns        [maxGroups]uint64 // columns that were counted
	seen           int               // number of these
	n              int               // number of expressions
	text           []byte            // the calculation, for Explain
}

func (r *Reader) group(b *block, c *clauses, items int) {
	i, j := c.group+2, c.after(c.group)
	r.scanAll(i, j)
	g := groups{known: 1}
	r.groupList(&g, b, i, j, items)
	r.measureGroups(&g, b, c.group, "GROUP BY")
}

// distinct measures SELECT DISTINCT, which groups by all selected expressions.
func (r *Reader) distinct(b *block, at, items int) {
	g := groups{known: 1}
	for _, s := range r.items[items:] {
		r.groupItem(&g, b, s)
	}
	r.measureGroups(&g, b, at, "DISTINCT")
}

// groupList reads the members of GROUP BY, and of ROLLUP and the like in it.
func (r *Reader) groupList(g *groups, b *block, i, j, items int) {
	for from := i; from < j && g.n < maxGroups; {
		to := from
		for to < j && r.kindAt(to) != comma && !(r.wordAt(to) == wWith && r.wordIs(to+1, "rollup", "cube", "totals")) {
			to = r.skip(to)
		}
		to = min(to, j)
		s := span{from, to}
		switch {
		case from >= to:
		case r.wordIs(from, "rollup", "cube") && r.kindAt(from+1) == openParen:
			r.groupList(g, b, from+2, r.skip(from+1)-1, items)
		case r.wordIs(from, "grouping") && r.kindAt(from+2) == openParen:
			r.groupList(g, b, from+3, r.skip(from+2)-1, items)
		case r.kindAt(from) == openParen && r.skip(from) == to:
			if !r.holdsQuery(from) {
				r.groupList(g, b, from+1, to-1, items)
			}
		default:
			r.groupItem(g, b, r.named1(b, s, items))
		}
		from = to + 1
	}
}

// named1 returns the expression for a member of GROUP BY: a position or an alias refers to
// the SELECT list.
func (r *Reader) named1(b *block, s span, items int) span {
	if s.to != s.from+1 {
		return s
	}
	list := r.items[items:]
	switch t := r.tok(s.from); t.kind {
	case number:
		if n, ok := r.numberAt(s.from); ok && n >= 1 && int(n) <= len(list) {
			return r.withoutAlias(list[int(n)-1])
		}
	case bare, quoted:
		if _, ok := r.fieldHint(b, s.from, r.relationOf(b, -1)); ok {
			return s
		}
		h := r.hash(s.from)
		for _, item := range list {
			if e := r.withoutAlias(item); e.to < item.to && r.hash(item.to-1) == h {
				return e
			}
		}
	}
	return s
}

// withoutAlias returns an expression of a SELECT list without AS name.
func (r *Reader) withoutAlias(s span) span {
	last := r.tok(s.to - 1)
	if s.to-s.from < 2 || last.kind != bare && last.kind != quoted && last.kind != text {
		return s
	}
	switch prev := r.tok(s.to - 2); {
	case prev.word == wAs:
		return span{s.from, s.to - 2}
	case prev.kind.operand() && last.word == none:
		return span{s.from, s.to - 1}
	}
	return s
}

// groupItem multiplies by the number of groups of one expression.
func (r *Reader) groupItem(g *groups, b *block, s span) {
	g.n++
	if n, ok := r.bucketed(s); ok {
		g.multiply(r, n, s, true)
		return
	}
	for k := s.from; k < s.to; k++ {
		t := r.tok(k)
		switch {
		case t.kind == openParen && (r.holdsQuery(k) || r.wordAt(k-1) == wOver):
			k = r.skip(k) - 1
			continue
		case t.kind != bare && t.kind != quoted, t.kind == bare && !t.word.names(), r.wordAt(k-1) == oCast, r.wordAt(k-1) == wAs,
			r.kindAt(k+1) == openParen, r.kindAt(k+1) == text, k > s.from && r.kindAt(k-1).operand() && !r.separates(k-1):
			continue
		}
		qualifier := -1
		for r.kindAt(k+1) == dot && k+2 < s.to {
			qualifier, k = k, k+2
		}
		r.groupColumn(g, b, qualifier, k)
	}
}

// separates reports whether a word stands between two values.
func (r *Reader) separates(k int) bool {
	t := r.tok(k)
	return t.kind == bare && t.word != none && !t.word.names()
}

func (r *Reader) groupColumn(g *groups, b *block, qualifier, k int) {
	h := r.hash(k)
	if g.seen == maxGroups || slices.Contains(g.columns[:g.seen], h) {
		return // already counted: ClientIP, ClientIP - 1
	}
	g.columns[g.seen] = h
	g.seen++
	hint, ok := r.fieldHint(b, k, r.relationOf(b, qualifier))
	if ok && hint.Cardinality > 0 {
		g.multiply(r, hint.Cardinality, span{k, k + 1}, true)
		return
	}
	g.multiply(r, orFloat(r.o.Defaults.Cardinality, defaultCardinality), span{k, k + 1}, false)
}

func (g *groups) multiply(r *Reader, n float64, s span, known bool) {
	sign, which := " × ", ""
	if known {
		g.known *= max(n, 1)
	} else {
		g.assumed, sign, which = max(g.assumed, n), " or ", "assumed "
	}
	if r.o.Explain {
		if len(g.text) > 0 {
			g.text = append(g.text, sign...)
		}
		g.text = append(g.text, format("%s%v (%s)", which, n, r.excerpt(s.from, s.to))...)
	}
}

func (r *Reader) measureGroups(g *groups, b *block, at int, path string) {
	if g.n == 0 || b.all == 0 {
		return
	}
	value := max(g.known, g.assumed)
	why := ""
	docs := r.docs(b)
	switch {
	case docs > 0 && docs*b.share < value:
		value, why = max(1, docs*b.share), "; at most as many groups as remaining rows"
	case docs == 0 && b.chosen:
		if left := orFloat(r.o.Defaults.Cardinality, defaultCardinality); left < value {
			value, why = left, "; only rows that an equality selects"
		}
	}
	m := r.add(cost.GroupCardinality, value, at, path)
	m.Target = r.target(b)
	if r.o.Explain {
		m.Detail = string(g.text) + why
	}
}

// bucketed returns the number of values of a date function, whatever the date.
func (r *Reader) bucketed(s span) (float64, bool) {
	if r.kindAt(s.from+1) != openParen || r.skip(s.from+1) != s.to {
		return 0, false
	}
	unit := s.from
	if r.wordIs(s.from, "extract", "date_part") {
		unit = s.from + 2
	}
	for _, u := range units() {
		if r.wordIs(unit, u.name) || r.kindAt(unit) == text && foldEqual(inside(r.bytes(unit)), u.name) {
			return u.values, true
		}
	}
	if r.wordIs(s.from, "date_trunc", "datetrunc", "date", "to_date", "last_day", "year", "yearweek") {
		unit, first := "day", s.from+2
		if r.wordIs(s.from, "date_trunc", "datetrunc") {
			if r.kindAt(first) == text {
				unit = string(inside(r.bytes(first)))
			}
		}
		return r.truncated(unit)
	}
	return 0, false
}

type unit struct {
	name   string
	values float64
}

func units() [16]unit {
	return [...]unit{
		{"second", 60},
		{"minute", 60},
		{"hour", 24},
		{"day", 31},
		{"dayofmonth", 31},
		{"dow", 7},
		{"isodow", 7},
		{"dayofweek", 7},
		{"weekday", 7},
		{"doy", 366},
		{"dayofyear", 366},
		{"week", 53},
		{"weekofyear", 53},
		{"month", 12},
		{"quarter", 4},
		{"monthname", 12},
	}
}

// truncated returns the number of days, hours … in the assumed span of dates. Finer units
// are limited only by the rows.
func (r *Reader) truncated(u string) (float64, bool) {
	span := r.o.Defaults.DateSpan
	if span <= 0 {
		span = defaultDateSpan
	}
	width := 24 * time.Hour
	switch {
	case oneOf(u, "hour"):
		width = time.Hour
	case oneOf(u, "week"):
		width *= 7
	case oneOf(u, "month"):
		width *= 30
	case oneOf(u, "quarter"):
		width *= 91
	case oneOf(u, "year"):
		width *= 365
	case !oneOf(u, "day"):
		return 0, false
	}
	return float64(span / width), true
}

// fieldHint returns the hint for a column. Without an alias, the column may belong to any
// table of the block.
func (r *Reader) fieldHint(b *block, column, relation int) (cost.FieldHint, bool) {
	if r.o.Hints == nil || b == nil {
		return cost.FieldHint{}, false
	}
	name := r.nameOf(column)
	list := r.relations[b.base:]
	if relation >= 0 && relation < len(list) {
		list = list[relation : relation+1]
	} else if relation == outerRelation {
		return cost.FieldHint{}, false
	}
	const most = 8
	for _, rel := range list[:min(len(list), most)] {
		if rel.derived && rel.name == 0 {
			continue
		}
		if h, ok := r.o.Hints.Field(r.nameOf(rel.at), name); ok {
			return h, true
		}
	}
	return cost.FieldHint{}, false
}
