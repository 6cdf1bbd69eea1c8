package sql

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

type relation struct {
	name, alias uint64  // hashes
	at          int     // token of its name
	group       int16   // group of relations that conditions join: the index of another relation, or its own
	free        bool    // reads no table, or one row: joining it costs nothing
	derived     bool    // a query, a function or a part of WITH
	groups      bool    // its rows are groups, or distinct values
	narrow      bool    // a query that an index, or its LIMIT, restricts to few rows
	looked      bool    // a few of its rows are found by a name
	named       bool    // a condition names it
	every       uint64  // for a query: hash of the table of which it returns every row
	ranges      int8    // one-sided conditions that bound it by another relation
	ranged      int16   // that relation
	made        float64 // rows that a function generates, as far as known
}

// fewRows is the number of rows of a table that may be joined with another table, or read
// whole.
const fewRows = 10_000

// standFor copies the shape of the query that a relation stands for.
func (rel *relation) standFor(s shape) {
	rel.derived = true
	rel.made = min(s.rows, s.limit)
	rel.free = (s.single || s.light) && rel.made <= fewRows
	rel.every = s.every
	rel.groups, rel.narrow = s.groups || s.values, s.narrow || s.limit <= fewRows
}

// joinKind is the way a relation joins.
type joinKind uint8

const (
	byComma joinKind = iota
	byInner
	byOuter
	byCross
	byLateral // sees the relations before it
	byArray   // the elements of a column, in ClickHouse
)

// from reads the relations of a FROM with their conditions.
func (r *Reader) from(b *block, i, j int) {
	kind, natural := byComma, false
	for i < j {
		before := i
		joining := len(r.relations) - b.base
		i = r.relation(b, i, j, kind, natural)
		b.joining = joining
		i = r.joinCondition(b, i, j, kind)
		if i < j && i == before {
			i = r.odd(b, i)
		}
		for i < j && r.kindAt(i) != comma && !r.beginsJoin(i) {
			if n := r.joinCondition(b, i, j, kind); n > i {
				i = n
				continue
			}
			i = r.odd(b, i)
		}
		if i >= j {
			return
		}
		listed := kind == byArray && r.kindAt(i) == comma // another column
		i, kind, natural = r.joinWords(i)
		if listed {
			kind = byArray
		}
		if i >= j {
			b.never = i
		}
	}
}

// odd skips an unknown part of a FROM. Joins are not judged after it.
func (r *Reader) odd(b *block, i int) int {
	if b.never < 0 {
		b.never = i
		r.unreadable(i, "unknown part of a FROM: missing joins cannot be judged")
	}
	if r.kindAt(i) == openParen {
		r.scanAll(i, r.skip(i))
	}
	return r.skip(i)
}

// beginsJoin reports whether a JOIN begins at i.
func (r *Reader) beginsJoin(i int) bool {
	switch r.wordAt(i) {
	case wJoin, wStraight:
		return true
	case wInner, wCross, wNatural:
		return true
	case wOuter:
		return r.wordAt(i+1) == wJoin || r.wordAt(i+1) == wOuterWord || r.wordIs(i+1, "semi", "anti", "hash", "merge", "loop", "any", "all", "asof", "array")
	case wArray:
		return r.dialect.kind == generic && r.wordAt(i+1) == wJoin
	case wOuterWord:
		return r.wordAt(i+1) == wApply
	case none:
		return r.kindAt(i) == bare && (r.wordAt(i+1) == wJoin || r.wordAt(i+2) == wJoin) && r.wordIs(i, "semi", "anti", "asof", "global", "any", "hash", "positional")
	}
	return false
}

// joinWords reads LEFT OUTER JOIN and the like.
func (r *Reader) joinWords(i int) (int, joinKind, bool) {
	if r.kindAt(i) == comma {
		return i + 1, byComma, false
	}
	kind, natural := byInner, false
	const most = 5
	for range most {
		w := r.wordAt(i)
		i++
		switch w {
		case wOuter:
			kind = byOuter
		case wCross:
			kind = byCross
		case wNatural:
			natural = true
		case wArray:
			return i + 1, byArray, false
		case wApply:
			return i, byLateral, false
		case wJoin, wStraight:
			return i, kind, natural
		}
	}
	return i, kind, natural
}

