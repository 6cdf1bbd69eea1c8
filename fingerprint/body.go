package fingerprint

import (
	"bytes"
	"encoding/binary"
)

// body appends the body, the last part. Its kind is part of the identity. A malformed body is compared byte by byte.
func (s *scratch) body(p *Printer, in *Input, m medium) {
	b := in.Body
	whole := in.Complete && len(b) <= p.rules.maxBody
	if whole && len(b) == 0 {
		return
	}
	if s.values(in.Header, "Content-Encoding", true) {
		m = medium{kind: opaque}
	}
	if !whole {
		s.head(b[:min(len(b), p.rules.maxBody)], in.Length, m)
		return
	}
	at, sat := len(s.buf), len(s.skel)
	s.buf = append(s.buf, m.kind)
	s.skel = append(s.skel, ' ')
	if s.structured(p, b, m) {
		return
	}
	s.buf = append(append(s.buf[:at], opaque), b...)
	s.skel = append(s.skel[:sat], ' ')
	if m.kind != opaque {
		s.skel = append(s.skel, "bad "...)
	}
	if s.deep {
		s.skel = append(s.skel, "deep "...)
	}
	s.appendSample(b)
}

// structured appends a body in its canonical form, or returns false if the body has none.
func (s *scratch) structured(p *Printer, b []byte, m medium) bool {
	s.deep = false
	switch m.kind {
	case jsonBody:
		return s.json(b, p.rules.json)
	case jsonLines:
		return s.lines(b, p.rules.json)
	case formBody:
		s.skel = append(s.skel, "form("...)
		s.pairs(b, p.rules.form)
		s.skel = append(s.skel, ')')
		return true
	case multipart:
		return s.multipart(b, m.boundary, false)
	}
	return false
}

// head appends the first bytes of a longer body, and its declared length. Half a document cannot be canonicalised; only the
// boundary of a multipart body is left out.
func (s *scratch) head(b []byte, length int64, m medium) {
	at, sat := len(s.buf), len(s.skel)
	s.buf = binary.BigEndian.AppendUint64(append(s.buf, heads), uint64(length))
	s.skel = append(s.skel, ' ')
	if m.kind != multipart || !s.multipart(b, m.boundary, true) {
		s.buf = binary.BigEndian.AppendUint64(append(s.buf[:at], head), uint64(length))
		s.buf = append(s.buf, b...)
		s.skel = append(s.skel[:sat], ' ')
		s.appendSample(b)
	}
	s.skel = append(s.skel, " of "...)
	if length < 0 {
		s.skel = append(s.skel, '?')
	} else {
		s.skel = appendBucket(s.skel, length)
	}
}

// sample bounds how many opaque bytes a shape examines: examining all of them would cost more than hashing them.
const sample = 64

// appendSample appends the class of opaque bytes.
func (s *scratch) appendSample(b []byte) {
	v := b[:min(len(b), sample)]
	s.skel = appendBucket(append(s.skel, classify(v, kindsOf(v)).String()...), int64(len(b)))
}

// multipart appends preamble, parts and epilogue with their lengths, without the boundary. A body without its boundary is
// opaque, and so is one with bare newlines, which parsers read in different ways.
func (s *scratch) multipart(b []byte, boundary string, cut bool) bool {
	if boundary == "" {
		return false // a canonical Content-Type, which has lost its boundary
	}
	s.in = append(append(s.in[:0], "\r\n--"...), boundary...)
	delim := s.in
	s.skel = append(s.skel, "multipart("...)
	sstart, ibase := len(s.skel), len(s.items)
	mark, parts := byte('P'), 0
	for mark != 0 {
		part, next, rest := b, byte(0), []byte(nil)
		if mark != 'C' {
			part, next, rest = cutPart(b, delim, mark == 'P', cut)
		}
		if mark == 'P' && next == 0 {
			return false
		}
		s.buf = append(s.buf, mark)
		at := s.open()
		s.buf = append(s.buf, part...)
		s.shut(at)
		if mark == 'D' && parts < maxNames {
			parts++
			s.part(ibase, part)
		}
		b, mark = rest, next
	}
	s.unite(ibase, sstart)
	s.items = s.items[:ibase]
	s.skel = seal(s.skel, sstart, ')')
	return true
}

// cutPart finds the delimiter that ends a part. It returns the part, what follows it (another part 'D', the epilogue 'C',
// or nothing 0), and the rest.
func cutPart(b, delim []byte, first, cut bool) (part []byte, next byte, rest []byte) {
	from := 0
	for {
		at, end := 0, 0
		if first && from == 0 && bytes.HasPrefix(b, delim[2:]) {
			end = len(delim) - 2
		} else if at = bytes.Index(b[from:], delim); at >= 0 {
			at += from
			end = at + len(delim)
		} else {
			break
		}
		tail := b[end:]
		if bytes.HasPrefix(tail, []byte("--")) {
			return b[:at], 'C', tail[2:]
		}
		line := bytes.TrimLeft(tail, " \t")
		if bytes.HasPrefix(line, []byte("\r\n")) {
			return b[:at], 'D', line[2:]
		}
		if cut && len(line) < 2 {
			return b[:at], 'D', nil
		}
		from = end
	}
	if cut {
		b = trimDelim(b, delim)
	}
	return b, 0, nil
}

// trimDelim removes the beginning of a delimiter from the end of a head.
func trimDelim(b, delim []byte) []byte {
	for n := min(len(b), len(delim)-1); n > 0; n-- {
		if bytes.HasSuffix(b, delim[:n]) {
			return b[:len(b)-n]
		}
	}
	return b
}

// part appends one part's skeleton: its field name and the class of its value.
func (s *scratch) part(base int, b []byte) {
	at := len(s.skel)
	fields, value, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	var name []byte
	if _, rest, found := bytes.Cut(fields, []byte(` name="`)); found {
		name, _, _ = bytes.Cut(rest, []byte(`"`))
	}
	s.skel = append(appendName(s.skel, name, kindsOf(name)), '=')
	s.appendSample(value)
	s.skel = append(s.skel, '&')
	s.item(base, at)
}
