package fingerprint

import (
	"bytes"
	"slices"
)

// maxDepth bounds the nesting of a JSON document that is canonicalised.
const maxDepth = 64

// json appends the canonical form of one document to buf and its skeleton to skel. It returns false if b is not a document
// within bounds. It never writes more bytes than it reads.
//
// It reads the document once. Values that are canonical already stay where they are, and pieces remember them in their final
// order. Then it copies the pieces to buf.
func (s *scratch) json(b []byte, ignore *node) bool {
	s.reset()
	i, v, g := s.value(b, blank(b, 0), 0, ignore, s.layouts.begin(s.skel))
	if i < 0 || blank(b, i) != len(b) {
		s.reset()
		return false
	}
	s.skel = g.append(s.skel)
	s.buf = s.emit(slices.Grow(s.buf, len(b)+short), b, v)
	return true
}

// lines is json for one document per line. It skips blank lines.
func (s *scratch) lines(b []byte, ignore *node) bool {
	defer s.reset()
	root := s.layouts.begin(s.skel)
	s.skel = append(s.skel, "lines["...)
	start, more := len(s.skel), false
	for i := blank(b, 0); i < len(b); {
		at := len(s.skel)
		s.pieces, s.spare = s.pieces[:0], s.spare[:0]
		end, v, g := s.value(b, i, 0, ignore, root)
		if end < 0 || bytes.IndexByte(b[i:end], '\n') >= 0 {
			return false
		}
		i = blank(b, end)
		if i < len(b) && bytes.IndexByte(b[end:i], '\n') < 0 {
			return false
		}
		s.skel = g.append(s.skel)
		s.buf = append(s.emit(slices.Grow(s.buf, len(b)+short), b, v), '\n')
		more = s.element(0, at) || more
	}
	s.endElements(0, start, more)
	return true
}

// reset forgets a document.
func (s *scratch) reset() {
	s.pieces, s.list, s.spare, s.fields, s.items = s.pieces[:0], s.list[:0], s.spare[:0], s.fields[:0], s.items[:0]
}

// blank returns the index of the first byte, from i on, that is not white space.
func blank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// value reads the value at b[i:]. It returns the index after it, or -1, and the value's text. Its skeleton is g, or has been
// appended to skel if g is inSkel. Objects begin at this layout.
func (s *scratch) value(b []byte, i, depth int, ignore *node, at int32) (end int, v piece, g sig) {
	if i >= len(b) {
		return -1, 0, 0
	}
	word, g := "", sigNull
	switch b[i] {
	case '"':
		return s.quoted(b, i)
	case '{', '[':
		if depth == maxDepth {
			s.deep = true
			return -1, 0, 0
		}
		if b[i] == '{' {
			end, v = s.object(b, i+1, depth+1, ignore, at)
		} else {
			end, v = s.array(b, i+1, depth+1, ignore, at)
		}
		return end, v, inSkel
	case 't':
		word, g = "true", sigBool
	case 'f':
		word, g = "false", sigBool
	case 'n':
		word = "null"
	default:
		return s.digits(b, i)
	}
	end = literal(b, i, word)
	return end, docPiece(i, max(i, end)), g
}