// relation reads one member, its alias and the text after it.
func (r *Reader) relation(b *block, i, j int, kind joinKind, natural bool) int {
	for r.wordAt(i) == wOnly && r.kindAt(i+1) != dot || r.wordAt(i) == wLateral || r.wordAt(i) == wIgnorable {
		if r.wordAt(i) == wLateral {
			kind = byLateral
		}
		i++
	}
	if i >= j {
		return i
	}
	rel := relation{at: i}
	switch {
	case r.kindAt(i) == openParen && r.holdsQuery(i):
		s := r.query(i+1, r.skip(i)-1, false)
		rel.standFor(s)
		if s.light {
			b.light++
		}
		if s.whole && kind == byLateral {
			kind = byComma // it does not see the relations before it
		}
		i = r.skip(i)
	case r.wordIs(i, "rows") && r.wordAt(i+1) == wFrom && r.kindAt(i+2) == openParen: // ROWS FROM (f(), g())
		r.scanAll(i+3, r.skip(i+2)-1)
		rel.derived, rel.free = true, true
		b.light++
		i = r.skip(i + 2)
	case r.kindAt(i) == openParen:
		r.from(b, i+1, r.skip(i)-1)
		return r.alias(r.skip(i), j, nil)
	case r.name(i):
		i = r.table(b, &rel, i, j)
	default:
		return i
	}
	i = r.alias(i, j, &rel)
	r.join(b, rel, kind, natural)
	return i
}

// name reports whether a name may stand at i.
func (r *Reader) name(i int) bool {
	switch t := r.tok(i); t.kind {
	case bare:
		return t.word.names() || t.word == wTable || t.word == wOuter && r.kindAt(i+1) == openParen
	case quoted, text, param:
		return true
	default:
		return false
	}
}

// table reads schema.table, a function, or a part of WITH.
func (r *Reader) table(b *block, rel *relation, i, j int) int {
	for i+2 < j && r.kindAt(i+1) == dot {
		i += 2
		for r.kindAt(i) == dot && i+1 < j { // db..table
			i++
		}
	}
	rel.at = i
	rel.name = r.hash(i)
	rel.alias = rel.name
	i++
	if r.kindAt(i) == openParen && i < j && !r.wordIs(i+1, "nolock", "updlock", "rowlock", "readpast", "index") {
		if r.wordAt(i-1) == none && r.call(i-1) == makes {
			rel.made = r.generate(i - 1)
		}
		rel.derived, rel.free = true, rel.made <= fewRows
		b.light++
		r.scanAll(i+1, r.skip(i)-1)
		i = r.skip(i)
		if r.wordAt(i) == wWith && r.wordIs(i+1, "ordinality", "offset") {
			i += 2
		}
		return i
	}
	if named := r.lookup(rel.at); named >= 0 && (rel.at == 0 || r.kindAt(rel.at-1) != dot) {
		n := &r.named[named]
		rel.standFor(n.shape)
		if n.shape.light || n.open {
			b.light++
		}
		if n.open {
			n.own = true
			b.self = named + 1
		}
	} else if n := r.sequence(rel.at); n > 1 {
		rel.derived, rel.free, rel.made = true, n <= fewRows, n
		b.light++
	} else if r.wordIs(rel.at, "dual") { // one row that no table has
		rel.derived, rel.free = true, true
		b.light++
	} else if h, ok := r.indexHint(rel.at); ok && h.Docs > 0 && h.Docs <= smallTable {
		rel.free = true
	}
	return i
}

// smallTable is the number of rows of a table that may be joined with everything.
const smallTable = 100

