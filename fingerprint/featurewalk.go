package fingerprint

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
)

// headerFeatures adds a header field. It leaves out the value of a volatile one.
func (s *scratch) headerFeatures(p *Printer, name, value string) {
	r := s.role(p, name, value)
	if r == ends {
		return
	}
	end := len(s.buf)
	h := s.feature(ofHeader, 0, s.buf)
	if s.feat.wants(h) {
		s.feat.text = "header " + headerName(s.buf) + " present"
	}
	s.buf = append(s.buf, value...)
	switch string(s.buf[:end]) {
	case "cookie":
		s.cookieFeatures(s.buf[end:], r == sent)
		return
	case "content-encoding":
		s.feat.encoded = s.feat.encoded || value != "" && !strings.EqualFold(value, "identity")
	}
	if r == sent && s.feat.wants(s.feature(ofHeaderValue, h, s.buf[end:])) {
		s.feat.text = "header " + headerName(s.buf[:end]) + valueText(": ", s.buf[:end], s.buf[end:])
	}
}

// cookieFeatures adds the cookies of one field, which lies in buf.
func (s *scratch) cookieFeatures(list []byte, values bool) {
	for len(list) > 0 {
		var pair []byte
		pair, list, _ = bytes.Cut(list, []byte(";"))
		pair = bytes.Trim(pair, " \t")
		if len(pair) == 0 {
			continue
		}
		name, value, named := bytes.Cut(pair, []byte("="))
		if !named { // as in browsers: a value without a name
			name, value = nil, pair
		}
		h := s.feature(ofCookie, 0, name)
		if s.feat.wants(h) {
			s.feat.text = "cookie " + shownName(name) + " present"
		}
		if values && s.feat.wants(s.feature(ofCookieValue, h, value)) {
			s.feat.text = "cookie " + shownName(name) + hiddenText
		}
	}
}

// pairFeatures adds the parameters of a query or form. The last pair of an incomplete form may be cut.
func (s *scratch) pairFeatures(k kind, in []byte, whole bool) {
	for len(in) > 0 {
		pair, rest, more := bytes.Cut(in, []byte("&"))
		in = rest
		if len(pair) == 0 {
			continue
		}
		if !more && !whole {
			return
		}
		raw, rawValue, valued := bytes.Cut(pair, []byte("="))
		at := len(s.buf)
		s.tmp = s.tmp[:0]
		name, _ := s.component(raw)
		h := s.feature(k, 0, s.buf[at:])
		if s.feat.wants(h) {
			s.feat.text = paramWord(k) + shownName(name) + " present"
		}
		if valued {
			from := len(s.buf)
			value, _ := s.component(rawValue)
			if s.feat.wants(s.feature(k+1, h, s.buf[from:])) {
				s.feat.text = paramWord(k) + shownName(name) + valueText("=", name, value)
			}
		}
		s.buf = s.buf[:at]
	}
}

// maxFeatureBody bounds the bytes of a body that are read for features.
const maxFeatureBody = 64 << 10

// bodyFeatures adds the features of the body, or its length if it could not be read to its end.
func (s *scratch) bodyFeatures(p *Printer, in *Input) {
	b, length := in.Body, in.Length
	if in.Complete {
		length = int64(len(b))
	}
	if len(b) == 0 && length == 0 {
		return
	}
	most := min(p.rules.maxBody, maxFeatureBody)
	s.feat.whole = in.Complete && len(b) <= most
	b = b[:min(len(b), most)]
	m := s.media(in.ContentType)
	s.buf, s.skel = s.buf[:0], s.skel[:0]
	read := false
	switch {
	case s.feat.encoded:
	case m.kind == formBody:
		s.pairFeatures(ofForm, b, s.feat.whole)
		read = true
	case m.kind == jsonBody:
		i := s.walk(b, blank(b, 0), 0, 0, 0)
		read = i >= 0 && blank(b, i) == len(b)
	case m.kind == jsonLines:
		i := blank(b, 0)
		for i >= 0 && i < len(b) {
			if i = s.walk(b, i, 0, 0, 0); i >= 0 {
				i = blank(b, i)
			}
		}
		read = i >= 0
	}
	s.buf, s.skel = s.buf[:0], s.skel[:0]
	if read && s.feat.whole {
		return
	}
	bucket := -1
	if length >= 0 {
		bucket = bits.Len64(uint64(length))
	}
	s.in = binary.LittleEndian.AppendUint64(s.in[:0], uint64(bucket))
	if s.feat.wants(s.feature(ofBody, 0, s.in)) {
		s.feat.text = bodyText(bucket)
	}
}

