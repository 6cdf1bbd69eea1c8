package graphql

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"math"
)

// variable is a variable that is used as a length.
type variable struct {
	name          span
	value, within float64 // given with the request: the greatest of all sources
	otherwise     float64 // default value in the document
	otherwiseIn   float64
}

// length returns the value of a variable in the request, or its default.
func (r *Reader) length(f *ref) float64 {
	v := &r.variables[f.entry]
	if f.paging {
		if v.within > 0 {
			return v.within
		}
		return v.otherwiseIn
	}
	if v.value > 0 {
		return v.value
	}
	return v.otherwise
}

// bind finds the values of the variables that are used as lengths. If a variable has
// several values, the greatest counts.
func (r *Reader) bind(given []text) bool {
	d := &r.doc
	r.variables = r.variables[:0]
	if len(d.refs) == 0 {
		return true
	}
	r.names.reset(len(d.refs))
	for i := range d.refs {
		f := &d.refs[i]
		entry, slot := r.variable(d.text(f.name))
		if entry == none {
			entry = int32(len(r.variables))
			r.variables = append(r.variables, variable{name: f.name})
			r.names.put(slot, entry)
		}
		f.entry = entry
	}
	for i := range d.defaults {
		s := &d.defaults[i]
		if entry, _ := r.variable(d.text(s.name)); entry != none {
			v := &r.variables[entry]
			v.otherwise, v.otherwiseIn = max(v.otherwise, s.value), max(v.otherwiseIn, s.within)
		}
	}
	for i := range given {
		if len(given[i].bytes) > 0 && !r.given(&given[i]) {
			return false
		}
	}
	for i := range r.variables {
		v := &r.variables[i]
		for _, arg := range r.q.Args {
			if m, ok := arg.(map[string]any); ok {
				value := m[string(d.text(v.name))]
				v.value = max(v.value, numberOf(value))
				v.within = max(v.within, withinOf(value))
			}
		}
	}
	return true
}

func (r *Reader) variable(name []byte) (entry int32, slot int) {
	return r.names.find(maphash.Bytes(r.seed, name), func(e int32) bool {
		return bytes.Equal(r.doc.text(r.variables[e].name), name)
	})
}

// given reads a JSON object of variables.
func (r *Reader) given(t *text) bool {
	s := r.scan(t)
	if s.null() {
		return s.end() || r.refuseIn(t, s.fault)
	}
	for key, ok := s.first('{'); ok; key, ok = s.more() {
		entry, _ := r.variable(key)
		if entry == none {
			s.skip()
			continue
		}
		v := &r.variables[entry]
		if !s.at('{') {
			v.value = max(v.value, lengthOf(s.skip()))
			continue
		}
		inner := r.scan(&text{bytes: s.skip(), base: notInBody}) // skip has already validated it
		for name, ok := inner.first('{'); ok; name, ok = inner.more() {
			length := isLength(name)
			if value := inner.skip(); length {
				v.within = max(v.within, lengthOf(value))
			}
		}
	}
	return s.end() || r.refuseIn(t, s.fault)
}

// numberOf converts a value of a Go program to a length. It returns 0 for other values.
func numberOf(v any) float64 {
	f := 0.0
	switch n := v.(type) {
	case int:
		f = float64(n)
	case int32:
		f = float64(n)
	case int64:
		f = float64(n)
	case uint:
		f = float64(n)
	case uint32:
		f = float64(n)
	case uint64:
		f = float64(n)
	case float32:
		f = float64(n)
	case float64:
		f = n
	case json.Number:
		f, _ = n.Float64()
	}
	switch {
	case math.IsNaN(f):
		return 0
	case f < 0:
		return backwards(-f)
	}
	return f
}

func withinOf(v any) float64 {
	m, ok := v.(map[string]any)
	if !ok {
		return 0
	}
	most := 0.0
	for name, value := range m {
		if isLength([]byte(name)) {
			most = max(most, numberOf(value))
		}
	}
	return most
}
