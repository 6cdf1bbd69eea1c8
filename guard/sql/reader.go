package sql

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// The bounds of a Reader, where Options name none.
const (
	DefaultMaxBytes  = 16 << 20
	DefaultMaxDepth  = 200     // brackets and CASE
	DefaultMaxTokens = 4 << 20 // 16 bytes each
)

const (
	maxRelations = 64      // of one FROM that are looked at as a graph; more are counted
	maxNamed     = 256     // parts that WITH names, in scope at once
	maxPatterns  = 16      // regular expressions that are analysed; more are unknown
	maxGroups    = 32      // columns of one GROUP BY that are looked at
	maxMeasures  = 4096    // of one text that are kept whatever they say
	keepTokens   = 1 << 16 // that a Reader keeps room for until the next text
	keepNames    = 4096    // names of tables and columns, likewise
)

// Named is the value of a placeholder that has a name, :name or @name, among
// Query.Args.
type Named struct {
	Name  string
	Value any
}

// Reader measures statements. The zero value is ready; it keeps its memory for
// the next text, and serves one goroutine at a time.
type Reader struct {
	lexer

	args []any
	o    cost.Options
	out  []cost.Measure
	part int

	begun   int          // measure of this text in out
	full    bool         // there are maxMeasures
	most    [256]float64 // of each predictor, when it is full
	dropped [256]bool    // predictors of which measures were not kept
	lossy   bool         // there are any
	spare   cost.Measure // where a measure goes that is not kept

	nested  int            // texts around the one that is read
	inner   *Reader        // of a text in it that holds statements
	kept    []cost.Measure // room for what an inner reader finds
	doubled []byte         // room for its text, where quotes were doubled

	relations []relation // of the blocks that are being read, innermost last
	named     []named    // parts of WITH that are in scope
	pending   []measured // of the condition that is being read: what counts only if nothing selects
	edges     []edge     // of the alternatives that are being read
	nulls     []null     // columns that the alternatives that are being read say are absent
	items     []span     // of the SELECT list that is being read
	reached   []int32    // relations that queries in the condition that is being read name from within

	listed   listing // the list that was read last
	every    uint64  // of the query that was read last: shape.every
	item     uint64  // likewise
	inserted int     // token of the query whose rows are inserted

	patterns int // regular expressions that were analysed
	depth    int // of SELECT in SELECT, where the reader is
	deepest  nesting
	top      bool    // the rows of the next query go to the caller
	whole    bool    // all of the statement is in a comment that only some servers execute
	planned  bool    // what is read is explained, and does not run
	levels   int     // of calls on the stack
	blocks   int     // of procedural code, likewise
	reports  int     // queries with GROUP BY around what is read, and itself
	around   int     // tables of those around what is read
	rowsEach float64 // rows that the SELECT list that is read makes of each

	dictionary dictionary
	names      map[string]string // interned, for hints
	room       []byte

	dialectName [32]byte // the dialect's name, as of the text before
	dialectLen  int
	dialectIs   dialect // what it means
}

var _ cost.Reader = (*Reader)(nil)

// listing is a predicate that compares a column with a list.
type listing struct {
	span
	column int
	values float64
}

// span is a run of tokens.
type span struct{ from, to int }

// Read appends the measures of q to dst. A text may hold several statements.
func (r *Reader) Read(dst []cost.Measure, q cost.Query, o cost.Options) ([]cost.Measure, error) {
	r.begin(dst, &q, &o)
	if len(q.Body) > r.o.MaxBytes {
		r.fail(cost.BodyBytes, "too long", r.o.MaxBytes)
	} else {
		r.lexAll()
		r.statements()
	}
	r.uncap()
	out, fault := r.out, r.fault
	r.end()
	if fault != nil {
		return out, fault
	}
	return out, nil
}

func (r *Reader) begin(dst []cost.Measure, q *cost.Query, o *cost.Options) {
	r.o, r.args, r.out, r.part = *o, q.Args, dst, 0
	r.begun = len(dst)
	r.full = false
	r.o.MaxBytes = min(orDefault(o.MaxBytes, DefaultMaxBytes), math.MaxInt32/2)
	r.o.MaxDepth = min(orDefault(o.MaxDepth, DefaultMaxDepth), 10_000)
	r.o.MaxTokens = orDefault(o.MaxTokens, DefaultMaxTokens)
	r.text = q.Body
	if string(r.dialectName[:r.dialectLen]) != q.Dialect || r.dialectLen == len(r.dialectName) {
		r.dialectIs, r.dialectLen = dialectOf(q.Dialect), copy(r.dialectName[:], q.Dialect)
	}
	r.dialect = r.dialectIs
	r.relations, r.named, r.pending, r.edges, r.items, r.reached = r.relations[:0], r.named[:0], r.pending[:0], r.edges[:0], r.items[:0], r.reached[:0]
	r.nulls, r.inserted, r.listed = r.nulls[:0], -1, listing{}
	r.patterns, r.depth, r.deepest, r.top = 0, 0, nesting{}, false
	r.reports, r.around, r.blocks = 0, 0, 0
	if !r.dictionary.ready {
		r.dictionary.fill()
	}
}

func orDefault(v, otherwise int) int {
	if v <= 0 {
		return otherwise
	}
	return v
}

