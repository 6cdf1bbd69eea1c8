package sql

import (
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// unknownRelation stands for a column that no alias assigns to a relation, and
// outerRelation for a column of an enclosing query.
const (
	unknownRelation = -1
	outerRelation   = -2
)

// edge joins two relations of a block, or unknown ones. left and right are tokens of the
// joining columns, or -1.
type edge struct {
	a, b        int16
	left, right int32
}

// relationOf returns the relation of the block to which a column belongs. qualifier is a
// token, or -1.
func (r *Reader) relationOf(b *block, qualifier int) int {
	list := r.relations[b.base:]
	if qualifier < 0 {
		if len(list) == 1 && b.all == 1 {
			return 0
		}
		return unknownRelation
	}
	h := r.hash(qualifier)
	for i := range list {
		if list[i].alias == h {
			return i
		}
	}
	for i := range list {
		if list[i].name == h {
			return i
		}
	}
	if b.all > maxRelations {
		return unknownRelation
	}
	return outerRelation
}

// root returns the relation that represents a group.
func (r *Reader) root(b *block, i int) int {
	list := r.relations[b.base:]
	for int(list[i].group) != i {
		list[i].group = list[list[i].group].group
		i = int(list[i].group)
	}
	return i
}

// link joins two relations; inside an alternative, it stores the edge instead.
func (r *Reader) link(b *block, x, y int) { r.linkBy(b, x, y, -1, -1) }

// linkBy is link by two columns.
func (r *Reader) linkBy(b *block, x, y, left, right int) {
	if x == y && x >= 0 || x == outerRelation || y == outerRelation {
		return
	}
	if b.hold > 0 {
		r.edges = append(r.edges, edge{int16(x), int16(y), int32(left), int32(right)})
		return
	}
	if x < 0 || y < 0 {
		b.loose++
		return
	}
	x, y = r.root(b, x), r.root(b, y)
	r.relations[b.base+max(x, y)].group = int16(min(x, y))
}

// release links the relations that all alternatives from mark on join.
func (r *Reader) release(b *block, mark int) {
	if b.hold > 0 {
		return
	}
	for _, e := range r.edges[mark:] {
		r.link(b, int(e.a), int(e.b))
	}
	r.edges = r.edges[:mark]
}

// linkRange joins two relations if one is bounded by the other from both sides: one
// inequality alone leaves half of all pairs.
func (r *Reader) linkRange(b *block, x, y int) {
	if x < 0 || y < 0 || x == y {
		if x == unknownRelation || y == unknownRelation {
			r.link(b, x, y)
		}
		return
	}
	x, y = min(x, y), max(x, y)
	rel := &r.relations[b.base+y]
	if rel.ranges > 0 && int(rel.ranged) == x {
		r.link(b, x, y)
		return
	}
	rel.ranges, rel.ranged = 1, int16(x)
}

// pin makes a relation free if a constant selects one row of it.
func (r *Reader) pin(b *block, i int) {
	if i >= 0 && b.hold == 0 {
		r.relations[b.base+i].free = true
	}
}

// groups counts the groups of relations without a join between them. Free relations do not
// count. Equalities between columns without an alias each join one group.
func (r *Reader) groups(b *block) int {
	n, tables := 0, false
	var counted [maxRelations]bool
	for i, rel := range r.relations[b.base:] {
		tables = tables || !rel.free && !rel.groups
		if root := r.root(b, i); !rel.free && !counted[root] {
			counted[root] = true
			n++
		}
	}
	if !tables { // groups beside groups: GroupCardinality counts them
		return min(n, 1)
	}
	n = max(min(n, 1), n-b.loose)
	if n == 2 && r.catalogs(b) || n > 1 && r.lookedUp(b) {
		return 1
	}
	return n
}

// lookedUp reports whether a few rows of each group of relations are found by name, so that
// few rows are combined with few.
func (r *Reader) lookedUp(b *block) bool {
	var found [maxRelations]bool
	for i, rel := range r.relations[b.base:] {
		if rel.looked {
			found[r.root(b, i)] = true
		}
	}
	for i, rel := range r.relations[b.base:] {
		if !rel.free && !found[r.root(b, i)] {
			return false
		}
	}
	return true
}

func (r *Reader) groupsText(b *block, n int) string {
	var text strings.Builder
	text.WriteString(format("%d groups of tables without a join between them: ", n))
	list := r.relations[b.base:]
	first := true
	for root := range list {
		if r.root(b, root) != root {
			continue
		}
		if !first {
			text.WriteString(" × ")
		}
		first = false
		with := ""
		for i := range list {
			if r.root(b, i) == root {
				text.WriteString(with)
				text.WriteString(r.excerpt(list[i].at, list[i].at+1))
				with = "+"
			}
		}
		if text.Len() > 300 {
			text.WriteString(" …")
			break
		}
	}
	return text.String()
}

// nameOf returns the name of a table in the form of hints and rules.
func (r *Reader) nameOf(at int) string {
	t := r.tok(at)
	b := r.text[t.start:t.end]
	if t.kind == quoted || t.kind == text {
		b = inside(b)
	}
	return r.interned.Of(b)
}

func (r *Reader) indexHint(at int) (cost.IndexHint, bool) {
	if r.o.Hints == nil {
		return cost.IndexHint{}, false
	}
	return r.o.Hints.Index(r.nameOf(at))
}

// docs returns the number of rows of the largest table of a block; 0 if unknown.
func (r *Reader) docs(b *block) float64 {
	most := 0.0
	if r.o.Hints == nil {
		return 0
	}
	for _, rel := range r.relations[b.base:] {
		if rel.derived {
			continue
		}
		if h, ok := r.indexHint(rel.at); ok {
			most = max(most, h.Docs)
		}
	}
	return most
}

// small reports whether every table of a block is small, according to hints or as a system
// catalog: reading such a table completely costs little.
func (r *Reader) small(b *block) bool {
	if len(r.relations) == b.base {
		return false
	}
	for _, rel := range r.relations[b.base:] {
		if rel.derived {
			return false
		}
		h, ok := r.indexHint(rel.at)
		if !r.catalog(rel.at) && (!ok || h.Docs <= 0 || h.Docs > fewRows) {
			return false
		}
	}
	return true
}

// catalogs reports whether the tables of a block are different system catalogs: joining two
// of those makes few pairs. Using the same catalog twice is a way to keep a server busy.
func (r *Reader) catalogs(b *block) bool {
	list := r.relations[b.base:]
	for i, rel := range list {
		if rel.free {
			continue
		}
		if rel.derived || !r.catalog(rel.at) {
			return false
		}
		for _, other := range list[:i] {
			if other.name == rel.name {
				return false
			}
		}
	}
	return true
}

// catalog reports whether a table is a system catalog, with a row per table, connection or
// similar object.
func (r *Reader) catalog(at int) bool {
	if at > 1 && r.kindAt(at-1) == dot {
		name := r.bytes(at - 2)
		if r.kindAt(at-2) == quoted {
			name = inside(name)
		}
		return foldEqual(name, "information_schema") || foldEqual(name, "pg_catalog") || foldEqual(name, "performance_schema") || foldEqual(name, "sys")
	}
	const prefix = "pg_" // reserved for the server, according to its manual
	name := r.bytes(at)
	return r.dialect.kind == postgres && r.kindAt(at) == bare && len(name) > len(prefix) && foldEqual(name[:len(prefix)], prefix)
}

// target returns the names of a block's tables, separated by commas.
func (r *Reader) target(b *block) string {
	const most = 8
	r.room = r.room[:0]
	n := 0
	for _, rel := range r.relations[b.base:] {
		if rel.derived {
			continue
		}
		if n++; n > most {
			break
		}
		if n > 1 {
			r.room = append(r.room, ',')
		}
		t := r.tok(rel.at)
		name := r.text[t.start:t.end]
		if t.kind == quoted || t.kind == text {
			name = inside(name)
		}
		r.room = append(r.room, name[:min(len(name), 128)]...)
	}
	if n == 0 {
		return ""
	}
	return r.interned.Of(r.room)
}
