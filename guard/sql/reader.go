package sql

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/scratch"
)

// Defaults and limits of a Reader.
const (
	DefaultMaxBytes  = 16 << 20
	DefaultMaxDepth  = 200     // nesting of brackets and CASE
	DefaultMaxTokens = 4 << 20 // tokens of 16 bytes each
)

const (
	maxRelations = 64      // relations of one FROM in the join graph; more are only counted
	maxNamed     = 256     // parts of WITH in scope at once
	maxPatterns  = 16      // regular expressions that are analyzed; more count as unknown
	maxGroups    = 32      // columns of one GROUP BY that are examined
	maxMeasures  = 4096    // measures of one text that are always kept
	keepTokens   = 1 << 16 // tokens that a Reader keeps memory for until the next text
	keepNames    = 4096    // names of tables and columns, the same
)

// Named is the value of a named placeholder, :name or @name, in Query.Args.
type Named struct {
	Name  string
	Value any
}

// Reader measures statements. The zero value is ready to use. It keeps its memory for the
// next text and is not safe for concurrent use.
type Reader struct {
	lexer

	args []any
	o    cost.Options
	out  []cost.Measure
	part int

	begun   int          // index in out of this text's first measure
	full    bool         // there are maxMeasures
	most    [256]float64 // of each predictor, once full is set
	dropped [256]bool    // predictors with discarded measures
	lossy   bool         // any measure was discarded
	spare   cost.Measure // receives discarded measures

	nested  int            // number of texts around the current one
	inner   *Reader        // reader of a text in it that contains statements
	kept    []cost.Measure // space for the measures of an inner reader
	doubled []byte         // space for its text, if quotes were doubled

	relations []relation // of the open blocks, innermost last
	named     []named    // parts of WITH in scope
	pending   []measured // of the current condition: measures that count only if nothing selects
	edges     []edge     // of the current alternatives
	nulls     []null     // columns that the current alternatives say are absent
	items     []span     // of the current SELECT list
	reached   []int32    // relations that queries inside the current condition name

	listed   listing // the last list
	every    uint64  // shape.every of the last query
	item     uint64  // shape.item of the last query
	inserted int     // token of the query whose rows are inserted

	patterns int // number of analyzed regular expressions
	depth    int // current nesting of SELECT
	deepest  nesting
	top      bool    // the rows of the next query go to the caller
	whole    bool    // the whole statement is in a comment that only some servers execute
	planned  bool    // the current statement is only explained
	levels   int     // depth of the call stack
	blocks   int     // nesting of procedural code
	reports  int     // nesting of queries with GROUP BY
	around   int     // number of their tables
	rowsEach float64 // rows that the current SELECT list generates per row

	dictionary dictionary
	interned   scratch.Names // for lookups of hints
	room       []byte

	dialectName [32]byte // name of the dialect of the previous text
	dialectLen  int
	dialectIs   dialect // its meaning
}

var _ cost.Reader = (*Reader)(nil)

// listing is a comparison of a column with a list.
type listing struct {
	span
	column int
	values float64
}

// span is a run of tokens.
type span struct{ from, to int }

// Read appends the measures of q to dst. A text may contain several statements.
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

// lexAll splits the whole text into tokens. If the dialect is unknown and a quote is
// unterminated, it tries once more with backslash escapes.
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

// end releases the text, and memory that only a large text needs.
func (r *Reader) end() {
	r.args, r.o.Hints, r.o.Denied, r.out, r.fault, r.text = nil, nil, nil, nil, nil, nil
	scratch.Trim(&r.tokens, keepTokens)
	scratch.Trim(&r.pending, keepNames)
	scratch.Trim(&r.edges, keepNames)
}

// tok returns token i, or the end token beyond the text.
func (r *Reader) tok(i int) token {
	if i < 0 || i >= len(r.tokens) {
		return token{start: int32(len(r.text)), end: int32(len(r.text)), match: -1}
	}
	return r.tokens[i]
}

// wordAt returns the meaning of token i as a word or an operator.
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

// skip returns the position after token i or its closing token.
func (r *Reader) skip(i int) int {
	r.steps++
	if m := int(r.tokens[i].match); m > i {
		return m + 1
	}
	return i + 1
}

// add appends a measure of token i. The pointer is valid until the next measure.
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

// unreadable adds a measure instead of a fault: the statement is unknown, but the next one
// may not be.
func (r *Reader) unreadable(i int, why string) {
	m := r.add(cost.Unparsable, 1, i, "statement")
	if r.o.Explain {
		m.Detail = why
	}
}

// excerpt returns the text of some tokens, shortened, for a Detail.
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

// keep appends an empty measure with a value. A text may contain a million statements:
// beyond a number of measures, it keeps only those that are the largest of their kind so
// far.
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

// fill finds the largest existing measures.
func (r *Reader) fill() {
	r.full = true
	clear(r.most[:])
	for _, m := range r.out[r.begun:] {
		r.most[m.Predictor] = max(r.most[m.Predictor], m.Value)
	}
}

// uncap removes caps if not all measures are known: unknown ones would stay as they are.
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
