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

// node is a value or a key of a tape. An object is followed by key, value, key, value …; an
// array by its elements.
type node struct {
	kind     kind
	escaped  bool  // a string that contains backslashes
	off, end int32 // its bytes; for a string, those between the quotes
	next     int32 // index of the node after its subtree; for an open container, of its parent
	count    int32 // number of members of an object, or elements of an array
}

const nodeBytes = 20 // memory per node

// scanner converts text to a tape. It stores the first fault, so that the part before it
// can still be measured.
type scanner struct {
	text      []byte
	nodes     []node
	maxDepth  int
	maxNodes  int
	room      func(n int) bool // requests n bytes of memory; nil: unlimited
	seed      maphash.Seed
	table     []int32 // hash table for one large object: nodes of its keys
	decoded   []byte
	lenient   bool  // the text contains syntax that only Jackson accepts
	duplicate int32 // position of a duplicate key, or -1
	deepest   int   // maximum nesting
}

type fault struct {
	reason  string
	at      int
	deep    bool
	crowded bool
}

const noFault = ""

// scan reads one value in text[from:to], followed only by space.
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
		f = fault{reason: "unexpected text after the body", at: i}
	}
	return f
}

// document reads a value with its content. open is the innermost open container; the next
// of its node is the enclosing container.
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
		if len(s.nodes)+2 > cap(s.nodes) && !s.grow() { // room for a value and the next key
			return i, fault{reason: "not enough memory for the number of values", at: i, crowded: true}
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

// grow doubles the space for nodes, if the memory limit allows.
func (s *scanner) grow() bool {
	size := max(2*cap(s.nodes), 64)
	if s.room != nil && !s.room(size*nodeBytes) {
		return false
	}
	s.nodes = append(make([]node, 0, size), s.nodes...)
	return true
}

// after runs after a value or, if closed is set, at the bracket that ends a container. It
// closes the containers that end here and moves to the next value. A negative open means
// the end of the document.
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
			return i, open, fault{reason: "expected a comma or a closing bracket", at: i}
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

// key reads `"name":` if open is an object. An array has no keys.
func (s *scanner) key(i int, open int32) (int, fault) {
	if s.nodes[open].kind != kindObject {
		return i, fault{}
	}
	if i >= len(s.text) || s.text[i] != '"' {
		return i, fault{reason: "expected the name of a member", at: i}
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
		return i, fault{reason: "expected a colon after the name", at: i}
	}
	return i + 1, f
}

// space skips spaces and Jackson's comments.
func (s *scanner) space(i int) (int, fault) {
	for i < len(s.text) {
		switch s.text[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '/':
			end := -1
			switch rest := s.text[i+1:]; {
			case len(rest) > 0 && rest[0] == '/':
				if end = bytes.IndexAny(rest, "\r\n"); end < 0 { // a carriage return ends a comment too
					end = len(rest)
				}
			case len(rest) > 0 && rest[0] == '*':
				if end = bytes.Index(rest[1:], []byte("*/")); end >= 0 {
					end += 3
				}
			}
			if end < 0 {
				return i, fault{reason: "unexpected slash", at: i}
			}
			i, s.lenient = i+1+end, true
		default:
			return i, fault{}
		}
	}
	return i, fault{}
}
