package redos

import "slices"

// automaton has a state for every combination of a position and the flavor of the last
// rune: Glushkov's construction. So there are no empty steps, and every assertion is
// decided when a step is created. State 0 has read nothing. The next states, up to seek,
// belong to a search before the start of a match.
type automaton struct {
	states []state
	seek   int32 // first state of the pattern itself
	alpha  *alphabet
	scc    []int32 // by state
	comps  [][]int32
	cyclic []bool // by component

	partial bool // a search in this component was cut off
}

type state struct {
	bag    bag
	edges  []step
	accept uint8 // flavors before which its region may end, including edgeOfText and lastLine
	pos    int32 // -1 for states before seek
	flavor int8
	region int32
}

type step struct {
	to    int32
	twice bool // there is more than one path
}

// budget counts down the steps of an analysis.
type budget struct{ left int }

func (b *budget) spend(n int) bool {
	b.left -= n
	return b.left > 0
}

// closure follows the empty steps from one place to all possible next runes.
type closure struct {
	g      *graph
	strict bool
	visits []uint8
	onPath []bool
	found  []arrival
	ends   []arrival
	budget *budget
}

// arrival is one path to a position, or to the end of region pos.
type arrival struct {
	pos  int32
	mask mask
}

// maxVisits is the number of times that a walk passes a node. Two paths make an ambiguity;
// the others allow for dead ends.
const maxVisits = 4

func (c *closure) from(e int32) {
	clear(c.visits)
	c.found, c.ends = c.found[:0], c.ends[:0]
	c.walk(e, anywhere)
}

// walk recurses over empty steps. The size of the graph limits its depth.
func (c *closure) walk(e int32, m mask) {
	for e >= 0 {
		if c.visits[e] >= maxVisits || m == 0 || !c.budget.spend(1) {
			return
		}
		n := &c.g.eps[e]
		switch n.kind {
		case epsRune:
			c.visits[e]++
			c.found = append(c.found, arrival{n.pos, m})
			return
		case epsEnd:
			c.visits[e]++
			c.ends = append(c.ends, arrival{n.region, m})
			return
		case epsAssert:
			m &= n.mask
			e = n.out[0]
		case epsRound, epsFirst:
			e = c.round(n)
		default:
			was := c.onPath[e]
			c.visits[e]++
			c.onPath[e] = true
			c.walk(n.out[0], m)
			c.walk(n.out[1], m)
			c.onPath[e] = was
			return
		}
	}
}

// round returns the successor of a finished round of a loop: usually the next round. After
// an empty round, JavaScript fails and other engines leave the loop. A round is empty if
// its start is on the current path.
func (c *closure) round(n *eps) int32 {
	switch empty := c.onPath[n.out[0]]; {
	case empty && c.strict:
		return -1
	case empty && n.kind == epsFirst:
		return n.exit
	case empty || n.kind == epsFirst:
		return n.out[1]
	default:
		return n.out[0]
	}
}

// maxEdges limits the memory of an automaton to about 10 MB.
const maxEdges = 400_000

type builder struct {
	*automaton
	g     *graph
	first []int32 // by position: first state
	count []int32 // by position: number of states
}

// newAutomaton removes the empty steps of g. It returns nil if it exceeds the budget.
func newAutomaton(g *graph, entry int32, a *alphabet, strict, search bool, left *budget) *automaton {
	b := &builder{automaton: &automaton{alpha: a}, g: g}
	b.states = append(b.states, state{pos: -1, flavor: edgeOfText})
	for f, atoms := range g.flavors.bags {
		b.states = append(b.states, state{bag: atoms, pos: -1, flavor: int8(f)})
	}
	b.seek = int32(len(b.states))
	b.number()
	c := &closure{
		g: g, strict: strict, visits: make([]uint8, len(g.eps)), onPath: make([]bool, len(g.eps)), budget: left,
	}
	c.from(entry)
	for s := range b.seek {
		if search {
			for t := int32(1); t < b.seek; t++ {
				b.states[s].edges = append(b.states[s].edges, step{to: t})
			}
		}
		if s == 0 || search {
			b.link(s, c)
		}
	}
	edges := 0
	for p := range g.positions {
		c.from(g.positions[p].next)
		for s := b.first[p]; s < b.first[p]+b.count[p]; s++ {
			b.link(s, c)
		}
		left.spend(len(g.eps) / 64) // cost of clearing
		if edges += len(c.found) * int(b.count[p]); edges > maxEdges || !left.spend(len(c.found)) {
			return nil
		}
	}
	b.scc, b.comps = components(len(b.states), func(v int32, i int) (int32, bool) {
		if edges := b.states[v].edges; i < len(edges) {
			return edges[i].to, true
		}
		return 0, false
	})
	for _, members := range b.comps {
		b.cyclic = append(b.cyclic, len(members) > 1 || b.again(members[0]))
	}
	return b.automaton
}

// number creates the states of every position.
func (b *builder) number() {
	b.first = make([]int32, len(b.g.positions))
	b.count = make([]int32, len(b.g.positions))
	for p, pos := range b.g.positions {
		b.first[p] = int32(len(b.states))
		for f, atoms := range b.g.flavors.bags {
			if both := b.alpha.bags[pos.class].and(atoms); !both.empty() {
				b.states = append(b.states, state{bag: both, pos: int32(p), flavor: int8(f), region: pos.region})
				b.count[p]++
			}
		}
	}
}

// link adds the edges of state s that the walk found.
func (b *builder) link(s int32, c *closure) {
	from := &b.states[s]
	row := 8 * int(from.flavor)
	start := len(from.edges)
	for _, a := range c.found {
		next := uint8(a.mask >> row)
		for t := b.first[a.pos]; next != 0 && t < b.first[a.pos]+b.count[a.pos]; t++ {
			if next&(1<<b.states[t].flavor) != 0 {
				from.edges = append(from.edges, step{to: t})
			}
		}
	}
	for _, a := range c.ends {
		if a.pos == from.region {
			from.accept |= uint8(a.mask >> row)
		}
	}
	edges := from.edges[start:]
	slices.SortFunc(edges, func(x, y step) int { return int(x.to - y.to) })
	kept := edges[:0]
	for _, e := range edges {
		if n := len(kept); n > 0 && kept[n-1].to == e.to {
			kept[n-1].twice = true
			continue
		}
		kept = append(kept, e)
	}
	from.edges = from.edges[:start+len(kept)]
}

// again reports whether v has an edge to itself.
func (m *automaton) again(v int32) bool {
	return slices.ContainsFunc(m.states[v].edges, func(e step) bool { return e.to == v })
}

// offset returns the state's place in the pattern.
func (m *automaton) offset(g *graph, s int32) int {
	if p := m.states[s].pos; p >= 0 {
		return g.positions[p].off
	}
	return 0
}
