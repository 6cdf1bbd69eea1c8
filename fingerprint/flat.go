package fingerprint

import (
	"math/bits"
	"slices"
	"unicode/utf8"
)

// Most objects in long documents have only plain values and are like the previous object. flat copies slices of the
// document once, in their final order, and need not sort afterwards.

// flatValue is a plain value of a member, as found by flat.
type flatValue struct {
	from, to int32 // in the document: of the value, or of the member if its name is right before it
	whole    bool  // the range is that of the member
}

// sig is the part of a plain value in a skeleton: its class, and the bucket of its length if the class has one.
type sig uint16

// sigNull is the class of null, which no string has.
const sigNull = sig(255) << 8

// sigOf returns the sig of a value of n bytes.
func sigOf(c class, n int) sig {
	switch c {
	case cEmpty, cUUID, cBool, cDate:
		return sig(c) << 8
	}
	return sig(c)<<8 | sig(bits.Len64(uint64(n)))
}

// append appends the skeleton's text.
func (g sig) append(dst []byte) []byte {
	if g == sigNull {
		return append(dst, "null"...)
	}
	dst = append(dst, class(g>>8).String()...)
	if b := byte(g); b > 0 {
		return appendBits(dst, b)
	}
	return dst
}

// tryFlat calls flat if that is likely to succeed.
func (s *scratch) tryFlat(p *plan, b []byte, i int) (end int) {
	if p.flats.trust() {
		end = s.flat(p, b, i)
	}
	if p.flats++; end > 0 {
		p.names, p.flats = 0, 0
	}
	return end
}

// flat appends an object, whose first byte after the brace is b[i], if it has the members of p in the same order and all
// values are plain. It returns the index after the object, or 0 if the object is different; then it writes nothing.
func (s *scratch) flat(p *plan, b []byte, i int) int {
	var from int32
	flats, sigs := s.flats[:len(p.ends)], s.sigs[:len(p.ends)]
	for n, to := range p.ends {
		i = blank(b, i)
		if n > 0 {
			if i >= len(b) || b[i] != ',' {
				return 0
			}
			i = blank(b, i+1)
		}
		name := p.text[from:to.from]
		if from = to.from; len(b)-i < len(name) || string(b[i:i+len(name)]) != string(name) {
			return 0
		}
		colon := i + len(name)
		at := blank(b, colon)
		end, g := plain(b, at)
		if end == 0 {
			return 0
		}
		if at == colon {
			flats[n] = flatValue{from: int32(i), to: int32(end), whole: true}
		} else {
			flats[n] = flatValue{from: int32(at), to: int32(end)}
		}
		sigs[n] = g
		i = end
	}
	if i = blank(b, i); i >= len(b) || b[i] != '}' {
		return 0
	}
	s.flatText(p, b, flats)
	s.flatSkeleton(p, sigs)
	return i + 1
}

// flatText appends the members in their order.
func (s *scratch) flatText(p *plan, b []byte, flats []flatValue) {
	out := append(s.buf, '{')
	for n := range flats {
		if len(p.order) > 0 {
			n = int(p.order[n])
		}
		v := flats[n]
		if !v.whole {
			var from int32
			if n > 0 {
				from = p.ends[n-1].from
			}
			out = append(out, p.text[from:p.ends[n].from]...)
		}
		out = append(append(out, b[v.from:v.to]...), ',')
	}
	out[len(out)-1] = '}'
	s.buf = out
}

// flatSkeleton appends the skeleton. It reuses that of the last object if the values have the same classes and lengths.
func (s *scratch) flatSkeleton(p *plan, sigs []sig) {
	s.skel = append(s.skel, '{')
	start := len(s.skel)
	if slices.Equal(sigs, p.sigs) {
		s.skel = append(s.skel, p.united...)
	} else {
		ibase := len(s.items)
		var from int32
		for n, g := range sigs {
			at := len(s.skel)
			s.skel = append(g.append(append(s.skel, p.skel[from:p.ends[n].to]...)), ',')
			from = p.ends[n].to
			s.item(ibase, at)
		}
		if s.uniteBy(p, ibase, start) {
			p.sigs = append(p.sigs[:0], sigs...)
		}
		s.items = s.items[:ibase]
	}
	s.skel = seal(s.skel, start, '}')
}

// plain reads a value that is already in canonical form: a literal, a number without an exponent, a string without escapes.
// It returns the index after it, or 0.
func plain(b []byte, i int) (end int, g sig) {
	if i >= len(b) {
		return 0, 0
	}
	word, g := "", sigNull
	switch c := b[i]; {
	case c == '"':
		return plainString(b, i+1)
	case c == '-' || digit(c):
		return plainNumber(b, i)
	case c == 't':
		word, g = "true", sigOf(cBool, 0)
	case c == 'f':
		word, g = "false", sigOf(cBool, 0)
	case c == 'n':
		word = "null"
	default:
		return 0, 0
	}
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return 0, 0
	}
	return i + len(word), g
}

func plainString(b []byte, from int) (end int, g sig) {
	var k, c set
	for i := from; ; i++ {
		// Read four bytes per step: most bytes of a long document are in strings.
		for ; len(b)-i >= 4; i += 4 {
			q := b[i : i+4 : i+4]
			four := kindOf(q[0]) | kindOf(q[1]) | kindOf(q[2]) | kindOf(q[3])
			if four&kStop != 0 {
				break
			}
			k |= four
		}
		for i < len(b) {
			if c = kindOf(b[i]); c&kStop != 0 {
				break
			}
			k |= c
			i++
		}
		switch {
		case i >= len(b):
			return 0, 0
		case c == kHigh:
			k |= kHigh
		case c != kQuote || k&kHigh != 0 && !utf8.Valid(b[from:i]):
			return 0, 0
		default:
			return i + 1, sigOf(classify(b[from:i], k), i-from)
		}
	}
}

func plainNumber(b []byte, from int) (end int, g sig) {
	i, c := from, cInt
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b) || !digit(b[i]):
		return 0, 0
	case b[i] == '0':
		i++
	default:
		i = digits(b, i)
	}
	if i < len(b) && b[i] == '.' {
		c = cDecimal
		whole := i + 1
		if i = digits(b, whole); i == whole {
			return 0, 0
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		return 0, 0
	}
	return i, sigOf(c, i-from)
}
