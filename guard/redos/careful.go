package redos

import "slices"

// Limits of one careful search.
const (
	maxCareful      = 1200   // places
	carefulBudget   = 50_000 // steps
	carefulAttempts = 8      // candidates of one pattern
)

// place is a position of a careful search: the states of two or three paths through the
// loops, and the set of states that any match could be in.
type place struct {
	at    [3]int32
	split bool // the first two paths have separated
	set   int32
	from  int32
	atom  int
}

// careful searches for another pump if the shortest one ends a match: a pump on which no
// match ends.
type careful struct {
	*forge
	c      candidate
	as     *subsets
	reach  []bitset
	places []place
	seen   map[walkState]bool
}

type walkState struct {
	at    [3]int32
	set   int32
	split bool
}

// careful returns attacks with such a pump, or none if none is found within the limits.
func (f *forge) careful(c candidate, reach []bitset) []attack {
	saved := f.left.left
	f.left.left = min(saved, carefulBudget)
	given := f.left.left
	defer func() { f.left.left += saved - given }()
	out := f.carefully(c, reach)
	for _, o := range c.others {
		if len(out) > 0 || f.left.left <= 0 {
			break
		}
		c.pivot, c.target = o[0], o[1]
		out = f.carefully(c, reach)
	}
	return out
}

func (f *forge) carefully(c candidate, reach []bitset) []attack {
	target := c.pivot
	if c.class == Polynomial {
		target = c.target
	}
	s := &careful{forge: f, c: c, as: f.as(target), reach: reach, seen: map[walkState]bool{}}
	var out []attack
	prefixes := f.prefixes(c)
	for i, prefix := range prefixes {
		at, ok := s.as.run(prefix, c.seek)
		if !ok && !c.seek && i == len(prefixes)-1 { // other paths may be tried later
			at, ok = spot{set: s.as.of(c.pivot)}, true
			prefix = prefixes[0]
		}
		if !ok || !c.seek && !s.as.has(at.set, c.pivot) {
			continue
		}
		w, ok := s.search(s.as.with(at.set, target)) // true after the first pump

		if !ok {
			continue
		}
		prefix.pump = w
		if out = append(out, f.ending(c, prefix)...); len(out) > 0 {
			break
		}
	}
	return out
}

func (s *careful) search(set int32) ([]int, bool) {
	clear(s.seen)
	first := place{at: [3]int32{s.c.pivot, s.c.pivot, s.c.target}, set: set, from: -1}
	if s.c.class == Exponential {
		first.at[2] = s.c.pivot
	}
	s.places = append(s.places[:0], first)
	for i := 0; i < len(s.places) && i < maxCareful && s.left.left > 0; i++ {
		for _, atom := range s.order {
			next, ok := s.as.read(s.places[i].set, atom)
			if !ok || !s.move(int32(i), atom, next) {
				continue
			}
			w := s.word()
			if _, ok := s.as.read(s.places[len(s.places)-1].set, w[0]); ok { // no match ends here either
				return w, true
			}
		}
	}
	return nil, false
}

// move reads an atom on all paths. It returns true if that closes the loop.
func (s *careful) move(i int32, atom int, set int32) bool {
	p := s.places[i]
	for _, e := range s.states[p.at[0]].edges {
		if !s.c.a.in.has(e.to) || !s.states[e.to].bag.has(atom) {
			continue
		}
		for _, f := range s.states[p.at[1]].edges {
			if !s.states[f.to].bag.has(atom) || !s.left.spend(1) {
				continue
			}
			if s.c.class == Exponential {
				if s.c.a.in.has(f.to) {
					next := place{at: [3]int32{e.to, f.to, s.c.pivot}, set: set, from: i, atom: atom}
					next.split = p.split || e.to != f.to || f.twice && p.at[0] == p.at[1]
					if s.add(next) {
						return true
					}
				}
				continue
			}
			if !s.reach[s.scc[f.to]].has(s.c.b.comp) {
				continue
			}
			for _, g := range s.states[p.at[2]].edges {
				if s.c.b.in.has(g.to) && s.states[g.to].bag.has(atom) &&
					s.add(place{at: [3]int32{e.to, f.to, g.to}, set: set, from: i, atom: atom}) {
					return true
				}
			}
		}
	}
	return false
}

// add stores a place. It returns true if the place is the goal.
func (s *careful) add(p place) bool {
	v := walkState{p.at, p.set, p.split}
	if s.seen[v] {
		return false
	}
	s.seen[v] = true
	s.places = append(s.places, p)
	if s.c.class == Exponential {
		return p.split && p.at == [3]int32{s.c.pivot, s.c.pivot, s.c.pivot}
	}
	return p.at == [3]int32{s.c.pivot, s.c.target, s.c.target}
}

func (s *careful) word() []int {
	var word []int
	for i := int32(len(s.places) - 1); s.places[i].from >= 0; i = s.places[i].from {
		word = append(word, s.places[i].atom)
	}
	slices.Reverse(word)
	return word
}
