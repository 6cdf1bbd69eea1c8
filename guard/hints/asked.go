package hints

import "bytes"

// maxAsked is how many aggregations of one request are looked at.
const maxAsked = 32

// asked is an aggregation of a request that shows values of a field.
type asked struct {
	name, field []byte
	counts      bool // its buckets come in the order of their size
}

// request is what a search asks for, as far as something can be learned from
// its answer.
type request struct {
	aggs  [maxAsked]asked
	n     int
	blind bool // it computes its values: nothing can be learned
}

// read goes through a request's body, all of which is looked at: a word at its
// end could make the rest mean something else.
func (r *request) read(body []byte) {
	s := scanner{text: body}
	var keys [maxOpen + 1][]byte
	current := -1 // the aggregation that is being read, at depth at
	at := 0
	for {
		e := s.next()
		if bytes.IndexByte(s.key, '\\') >= 0 { // it may spell one of these
			r.blind = true
		}
		switch string(s.key) {
		case "script", "runtime_mappings", "missing", "random_sampler", "value_type", "script_fields":
			r.blind = true
		}
		switch e {
		case evOpen:
			keys[s.depth] = s.key
			if kind := string(s.key); !s.array && s.depth >= 3 && (kind == "terms" || kind == "cardinality") && isAggs(keys[s.depth-2]) {
				if r.n == maxAsked {
					r.blind = true
					return
				}
				r.aggs[r.n] = asked{name: keys[s.depth-1], counts: kind == "terms"}
				current, at = r.n, s.depth
				r.n++
			} else if current >= 0 && s.depth == at+1 && kind == "order" {
				r.aggs[current].counts = false
			}
		case evClose:
			if s.depth < at {
				current, at = -1, 0
			}
			if s.depth == 0 {
				_, more := s.skip()
				r.blind = r.blind || more
				return
			}
		case evString:
			if current >= 0 && s.depth == at && string(s.key) == "field" {
				r.aggs[current].field = s.value
			}
		case evNumber, evWord:
			r.blind = r.blind || !ordinary(s.value) // a comment may hide anything
		case evEnd:
			r.blind = true
			return
		}
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

// find is the only aggregation of that name; nil when there is none, or several
// of different fields.
func (r *request) find(name []byte) *asked {
	var found *asked
	for i := range r.n {
		a := &r.aggs[i]
		if string(a.name) != string(name) || len(a.field) == 0 {
			continue
		}
		if found != nil && string(found.field) != string(a.field) {
			return nil
		}
		found = a
	}
	return found
}