// literal returns the index after the word at b[i:], or -1.
func literal(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// rewrite appends the canonical form of the string at i to spare.
func (s *scratch) rewrite(b []byte, i int) (end int, k set) {
	s.buf, s.spare = s.spare, s.buf
	end, k = s.str(b, i+1)
	s.buf, s.spare = s.spare, s.buf
	return end, k
}

// quoted reads a string.
func (s *scratch) quoted(b []byte, i int) (end int, v piece, g sig) {
	end, k := scanText(b, i+1)
	if end > 0 {
		return end, docPiece(i, end), sigOf(classify(b[i+1:end-1], k), end-i-2)
	}
	if end < 0 {
		return -1, 0, 0
	}
	at := len(s.spare)
	if end, k = s.rewrite(b, i); end < 0 {
		return -1, 0, 0
	}
	inside := s.spare[at+1 : len(s.spare)-1]
	return end, spareText.within(at, len(s.spare)), sigOf(classify(inside, k), len(inside))
}

// digits reads a number.
func (s *scratch) digits(b []byte, i int) (end int, v piece, g sig) {
	end, c := scanNumber(b, i)
	if end < 0 {
		return -1, 0, 0
	}
	if end == len(b) || b[end]|0x20 != 'e' {
		return end, docPiece(i, end), sigOf(c, end-i)
	}
	at := len(s.spare)
	s.spare = append(s.spare, b[i:end]...)
	s.buf, s.spare = s.spare, s.buf
	end = s.exponent(b, end+1)
	s.buf, s.spare = s.spare, s.buf
	return end, spareText.within(at, len(s.spare)), sigOf(cDecimal, len(s.spare)-at)
}

// field is a member of an object that is being read.
type field struct {
	name  piece // with quotes and colon
	value piece
	kinds set   // of the name's characters, if the layout is not known
	skel  span  // the value's skeleton if sig is inSkel
	at    int32 // the layout after it
	sig   sig
}

// object reads the members and sorts them by name. It keeps all members with the same name, in their order, because parsers
// disagree about which of them counts.
func (s *scratch) object(b []byte, i, depth int, ignore *node, at int32) (end int, v piece) {
	from, base, obase, sat := i-1, len(s.fields), len(s.list), len(s.skel)
	if i = blank(b, i); i < len(b) && b[i] == '}' {
		s.skel = append(s.skel, "{}"...)
		return i + 1, s.listPiece(from, i+1, obase, objectList)
	}
	at = s.entered(at)
	whole, many := true, false // nothing is ignored; there are too many members to sort them
	for {
		i = blank(b, i)
		next, to := s.follow(b, i, at)
		name, k := docPiece(i, next), set(0)
		if next == 0 {
			if next, name, k = s.name(b, i); next < 0 {
				return -1, 0
			}
			to = s.learn(b, name, k, at)
		}
		at = to
		var below *node
		drop := false
		if ignore != nil {
			below, drop = ignore.member(s.inside(b, name))
		}
		vat := len(s.skel)
		end, value, g := s.value(b, blank(b, next), depth, below, noLayout-max(0, at))
		if end < 0 {
			return -1, 0
		}
		switch {
		case drop:
			whole, s.skel = false, s.skel[:vat]
		case many:
			s.skel = s.skel[:vat]
			s.add(b, obase, name, value)
		case len(s.fields)-base == maxSorted:
			many, s.skel = true, s.skel[:sat]
			for j := range s.fields[base:] {
				s.add(b, obase, s.fields[base+j].name, s.fields[base+j].value)
			}
			s.fields = s.fields[:base]
			s.add(b, obase, name, value)
		default:
			if len(s.fields) == cap(s.fields) {
				s.fields = slices.Grow(s.fields, 1)
			}
			s.fields = s.fields[:len(s.fields)+1]
			f := &s.fields[len(s.fields)-1]
			f.name, f.value, f.kinds, f.at, f.sig = name, value, k, at, g
			f.skel.from, f.skel.to = int32(vat), int32(len(s.skel))
		}
		if i = blank(b, end); i >= len(b) {
			return -1, 0
		}
		if b[i] == '}' {
			break
		}
		if b[i] != ',' {
			return -1, 0
		}
		i++
	}
	i++
	if many {
		s.skel = append(s.skel, "{+}"...)
		return i, s.listPiece(from, i, obase, objectList)
	}
	v = s.finish(b, s.fields[base:], sat, at, whole, docPiece(from, i))
	s.fields = s.fields[:base]
	return i, v
}

// name reads the name of a member and the colon. It returns the index after it, or -1.
func (s *scratch) name(b []byte, i int) (next int, name piece, k set) {
	if i >= len(b) || b[i] != '"' {
		return -1, 0, 0
	}
	end, k := scanText(b, i+1)
	if end > 0 && end < len(b) && b[end] == ':' {
		return end + 1, docPiece(i, end+1), k
	}
	if end < 0 {
		return -1, 0, 0
	}
	at := len(s.spare)
	if end, k = s.rewrite(b, i); end < 0 {
		return -1, 0, 0
	}
	if i = blank(b, end); i >= len(b) || b[i] != ':' {
		return -1, 0, 0
	}
	s.spare = append(s.spare, ':')
	return i + 1, spareText.within(at, len(s.spare)), k
}

// inside returns the name of a member without quotes and colon.
func (s *scratch) inside(b []byte, name piece) []byte {
	if name&sources == spareText {
		b = s.spare
	}
	return b[name.from()+1 : name.to()-2]
}

// array reads the elements in their order; for the shape they are a set.
func (s *scratch) array(b []byte, i, depth int, ignore *node, at int32) (end int, v piece) {
	from, obase := i-1, len(s.list)
	s.skel = append(s.skel, '[')
	sstart, ibase := len(s.skel), len(s.items)
	below, drop := ignore.element()
	if i = blank(b, i); i < len(b) && b[i] == ']' {
		s.skel = append(s.skel, ']')
		return i + 1, s.listPiece(from, i+1, obase, arrayList)
	}
	more, last := false, inSkel
	for {
		sat := len(s.skel)
		end, value, g := s.value(b, blank(b, i), depth, below, at)
		if end < 0 {
			return -1, 0
		}
		switch {
		case drop:
			s.skel = s.skel[:sat]
		default:
			s.list = join(b, s.list, obase, value)
			if g == last && g != inSkel {
				break // this element's skeleton is that of the last
			}
			last, s.skel = g, g.append(s.skel)
			more = s.element(ibase, sat) || more
		}
		if i = blank(b, end); i >= len(b) {
			return -1, 0
		}
		if b[i] == ']' {
			break
		}
		if b[i] != ',' {
			return -1, 0
		}
		i++
	}
	i++
	s.endElements(ibase, sstart, more)
	return i, s.listPiece(from, i, obase, arrayList)
}

// element keeps the skeleton skel[at:] if it is new among those since base and there is room. It returns true if there was
// no room.
func (s *scratch) element(base, at int) (full bool) {
	s.skel = append(s.skel, ',')
	its := s.items[base:]
	for _, it := range slices.Backward(its) {
		if bytes.Equal(s.skel[it.from:it.to], s.skel[at:]) {
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

// seal replaces the separator at the end of the text from start by the bracket.
func seal(b []byte, start int, bracket byte) []byte {
	if len(b) > start {
		b = b[:len(b)-1]
	}
	return append(b, bracket)
}
