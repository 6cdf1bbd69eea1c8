package fingerprint

// piece is a part of the canonical form of a document: a range of one of these sources. It is one word, with 28 bits for each
// end of the range, because pieces are copied all the time.
type piece uint64

const (
	document   piece = iota << 56 // it is there in canonical form already
	spareText                     // spare has the text that had to be written anew
	objectList                    // pieces has the members in their order
	arrayList                     // … or elements

	sources = 3 << 56
	bare    = 1 << 60 // no comma follows: it is the name of a member
)

func (p piece) from() int { return int(p & (1<<28 - 1)) }
func (p piece) to() int   { return int(p >> 28 & (1<<28 - 1)) }

// within makes a piece of a range of the source p.
func (p piece) within(from, to int) piece { return p | piece(from) | piece(to)<<28 }

// docPiece makes a piece of a range of the document.
func docPiece(from, to int) piece { return document.within(from, to) }

// join adds p to the list since base, or lengthens the list's last piece if p follows it in the document.
func join(b []byte, list []piece, base int, p piece) []piece {
	if n := len(list); n > base && p&sources == document {
		if l := list[n-1]; l&(sources|bare) == document && l.to() == p.from()-1 && b[l.to()] == ',' {
			list[n-1] = docPiece(l.from(), p.to()) | p&bare
			return list
		}
	}
	return append(list, p)
}

// add adds a member to the list since base.
func (s *scratch) add(b []byte, base int, name, value piece) {
	if (name|value)&sources == document && name.to() == value.from() {
		s.list = join(b, s.list, base, docPiece(name.from(), value.to()))
		return
	}
	s.list = append(join(b, s.list, base, name|bare), value)
}

// flush adds the fields since base in the order in which they came.
func (s *scratch) flush(b []byte, base, obase int) {
	for i := base; i < len(s.fields); i++ {
		s.add(b, obase, s.fields[i].name, s.fields[i].value)
	}
	s.fields = s.fields[:base]
}

// listPiece makes a piece of the list since base, which is b[from:to] in the document.
func (s *scratch) listPiece(from, to, base int, in piece) piece {
	list := s.list[base:]
	if len(list) == 0 && to == from+2 || len(list) == 1 && list[0] == docPiece(from+1, to-1) {
		s.list = s.list[:base]
		return docPiece(from, to)
	}
	at := len(s.pieces)
	s.pieces = append(s.pieces, list...)
	s.list = s.list[:base]
	return in.within(at, len(s.pieces))
}

// emit appends the text of a piece to buf.
func (s *scratch) emit(b []byte, p piece) {
	bracket := byte('{')
	switch p & sources {
	case document:
		s.buf = append(s.buf, b[p.from():p.to()]...)
		return
	case spareText:
		s.buf = append(s.buf, s.spare[p.from():p.to()]...)
		return
	case arrayList:
		bracket = '['
	}
	s.buf = append(s.buf, bracket)
	start := len(s.buf)
	for _, p := range s.pieces[p.from():p.to()] {
		if p&sources == document {
			s.buf = append(s.buf, b[p.from():p.to()]...)
		} else {
			s.emit(b, p)
		}
		if p&bare == 0 {
			s.buf = append(s.buf, ',')
		}
	}
	s.buf = seal(s.buf, start, bracket+2) // in ASCII the closing bracket comes two later
}
