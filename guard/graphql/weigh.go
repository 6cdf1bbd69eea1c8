package graphql

import (
	"bytes"
	"hash/maphash"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// DefaultList is the assumed length of a list without a stated length.
const DefaultList = 10

// Values of graphql-armor.
const (
	leafCost   = 1
	objectCost = 2
	deeper     = 1.5
)

// maxIntroLists is the number of nested introspection lists from which a query no longer
// counts as a tool's standard query. Servers reject three.
const maxIntroLists = 3

// frame is a definition in progress. Its nodes are processed from last to first.
type frame struct{ def, at int32 }

// weigh fills in the sums below each node.
func (r *Reader) weigh() bool {
	if !r.link() {
		return false
	}
	for i := range r.doc.defs {
		if r.doc.defs[i].state == stateNew && !r.weighFrom(int32(i)) {
			return false
		}
	}
	return true
}

// link connects spreads to their fragments.
func (r *Reader) link() bool {
	d := &r.doc
	r.fragments.reset(len(d.defs))
	for i := range d.defs {
		def := &d.defs[i]
		if d.nodes[def.from].kind != kindFragment {
			continue
		}
		entry, slot := r.fragment(def.name)
		if entry != none {
			d.fault = fault{cost.Unparsable, "two fragments with the same name", int(def.name.off)}
			return false
		}
		r.fragments.put(slot, int32(i))
	}
	for i := range d.nodes {
		if n := &d.nodes[i]; n.kind == kindSpread {
			if n.target, _ = r.fragment(n.name); n.target == none {
				d.fault = fault{cost.Unparsable, "a spread of a fragment that does not exist", int(n.off)}
				return false
			}
		}
	}
	return true
}

func (r *Reader) fragment(name span) (entry int32, slot int) {
	d := &r.doc
	text := d.lex.text[name.off:name.end]
	return r.fragments.find(maphash.Bytes(r.seed, text), func(e int32) bool {
		have := d.defs[e].name
		return bytes.Equal(d.lex.text[have.off:have.end], text)
	})
}

// weighFrom weighs a definition after those that it spreads. It keeps its own stack,
// because a chain of fragments may be as long as the document.
func (r *Reader) weighFrom(first int32) bool {
	d := &r.doc
	r.stack = append(r.stack[:0], frame{first, d.defs[first].end - 1})
	d.defs[first].state = stateOpen
	for len(r.stack) > 0 {
		f := &r.stack[len(r.stack)-1]
		def := &d.defs[f.def]
		if f.at < def.from {
			def.state = stateDone
			r.stack = r.stack[:len(r.stack)-1]
			continue
		}
		n := &d.nodes[f.at]
		if n.kind == kindSpread {
			spread := &d.defs[n.target]
			switch spread.state {
			case stateOpen:
				d.fault = fault{cost.Unparsable, "a fragment that spreads itself", int(n.off)}
				return false
			case stateNew:
				spread.state = stateOpen
				r.stack = append(r.stack, frame{n.target, spread.end - 1})
				continue
			case stateDone:
			}
			n.takeOver(&d.nodes[spread.from])
		}
		r.finish(f.at)
		f.at--
	}
	return true
}

// takeOver copies the sums below a fragment to its spread.
func (n *node) takeOver(f *node) {
	own := n.below.directives
	n.below = f.below
	n.below.directives += own
}

// finish completes a node whose content is complete, and adds it to the enclosing node.
func (r *Reader) finish(at int32) {
	n := &r.doc.nodes[at]
	if n.kind == kindField {
		r.finishField(n)
	}
	if n.parent == none {
		n.cost = objectCost + deeper*n.sum
		return
	}
	p := &r.doc.nodes[n.parent]
	field := n.kind == kindField
	weight, roots := n.sum, n.roots
	if field {
		weight, roots = n.cost, 1
	}
	p.sum += weight
	p.nodes += n.nodes
	p.aliases += n.aliases
	p.below.directives += n.below.directives
	p.roots += roots
	p.intros += n.intros
	p.lists = max(p.lists, n.lists)
	p.circles = max(p.circles, n.circles)
	p.connected = p.connected || !field && n.connected || field && r.connects(n)
	n.cost = weight
	// If several children are equal, the first in the text counts, which comes last here.
	if p.deepest == none || n.depth >= p.depth {
		p.depth, p.deepest = n.depth, at
	}
	if p.heaviest == none || weight >= r.doc.nodes[p.heaviest].cost {
		p.heaviest = at
	}
	if n.longest > 0 && (p.longer == none || n.longest >= p.longest) {
		p.longest, p.longer = n.longest, at
	}
	if p.widest == none || n.nodes >= r.doc.nodes[p.widest].nodes {
		p.widest = at
	}
}

func (r *Reader) finishField(n *node) {
	if n.alias {
		n.aliases++
	}
	if n.intro == introList {
		n.lists++
	}
	if n.intro == introRoot {
		n.circles = max(n.circles, float64(n.lists))
		if n.intros++; n.lists < maxIntroLists { // the content does not count
			own := nothing()
			own.circles = n.circles
			own.aliases, own.directives, own.intros = n.aliases, n.below.directives, n.intros
			n.below = own
			return
		}
	}
	list := false
	if n.times, list = r.times(n); list {
		n.nodes = n.times * (1 + n.nodes)
		n.longest = max(n.longest, n.times)
	}
	n.depth++
	n.cost = leafCost
	if n.object {
		n.cost = objectCost + deeper*n.sum
	}
	n.cost *= n.times
}

func (r *Reader) connects(n *node) bool {
	switch string(r.doc.text(n.name)) {
	case "edges", "nodes":
		return n.object
	}
	return false
}

// times returns the length of the list that a field requests, and whether the field is a
// list.
func (r *Reader) times(n *node) (float64, bool) {
	length := n.limit
	for i := n.refs; i < n.refEnd; i++ {
		length = max(length, r.length(&r.doc.refs[i]))
	}
	if length > 0 {
		return max(length, 1), true
	}
	if n.object && r.o.Hints != nil {
		if h, ok := r.o.Hints.Field("graphql", r.interned.Of(r.doc.text(n.name))); ok && h.Cardinality > 1 {
			return min(h.Cardinality, math.MaxFloat64), true
		}
	}
	if n.refEnd > n.refs || n.connected {
		return DefaultList, true
	}
	return 1, false
}

func (d *document) text(s span) []byte { return d.lex.text[s.off:s.end] }
