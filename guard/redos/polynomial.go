package redos

import "slices"

// polynomials finds pairs of consecutive loops that can read the same word: in the first
// loop, in the second, and on the path between them. With seek, the first loop is a search
// before the start of a match.
func (m *automaton) polynomials(loops []loop, seek bool, reach []bitset, left *budget) []candidate {
	depth := map[int32]int{} // by component: number of consecutive loops up to it
	var found []candidate
	for i, a := range loops {
		if a.seek != seek {
			continue
		}
		for j, b := range loops {
			if i == j || b.seek || a.comp == b.comp && !apart(a, b) ||
				!reach[a.comp].has(b.comp) || !m.common(a, b) || left.left <= 0 {
				continue
			}
			left.spend(perTwoLoops)
			c, ok := m.between(a, b, reach, left)
			if !ok {
				continue
			}
			if a.comp != b.comp {
				depth[b.comp] = max(depth[b.comp], depth[a.comp]+1)
			}
			c.seek, c.depth = seek, max(depth[b.comp], 1)
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(x, y candidate) int { return y.depth - x.depth })
	return found
}

// apart reports whether two loops share no state.
func apart(a, b loop) bool {
	for i, w := range a.in {
		if w&b.in[i] != 0 {
			return false
		}
	}
	return true
}

// reachable returns, for each component, the components that it can reach.
func (m *automaton) reachable() []bitset {
	reach := make([]bitset, len(m.comps))
	for c, members := range m.comps { // successors come first
		reach[c] = newBitset(len(m.comps))
		reach[c].set(int32(c))
		for _, v := range members {
			for _, e := range m.states[v].edges {
				if d := m.scc[e.to]; d != int32(c) {
					reach[c].merge(reach[d])
				}
			}
		}
	}
	return reach
}

// perPair is the maximum number of cycles examined per pair of loops.
const perPair = 4

// perTwoLoops is the cost of examining two loops, besides the edges.
const perTwoLoops = 400

// maxTriples limits the search for one pair.
const maxTriples = 8000

// maxOthers is the maximum number of alternative starts of a pump.
const maxOthers = 4

// common reports whether two loops have a rune in common.
func (m *automaton) common(a, b loop) bool {
	var x, y bag
	for _, v := range a.members {
		x = x.or(m.states[v].bag)
	}
	for _, v := range b.members {
		y = y.or(m.states[v].bag)
	}
	return x.meets(y)
}

// between searches for the word of loops a and b. One pair of states per cycle of the pair
// automaton is enough: a word for one pair, rotated, works for all pairs of the cycle.
func (m *automaton) between(a, b loop, reach []bitset, left *budget) (candidate, bool) {
	p := &pairing{automaton: m, left: left, index: map[[2]int32]int32{}, a: a, b: b}
	for _, v := range a.members {
		for _, w := range b.members {
			if m.states[v].bag.meets(m.states[w].bag) {
				if left.spend(perPairMade); len(p.pairs) >= maxPairs || left.left <= 0 {
					m.partial = true
					return candidate{}, false
				}
				p.index[[2]int32{v, w}] = int32(len(p.pairs))
				p.pairs = append(p.pairs, [2]int32{v, w})
			}
		}
	}
	p.link()
	_, comps := components(len(p.pairs), func(v int32, i int) (int32, bool) {
		if i < len(p.edges[v]) {
			return p.edges[v][i], true
		}
		return 0, false
	})
	tried := 0
	for _, members := range comps {
		v := members[0]
		if len(members) == 1 && !slices.Contains(p.edges[v], v) {
			continue
		}
		if tried++; tried > perPair {
			break
		}
		from, to := p.pairs[v][0], p.pairs[v][1]
		t := &triples{automaton: m, left: left, reach: reach, a: a, b: b}
		if word, ok := t.search(from, to); ok {
			c := candidate{class: Polynomial, pivot: from, target: to, pump: word, a: a, b: b}
			c.others = p.others(members)
			return c, true
		}
	}
	return candidate{}, false
}

// others returns more pairs of one cycle, those that read different runes first. If the
// word of one pair has a defect, that of another may not.
func (p *pairing) others(members []int32) [][2]int32 {
	var first, then [][2]int32
	read := []bag{p.read(members[0])}
	for _, v := range members[1:] {
		if b := p.read(v); !slices.Contains(read, b) {
			read = append(read, b)
			first = append(first, p.pairs[v])
		} else if len(then) < maxOthers {
			then = append(then, p.pairs[v])
		}
	}
	first = append(first, then...)
	return first[:min(len(first), maxOthers)]
}

func (p *pairing) read(v int32) bag {
	return p.states[p.pairs[v][0]].bag.and(p.states[p.pairs[v][1]].bag)
}

// pairing is the pair automaton of two loops.
type pairing struct {
	*automaton
	a, b  loop
	left  *budget
	index map[[2]int32]int32
	pairs [][2]int32
	edges [][]int32
}

func (p *pairing) link() {
	p.edges = make([][]int32, len(p.pairs))
	for i, pr := range p.pairs {
		for _, e := range p.states[pr[0]].edges {
			if !p.left.spend(len(p.states[pr[1]].edges)) {
				return
			}
			if !p.a.in.has(e.to) {
				continue
			}
			for _, f := range p.states[pr[1]].edges {
				if j, ok := p.index[[2]int32{e.to, f.to}]; ok {
					p.edges[i] = append(p.edges[i], j)
				}
			}
		}
	}
}

// triples searches the triple automaton for a word from (p,p,q) to (p,q,q).
type triples struct {
	*automaton
	left  *budget
	reach []bitset
	a, b  loop
	nodes []triple
	seen  map[[3]int32]bool
}

type triple struct {
	at   [3]int32
	from int32
	read bag
}

func (t *triples) search(p, q int32) ([]bag, bool) {
	goal := [3]int32{p, q, q}
	t.seen = map[[3]int32]bool{{p, p, q}: true}
	t.nodes = []triple{{at: [3]int32{p, p, q}, from: -1}}
	for i := 0; i < len(t.nodes); i++ {
		if t.expand(int32(i), goal) {
			return t.word(), true
		}
		if t.left.left <= 0 || i >= maxTriples {
			t.partial = true
			break
		}
	}
	return nil, false
}

// expand advances by one rune. It returns true if it reaches the goal, which is then the
// last node.
func (t *triples) expand(i int32, goal [3]int32) bool {
	at := t.nodes[i].at
	for _, e := range t.states[at[0]].edges {
		if !t.a.in.has(e.to) {
			continue
		}
		for _, f := range t.states[at[2]].edges {
			both := t.states[e.to].bag.and(t.states[f.to].bag)
			if !t.b.in.has(f.to) || both.empty() || !t.left.spend(len(t.states[at[1]].edges)) {
				continue
			}
			for _, g := range t.states[at[1]].edges {
				all := both.and(t.states[g.to].bag)
				if all.empty() || !t.reach[t.scc[g.to]].has(t.b.comp) {
					continue
				}
				to := [3]int32{e.to, g.to, f.to}
				if t.seen[to] && to != goal {
					continue
				}
				t.seen[to] = true
				t.left.spend(perPairMade)
				t.nodes = append(t.nodes, triple{to, i, all})
				if to == goal {
					return true
				}
			}
		}
	}
	return false
}

func (t *triples) word() []bag {
	var word []bag
	for i := int32(len(t.nodes) - 1); t.nodes[i].from >= 0; i = t.nodes[i].from {
		word = append(word, t.nodes[i].read)
	}
	slices.Reverse(word)
	return word
}