// alias reads AS name (columns), and possible other text after it: samples, index hints,
// partitions.
func (r *Reader) alias(i, j int, rel *relation) int {
	for i < j {
		switch t := r.tok(i); {
		case t.word == wOn, t.kind == comma: // the usual ends, checked first
			return i
		case t.word == wAs && i+1 < j && r.name(i+1):
			i++
			i = r.aliasName(i, j, rel)
		case t.word == wAs && r.kindAt(i+1) == openParen: // AS (a int, b text)
			i = r.skip(i + 1)
		case r.wordIs(i, "use", "force", "ignore") && r.wordIs(i+1, "index", "key"):
			for i < j && r.kindAt(i) != openParen && r.kindAt(i) != comma {
				i++
			}
			i = min(r.skip(i), j)
		case t.word == wWith && r.kindAt(i+1) == openParen, r.wordIs(i, "partition", "tablesample", "repeatable", "nolock", "bernoulli", "system"):
			i++
			for i < j && r.kindAt(i) == bare && !r.beginsJoin(i) && r.wordAt(i) == none {
				i++
			}
			if r.kindAt(i) == openParen {
				i = r.skip(i)
			}
		case t.word == wFor && r.wordIs(i+1, "system_time", "portion"), t.word == wFor && r.wordAt(i+1) == none && r.kindAt(i+1) == bare:
			for i < j && r.kindAt(i) != comma && !r.beginsJoin(i) && r.wordAt(i) != wOn {
				i = r.skip(i)
			}
		case t.kind == operator && t.word == oStar: // the opposite of ONLY
			i++
		case r.name(i) && !r.beginsJoin(i) && t.word != wTable && t.kind != param && !r.wordIs(i, "pivot", "unpivot", "match_recognize", "left", "final", "sample", "prewhere"):
			i = r.aliasName(i, j, rel)
		default:
			return i
		}
	}
	return min(i, j)
}

func (r *Reader) aliasName(i, j int, rel *relation) int {
	if rel != nil {
		rel.alias = r.hash(i)
		if rel.name == 0 {
			rel.at = i
		}
	}
	i++
	if r.kindAt(i) == openParen && i < j {
		i = r.skip(i)
	}
	return i
}

func (r *Reader) join(b *block, rel relation, kind joinKind, natural bool) {
	b.all++
	n := len(r.relations) - b.base
	if n >= maxRelations {
		return
	}
	rel.group = int16(n)
	rel.ranged = -1
	r.relations = append(r.relations, rel)
	if n > 0 && natural {
		r.relations[b.base+n-1].named, r.relations[b.base+n].named = true, true
	}
	if n > 0 && (natural || kind >= byLateral || rel.derived && rel.name != 0 && rel.made <= 1 && r.kindAt(rel.at+1) == openParen) {
		r.link(b, n-1, n)
	}
}

// joinCondition reads ON and USING.
func (r *Reader) joinCondition(b *block, i, j int, kind joinKind) int {
	switch {
	case i >= j:
		return i
	case r.wordAt(i) == wUsing && r.kindAt(i+1) == openParen:
		if n := len(r.relations) - b.base; n > 1 {
			r.link(b, n-2, n-1)
			r.relations[b.base+n-2].named, r.relations[b.base+n-1].named = true, true
			b.joined = b.joined || kind != byOuter
		}
		return r.alias(r.skip(i+1), j, nil)
	case r.wordAt(i) != wOn:
		return i
	}
	end := i + 1
	for end < j && !(r.kindAt(end) == comma || r.beginsJoin(end) || r.wordAt(end) == wOn && end > i+1) {
		end = r.skip(end)
	}
	end = min(end, j)
	pending, key := len(r.pending), b.key
	v := r.condition(b, i+1, end, true)
	if v.joins {
		r.unpaired(pending)
	}
	if n := len(r.relations) - b.base; v.truth == never && n > 1 && b.joining < n && b.joining > 0 {
		r.link(b, b.joining-1, b.joining) // no pairs are formed
	}
	if kind == byOuter { // it restricts at most one side
		kept := r.pending[:pending]
		for _, p := range r.pending[pending:] {
			if p.always || math.IsInf(p.value, 1) {
				kept = append(kept, p)
			}
		}
		r.pending, b.key = kept, key
		return end
	}
	b.selects, b.chosen = b.selects || v.selects, b.chosen || v.chosen
	b.joined = b.joined || v.truth != always
	return end
}

// joins measures the number of relations, and relations without a join.
func (r *Reader) joins(b *block, from int) {
	m := r.add(cost.JoinCount, float64(b.all), from, "FROM")
	m.Target = r.target(b)
	if r.o.Explain {
		m.Detail = format("%v tables in one FROM", b.all)
	}
	if b.never >= 0 || b.all > maxRelations {
		return
	}
	r.product(b, from)
	groups := r.groups(b)
	if groups <= 1 {
		return
	}
	m = r.add(cost.CrossJoin, float64(groups), from, "FROM")
	m.Target = r.target(b)
	if r.o.Explain {
		m.Detail = r.groupsText(b, groups)
	}
}