// lexAll cuts the whole text into tokens. Where the dialect is not known, and a
// quote does not end, backslashes are tried as escapes, once.
func (r *Reader) lexAll() {
	r.lexOnce()
	if r.fault != nil && r.dialect.kind == generic && !r.dialect.backslash {
		first := r.fault
		r.dialect.backslash = true
		r.lexOnce()
		if r.fault != nil {
			r.dialect.backslash = false
			r.lexOnce()
			r.fault = first
		}
	}
	r.settle()
}

func (r *Reader) lexOnce() {
	r.words, r.maxDepth, r.maxTokens = &r.dictionary, r.o.MaxDepth, r.o.MaxTokens
	r.tokens, r.open, r.previous, r.seen, r.params = r.tokens[:0], r.open[:0], atEnd, 0, 0
	r.hidden, r.hides, r.several, r.ors, r.noDollar = false, false, false, false, false
	r.steps, r.fault = 0, nil
	from := 0
	if len(r.text) >= 3 && r.text[0] == 0xef && r.text[1] == 0xbb && r.text[2] == 0xbf {
		from = 3 // a byte order mark
	}
	r.lex(from)
}

// end lets go of the text, and of memory that only a large one needed.
func (r *Reader) end() {
	r.args, r.o.Hints, r.o.Denied, r.out, r.fault, r.text = nil, nil, nil, nil, nil, nil
	if cap(r.tokens) > keepTokens {
		r.tokens = nil
	}
	if cap(r.pending) > keepNames {
		r.pending = nil
	}
	if cap(r.edges) > keepNames {
		r.edges = nil
	}
	if len(r.names) > keepNames {
		r.names = nil
	}
}

// tok is token i; beyond the text there is only the end.
func (r *Reader) tok(i int) token {
	if i < 0 || i >= len(r.tokens) {
		return token{start: int32(len(r.text)), end: int32(len(r.text)), match: -1}
	}
	return r.tokens[i]
}

// wordAt is what token i means as a word or an operator.
func (r *Reader) wordAt(i int) word {
	if uint(i) < uint(len(r.tokens)) {
		return r.tokens[i].word
	}
	return none
}

func (r *Reader) kindAt(i int) kind {
	if uint(i) < uint(len(r.tokens)) {
		return r.tokens[i].kind
	}
	return atEnd
}

func (r *Reader) bytes(i int) []byte {
	t := r.tok(i)
	return r.text[t.start:t.end]
}

// skip is the token behind i, or behind what closes it.
func (r *Reader) skip(i int) int {
	r.steps++
	if m := int(r.tokens[i].match); m > i {
		return m + 1
	}
	return i + 1
}

// add appends a measure of token i. The pointer is valid until the next one.
func (r *Reader) add(p cost.Predictor, value float64, i int, path string) *cost.Measure {
	offset := -1
	if i >= 0 && len(r.text) > 0 {
		offset = min(int(r.tok(i).start), len(r.text)-1)
	}
	m := r.keep(p, value)
	m.Offset, m.Part = offset, r.part
	if r.o.Explain {
		m.Path = path
	}
	return m
}

// unreadable is a measure, not a fault: the statement is odd, the next may not be.
func (r *Reader) unreadable(i int, why string) {
	m := r.add(cost.Unparsable, 1, i, "statement")
	if r.o.Explain {
		m.Detail = why
	}
}

// intern is a string that hints can be asked with.
func (r *Reader) intern(b []byte) string {
	if s, ok := r.names[string(b)]; ok {
		return s
	}
	if r.names == nil || len(r.names) > keepNames {
		r.names = make(map[string]string)
	}
	s := string(b)
	r.names[s] = s
	return s
}

// excerpt is the text of some tokens, cut, for a Detail.
func (r *Reader) excerpt(from, to int) string {
	const longest = 80
	if to <= from {
		return ""
	}
	b := r.text[r.tok(from).start:r.tok(to-1).end]
	if len(b) <= longest {
		return string(b)
	}
	n := longest
	for n > longest-4 && b[n]&0xc0 == 0x80 {
		n--
	}
	return string(b[:n]) + "…"
}

// keep appends an empty measure of a value. A text may hold a million statements: when there are
// many measures, only those stay that are the largest of their kind so far.
func (r *Reader) keep(p cost.Predictor, value float64) *cost.Measure {
	if len(r.out)-r.begun >= maxMeasures {
		if !r.full {
			r.fill()
		}
		if value <= r.most[p] {
			r.spare = cost.Measure{Predictor: p, Value: value}
			r.dropped[p], r.lossy = true, true
			return &r.spare
		}
		r.most[p] = value
	}
	r.out = append(r.out, cost.Measure{})
	m := &r.out[len(r.out)-1]
	m.Predictor, m.Value = p, value
	return m
}

// fill finds the largest of the measures that there are.
func (r *Reader) fill() {
	r.full = true
	clear(r.most[:])
	for _, m := range r.out[r.begun:] {
		r.most[m.Predictor] = max(r.most[m.Predictor], m.Value)
	}
}

// uncap takes back that values can be lowered where not all are known: the others
// would stay as they are.
func (r *Reader) uncap() {
	if !r.lossy {
		return
	}
	for i := r.begun; i < len(r.out); i++ {
		if m := &r.out[i]; r.dropped[m.Predictor] {
			m.Cap = cost.Cap{}
		}
	}
	r.lossy, r.dropped = false, [256]bool{}
}
