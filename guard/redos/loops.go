package redos

import "slices"

// loop is a strongly connected component of states.
type loop struct {
	members []int32
	in      bitset
	seek    bool // a search before the start of a match
	comp    int32
}

// loops returns the cyclic components in topological order. It omits counted repeats that
// end soon enough.
func (a *analysis) loops() []loop {
	m, short := a.auto, a.short()
	var out []loop
	for c := range slices.Backward(m.comps) {
		if m.cyclic[c] && !slices.Contains(short, int32(c)) {
			out = append(out, m.component(int32(c)))
		}
	}
	return out
}

func (m *automaton) component(c int32) loop {
	l := m.loop(m.comps[c])
	l.seek, l.comp = m.states[l.members[0]].pos < 0, c
	return l
}

// longest returns the maximum number of runes that the outermost repeat around a state
// reads.
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

// longest returns the maximum number of runes that n reads, including lookarounds, up to
// MaxSize.
func (n *node) longest() int {
	total := 0
	switch n.op {
	case opClass:
		return 1
	case opBackref:
		return MaxSize
	default:
		for _, s := range n.subs { // for alternatives the sum is an upper bound
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

// cycles returns the number of cyclic components.
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
