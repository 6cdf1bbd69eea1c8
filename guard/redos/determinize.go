package redos

// maxDetermined is the maximum count of determinized states: just above Lucene's default
// limit.
const maxDetermined = 10_001

// automata fills r for a linear engine. Only the size of its automaton matters.
func (a *analysis) automata(r *Result) {
	if a.tree.beyond != "" {
		r.Class, r.Reason = Unknown, a.tree.beyond+" cannot be analyzed"
		return
	}
	if a.options.Dialect != Lucene {
		return
	}
	if a.alpha = newAlphabet(a.tree, a.left); a.alpha == nil {
		return
	}
	g, entry := newGraph(a.tree, newFlavors(a.alpha, a.tree.root), all)
	if g.full { // there are already that many
		return
	}
	if m := newAutomaton(g, entry, a.alpha, false, false, a.left); m != nil {
		r.States = max(r.States, m.determinized(a.left))
	}
}

// determinized counts the states of the equivalent deterministic automaton, up to
// maxDetermined or until the budget is used up.
func (m *automaton) determinized(left *budget) int {
	first := newBitset(len(m.states))
	first.set(0)
	seen := map[string]bool{first.key(): true}
	for queue := []bitset{first}; len(queue) > 0; queue = queue[1:] {
		for atom := range min(len(m.alpha.runes), maxAtoms) {
			next := newBitset(len(m.states))
			if !left.spend(len(next)) {
				return len(seen)
			}
			for i, w := range queue[0] {
				for ; w != 0; w &= w - 1 {
					s := &m.states[i*64+trailing(w)]
					left.spend(len(s.edges))
					for _, e := range s.edges {
						if m.states[e.to].bag.has(atom) {
							next.set(e.to)
						}
					}
				}
			}
			if key := next.key(); !seen[key] {
				seen[key] = true
				if len(seen) >= maxDetermined {
					return len(seen)
				}
				queue = append(queue, next)
			}
		}
	}
	return len(seen)
}
