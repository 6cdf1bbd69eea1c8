package admission

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// maxToken bounds the encoded payload of a token that is decoded. Callers with longer tokens are counted by their address.
const maxToken = 8 << 10

// bearer returns the encoded payload of the JSON Web Token in an Authorization field; "" for none. It verifies nothing,
// because only the worker has the keys. So a claim tells callers apart and proves nothing.
func bearer(authorization string) string {
	scheme, token, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	_, rest, ok := strings.Cut(strings.TrimLeft(token, " "), ".")
	payload, signature, two := strings.Cut(rest, ".")
	if !ok || !two || strings.IndexByte(signature, '.') >= 0 || len(payload) > maxToken {
		return "" // not signed, or encrypted, or none of ours
	}
	return payload
}

// claimOf returns the claim of a token's payload as text: a string, or a number as it is written. Any other value, or a
// repeated one, counts as missing. scratch is used and returned; the value shares its memory.
func claimOf(scratch []byte, payload, name string) (value, grown []byte) {
	n := base64.RawURLEncoding.DecodedLen(len(payload))
	scratch = append(scratch[:0], payload...)
	scratch = append(scratch, make([]byte, n)...)
	decoded := scratch[len(payload):]
	n, err := base64.RawURLEncoding.Decode(decoded, scratch[:len(payload)])
	if err != nil {
		return nil, scratch
	}
	return (&jsonScan{b: decoded[:n]}).member(name), scratch
}

// jsonScan reads one JSON object in place. It is strict about what it returns
// and lenient about what it skips.
type jsonScan struct {
	b []byte
	i int
}

// member returns the text of the object's string or number with the name; nil if there is none, or several.
func (s *jsonScan) member(name string) []byte {
	var found []byte
	seen := false
	if !s.next('{') {
		return nil
	}
	if s.next('}') {
		return nil
	}
	for {
		key, ok := s.text()
		if !ok || !s.next(':') {
			return nil
		}
		s.space()
		if string(key) != name {
			if !s.skip() {
				return nil
			}
		} else {
			if seen {
				return nil
			}
			seen = true
			if found, ok = s.scalar(); !ok {
				return nil
			}
		}
		if s.next(',') {
			continue
		}
		if !s.next('}') || !s.end() {
			return nil
		}
		return found
	}
}

func (s *jsonScan) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\n' || s.b[s.i] == '\r') {
		s.i++
	}
}

// next consumes c if it comes next.
func (s *jsonScan) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *jsonScan) end() bool {
	s.space()
	return s.i == len(s.b)
}

// scalar reads the value of the claim. It returns nil for a value that is neither string nor number.
func (s *jsonScan) scalar() (value []byte, ok bool) {
	if s.i >= len(s.b) {
		return nil, false
	}
	switch c := s.b[s.i]; {
	case c == '"':
		value, ok = s.text()
		if len(value) == 0 || !h1.PlainText(value) {
			value = nil
		}
		return value, ok
	case c == '-' || '0' <= c && c <= '9':
		from := s.i
		for s.i < len(s.b) && isNumberByte(s.b[s.i]) {
			s.i++
		}
		return s.b[from:s.i], true
	}
	return nil, s.skip()
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// skip passes over a value.
func (s *jsonScan) skip() bool {
	depth := 0
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case '"':
			if _, ok := s.text(); !ok {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true // the bracket closes the outer object
			}
			if depth--; depth == 0 {
				s.i++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.i++
	}
	return false
}

// text reads a string, and decodes its escapes in place.
func (s *jsonScan) text() ([]byte, bool) {
	if !s.next('"') {
		return nil, false
	}
	from, to := s.i, s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		switch {
		case c == '"':
			s.i++
			return s.b[from:to], true
		case c < ' ':
			return nil, false
		case c == '\\':
			n, ok := s.escape(to)
			if !ok {
				return nil, false
			}
			to += n
			continue
		}
		s.b[to] = c
		s.i++
		to++
	}
	return nil, false
}

// escape writes the decoded escape at i to the place to, and returns its length. The decoded form is never longer.
func (s *jsonScan) escape(to int) (int, bool) {
	if s.i+1 >= len(s.b) {
		return 0, false
	}
	c := s.b[s.i+1]
	s.i += 2
	const from, into = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if k := strings.IndexByte(from, c); k >= 0 {
		s.b[to] = into[k]
		return 1, true
	}
	if c != 'u' {
		return 0, false
	}
	r, ok := s.hex4(s.i)
	if !ok {
		return 0, false
	}
	s.i += 4
	if 0xd800 <= r && r < 0xe000 {
		low, ok := rune(0), false
		if r < 0xdc00 && s.i+1 < len(s.b) && s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
			low, ok = s.hex4(s.i + 2)
		}
		if ok && 0xdc00 <= low && low < 0xe000 {
			s.i += 6
			r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
		} else {
			r = utf8.RuneError
		}
	}
	return utf8.EncodeRune(s.b[to:to+utf8.UTFMax], r), true
}

func (s *jsonScan) hex4(at int) (r rune, ok bool) {
	if at+4 > len(s.b) {
		return 0, false
	}
	for _, c := range s.b[at : at+4] {
		v := h1.HexValue(c)
		if v < 0 {
			return 0, false
		}
		r = r<<4 | rune(v)
	}
	return r, true
}
