package elastic

import (
	"hash/maphash"
	"math"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/scratch"
)

const (
	maxBytes  = 16 << 20
	maxDepth  = 1000
	maxTokens = 2 << 20
	maxTapes  = 8       // nested texts: wrappers, templates
	keepNodes = 1 << 16 // nodes that a reader keeps for the next request
	keepNames = 4096    // names of fields and indices, the same

	longest     = 512    // length of a name that is kept
	maxMeasures = 4096   // measures of one request that are always kept
	maxMembers  = 10_000 // members of one batch
	maxPatterns = 1000   // index patterns in headers, each of which may need many lookups of hints
)

// Reader measures requests. The zero value is ready to use. It keeps its memory for the
// next request and is not safe for concurrent use.
type Reader struct {
	q cost.Query
	o cost.Options

	out   []cost.Measure
	fault *cost.Unreadable
	part  int
	index string // of the current member

	t     *tape // current text
	tapes [maxTapes]tape
	depth int // number of tapes in use

	arena    []byte        // decoded strings
	joined   []byte        // a list of indices
	interned scratch.Names // for lookups of hints
	seed     maphash.Seed
	room     func(n int) bool // the method take
	ready    bool

	query  queryState
	bounds []bound // ranges that every document passes
	areas  []area  // boxes that contain every document
	qs     luceneState
	inflat inflater

	fixedURL bool // the current URL cannot take parameters for the current body
	aggDepth int
	stops    float64      // maximum number of documents that the current search reads
	begun    int          // index in out of this request's first measure
	most     [256]float64 // of each predictor in the current member
	dropped  [256]bool    // predictors with discarded measures
	drops    bool         // any measure was discarded
	spare    cost.Measure // receives discarded measures
	told     int          // bytes of paths

	taken  int // bytes of memory requested for this request
	filled int // bytes of rendered named templates
	aggAt  int // the deepest aggregation
}

var _ cost.Reader = (*Reader)(nil)

// Read appends the measures of q to dst. The package comment lists the supported input. An
// empty Path means _search.
func (r *Reader) Read(dst []cost.Measure, q cost.Query, o cost.Options) ([]cost.Measure, error) {
	r.begin(dst, q, o)
	r.request()
	r.uncap()
	out, fault := r.out, r.fault
	r.end()
	if fault != nil {
		return out, fault
	}
	return out, nil
}

func (r *Reader) begin(dst []cost.Measure, q cost.Query, o cost.Options) {
	if !r.ready {
		r.seed, r.room, r.ready = maphash.MakeSeed(), r.take, true
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = maxBytes
	}
	o.MaxBytes = min(o.MaxBytes, math.MaxInt32/2)
	if o.MaxDepth <= 0 {
		o.MaxDepth = maxDepth
	}
	if o.MaxTokens <= 0 {
		o.MaxTokens = maxTokens
	}
	r.q, r.o, r.out, r.fault, r.part = q, o, dst, nil, 0
	r.begun, r.told, r.stops = len(dst), 0, math.Inf(1)
	r.filled, r.taken = 0, 0
	clear(r.most[:])
	r.depth, r.t, r.arena = 0, nil, r.arena[:0]
	r.query.reset()
	r.bounds, r.areas = r.bounds[:0], r.areas[:0]
}

// end releases the request, and memory that only a large request needs.
func (r *Reader) end() {
	r.q, r.o, r.out, r.fault, r.t, r.index = cost.Query{}, cost.Options{}, nil, nil, nil, ""
	for i := range r.tapes {
		t := &r.tapes[i]
		t.text = nil
		scratch.Trim(&t.nodes, keepNodes)
		scratch.Trim(&t.table, keepNodes)
	}
	scratch.Trim(&r.arena, keepNodes)
	scratch.Trim(&r.joined, keepNodes)
	scratch.Trim(&r.bounds, keepNames)
	scratch.Trim(&r.areas, keepNames)
	clear(r.bounds[:cap(r.bounds)])
	clear(r.areas[:cap(r.areas)])
	r.inflat.end()
}

// unreadable stores the first fault of the request.
func (r *Reader) unreadable(p cost.Predictor, reason string, offset int) {
	if r.fault == nil {
		r.fault = &cost.Unreadable{Predictor: p, Reason: reason, Offset: offset, Part: r.part}
	}
}

// take requests n more bytes of memory. It asks Room only above FreeRoom.
func (r *Reader) take(n int) bool {
	r.taken += n
	return r.o.Room == nil || r.taken <= cost.FreeRoom || r.o.Room.Take(r.taken)
}