// maxSteps bounds the depth of JSON members that are features.
const maxSteps = 4

// walk adds the value at b[i:] and its content. It returns the index after it, or -1. The value's path has this number of
// steps, and h is its feature.
func (s *scratch) walk(b []byte, i, depth, steps int, h uint64) int {
	if i >= len(b) {
		return -1
	}
	at, sat := len(s.buf), len(s.skel)
	var end int
	switch b[i] {
	case '{', '[':
		switch {
		case depth == maxDepth:
			return -1
		case b[i] == '{':
			return s.walkObject(b, i+1, depth+1, steps, h)
		}
		return s.walkArray(b, i+1, depth+1, steps, h)
	case '"':
		end, _ = s.str(b, i+1)
	case 't':
		end = s.literal(b, i, "true")
	case 'f':
		end = s.literal(b, i, "false")
	case 'n':
		end = s.literal(b, i, "null")
	default:
		end = s.number(b, i)
		if end == len(b) && !s.feat.whole {
			end = -1 // more digits may follow
		}
	}
	if end >= 0 && steps <= maxSteps && s.feat.wants(s.feature(ofMemberValue, h, s.buf[at:])) {
		s.feat.text = memberText(s.feat.path, s.buf[at:])
	}
	s.buf, s.skel = s.buf[:at], s.skel[:sat]
	return end
}

func (s *scratch) walkObject(b []byte, i, depth, steps int, h uint64) int {
	if i = blank(b, i); i < len(b) && b[i] == '}' {
		return i + 1
	}
	at, pathAt := len(s.buf), len(s.feat.path)
	for {
		if i = blank(b, i); i >= len(b) || b[i] != '"' {
			return -1
		}
		if i, _ = s.str(b, i+1); i < 0 {
			return -1
		}
		if i = blank(b, i); i >= len(b) || b[i] != ':' {
			return -1
		}
		below := uint64(0)
		if steps < maxSteps {
			name := s.buf[at+1 : len(s.buf)-1]
			s.feat.path = appendStep(s.feat.path, name)
			below = s.memberFeature(h, name)
		}
		s.buf = s.buf[:at]
		i = s.walk(b, blank(b, i+1), depth, steps+1, below)
		s.feat.path = s.feat.path[:pathAt]
		if i = after(b, i); i < 0 {
			return -1
		}
		if b[i] == '}' {
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
}

func (s *scratch) walkArray(b []byte, i, depth, steps int, h uint64) int {
	if i = blank(b, i); i < len(b) && b[i] == ']' {
		return i + 1
	}
	pathAt, below := len(s.feat.path), uint64(0)
	if steps < maxSteps {
		s.feat.path = append(s.feat.path, "[*]"...)
		below = s.memberFeature(h, []byte{0}) // no name contains this byte
	}
	for {
		i = after(b, s.walk(b, blank(b, i), depth, steps+1, below))
		if i < 0 {
			return -1
		}
		if b[i] == ']' {
			s.feat.path = s.feat.path[:pathAt]
			return i + 1
		}
		if b[i] != ',' {
			return -1
		}
		i++
	}
}

func (s *scratch) memberFeature(parent uint64, name []byte) uint64 {
	h := s.feature(ofMember, parent, name)
	if s.feat.wants(h) {
		s.feat.text = "JSON member " + pathText(s.feat.path) + " present"
	}
	return h
}

// after returns the index after a value that ended at i, or -1.
func after(b []byte, i int) int {
	if i < 0 {
		return -1
	}
	if i = blank(b, i); i >= len(b) {
		return -1
	}
	return i
}
