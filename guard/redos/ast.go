package redos

import "slices"

// op is the kind of a node of the tree.
type op uint8

const (
	opEmpty   op = iota
	opClass      // one rune of set
	opConcat     // subs in sequence
	opAlt        // one of subs, tried in order
	opRepeat     // subs[0], min to max times
	opCapture    // subs[0], captured as group n
	opAtomic     // subs[0], without backtracking into it
	opLook       // subs[0] must (or must not) match here
	opBackref    // the text of group n
	opAssert     // assert is true here
	opIf         // subs[0] if group n has matched, else subs[1]
	opKeep       // \K: no effect here
)

// assert is the kind of an opAssert.
type assert uint8

const (
	atStart     assert = iota // start of the text
	atEnd                     // end of the text
	atEndLine                 // end of the text, or before a final newline
	atLineStart               // start of the text or of a line
	atLineEnd
	atWord    // word boundary
	atNoWord  // no word boundary
	atSearch  // \G: start of the search
	atWordIn  // start of a word
	atWordOut // end of a word
)

const unbounded = 1 << 30

type node struct {
	op         op
	assert     assert
	lazy       bool
	possessive bool // opRepeat: without backtracking into it
	behind     bool // opLook: to the left
	neg        bool // opLook: must not match
	fold       bool // opBackref: ignores case
	kept       bool // a group that its engine keeps as one unit
	plain      bool // opClass: written as a character or a class, not negated
	off        int  // byte offset in the pattern
	end        int  // opRepeat: offset of the byte after it
	min, max   int
	n          int // number of the group
	set        set
	subs       []*node

	class int // opClass: its number, once assigned
	least int // length of the shortest match, once measured
}

// any reports whether it is true of the node or of one below it.
func (n *node) any(is func(*node) bool) bool {
	return is(n) || slices.ContainsFunc(n.subs, func(s *node) bool { return s.any(is) })
}

// nullable reports whether the node may match the empty text.
func (n *node) nullable() bool {
	switch n.op {
	case opClass:
		return false
	case opConcat:
		return !slices.ContainsFunc(n.subs, func(s *node) bool { return !s.nullable() })
	case opAlt, opIf:
		return len(n.subs) == 0 || slices.ContainsFunc(n.subs, (*node).nullable)
	case opRepeat:
		return n.min == 0 || n.subs[0].nullable()
	case opCapture, opAtomic:
		return n.subs[0].nullable()
	default:
		return true
	}
}

// tree is a parsed expression.
type tree struct {
	root   *node
	groups []*node // by number; groups[0] is nil
	// elsewhere holds groups outside root that are referred to.
	elsewhere []*node
	// beyond names a construct that is parsed but only approximated; empty: none.
	beyond string
	// inexact means that the automaton has paths that the engine lacks, because of atomic
	// groups, backreferences and lookarounds over more than one rune.
	inexact bool
	behind  bool // there are lookbehinds over more than one rune
	words   set  // word characters of \b
	lines   set  // characters that end a line
}
