package graphql

// span is the range text[off:end] of a document.
type span struct{ off, end int32 }

type kind uint8

const (
	kindOperation kind = iota
	kindFragment       // a definition
	kindField
	kindInline // an inline fragment
	kindSpread
)

// none is the index of no node.
const none = int32(-1)

// node is a selection or a definition. Nodes are in the order of the text, so a node
// precedes its content.
type node struct {
	kind   kind
	alias  bool
	object bool // it has selections
	intro  intro
	parent int32
	target int32 // for a spread: the index of the definition
	off    int32
	name   span
	limit  float64 // greatest length that an argument states literally
	refs   int32   // index of its first ref; refEnd is the end
	refEnd int32

	below
}

// below holds the sums over the content of a node.
type below struct {
	sum        float64 // cost of the fields in it
	cost       float64
	times      float64 // length of its list; 1: not a list
	nodes      float64
	aliases    float64
	directives float64
	roots      float64 // number of fields directly below
	intros     float64
	circles    float64 // nested lists of the deepest introspection
	depth      int32
	longest    float64 // longest list
	lists      int32   // nested lists of an introspection
	deepest    int32   // index of the child that determines depth, cost and nodes
	heaviest   int32
	widest     int32
	longer     int32 // index of the child with the longest list
	connected  bool  // edges or nodes are directly below
}

func nothing() below {
	return below{times: 1, deepest: none, heaviest: none, widest: none, longer: none}
}

// intro is the meaning of a field in an introspection.
type intro uint8

const (
	introNo   intro = iota
	introRoot       // __schema, __type
	introList       // a list that can contain itself again
)

func introOf(name []byte) intro {
	switch string(name) {
	case "__schema", "__type":
		return introRoot
	case "fields", "interfaces", "possibleTypes", "inputFields":
		return introList
	}
	return introNo
}

// isLength reports whether an argument gives the length of a list.
func isLength(name []byte) bool {
	switch string(name) {
	case "first", "last", "limit", "take", "count", "pageSize", "page_size", "perPage", "per_page", "itemsPerPage", "items_per_page",
		"hitsPerPage", "resultsPerPage", "maxResults", "max_results", "maxItems":
		return true
	}
	return false
}

// isPaging reports whether an argument contains such arguments.
func isPaging(name []byte) bool {
	switch string(name) {
	case "pagination", "paging", "page", "paginate", "options":
		return true
	}
	return false
}

// definition is an operation or a fragment, with the range of its nodes.
type definition struct {
	from, end int32
	name      span
	state     state
}

type state uint8

const (
	stateNew state = iota
	stateOpen
	stateDone
)

// ref is a use of a variable as a length.
type ref struct {
	name   span
	entry  int32 // index in the table of variables, once that exists
	paging bool  // the variable is an object that contains lengths
}

// table is a hash table of names. It uses a random seed, so that nobody can choose
// colliding names.
type table struct {
	slots []int32 // entry+1; 0: free
}

func (t *table) reset(n int) {
	size := 8
	for size < 2*n {
		size *= 2
	}
	if cap(t.slots) < size {
		t.slots = make([]int32, size)
		return
	}
	t.slots = t.slots[:size]
	clear(t.slots)
}

// find returns the entry for which same is true, or none. put then stores an entry at this
// slot.
func (t *table) find(hash uint64, same func(entry int32) bool) (entry int32, slot int) {
	mask := len(t.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		e := t.slots[i]
		if e == 0 {
			return none, i
		}
		if same(e - 1) {
			return e - 1, i
		}
	}
}

func (t *table) put(slot int, entry int32) { t.slots[slot] = entry + 1 }
