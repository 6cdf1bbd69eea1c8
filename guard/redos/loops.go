package redos

import "slices"

// loop is a set of states that go round: a component.
type loop struct {
	members []int32
	in      bitset
	seek    bool // a search that has not begun to match
	comp    int32
}

// loops lists the components that go round, in topological order, but for those
// of counted repeats that end soon enough.
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

// component is a component as a loop.
func (m *automaton) component(c int32) loop {
	l := m.loop(m.comps[c])
	l.seek, l.comp = m.states[l.members[0]].pos < 0, c
	return l
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
