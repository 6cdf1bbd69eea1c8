package redos

// What a node of the tree is.
type op uint8

const (
	opEmpty   op = iota
	opClass      // one rune of set
	opConcat     // subs in turn
	opAlt        // subs in order
	opRepeat     // subs[0], min to max times
	opCapture    // subs[0], remembered as group n
	opAtomic     // subs[0], never entered again
	opLook       // subs[0] must (not) match here
	opBackref    // what group n matched
	opAssert     // assert holds here
	opIf         // subs[0] if group n has matched, else subs[1]
	opKeep       // \K: nothing to us
)

// What an opAssert looks at.
type assert uint8

const (
	atStart     assert = iota // of the text
	atEnd                     // of the text
	atEndLine                 // of the text, or before a newline that ends it
	atLineStart               // of the text or a line
	atLineEnd
	atWord    // between a word and no word
	atNoWord  // elsewhere
	atSearch  // \G: where the search began
	atWordIn  // where a word begins
	atWordOut // where it ends
)

const unbounded = 1 << 30

type node struct {
	op         op
	assert     assert
	lazy       bool
	possessive bool // an opRepeat that is never entered again
	behind     bool // an opLook to the left
	neg        bool // an opLook that must not match
	fold       bool // an opBackref that ignores case
	kept       bool // written as a group that its engine keeps as one
	plain      bool // an opClass that is written as a character or a class, not negated
	off        int  // byte in the pattern
	end        int  // of an opRepeat: the byte after it
	min, max   int
	n          int // group
	set        set
	subs       []*node

	class int // of an opClass: its number, once numbered
	least int // the shortest text that it matches, once measured
}

// nullable says whether the node may match nothing.
func (n *node) nullable() bool {
	switch n.op {
	case opClass:
		return false
	case opConcat:
		for _, s := range n.subs {
			if !s.nullable() {
				return false
			}
		}
		return true
	case opAlt, opIf:
		for _, s := range n.subs {
			if s.nullable() {
				return true
			}
		}
		return len(n.subs) == 0
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
	// elsewhere is those groups that are not in root, but referred to.
	elsewhere []*node
	// beyond names a construct that is parsed and only approximated; "" if none.
	beyond string
	// inexact: the automaton has paths that the engine has not: atomic groups,
	// backreferences and lookaround over more than one rune.
	inexact bool
	behind  bool // it has lookbehinds over more than one rune
	words   set  // of \b
	lines   set  // that end a line
}
