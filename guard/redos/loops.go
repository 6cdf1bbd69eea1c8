package redos

import "slices"

// loop is a set of states that go round: a component, or what is inside one
// repeat of it.
type loop struct {
	members []int32
	in      bitset
	seek    bool // a search that has not begun to match
	comp    int32
	inner   bool
}

// maxInner bounds how many repeats inside repeats are looked at by themselves.
const maxInner = 64

// loops lists the components that go round, in topological order, but for those
// of counted repeats that end soon enough.
func (m *automaton) loops(g *graph) []loop {
	short := m.short(g)
	var out []loop
	for c, v := range slices.Backward(m.comps) {
		if m.cyclic[c] && !slices.Contains(short, int32(c)) {
			l := m.loop(v)
			l.seek, l.comp = m.states[l.members[0]].pos < 0, int32(c)
			out = append(out, l)
		}
	}
	return out
}

// Bounds of counted repeats that are no loops to the search for two loops one
// after the other: runes that each reads, and ways to share a text out among those
// that read a rune in common. More steps for a rune they never cost.
const (
	shortLoop = 512
	fewShares = 1_000_000
	maxShort  = 64 // of them
)

// short is the components of such repeats.
func (m *automaton) short(g *graph) []int32 {
	var all []int32
	var reads []bag
	var most []int
	for c, members := range m.comps {
		if g.counted == 0 || !m.cyclic[c] || len(all) > maxShort {
			continue
		}
		longest := m.longest(g, members[0])
		if longest > shortLoop {
			continue
		}
		var b bag
		for _, v := range members {
			b = b.or(m.states[v].bag)
		}
		all, reads, most = append(all, int32(c)), append(reads, b), append(most, longest)
	}
	if len(all) > maxShort {
		return nil
	}
	var few []int32
	for i, c := range all {
		shares := 1
		for j := range all {
			if reads[i].meets(reads[j]) {
				shares = min(shares*most[j], fewShares+1)
			}
		}
		if shares <= fewShares {
			few = append(few, c)
		}
	}
	return few
}

// longest is how many runes the outermost repeat around a state reads at most.
func (m *automaton) longest(g *graph, v int32) int {
	if m.states[v].pos < 0 {
		return MaxSize
	}
	l := g.positions[m.states[v].pos].loop
	for l != 0 && g.outer[l] != 0 {
		l = g.outer[l]
	}
	if l == 0 {
		return MaxSize
	}
	return g.repeats[l].longest()
}

// longest is how many runes n reads at most, lookarounds too, up to MaxSize.
func (n *node) longest() int {
	total := 0
	switch n.op {
	case opClass:
		return 1
	case opBackref:
		return MaxSize
	default:
		for _, s := range n.subs { // alternatives, too: more is not wrong
			total = min(total+s.longest(), MaxSize)
		}
	}
	if n.op == opRepeat && total > 0 {
		if n.max > MaxSize/total {
			return MaxSize
		}
		total *= n.max
	}
	return total
}

// cycles is how many components go round.
func (m *automaton) cycles() int {
	n := 0
	for _, goes := range m.cyclic {
		if goes {
			n++
		}
	}
	return n
}

func (m *automaton) loop(members []int32) loop {
	l := loop{members: members, in: newBitset(len(m.states))}
	for _, v := range members {
		l.in.set(v)
	}
	return l
}

// inner lists the repeats inside other repeats of one component. What one word
// does to a component as a whole, another may do to a part of it and fail.
func (m *automaton) inner(g *graph) []loop {
	members := make([][]int32, len(g.outer))
	for v := m.seek; v < int32(len(m.states)); v++ {
		for l := g.positions[m.states[v].pos].loop; l != 0; l = g.outer[l] {
			members[l] = append(members[l], v)
		}
	}
	var out []loop
	for _, vs := range members {
		if len(vs) == 0 || len(vs) >= len(m.comps[m.scc[vs[0]]]) || len(out) >= maxInner {
			continue
		}
		l := m.loop(vs)
		l.comp, l.inner = m.scc[vs[0]], true
		out = append(out, l)
	}
	return out
}
