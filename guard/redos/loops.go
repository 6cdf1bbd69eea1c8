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

// loops lists the components that go round, in topological order.
func (m *automaton) loops() []loop {
	var out []loop
	for c, v := range slices.Backward(m.comps) {
		if m.cyclic[c] {
			l := m.loop(v)
			l.seek, l.comp = m.states[l.members[0]].pos < 0, int32(c)
			out = append(out, l)
		}
	}
	return out
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
