package fingerprint

import (
	"bytes"
	"slices"
)

// Objects at one depth often have the same members in the same order: the elements of an array, and the bodies of one API.
// A plan remembers the members of the last object at its depth. It saves work if the next object is alike, and never
// changes the result.
type plan struct {
	text  []byte // `"name":` of each member, concatenated
	skel  []byte // `name=` in the skeleton
	ends  []span // end of each: from in text, to in skel
	order []byte // positions of the sorted members; empty if they came in order

	raw, united []byte // the skeletons of the last object's members, and their set
	sigs        []sig  // of that object's values, if flat has read it; otherwise empty

	names, sets, flats misses // of names, sets and flat objects
}

// misses counts how many objects in a row differed from a plan.
type misses uint8

// learn counts one more, and reports whether the plan should be replaced.
func (m *misses) learn() bool {
	*m++
	return m.trust()
}

// trust reports whether to try a plan. If no two objects are alike, trying and learning each time would cost more than it
// saves.
func (m *misses) trust() bool { return *m <= 4 || *m%16 == 0 }

// These bounds keep plans small for any input.
const (
	maxPlans    = 8       // depths with a plan
	maxPlanned  = 64      // members
	maxPlanText = 4 << 10 // bytes of each kind
)

// guess compares one object with its plan.
type guess struct {
	plan *plan // nil: none
	n    int   // members that matched
	hit  bool  // all have matched so far
}

// guess begins an object. There is no plan if paths are ignored, because they depend on more than the depth.
func (s *scratch) guess(depth int, ignore *node) guess {
	if depth > maxPlans || ignore != nil {
		return guess{}
	}
	p := &s.plans[depth-1]
	return guess{plan: p, hit: len(p.ends) > 0 && p.names.trust()}
}

// next appends the name of the next member, with its colon and its skeleton, if it matches the plan. It returns the index
// after the colon, or 0.
func (s *scratch) next(g *guess, b []byte, i int) int {
	p := g.plan
	if g.n == len(p.ends) {
		return 0
	}
	var from span
	if g.n > 0 {
		from = p.ends[g.n-1]
	}
	to := p.ends[g.n]
	name := p.text[from.from:to.from]
	if len(b)-i < len(name) || string(b[i:i+len(name)]) != string(name) {
		return 0
	}
	s.buf = append(s.buf, name...)
	s.skel = append(s.skel, p.skel[from.to:to.to]...)
	g.n++
	return i + len(name)
}

// heads computes what push has skipped for the members since base, and reports whether they are in order.
func (s *scratch) heads(base int) (ordered bool) {
	ordered = true
	for n := base; n < len(s.keys); n++ {
		s.keys[n].head = s.head8(s.keys[n].name)
		ordered = ordered && (n == base || s.order(s.keys[n-1], s.keys[n]) <= 0)
	}
	return ordered
}

// settle sorts the members since base, which fill buf[start:]. Their skeletons are those since ibase.
func (s *scratch) settle(g *guess, base, ibase, start int, ordered bool) {
	p := g.plan
	if g.hit && g.n == len(p.ends) {
		p.names = 0
		if len(p.order) > 0 {
			s.rearrange(p, base, start)
		}
		return
	}
	if g.hit {
		ordered = s.heads(base) // comparing has ended early
	}
	learned := p != nil && p.names.learn() && s.learn(p, base, ibase)
	if ordered {
		return
	}
	if s.arrange(base, start); !learned {
		return
	}
	for _, m := range s.keys[base:] {
		at, _ := slices.BinarySearch(s.froms, m.all.from)
		p.order = append(p.order, byte(at))
	}
}

// learn makes p the plan of the members since base, in their original order, unless they are too many or too long.
func (s *scratch) learn(p *plan, base, ibase int) bool {
	p.text, p.skel, p.ends, p.order, s.froms = p.text[:0], p.skel[:0], p.ends[:0], p.order[:0], s.froms[:0]
	p.sigs, p.flats = p.sigs[:0], 0
	if len(s.keys)-base > maxPlanned {
		return false
	}
	for i, m := range s.keys[base:] {
		item := s.text(s.items[ibase+i])
		name := item[:bytes.IndexByte(item, '=')+1]
		if len(p.text)+int(m.name.to-m.name.from)+3 > maxPlanText || len(p.skel)+len(name) > maxPlanText {
			p.ends = p.ends[:0]
			return false
		}
		p.text = append(p.text, s.buf[m.all.from:m.name.to+2]...)
		p.skel = append(p.skel, name...)
		p.ends = append(p.ends, span{int32(len(p.text)), int32(len(p.skel))})
		s.froms = append(s.froms, m.all.from)
	}
	return true
}

// rearrange is arrange for members whose order the plan knows.
func (s *scratch) rearrange(p *plan, base, start int) {
	s.tmp = append(s.tmp[:0], s.buf[start:]...)
	out := s.buf[:start]
	for _, at := range p.order {
		all := s.keys[base+int(at)].all
		out = append(out, s.tmp[int(all.from)-start:int(all.to)-start]...)
	}
}

// uniteBy is unite, but reuses the last result if the text is the same: the set depends only on the text, in which no name
// or class contains a comma, an equals sign or a brace. It reports whether p has the set now.
func (s *scratch) uniteBy(p *plan, base, start int) bool {
	raw := s.skel[start:]
	switch {
	case p == nil || len(s.items)-base > maxPlanned || len(raw) > maxPlanText:
		s.unite(base, start)
		return false
	case bytes.Equal(raw, p.raw):
		p.sets = 0
		s.skel = append(s.skel[:start], p.united...)
	case !p.sets.learn():
		s.unite(base, start)
		return false
	default:
		p.raw, p.sigs = append(p.raw[:0], raw...), p.sigs[:0]
		s.unite(base, start)
		p.united = append(p.united[:0], s.skel[start:]...)
	}
	return true
}
