package graphql

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// measure measures the selected operation, or the worst one.
func (r *Reader) measure(name []byte) bool {
	d := &r.doc
	named := int32(none)
	operations := 0
	for i := range d.defs {
		if d.operation(i) == nil {
			continue
		}
		operations++
		if len(name) > 0 && bytes.Equal(d.text(d.defs[i].name), name) {
			named = int32(i)
		}
	}
	if operations == 0 {
		return r.refuseIn(&r.at, fault{cost.Unparsable, "the document has no operation", 0})
	}
	worst := func(of func(n *node) float64) *node {
		var most *node
		for i := range d.defs {
			n := d.operation(i)
			if n == nil || named != none && int32(i) != named {
				continue
			}
			if most == nil || of(n) > of(most) {
				most = n
			}
		}
		return most
	}
	r.place(cost.GQLDepth, worst(depthOf), depthOf)
	r.place(cost.GQLCost, worst(costOf), costOf)
	r.place(cost.GQLNodes, worst(nodesOf), nodesOf)
	r.place(cost.GQLList, worst(longestOf), longestOf)
	r.count(cost.GQLAliases, worst(aliasesOf), aliasesOf, "alias", "aliases")
	r.count(cost.GQLDirectives, worst(directivesOf), directivesOf, "directive", "directives")
	r.count(cost.ExpensiveClass, worst(introsOf), introsOf, "introspection: the server describes its schema", "introspections: the server describes its schema")
	r.count(cost.GQLIntrospection, worst(circlesOf), circlesOf, "list of an introspection", "nested lists of an introspection")
	top := worst(rootsOf)
	if r.roots += top.roots; r.rootsPath == "" {
		r.rootsAt, r.rootsPath = r.offset(&r.at, int(top.off)), d.kindOf(top)
	}
	return true
}

// operation returns the node of definition i, or nil if it is a fragment.
func (d *document) operation(i int) *node {
	if n := &d.nodes[d.defs[i].from]; n.kind == kindOperation {
		return n
	}
	return nil
}

func depthOf(n *node) float64      { return float64(n.depth) }
func costOf(n *node) float64       { return n.cost }
func nodesOf(n *node) float64      { return n.nodes }
func longestOf(n *node) float64    { return n.longest }
func aliasesOf(n *node) float64    { return n.aliases }
func directivesOf(n *node) float64 { return n.below.directives }
func introsOf(n *node) float64     { return n.intros }
func circlesOf(n *node) float64    { return n.circles }
func rootsOf(n *node) float64      { return n.roots }

// count adds the measure of a count over a whole operation.
func (r *Reader) count(p cost.Predictor, n *node, of func(*node) float64, one, many string) {
	value := of(n)
	if value == 0 {
		return
	}
	m := r.add(p, value, r.offset(&r.at, int(n.off)), "")
	if r.o.Explain {
		m.Path = r.doc.kindOf(n)
		m.Detail = things(value, one, many) + r.position(n)
	}
}

// place adds a measure that has a place in the operation, and finds that place.
func (r *Reader) place(p cost.Predictor, top *node, of func(*node) float64) {
	value := of(top)
	if value == 0 && (p == cost.GQLNodes || p == cost.GQLList) {
		return
	}
	last := r.doc.last(top, p)
	m := r.add(p, value, r.offset(&r.at, int(last.off)), "")
	if r.o.Explain {
		m.Path = r.doc.path(top, last, p)
		m.Detail = r.detail(top, last, p)
	}
}

// down returns the child with the largest part of p.
func (d *document) down(n *node, p cost.Predictor) *node {
	at := n.heaviest
	switch p {
	case cost.GQLDepth:
		at = n.deepest
	case cost.GQLNodes:
		at = n.widest
	case cost.GQLList:
		at = n.longer
	default:
	}
	if at == none {
		return nil
	}
	return &d.nodes[at]
}

// last returns the end of the path for p: the deepest field for depth, otherwise the
// innermost list, or the first field if there are no lists.
func (d *document) last(top *node, p cost.Predictor) *node {
	first, deepest, list := top, top, top
	for n := top; n != nil; n = d.down(n, p) {
		if n.kind != kindField {
			continue
		}
		if deepest = n; first == top {
			first = n
		}
		if n.times > 1 {
			list = n
		}
		if p == cost.GQLList && n.times == top.longest {
			return n
		}
	}
	switch {
	case p == cost.GQLDepth:
		return deepest
	case list != top:
		return list
	}
	return first
}

// Paths are shortened to their first and last names.
const (
	pathHead = 24
	pathTail = 4
)

func (d *document) kindOf(n *node) string {
	switch string(d.text(n.name)) {
	case "mutation":
		return "mutation"
	case "subscription":
		return "subscription"
	}
	return "query"
}

// path returns the path from top to last, such as query.a.b.
func (d *document) path(top, last *node, p cost.Predictor) string {
	names := []string{d.kindOf(top)}
	cut := false
	for n := top; n != nil && n != last; {
		if n = d.down(n, p); n == nil || n.kind != kindField {
			continue
		}
		if len(names) == pathHead+pathTail {
			copy(names[pathHead:], names[pathHead+1:])
			names, cut = names[:len(names)-1], true
		}
		names = append(names, string(d.text(n.name)))
	}
	if cut {
		names[pathHead-1] = "…"
	}
	return strings.Join(names, ".")
}

// detail returns the calculation as text.
func (r *Reader) detail(top, last *node, p cost.Predictor) string {
	d := &r.doc
	switch p {
	case cost.GQLDepth:
		return things(float64(top.depth), "level of fields", "levels of fields") + r.position(last)
	case cost.GQLList:
		return things(top.longest, "item requested", "items requested at once") + r.position(last)
	case cost.GQLNodes:
		return fmt.Sprintf("%s = %s nodes, with all nodes on the path and beside it%s", d.product(top, last, p), number(top.nodes), r.position(last))
	default:
		lists := cmp.Or(d.product(top, last, p), "no lists")
		return fmt.Sprintf("fields at 1 and objects at 2, times 1.5 for each level, times %s: %s in all%s", lists, number(top.cost), r.position(last))
	}
}

// product returns the lists on the path from top to last, such as a 100 × b 50.
func (d *document) product(top, last *node, p cost.Predictor) string {
	var b strings.Builder
	n, shown := top, 0
	for n != nil && n != last {
		if n = d.down(n, p); n == nil || n.kind != kindField || n.times <= 1 {
			continue
		}
		if shown++; shown > pathHead {
			b.WriteString(" × …")
			break
		}
		if shown > 1 {
			b.WriteString(" × ")
		}
		fmt.Fprintf(&b, "%s %s", d.text(n.name), number(n.times))
	}
	return b.String()
}

// position returns the position of a node in the document, if it differs from the position
// in the body.
func (r *Reader) position(n *node) string {
	if r.at.base != notInBody && !r.at.escaped {
		return ""
	}
	before := r.doc.lex.text[:n.off]
	line := 1 + bytes.Count(before, []byte{'\n'})
	column := 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
	return fmt.Sprintf(" (line %d, column %d of the document)", line, column)
}

// things returns a number with a noun.
func things(n float64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

func number(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "unbounded"
	case f >= 1e15:
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
}
