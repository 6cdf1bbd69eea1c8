package elastic

import (
	"bytes"
	"hash/maphash"
)

type kind uint8

const (
	kindNull kind = iota
	kindTrue
	kindFalse
	kindNumber
	kindString
	kindObject
	kindArray
)

// node is one value, or one key, of a tape. The members of an object are key,
// value, key, value …; those of an array follow one another.
type node struct {
	kind     kind
	escaped  bool  // a string with backslashes
	off, end int32 // its bytes: of a string those between the quotes
	next     int32 // the node after its whole subtree; of an open container its parent
	count    int32 // members of an object, elements of an array
}

const nodeBytes = 20 // of memory

// scanner turns text into a tape. Faults are kept, not returned one by one, so
// that what was read before them can still be measured.
type scanner struct {
	text      []byte
	nodes     []node
	maxDepth  int
	maxNodes  int
	room      func(n int) bool // asks for n bytes of memory; nil: they are there
	seed      maphash.Seed
	table     []int32 // of one large object: nodes of its keys by hash
	decoded   []byte
	lenient   bool  // text has what only Jackson accepts
	duplicate int32 // where a key came twice; -1
	deepest   int   // level of nesting
}

type fault struct {
	reason  string
	at      int
	deep    bool
	crowded bool
}

const noFault = ""

// scan reads one value in text[from:to] and nothing after it but space.
func (s *scanner) scan(text []byte, from, to int) fault {
	s.text, s.nodes, s.lenient, s.duplicate, s.deepest = text[:to], s.nodes[:0], false, -1, 0
	i := from
	if bytes.HasPrefix(s.text[i:], []byte("\xef\xbb\xbf")) {
		i, s.lenient = i+3, true
	}
	i, f := s.document(i)
	if f.reason != noFault {
		return f
	}
	i, f = s.space(i)
	if f.reason == noFault && i < to {
		f = fault{reason: "text after the end of the body", at: i}
	}
	return f
}

// document reads a value with everything in it. open is the innermost open
// container; its node's next leads to the one around it.
func (s *scanner) document(i int) (int, fault) {
	open, depth := int32(-1), 0
	for {
		var f fault
		if i, f = s.space(i); f.reason != noFault {
			return i, f
		}
		if i >= len(s.text) {
			return i, fault{reason: "the body ends within a value", at: i}
		}
		if len(s.nodes) >= s.maxNodes {
			return i, fault{reason: "too many values", at: i}
		}
		if len(s.nodes)+2 > cap(s.nodes) && !s.grow() { // a value, and the key of the next
			return i, fault{reason: "there is no room for so many values", at: i, crowded: true}
		}
		c := s.text[i]
		closed := false
		switch c {
		case '{', '[':
			if depth++; depth > s.maxDepth {
				return i, fault{reason: "nested too deep", at: i, deep: true}
			}
			s.deepest = max(s.deepest, depth)
			k, end := kindObject, byte('}')
			if c == '[' {
				k, end = kindArray, ']'
			}
			s.nodes = append(s.nodes, node{kind: k, off: int32(i), next: open})
			open = int32(len(s.nodes) - 1)
			if i, f = s.space(i + 1); f.reason != noFault {
				return i, f
			}
			closed = i < len(s.text) && s.text[i] == end
			if !closed {
				if i, f = s.key(i, open); f.reason != noFault {
					return i, f
				}
				continue
			}
		default:
			if i, f = s.scalar(i, c); f.reason != noFault {
				return i, f
			}
		}
		if i, open, f = s.after(i, open, &depth, closed); f.reason != noFault || open < 0 {
			return i, f
		}
	}
}

// grow doubles the room for nodes, if there is that much memory.
func (s *scanner) grow() bool {
	size := max(2*cap(s.nodes), 64)
	if s.room != nil && !s.room(size*nodeBytes) {
		return false
	}
	s.nodes = append(make([]node, 0, size), s.nodes...)
	return true
}

// after comes behind a value, or (closed) at the bracket that ends a container:
// it closes what ends here and goes on to where the next value begins. open
// below 0: the document is over.
func (s *scanner) after(i int, open int32, depth *int, closed bool) (int, int32, fault) {
	for open >= 0 {
		var f fault
		if !closed {
			s.nodes[open].count++
			if i, f = s.space(i); f.reason != noFault {
				return i, open, f
			}
			if i >= len(s.text) {
				return i, open, fault{reason: "the body ends within a value", at: i}
			}
			if s.text[i] == ',' {
				if i, f = s.space(i + 1); f.reason == noFault {
					i, f = s.key(i, open)
				}
				return i, open, f
			}
		}
		closed = false
		o := &s.nodes[open]
		if want := byte('}') - byte(o.kind-kindObject)*('}'-']'); s.text[i] != want {
			return i, open, fault{reason: "no comma or closing bracket", at: i}
		}
		i++
		parent := o.next
		o.end, o.next = int32(i), int32(len(s.nodes))
		if o.kind == kindObject && o.count > 1 {
			s.duplicates(open)
		}
		open = parent
		*depth--
	}
	return i, open, fault{}
}

// key reads `"name":` when open is an object; in an array there is none.
func (s *scanner) key(i int, open int32) (int, fault) {
	if s.nodes[open].kind != kindObject {
		return i, fault{}
	}
	if i >= len(s.text) || s.text[i] != '"' {
		return i, fault{reason: "no name of a member", at: i}
	}
	i, f := s.str(i + 1)
	if f.reason != noFault {
		return i, f
	}
	if i < len(s.text) && s.text[i] == ':' {
		return i + 1, f
	}
	if i, f = s.space(i); f.reason != noFault {
		return i, f
	}
	if i >= len(s.text) || s.text[i] != ':' {
		return i, fault{reason: "no colon after a name", at: i}
	}
	return i + 1, f
}

// space skips space and Jackson's comments.
func (s *scanner) space(i int) (int, fault) {
	for i < len(s.text) {
		switch s.text[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '/':
			end := -1
			switch rest := s.text[i+1:]; {
			case len(rest) > 0 && rest[0] == '/':
				if end = bytes.IndexAny(rest, "\r\n"); end < 0 { // a carriage return ends it too
					end = len(rest)
				}
			case len(rest) > 0 && rest[0] == '*':
				if end = bytes.Index(rest[1:], []byte("*/")); end >= 0 {
					end += 3
				}
			}
			if end < 0 {
				return i, fault{reason: "a slash that begins no comment", at: i}
			}
			i, s.lenient = i+1+end, true
		default:
			return i, fault{}
		}
	}
	return i, fault{}
}