// open scans text[from:to] as the current text. If that fails, it reports the fault. The
// caller must call closeTape after each openTape.
func (r *Reader) open(text []byte, from, to, base int, derived bool, prefix string) bool {
	if r.depth >= maxTapes {
		r.unreadable(cost.Encoding, "too many nested texts", base)
		return false
	}
	t := &r.tapes[r.depth]
	t.base, t.derived, t.prefix, t.way = base, derived, prefix, t.way[:0]
	t.seed, t.maxDepth, t.maxNodes, t.room = r.seed, r.o.MaxDepth, r.o.MaxTokens, r.room
	f := t.scan(text, from, to)
	at := f.at
	if derived {
		at = base
	}
	switch {
	case f.deep:
		r.unreadable(cost.BodyDepth, f.reason, at)
		return false
	case f.crowded:
		r.unreadable(cost.BodyBytes, f.reason, at)
		return false
	case f.reason != noFault:
		r.unreadable(cost.Unparsable, f.reason, at)
		return false
	case !utf8.Valid(text[from:to]): // backends decode overlong encodings
		r.unreadable(cost.Unparsable, "the text is not UTF-8", base)
		return false
	case t.duplicate >= 0:
		if at = int(t.duplicate); derived {
			at = base
		}
		r.unreadable(cost.Unparsable, "a duplicate name in an object", at)
	}
	r.depth++
	r.t = t
	return true
}

func (r *Reader) close() {
	r.depth--
	r.t = nil
	if r.depth > 0 {
		r.t = &r.tapes[r.depth-1]
	}
}

// offset returns the position of a node in Query.Body.
func (r *Reader) offset(n int) int {
	if r.t.derived {
		return r.t.base
	}
	v := &r.t.nodes[n]
	if v.kind == kindString {
		return int(v.off) - 1
	}
	return int(v.off)
}

// add appends a measure of node n. The pointer is valid until the next measure.
func (r *Reader) add(p cost.Predictor, value float64, n int) *cost.Measure {
	if n <= none {
		return r.addURL(p, value, "q")
	}
	m := r.keep(cost.Measure{Predictor: p, Value: value, Offset: r.offset(n), Part: r.part, Target: r.index})
	if r.o.Explain && m != &r.spare {
		m.Path = r.path(n)
	}
	return m
}

// keep appends a measure. A request may contain a million patterns: beyond a number of
// measures, it keeps only those that are the largest of their kind so far.
func (r *Reader) keep(m cost.Measure) *cost.Measure {
	m.Value = max(0, m.Value) // backends reject negative values
	if len(r.out)-r.begun >= maxMeasures && m.Value <= r.most[m.Predictor] {
		r.spare = m
		r.dropped[m.Predictor], r.drops = true, true
		return &r.spare
	}
	r.most[m.Predictor] = max(r.most[m.Predictor], m.Value)
	r.out = append(r.out, m)
	return &r.out[len(r.out)-1]
}

// uncap removes caps if not all measures are known: unknown ones would stay as they are.
func (r *Reader) uncap() {
	if !r.drops {
		return
	}
	for i := r.begun; i < len(r.out); i++ {
		if m := &r.out[i]; r.dropped[m.Predictor] {
			m.Cap = cost.Cap{}
		}
	}
	r.drops, r.dropped = false, [256]bool{}
}

func (r *Reader) addURL(p cost.Predictor, value float64, parameter string) *cost.Measure {
	m := r.keep(cost.Measure{Predictor: p, Value: value, Offset: -1, Part: r.part, Target: r.index})
	if r.o.Explain {
		m.Path = "url"
		if parameter != "" {
			m.Path = "url." + parameter
		}
	}
	return m
}

// list returns the names in an array, or a single name, as a list of indices, and the
// number of their shards.
func (r *Reader) list(at int) (names string, shards float64) {
	r.joined = r.joined[:0]
	r.each(at, func(e int) {
		if r.isText(e) {
			r.joined = append(append(r.joined, r.bytes(e)...), ',')
		}
	})
	if n := len(r.joined); n > 1 {
		names = r.interned.Of(r.joined[:n-1])
		shards, _ = r.countShards(names)
	}
	return names, shards
}

func (r *Reader) fieldHint(field []byte) (cost.FieldHint, bool) {
	if r.o.Hints == nil || len(field) == 0 || len(field) > longest {
		return cost.FieldHint{}, false
	}
	return r.o.Hints.Field(r.index, r.interned.Of(field))
}

func (r *Reader) indexHint() (cost.IndexHint, bool) {
	if r.o.Hints == nil {
		return cost.IndexHint{}, false
	}
	return r.o.Hints.Index(r.index)
}
