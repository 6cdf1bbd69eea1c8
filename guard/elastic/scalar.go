package elastic

import (
	"bytes"
	"hash/maphash"

	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

// scalar reads a string, a number or a word that begins at i with c.
func (s *scanner) scalar(i int, c byte) (int, fault) {
	switch {
	case c == '"':
		if bytes.HasPrefix(s.text[i:], []byte(`"""`)) {
			return s.tripled(i + 3)
		}
		return s.str(i + 1)
	case c == '-' || c >= '0' && c <= '9':
		end := numberEnd(s.text, i)
		if end < 0 {
			return i, fault{reason: "malformed number", at: i}
		}
		s.leaf(kindNumber, i, end)
		return end, fault{}
	case c == 't':
		return s.word(i, "true", kindTrue)
	case c == 'f':
		return s.word(i, "false", kindFalse)
	case c == 'n':
		return s.word(i, "null", kindNull)
	}
	return i, fault{reason: "expected a value", at: i}
}

func (s *scanner) leaf(k kind, off, end int) {
	s.nodes = append(s.nodes, node{kind: k, off: int32(off), end: int32(end), next: int32(len(s.nodes) + 1)})
}

func (s *scanner) word(i int, word string, k kind) (int, fault) {
	end := i + len(word)
	if end > len(s.text) || string(s.text[i:end]) != word {
		return i, fault{reason: "expected a value", at: i}
	}
	s.leaf(k, i, end)
	return end, fault{}
}

// str reads a string. i is the first byte after the quote.
func (s *scanner) str(i int) (int, fault) {
	text, from, escaped := s.text, i, false
	for i < len(text) {
		c := text[i]
		if c == '"' {
			s.leaf(kindString, from, i)
			s.nodes[len(s.nodes)-1].escaped = escaped
			return i + 1, fault{}
		}
		if c >= ' ' && c != '\\' {
			i++
			continue
		}
		if c < ' ' {
			return i, fault{reason: "control character in a string", at: i}
		}
		escaped = true
		n := escapeLength(text[i:])
		if n == 0 {
			return i, fault{reason: "invalid escape sequence", at: i}
		}
		i += n
	}
	return i, fault{reason: "unterminated string", at: from - 1}
}

// tripled reads raw text between triple quotes, as consoles send it.
func (s *scanner) tripled(i int) (int, fault) {
	end := bytes.Index(s.text[i:], []byte(`"""`))
	if end < 0 {
		return i, fault{reason: "unterminated string", at: i - 3}
	}
	s.leaf(kindString, i, i+end)
	s.lenient = true
	return i + end + 3, fault{}
}

func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := unescape.Hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

// numberEnd returns the end of the JSON number at i, or -1 if there is none.
func numberEnd(b []byte, i int) int {
	digits := func(i int) int {
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i
	}
	if b[i] == '-' {
		i++
	}
	end := digits(i)
	if end == i || b[i] == '0' && end > i+1 {
		return -1
	}
	if i = end; i < len(b) && b[i] == '.' {
		if end = digits(i + 1); end == i+1 {
			return -1
		}
		i = end
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if end = digits(i); end == i {
			return -1
		}
		i = end
	}
	return i
}

// few is the number of members up to which names are compared pairwise.
const few = 8

// duplicates records a duplicate name in the object.
func (s *scanner) duplicates(object int32) {
	if s.duplicate >= 0 {
		return
	}
	if s.nodes[object].count > few {
		s.duplicatesOfMany(object)
		return
	}
	var seen [few]int32
	n := 0
	for k := object + 1; k < s.nodes[object].next; k = s.nodes[k+1].next {
		for _, other := range seen[:n] {
			if s.same(k, other) {
				s.duplicate = s.nodes[k].off
				return
			}
		}
		seen[n] = k
		n++
	}
}

// duplicatesOfMany uses a hash table with a random seed, so that nobody can choose
// colliding names.
func (s *scanner) duplicatesOfMany(object int32) {
	size := 16
	for size < 2*int(s.nodes[object].count) {
		size *= 2
	}
	if cap(s.table) < size {
		s.table = make([]int32, size)
	}
	table := s.table[:size]
	clear(table)
	for k := object + 1; k < s.nodes[object].next; k = s.nodes[k+1].next {
		h := maphash.Bytes(s.seed, s.name(k))
		for slot := int(h) & (size - 1); ; slot = (slot + 1) & (size - 1) {
			if table[slot] == 0 {
				table[slot] = k
				break
			}
			if s.same(k, table[slot]) {
				s.duplicate = s.nodes[k].off
				return
			}
		}
	}
}

func (s *scanner) same(a, b int32) bool {
	x, y := &s.nodes[a], &s.nodes[b]
	if !x.escaped && !y.escaped {
		return x.end-x.off == y.end-y.off && bytes.Equal(s.text[x.off:x.end], s.text[y.off:y.end])
	}
	first := unescape.JSON(nil, s.text[x.off:x.end])
	return bytes.Equal(first, s.name(b))
}

// name returns the text of a key. It is valid until the next call.
func (s *scanner) name(k int32) []byte {
	n := &s.nodes[k]
	if !n.escaped {
		return s.text[n.off:n.end]
	}
	s.decoded = unescape.JSON(s.decoded[:0], s.text[n.off:n.end])
	return s.decoded
}
