package redos

import "slices"

// prefix returns a word from the start of the text to state to. It prefers a match that
// begins there; otherwise start is the position where the match begins.
func (f *forge) prefix(to int32) (word []bag, start int) {
	return f.prefixFrom(0, to)
}

// prefixFrom is prefix with a path through state first.
func (f *forge) prefixFrom(first, to int32) (word []bag, start int) {
	for _, seeking := range []bool{false, true} {
		parent := map[int32]int32{0: 0, first: 0}
		for queue := []int32{first}; len(queue) > 0 && f.left.spend(perPairMade); queue = queue[1:] {
			v := queue[0]
			f.left.spend(2 * len(f.states[v].edges))
			if v == to {
				for w := v; w != 0; w = parent[w] {
					word = append(word, f.states[w].bag)
					if w < f.seek {
						start++
					}
				}
				slices.Reverse(word)
				return word, start
			}
			for _, e := range f.states[v].edges {
				if _, seen := parent[e.to]; !seen && (seeking || e.to >= f.seek) {
					parent[e.to] = v
					queue = append(queue, e.to)
				}
			}
		}
	}
	return nil, 0
}

// maxLeads is the number of runes that are tried before a prefix that ends a match.
const maxLeads = 4

// prefixes returns attacks that lead to the candidate: directly and, if a match ends on the
// way, after a rune that prevents an early match.
func (f *forge) prefixes(c candidate) []attack {
	var out []attack
	word, start := []bag(nil), 0
	if !c.seek { // otherwise the first pump serves
		word, start = f.prefix(c.pivot)
	}
	for _, rarest := range []bool{true, false} {
		p := f.spell(word, rarest)
		if len(out) > 0 && slices.Equal(out[0].prefix, p) {
			break
		}
		out = append(out, attack{prefix: p, start: start})
	}
	if len(f.states[0].edges) > 0 && f.states[0].edges[0].to < f.seek { // a search
		for _, atom := range f.order[:min(maxLeads, len(f.order))] {
			out = append(out, attack{prefix: append([]int{atom}, out[0].prefix...), start: start + 1})
		}
	}
	return out
}

// detours returns attacks that reach the candidate through other beginnings: the order in
// which an engine tries paths decides whether it gets there before it matches.
func (f *forge) detours(c candidate) []attack {
	var out []attack
	pump := f.spell(c.pump, true)
	for _, e := range f.states[0].edges {
		if e.to < f.seek {
			continue
		}
		if word, _ := f.prefixFrom(e.to, c.pivot); len(word) > 0 {
			out = append(out, f.ending(c, attack{prefix: f.spell(word, true), pump: pump})...)
		}
		if len(out) >= maxLeads*maxSuffixes {
			break
		}
	}
	return out
}
