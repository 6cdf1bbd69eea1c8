package graphql

import (
	"bytes"
	"hash/maphash"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/internal/scratch"
	"github.com/bezoar-dev/bezoar/guard/internal/unescape"
)

const (
	maxBytes   = 16 << 20
	maxTokens  = 50_000
	maxDepth   = 500
	maxMembers = 1000    // members of a batch
	keep       = 1 << 14 // slice entries that a Reader keeps for the next request
)

// Reader measures requests. The zero value is ready to use. It keeps its memory for the
// next request and is not safe for concurrent use.
type Reader struct {
	q cost.Query
	o cost.Options

	out    []cost.Measure
	fault  *cost.Unreadable
	part   int
	tokens int // of all documents so far

	roots     float64 // root fields of all operations
	rootsAt   int     // position of the first one
	rootsPath string

	doc       document
	at        text // text of the current document
	stack     []frame
	fragments table
	names     table // of variables
	variables []variable
	raw       []byte // query of the URL
	arena     []byte // decoded text
	open      []byte
	interned  scratch.Names // for lookups of hints
	seed      maphash.Seed
	ready     bool
}

var _ cost.Reader = (*Reader)(nil)

// Read appends the measures of q to dst. The package comment lists the supported formats.
func (r *Reader) Read(dst []cost.Measure, q cost.Query, o cost.Options) ([]cost.Measure, error) {
	r.begin(dst, q, o)
	r.request()
	if r.roots > 0 {
		r.part = 0
		m := r.add(cost.GQLRootFields, r.roots, r.rootsAt, r.rootsPath)
		if o.Explain {
			m.Detail = things(r.roots, "field of the root", "fields of the root, over all operations")
		}
	}
	out, fault := r.out, r.fault
	r.end()
	if fault != nil {
		return out, fault
	}
	return out, nil
}

func (r *Reader) begin(dst []cost.Measure, q cost.Query, o cost.Options) {
	if !r.ready {
		r.seed, r.ready = maphash.MakeSeed(), true
	}
	bound := func(n *int, otherwise, most int) {
		if *n <= 0 {
			*n = otherwise
		}
		*n = min(*n, most)
	}
	bound(&o.MaxBytes, maxBytes, math.MaxInt32/8)
	bound(&o.MaxTokens, maxTokens, math.MaxInt32/8)
	bound(&o.MaxDepth, maxDepth, math.MaxInt32/8)
	r.q, r.o, r.out, r.fault, r.part, r.tokens = q, o, dst, nil, 0, 0
	r.roots, r.rootsAt, r.rootsPath = 0, 0, ""
	r.raw = append(r.raw[:0], q.RawQuery...)
	r.arena = r.arena[:0]
}

// end releases the request, and memory that only a large request needs.
func (r *Reader) end() {
	r.q, r.o, r.out, r.fault, r.at = cost.Query{}, cost.Options{}, nil, nil, text{}
	d := &r.doc
	d.lex = lexer{}
	scratch.Trim(&d.nodes, keep)
	scratch.Trim(&d.defs, keep)
	scratch.Trim(&d.refs, keep)
	scratch.Trim(&d.defaults, keep)
	scratch.Trim(&d.values, keep)
	scratch.Trim(&r.stack, keep)
	scratch.Trim(&r.variables, keep)
	scratch.Trim(&r.fragments.slots, keep)
	scratch.Trim(&r.names.slots, keep)
	scratch.Trim(&r.open, keep)
	scratch.Trim(&r.raw, 4*keep)
	scratch.Trim(&r.arena, 4*keep)
}

func (r *Reader) request() {
	if len(r.q.Body)+len(r.raw) > r.o.MaxBytes {
		r.refuse(cost.BodyBytes, "more bytes than the limit", notInBody)
		return
	}
	if e := r.q.ContentEncoding; e != "" && !strings.EqualFold(e, "identity") {
		r.refuse(cost.Encoding, "the body is compressed", notInBody)
		return
	}
	url, ok := r.pairs(r.raw)
	if !ok {
		return
	}
	body := text{bytes: r.q.Body}
	if bytes.HasPrefix(body.bytes, bom()) {
		body = text{bytes: body.bytes[3:], base: 3}
	}
	form := r.form(&body)
	switch {
	case len(bytes.TrimSpace(body.bytes)) == 0:
		r.member(&request{}, &url)
	case strings.EqualFold(form, "application/graphql"):
		r.member(&request{query: body, has: hasQuery}, &url)
	case strings.EqualFold(form, "multipart/form-data"):
		boundary := boundaryOf(r.q.ContentType)
		if r.q.ContentType == "" {
			boundary = firstBoundary(body.bytes)
		}
		r.multipart(&body, &url, boundary)
	case strings.EqualFold(form, "application/x-www-form-urlencoded"):
		if q, ok := r.pairs(body.bytes); ok {
			r.member(&q, &url)
		}
	default:
		r.sniffed(&body, &url, strings.HasSuffix(strings.ToLower(form), "json"))
	}
}

// form returns the media type of a body: the one in the request, or, because logs often
// omit it, that of a form if the body begins like a form and unlike any document.
func (r *Reader) form(body *text) string {
	form, _, _ := strings.Cut(r.q.ContentType, ";")
	if form = strings.TrimSpace(form); form != "" {
		return form
	}
	name, _, pair := bytes.Cut(body.bytes, []byte{'='})
	switch {
	case bytes.HasPrefix(body.bytes, []byte("--")):
		return "multipart/form-data"
	case pair && plainName(name):
		return "application/x-www-form-urlencoded"
	}
	return ""
}

