package redos

import "slices"

// polynomials finds pairs of loops, one after the other, that one word can be
// read in: in the first, in the second, and on the way from the first to the
// second. In seek pairs the first loop is a search that has not begun to match.
func (m *automaton) polynomials(loops []loop, seek bool, reach []bitset, left *budget) []candidate {
	depth := map[int32]int{} // by component: how many loops follow one another up to it
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

// apart says whether two loops share no state.
func apart(a, b loop) bool {
	for i, w := range a.in {
		if w&b.in[i] != 0 {
			return false
		}
	}
	return true
}

// reachable is, by component, which components can be reached.
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

// perPair is how many cycles of a pair of loops are looked at.
const perPair = 4

// perTwoLoops is what looking at two loops costs beside the edges.
const perTwoLoops = 400

// maxTriples bounds the search of one pair.
const maxTriples = 8000

// maxOthers is how many more places to begin a pump are kept.
const maxOthers = 4

// common says whether two loops read a rune in common.
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

// between looks for the word of loops a and b. It is enough to try one pair of
// states of each cycle of the pair automaton: if a word does it for one, then
// for all of that cycle, turned.
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

// others is more pairs of one cycle, those that read different runes first: what
// is wrong with the word of one may not be with that of another.
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

// triples searches the triple automaton for a word that leads from (p,p,q) to
// (p,q,q).
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

// expand goes one rune on; true if the goal is reached, as the last node.
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
