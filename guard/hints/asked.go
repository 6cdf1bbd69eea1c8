package hints

import "bytes"

// maxAsked is how many aggregations of one request are looked at.
const maxAsked = 32

// form is how the answer to an aggregation is built.
type form uint8

const (
	formOther   form = iota // not looked into
	formTerms               // buckets of the values of a field
	formCount               // a cardinality
	formBuckets             // buckets that may hold aggregations
	formSingle              // one bucket: what it holds lies beside its count
)

func formOf(kind string) form {
	switch kind {
	case "terms":
		return formTerms
	case "cardinality":
		return formCount
	case "histogram", "date_histogram", "auto_date_histogram", "range", "date_range", "ip_range", "multi_terms", "rare_terms", "significant_terms", "geohash_grid", "geotile_grid":
		return formBuckets
	case "filter", "global", "nested", "reverse_nested", "children", "parent", "sampler":
		return formSingle
	}
	return formOther
}

// asked is an aggregation of a request.
type asked struct {
	name, field []byte
	above       int // the aggregation that it lies in, or -1
	form        form
	typed       bool // form is known
	rough       bool // its answer is less exact than usual
	ordered     bool // its buckets do not come in the order of their size
}

// request is what a search asks for, as far as something can be learned from
// its answer.
type request struct {
	aggs  [maxAsked]asked
	n     int
	blind bool // nothing can be learned
}

// role is what an open container of a request is.
type role struct {
	is  part
	agg int // whose; of partList, in which it lies
}

type part uint8

const (
	partOther part = iota
	partRoot       // the request
	partList       // aggs
	partAgg        // one of them
	partKind       // what says of which kind it is, and of which field
)

// read goes through a request's body, all of which is looked at: a word at its
// end could make the rest mean something else.
func (r *request) read(body []byte) {
	s := scanner{text: body}
	var open [maxOpen + 1]role
	for !r.blind {
		e := s.next()
		r.word(s.key)
		switch e {
		case evOpen:
			if s.depth == 1 {
				open[1] = role{is: partRoot}
				r.blind = r.blind || s.array
				continue
			}
			open[s.depth] = r.opened(open[s.depth-1], &s)
		case evClose:
			if s.depth == 0 {
				_, more := s.skip()
				r.blind = r.blind || more
				return
			}
		case evString, evNumber, evWord:
			if e != evString && !ordinary(s.value) { // a comment may hide anything
				r.blind = true
			}
			if up := open[s.depth]; up.is == partKind {
				r.said(&r.aggs[up.agg], &s, e == evString)
			}
		case evEnd:
			r.blind = true
			return
		}
	}
}

// word looks out for what makes an answer about something else than fields.
func (r *request) word(key []byte) {
	if bytes.IndexByte(key, '\\') >= 0 { // it may spell one of these
		r.blind = true
	}
	switch string(key) {
	case "script", "runtime_mappings", "missing", "random_sampler", "value_type", "script_fields", "search_pipeline", "ext":
		r.blind = true
	}
}

// opened says what a container is that lies in another.
func (r *request) opened(up role, s *scanner) role {
	list := isAggs(s.key) && !s.array
	switch up.is {
	case partRoot:
		if list {
			return role{partList, -1}
		}
	case partList:
		return r.named(up.agg, s)
	case partAgg:
		switch {
		case list:
			return role{partList, up.agg}
		case string(s.key) == "meta":
		case s.array || r.aggs[up.agg].typed:
			r.blind = true
		default:
			a := &r.aggs[up.agg]
			a.form, a.typed = formOf(string(s.key)), true
			return role{partKind, up.agg}
		}
	case partKind:
		r.said(&r.aggs[up.agg], s, false)
	case partOther:
	}
	return role{}
}

// named adds an aggregation. One whose name is that of another beside it, or of
// something else in an answer, makes the answer hard to read.
func (r *request) named(above int, s *scanner) role {
	if s.array || r.n == maxAsked || reserved(s.key) || r.find(above, s.key) >= 0 {
		r.blind = true
		return role{}
	}
	r.aggs[r.n] = asked{name: s.key, above: above}
	r.n++
	return role{partAgg, r.n - 1}
}

// reserved are words of answers, and # that stands between a kind and a name.
func reserved(name []byte) bool {
	switch string(name) {
	case "", "meta", "buckets", "key", "value", "values", "hits", "doc_count", "bg_count", "from", "to", "after_key", "interval":
		return true
	}
	return bytes.IndexByte(name, '#') >= 0
}

// said takes in one member of what says of which kind an aggregation is.
func (r *request) said(a *asked, s *scanner, text bool) {
	switch string(s.key) {
	case "field":
		if !text || a.field != nil || bytes.IndexByte(s.value, '\\') >= 0 {
			r.blind = true
			return
		}
		a.field = s.value
	case "order":
		a.ordered = true
	case "precision_threshold":
		a.rough = true
	}
}

// ordinary reports whether a scalar is one of JSON's.
func ordinary(value []byte) bool {
	switch string(value) {
	case "true", "false", "null":
		return true
	}
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c|0x20 == 'e':
		default:
			return false
		}
	}
	return true
}

func isAggs(key []byte) bool { return string(key) == "aggs" || string(key) == "aggregations" }

// find is the aggregation of that name in another, or -1.
func (r *request) find(above int, name []byte) int {
	for i := range r.n {
		if a := &r.aggs[i]; a.above == above && string(a.name) == string(name) {
			return i
		}
	}
	return -1
}