// plainName reports whether the text before the first = is a plain name, unlike the start
// of a document.
func plainName(b []byte) bool {
	for _, c := range b {
		if !nameByte(c) {
			return false
		}
	}
	return len(b) > 0
}

// sniffed reads a body whose format its start determines.
func (r *Reader) sniffed(body *text, url *request, wantJSON bool) {
	s := r.scan(body)
	switch {
	case s.at('['):
		r.batch(body, url)
	case wantJSON || looksJSON(&s):
		if q, ok := r.object(body); ok {
			r.member(&q, url)
		}
	default:
		r.member(&request{query: *body, has: hasQuery}, url)
	}
}

// looksJSON reports whether a { begins a JSON object instead of selections.
func looksJSON(s *scanner) bool {
	if !s.at('{') {
		return false
	}
	s.pos++
	return s.at('"') || s.at('}')
}

func (r *Reader) batch(body *text, url *request) {
	s := r.scan(body)
	n := 0
	for _, ok := s.first('['); ok; _, ok = s.more() {
		if n == maxMembers {
			r.refuse(cost.Batch, "more members of a batch than the limit", r.offset(body, s.pos))
			return
		}
		s.space()
		at := s.pos
		member := r.inside(body, s.skip(), at, false)
		if s.fault.reason != "" {
			break
		}
		r.part = n
		q, ok := r.object(&member)
		if !ok || !r.member(&q, url) {
			return
		}
		n++
		r.arena = r.arena[:0]
		url = &request{} // servers with batch support read the rest from the members
	}
	r.part = 0
	if !s.end() {
		r.refuseIn(body, s.fault)
		return
	}
	if n == 0 {
		r.refuse(cost.Unparsable, "an empty batch", r.offset(body, 0))
		return
	}
	m := r.add(cost.Batch, float64(n), r.offset(body, 0), "")
	if r.o.Explain {
		m.Path, m.Detail = "$", things(float64(n), "request in a batch", "requests in one")
	}
}

// member measures one request. Servers may read the parameters of the URL first.
func (r *Reader) member(q, url *request) bool {
	if (q.has|url.has)&hasQuery == 0 {
		if (q.has|url.has)&hasStored == 0 {
			r.refuse(cost.Unparsable, "the request has no query", notInBody)
			return false
		}
		m := r.add(cost.StoredTemplate, 1, notInBody, "")
		if r.o.Explain {
			m.Path, m.Detail = "extensions.persistedQuery", "the query is stored on the server, and not in the request"
		}
		return true
	}
	given := [2]text{q.variables, url.variables}
	operation := q.operation
	if len(url.operation) > 0 && !bytes.Equal(operation, url.operation) {
		if len(operation) > 0 {
			operation = nil // the server decides which one counts
		} else {
			operation = url.operation
		}
	}
	ok := true
	if q.has&hasQuery != 0 {
		ok = r.document(&q.query, given[:], operation)
	}
	if ok && url.has&hasQuery != 0 {
		ok = r.document(&url.query, given[:], operation)
	}
	return ok
}

func (r *Reader) document(t *text, given []text, operation []byte) bool {
	d := &r.doc
	r.at = *t
	ok := d.parse(t.bytes, limits{tokens: max(r.o.MaxTokens-r.tokens, 0), depth: r.o.MaxDepth})
	r.tokens += d.lex.count
	m := r.add(cost.GQLTokens, float64(d.lex.count), r.offset(t, 0), "document")
	if r.o.Explain {
		m.Detail = things(m.Value, "token", "tokens")
	}
	if !ok {
		return r.refuseIn(t, d.fault)
	}
	if !r.bind(given) {
		return false
	}
	if !r.weigh() {
		return r.refuseIn(t, d.fault)
	}
	return r.measure(operation)
}

func (r *Reader) refuse(p cost.Predictor, reason string, offset int) {
	if r.fault == nil {
		r.fault = &cost.Unreadable{Predictor: p, Reason: reason, Offset: offset, Part: r.part}
	}
}

// refuseIn adds the measure of a fault within a text.
func (r *Reader) refuseIn(t *text, f fault) bool {
	r.refuse(f.predictor, f.reason, r.offset(t, f.at))
	return false
}

// offset returns the position in Query.Body of a byte of t.
func (r *Reader) offset(t *text, at int) int {
	if t.base == notInBody {
		return notInBody
	}
	if !t.escaped {
		return t.base + at
	}
	raw := r.q.Body[t.base:]
	var room [8]byte
	n := 0
	for have := 0; have < at && n < len(raw); {
		plain := bytes.IndexByte(raw[n:], '\\')
		if plain < 0 || have+plain >= at {
			n += at - have
			break
		}
		got, size := unescape.One(room[:0], raw[n+plain:])
		have += plain + len(got)
		n += plain + size
	}
	return t.base + n
}

func (r *Reader) add(p cost.Predictor, value float64, offset int, path string) *cost.Measure {
	r.out = append(r.out, cost.Measure{Predictor: p, Value: value, Offset: offset, Part: r.part})
	m := &r.out[len(r.out)-1]
	if r.o.Explain {
		m.Path = path
	}
	return m
}
