package redos

import (
	"slices"

	"github.com/bezoar-dev/bezoar/internal/each"
)

// candidate is a loop that the automaton can pass in more than one way.
type candidate struct {
	class  Class
	seek   bool       // on one path the match has not begun
	pivot  int32      // state where the paths separate
	target int32      // polynomial: state where they meet
	pump   []bag      // one bag per rune, in order
	depth  int        // polynomial: number of consecutive loops
	a, b   loop       // first and second loop
	others [][2]int32 // polynomial: alternative pivots and targets
	along  []int32    // exponential: states on the pump's path
	twice  bool       // exponential: one edge stands for two paths
}

// Maximum numbers of candidates, per component and in total.
const (
	perComponent  = 4
	maxCandidates = 16
	maxPairs      = 6000 // pairs of states that are searched in one component
)

// Cost of a new pair or triple, in edges.
const (
	perPairMade = 16
)

// exponentials finds the states to which one word leads back in two ways: the pair
// automaton leaves the diagonal and returns to it.
func (m *automaton) exponentials(left *budget) []candidate {
	return m.exponentialsOf(left, func([]int32) bool { return true })
}

// exponentialsOf examines the wanted components only.
func (m *automaton) exponentialsOf(left *budget, wanted func(members []int32) bool) []candidate {
	var found []candidate
	for c, members := range m.comps {
		if !m.cyclic[c] || !wanted(members) || m.states[members[0]].pos < 0 || len(found) >= maxCandidates {
			continue
		}
		found = append(found, m.doubled(members, left)...)
		d := &diverging{automaton: m, comp: int32(c), left: left, index: map[[2]int32]int32{}}
		found = append(found, d.search(members)...)
	}
	for i := range found {
		found[i].a = m.loop(m.comps[m.scc[found[i].pivot]])
	}
	return found
}

// doubled finds edges inside a component that stand for two paths. Edges that read
// different runes come first.
func (m *automaton) doubled(members []int32, left *budget) (found []candidate) {
	var read []bag
	for _, v := range members {
		for _, e := range m.states[v].edges {
			b := m.states[e.to].bag
			if !e.twice || m.scc[e.to] != m.scc[v] || slices.Contains(read, b) {
				continue
			}
			read = append(read, b)
			along := append([]int32{e.to}, m.path(e.to, v, left)...)
			found = append(found, candidate{class: Exponential, pivot: v, pump: m.reads(along), along: along, twice: true})
			if len(found) == perComponent {
				return found
			}
		}
	}
	return found
}

// path returns a shortest path inside a component, as a list of states.
func (m *automaton) path(from, to int32, left *budget) []int32 {
	if from == to {
		return nil
	}
	parent := map[int32]int32{from: from}
	for queue := []int32{from}; len(queue) > 0 && left.spend(1); queue = queue[1:] {
		v := queue[0]
		for _, e := range m.states[v].edges {
			if _, seen := parent[e.to]; seen || m.scc[e.to] != m.scc[from] {
				continue
			}
			parent[e.to] = v
			if e.to == to {
				return unwind(parent, from, to)
			}
			queue = append(queue, e.to)
		}
	}
	return nil
}

func unwind(parent map[int32]int32, from, to int32) []int32 {
	var way []int32
	for v := to; v != from; v = parent[v] {
		way = append(way, v)
	}
	slices.Reverse(way)
	return way
}

// reads returns the runes that a path reads.
func (m *automaton) reads(way []int32) []bag {
	return each.Of(way, func(v int32) bag { return m.states[v].bag })
}

// diverging explores the pairs of states of one component that one word reaches from one
// state.
type diverging struct {
	*automaton
	comp  int32
	left  *budget
	index map[[2]int32]int32
	pairs []pair
}

// pair is a pair of different states, the lower one first.
type pair struct {
	r, s  int32
	from  int32   // the state where they separated, if in the last step; otherwise -1
	preds []int32 // preceding pairs
	next  int32   // next pair towards the diagonal; -1: unknown
	meet  int32   // the state where the pair meets in the next step; -1: none
}

func (d *diverging) search(members []int32) []candidate {
	for _, v := range members {
		d.part(v)
	}
	for i := 0; i < len(d.pairs); i++ {
		if d.left.left <= 0 || i >= maxPairs { // the results so far may be sufficient
			d.partial = true
			break
		}
		d.follow(int32(i))
	}
	d.converge()
	var found []candidate
	used := map[int32]bool{}
	for i, p := range d.pairs {
		if p.from < 0 || used[p.from] || p.next < 0 && p.meet < 0 {
			continue
		}
		used[p.from] = true
		pump, along := d.word(int32(i))
		found = append(found, candidate{class: Exponential, pivot: p.from, pump: pump, along: along})
		if len(found) == perComponent {
			break
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return len(a.pump) - len(b.pump) })
	return found
}

// part finds the pairs to which two edges of v lead with one rune.
func (d *diverging) part(v int32) {
	edges := d.states[v].edges
	for i, e := range edges {
		if d.scc[e.to] != d.comp || !d.left.spend(len(edges)-i) {
			continue
		}
		for _, f := range edges[i+1:] {
			if d.scc[f.to] == d.comp && d.states[e.to].bag.meets(d.states[f.to].bag) {
				d.pair(e.to, f.to, v)
			}
		}
	}
}

// pair returns the number of a pair. It creates the pair if necessary.
func (d *diverging) pair(r, s, from int32) int32 {
	key := [2]int32{min(r, s), max(r, s)}
	i, ok := d.index[key]
	if !ok {
		i = int32(len(d.pairs))
		d.left.spend(perPairMade)
		d.index[key] = i
		d.pairs = append(d.pairs, pair{r: key[0], s: key[1], from: from, next: -1, meet: -1})
	} else if p := &d.pairs[i]; from >= 0 && (p.from < 0 || from == p.r || from == p.s) { // the second condition means a shorter cycle
		p.from = from
	}
	return i
}

// follow advances a pair by one rune.
func (d *diverging) follow(i int32) {
	r, s := d.pairs[i].r, d.pairs[i].s
	for _, e := range d.states[r].edges {
		if d.scc[e.to] != d.comp || !d.left.spend(len(d.states[s].edges)) {
			continue
		}
		for _, f := range d.states[s].edges {
			switch {
			case d.scc[f.to] != d.comp || !d.states[e.to].bag.meets(d.states[f.to].bag):
			case e.to == f.to:
				d.pairs[i].meet = e.to
			default:
				j := d.pair(e.to, f.to, -1)
				d.pairs[j].preds = append(d.pairs[j].preds, i)
			}
		}
	}
}

// converge marks the pairs from which the diagonal is reachable.
func (d *diverging) converge() {
	var queue []int32
	for i, p := range d.pairs {
		if p.meet >= 0 {
			queue = append(queue, int32(i))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, j := range d.pairs[queue[0]].preds {
			if p := &d.pairs[j]; p.next < 0 && p.meet < 0 {
				p.next = queue[0]
				queue = append(queue, j)
			}
		}
	}
}

// word returns the word on which pair i separates and returns, and the states on both
// paths.
func (d *diverging) word(i int32) (word []bag, along []int32) {
	start := d.pairs[i].from
	for {
		p := &d.pairs[i]
		word = append(word, d.states[p.r].bag.and(d.states[p.s].bag))
		along = append(along, p.r, p.s)
		if p.meet >= 0 {
			back := append([]int32{p.meet}, d.path(p.meet, start, d.left)...)
			return append(word, d.reads(back)...), append(along, back...)
		}
		i = p.next
	}
}
