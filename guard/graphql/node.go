package graphql

// span is text[off:end] of a document.
type span struct{ off, end int32 }

type kind uint8

const (
	kindOperation kind = iota
	kindFragment       // its definition
	kindField
	kindInline // an inline fragment
	kindSpread
)

// none is no node.
const none = int32(-1)

// node is one selection or definition. They lie in the order of the text, so a
// node comes before all that is in it.
type node struct {
	kind   kind
	alias  bool
	object bool // has selections
	intro  intro
	parent int32
	target int32 // of a spread: the definition
	off    int32
	name   span
	limit  float64 // greatest length that an argument says in plain
	refs   int32   // and the refs from here to refEnd
	refEnd int32

	below
}

// below is what is known of a node when all that is in it is.
type below struct {
	sum        float64 // costs of fields, before the node's own
	cost       float64
	times      float64 // the length of its list; 1 when it is none
	nodes      float64
	aliases    float64
	directives float64
	roots      float64 // fields at the level right below
	intros     float64
	circles    float64 // nested lists of the deepest introspection
	depth      int32
	longest    float64 // list
	lists      int32   // nested lists of an introspection
	deepest    int32   // where depth, cost and nodes come from
	heaviest   int32
	widest     int32
	longer     int32 // where the longest list is
	connected  bool  // edges or nodes are right below
}

func nothing() below {
	return below{times: 1, deepest: none, heaviest: none, widest: none, longer: none}
}

// intro says what a field means to an introspection.
type intro uint8

const (
	introNo   intro = iota
	introRoot       // __schema, __type
	introList       // a list in which the same can come again
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

// isLength reports whether an argument says how long a list is.
func isLength(name []byte) bool {
	switch string(name) {
	case "first", "last", "limit", "take", "count", "pageSize", "page_size", "perPage", "per_page", "itemsPerPage", "items_per_page",
		"hitsPerPage", "resultsPerPage", "maxResults", "max_results", "maxItems":
		return true
	}
	return false
}

// isPaging reports whether an argument holds such arguments.
func isPaging(name []byte) bool {
	switch string(name) {
	case "pagination", "paging", "page", "paginate", "options":
		return true
	}
	return false
}

// definition is an operation or a fragment: the nodes from one to before end.
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
	entry  int32 // of the table, once it is made
	paging bool  // the variable is an object that holds lengths
}

// table finds names. It is hashed with a seed of its own, so that nobody can
// choose names that meet.
type table struct {
	slots []int32 // entry+1; 0 is free
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

// find is the entry for which same holds, none when there is none; put then
// makes entry the one at that place.
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
