package redos

// maxDetermined is where counting the states of a determinised automaton stops:
// just past Lucene's own default limit.
const maxDetermined = 10_001

// automata fills r for an engine that is linear in the text: what its automaton
// costs is all there is to say.
func (a *analysis) automata(r *Result) {
	if a.tree.beyond != "" {
		r.Class, r.Reason = Unknown, a.tree.beyond+" is not followed"
		return
	}
	if a.options.Dialect != Lucene {
		return
	}
	if a.alpha = newAlphabet(a.tree, a.left); a.alpha == nil {
		return
	}
	g, entry := newGraph(a.tree, newFlavors(a.alpha, a.tree.root), all)
	if g.full { // as many as that already
		return
	}
	if m := newAutomaton(g, entry, a.alpha, false, false, a.left); m != nil {
		r.States = max(r.States, m.determinized(a.left))
	}
}

// determinized counts the states of the equivalent deterministic automaton, up
// to maxDetermined or as far as the budget goes.
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
