package sql

import (
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// unknownRelation stands for a column that no alias assigns to a relation, outer
// for one of a query around this one.
const (
	unknownRelation = -1
	outerRelation   = -2
)

// edge joins two relations of a block, or something that is not known. left and
// right are tokens of the columns that do; -1 where that is not told.
type edge struct {
	a, b        int16
	left, right int32
}

// relationOf is the relation of the block that a column belongs to. qualifier is
// a token, -1 without.
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

// root is the relation that stands for a group.
func (r *Reader) root(b *block, i int) int {
	list := r.relations[b.base:]
	for int(list[i].group) != i {
		list[i].group = list[list[i].group].group
		i = int(list[i].group)
	}
	return i
}

// link joins two relations, or remembers it while an alternative is read.
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

// release links what the alternatives from mark on have in common.
func (r *Reader) release(b *block, mark int) {
	if b.hold > 0 {
		return
	}
	for _, e := range r.edges[mark:] {
		r.link(b, int(e.a), int(e.b))
	}
	r.edges = r.edges[:mark]
}

// linkRange joins two relations when one is bounded by the other from both
// sides: one inequality alone leaves half of all pairs.
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

// pin frees a relation of which a constant picks one row.
func (r *Reader) pin(b *block, i int) {
	if i >= 0 && b.hold == 0 {
		r.relations[b.base+i].free = true
	}
}

// groups counts the groups of relations that nothing joins. Those that cost
// nothing do not count, and equalities between columns without an alias join
// something.
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

// lookedUp says whether of each group of relations a few are found by name: then
// a few meet a few.
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

// groupsText names the groups.
func (r *Reader) groupsText(b *block, n int) string {
	var text strings.Builder
	text.WriteString(format("%d groups of tables that nothing joins: ", n))
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

// nameOf is the name of a table as hints and rules know it.
func (r *Reader) nameOf(at int) string {
	t := r.tok(at)
	b := r.text[t.start:t.end]
	if t.kind == quoted || t.kind == text {
		b = inside(b)
	}
	return r.intern(b)
}

func (r *Reader) indexHint(at int) (cost.IndexHint, bool) {
	if r.o.Hints == nil {
		return cost.IndexHint{}, false
	}
	return r.o.Hints.Index(r.nameOf(at))
}

// docs is how many rows the largest table of a block has; 0 when none is known.
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

// small says whether every table of a block is small, by hints or as a catalog:
// then reading one whole costs little.
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

// catalogs says whether every table of a block is another one of the server's
// own: two of those make few pairs. The same one twice is what is written to make
// a server busy.
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

// catalog says whether a table is one of the server's own: it has a row for each
// table, connection or the like.
func (r *Reader) catalog(at int) bool {
	if at > 1 && r.kindAt(at-1) == dot {
		name := r.bytes(at - 2)
		if r.kindAt(at-2) == quoted {
			name = inside(name)
		}
		return foldEqual(name, "information_schema") || foldEqual(name, "pg_catalog") || foldEqual(name, "performance_schema") || foldEqual(name, "sys")
	}
	const prefix = "pg_" // of the server's, by its manual
	name := r.bytes(at)
	return r.dialect.kind == postgres && r.kindAt(at) == bare && len(name) > len(prefix) && foldEqual(name[:len(prefix)], prefix)
}

// target names the tables of a block, with commas between them.
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
	return r.intern(r.room)
}
