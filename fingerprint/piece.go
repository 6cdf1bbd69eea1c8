package fingerprint

import "encoding/binary"

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

// member adds a member to pieces.
func (s *scratch) member(f *field) {
	if (f.name|f.value)&sources == document && f.name.to() == f.value.from() {
		s.pieces = append(s.pieces, docPiece(f.name.from(), f.value.to()))
		return
	}
	s.pieces = append(s.pieces, f.name|bare, f.value)
}

// tight reports whether members in this order have nothing but commas around them in their object, which is all.
func tight(fields []field, all piece) bool {
	at := all.from() + 1
	for i := range fields {
		f := &fields[i]
		if (f.name|f.value)&sources != document || f.name.from() != at || f.name.to() != f.value.from() {
			return false
		}
		at = f.value.to() + 1
	}
	return at == all.to()
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

// short is the most bytes that are copied without looking how many there are.
const short = 32

// copyShort copies short bytes, in words: copy would be a call.
func copyShort(to, from []byte) {
	a, b := binary.LittleEndian.Uint64(from), binary.LittleEndian.Uint64(from[8:])
	c, d := binary.LittleEndian.Uint64(from[16:]), binary.LittleEndian.Uint64(from[24:])
	binary.LittleEndian.PutUint64(to, a)
	binary.LittleEndian.PutUint64(to[8:], b)
	binary.LittleEndian.PutUint64(to[16:], c)
	binary.LittleEndian.PutUint64(to[24:], d)
}

// emit appends the text of a piece. Behind dst there is room for the whole document and for short bytes more.
func (s *scratch) emit(dst, b []byte, p piece) []byte {
	bracket := byte('{')
	switch p & sources {
	case document:
		return append(dst, b[p.from():p.to()]...)
	case spareText:
		return append(dst, s.spare[p.from():p.to()]...)
	case arrayList:
		bracket = '['
	}
	dst = append(dst, bracket)
	start := len(dst)
	for _, p := range s.pieces[p.from():p.to()] {
		from, n, at := p.from(), p.to()-p.from(), len(dst)
		switch {
		case p&sources == document && n <= short && len(b)-from >= short && cap(dst)-at >= short:
			copyShort(dst[at:at+short], b[from:from+short])
			dst = dst[:at+n]
		case p&sources == document:
			dst = append(dst, b[from:from+n]...)
		default:
			dst = s.emit(dst, b, p)
		}
		if p&bare == 0 {
			dst = append(dst, ',')
		}
	}
	return seal(dst, start, bracket+2) // in ASCII the closing bracket comes two later
}
