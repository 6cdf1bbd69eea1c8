package fingerprint

import (
	"bytes"
	"slices"
)

// maxDepth bounds the nesting of a JSON document that is canonicalised.
const maxDepth = 64

// json appends the canonical form of one document to buf and its skeleton to skel, in a single pass. It returns false if b
// is not a document within bounds. It never writes more bytes than it reads.
func (s *scratch) json(b []byte, ignore *node) bool {
	i := s.value(b, blank(b, 0), 0, ignore)
	s.keys, s.items = s.keys[:0], s.items[:0] // an error may have left members
	return i >= 0 && blank(b, i) == len(b)
}

// lines is json for one document per line. It skips blank lines.
func (s *scratch) lines(b []byte, ignore *node) bool {
	defer func() { s.keys, s.items = s.keys[:0], s.items[:0] }()
	s.skel = append(s.skel, "lines["...)
	start, more := len(s.skel), false
	for i := blank(b, 0); i < len(b); {
		at := len(s.skel)
		end := s.value(b, i, 0, ignore)
		if end < 0 || bytes.IndexByte(b[i:end], '\n') >= 0 {
			return false
		}
		i = blank(b, end)
		if i < len(b) && bytes.IndexByte(b[end:i], '\n') < 0 {
			return false
		}
		s.buf = append(s.buf, '\n')
		more = s.element(0, at) || more
	}
	s.endElements(0, start, more)
	return true
}

// blank returns the index of the first byte, from i on, that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// value appends the value at b[i:] and returns the index after it, or -1.
func (s *scratch) value(b []byte, i, depth int, ignore *node) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		at := len(s.buf) + 1
		end, k := s.str(b, i+1)
		if end >= 0 {
			s.skel = appendClass(s.skel, s.buf[at:len(s.buf)-1], k)
		}
		return end
	case '{', '[':
		if depth == maxDepth {
			s.deep = true
			return -1
		}
		if b[i] == '{' {
			return s.object(b, i+1, depth+1, ignore)
		}
		return s.array(b, i+1, depth+1, ignore)
	case 't':
		return s.literal(b, i, "true", "bool")
	case 'f':
		return s.literal(b, i, "false", "bool")
	case 'n':
		return s.literal(b, i, "null", "null")
	}
	return s.number(b, i)
}

func (s *scratch) literal(b []byte, i int, word, class string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	s.buf = append(s.buf, word...)
	s.skel = append(s.skel, class...)
	return i + len(word)
}

// object appends the members sorted by name. It keeps all members with the same name, in their order, because parsers
// disagree about which of them counts.
func (s *scratch) object(b []byte, i, depth int, ignore *node) int {
	g, ordered := s.guess(depth, ignore), true
	if g.hit {
		if end := s.tryFlat(g.plan, b, i); end > 0 {
			return end
		}
	}
	s.buf = append(s.buf, '{')
	s.skel = append(s.skel, '{')
	start, sstart := len(s.buf), len(s.skel)
	base, ibase := len(s.keys), len(s.items)
	if i = blank(b, i); i < len(b) && b[i] == '}' {
		s.buf = append(s.buf, '}')
		s.skel = append(s.skel, '}')
		return i + 1
	}
	for {
		at, sat := len(s.buf), len(s.skel)
		next := 0
		if i = blank(b, i); g.hit {
			if next = s.next(&g, b, i); next == 0 {
				g.hit, ordered = false, s.heads(base)
			}
		}
		if next == 0 {
			next = s.name(b, i)
		}
		if next < 0 {
			return -1
		}
		end := len(s.buf) - 2
		below, drop := ignore.member(s.buf[at+1 : end])
		if i = s.value(b, blank(b, next), depth, below); i < 0 {
			return -1
		}
		name := span{int32(at + 1), int32(end)}
		s.buf = append(s.buf, ',')
		s.skel = append(s.skel, ',')
		switch {
		case drop:
			s.buf, s.skel = s.buf[:at], s.skel[:sat]
		case g.hit:
			s.keys = append(s.keys, member{name: name, all: span{int32(at), int32(len(s.buf))}})
			s.item(ibase, sat)
		default:
			ordered = s.push(base, at, name) && ordered
			s.item(ibase, sat)
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		if b[i] == '}' {
			break
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
	s.settle(&g, base, ibase, start, ordered)
	s.uniteBy(g.plan, ibase, sstart)
	s.keys, s.items = s.keys[:base], s.items[:ibase]
	s.buf = seal(s.buf, start, '}')
	s.skel = seal(s.skel, sstart, '}')
	return i + 1
}

// name appends the name of a member with its colon, and the skeleton's form. It returns the index after the colon, or -1.
func (s *scratch) name(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	at := len(s.buf) + 1
	i, k := s.str(b, i+1)
	if i < 0 {
		return -1
	}
	if i = blank(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	s.skel = append(appendName(s.skel, s.buf[at:len(s.buf)-1], k), '=')
	s.buf = append(s.buf, ':')
	return i + 1
}

// seal replaces the separator at the end of the text from start by the bracket.
func seal(b []byte, start int, bracket byte) []byte {
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return append(b, bracket)
}

// array appends the elements in their order; for the shape they are a set.
func (s *scratch) array(b []byte, i, depth int, ignore *node) int {
	s.buf = append(s.buf, '[')
	s.skel = append(s.skel, '[')
	start, sstart, ibase := len(s.buf), len(s.skel), len(s.items)
	below, drop := ignore.element()
	more := false
	if i = blank(b, i); i < len(b) && b[i] == ']' {
		s.buf = append(s.buf, ']')
		s.skel = append(s.skel, ']')
		return i + 1
	}
	for {
		at, sat := len(s.buf), len(s.skel)
		if i = s.value(b, blank(b, i), depth, below); i < 0 {
			return -1
		}
		if drop {
			s.buf, s.skel = s.buf[:at], s.skel[:sat]
		} else {
			s.buf = append(s.buf, ',')
			more = s.element(ibase, sat) || more
		}
		if i = blank(b, i); i >= len(b) {
			return -1
		}
		if b[i] == ']' {
			break
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
	s.buf = seal(s.buf, start, ']')
	s.endElements(ibase, sstart, more)
	return i + 1
}

// element keeps the skeleton skel[at:] if it is new among those since base and there is room. It returns true if there was
// no room.
func (s *scratch) element(base, at int) (full bool) {
	s.skel = append(s.skel, ',')
	its := s.items[base:]
	for _, it := range slices.Backward(its) {
		if bytes.Equal(s.text(it), s.skel[at:]) {
			s.skel = s.skel[:at]
			return false
		}
	}
	if len(its) == maxElements {
		s.skel = s.skel[:at]
		return true
	}
	s.item(base, at)
	return false
}

// endElements closes an array's skeleton.
func (s *scratch) endElements(base, start int, more bool) {
	s.unite(base, start)
	s.items = s.items[:base]
	if more {
		s.skel = append(s.skel, "+,"...)
	}
	s.skel = seal(s.skel, start, ']')
}
