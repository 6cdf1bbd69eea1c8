package fingerprint

import (
	"bytes"
	"slices"
)

// pairs appends the canonical form of a query or form to buf and its skeleton to skel. Pairs are sorted by name, pairs with
// one name keep their order, and names and values are escaped in one way. Empty pairs are dropped; "a" and "a=" differ.
func (s *scratch) pairs(in []byte, drop []string) {
	start, sstart := len(s.buf), len(s.skel)
	base, ibase := len(s.keys), len(s.items)
	ordered := true
	for len(in) > 0 {
		pair := in
		if i := bytes.IndexByte(in, '&'); i >= 0 {
			pair, in = in[:i], in[i+1:]
		} else {
			in = nil
		}
		if len(pair) == 0 {
			continue
		}
		at, sat := len(s.buf), len(s.skel)
		eq := bytes.IndexByte(pair, '=')
		raw := pair
		if eq >= 0 {
			raw = pair[:eq]
		}
		s.tmp = s.tmp[:0]
		name, k := s.component(raw)
		if dropped(name, drop) {
			s.buf = s.buf[:at]
			continue
		}
		end := len(s.buf)
		s.skel = appendName(s.skel, name, k)
		if eq >= 0 {
			s.buf = append(s.buf, '=')
			value, k := s.component(pair[eq+1:])
			s.skel = appendClass(append(s.skel, '='), value, k)
		}
		s.buf = append(s.buf, '&')
		s.skel = append(s.skel, '&')
		ordered = s.push(base, at, span{int32(at), int32(end)}) && ordered
		s.item(ibase, sat)
	}
	if !ordered {
		s.arrange(base, start)
	}
	if len(s.buf) > start {
		s.buf = s.buf[:len(s.buf)-1]
	}
	if s.unite(ibase, sstart); len(s.skel) > sstart {
		s.skel = s.skel[:len(s.skel)-1]
	}
	s.keys, s.items = s.keys[:base], s.items[:ibase]
}

func dropped(name []byte, drop []string) bool {
	return slices.Contains(drop, string(name))
}

// component appends one name or value to buf and returns its decoded form. With a broken escape it is appended unchanged,
// because parsers disagree about it; no canonical component looks like it. The same applies to a bare ';', which some
// parsers read as '&'.
func (s *scratch) component(raw []byte) (decoded []byte, k set) {
	if k = kindsOf(raw); k.within(kUnreserved) {
		s.buf = append(s.buf, raw...)
		return raw, k
	}
	start, tstart := len(s.buf), len(s.tmp)
	k = 0
	for i := 0; i < len(raw); i++ {
		run := i
		for i < len(raw) && kindOf(raw[i])&kUnreserved != 0 {
			k |= kindOf(raw[i])
			i++
		}
		s.buf, s.tmp = append(s.buf, raw[run:i]...), append(s.tmp, raw[run:i]...)
		if i == len(raw) {
			break
		}
		c := raw[i]
		plain := kUnreserved
		switch c {
		case ';':
			plain |= kSemi
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(raw) {
				return s.verbatim(start, raw)
			}
			hi, lo := unhex(raw[i+1]), unhex(raw[i+2])
			if hi > 15 || lo > 15 {
				return s.verbatim(start, raw)
			}
			c = hi<<4 | lo
			i += 2
		}
		k |= kindOf(c)
		s.tmp = append(s.tmp, c)
		s.buf = appendByte(s.buf, c, plain)
	}
	return s.tmp[tstart:], k
}

func (s *scratch) verbatim(start int, raw []byte) (decoded []byte, k set) {
	s.buf = append(s.buf[:start], raw...)
	return raw, kindsOf(raw)
}
