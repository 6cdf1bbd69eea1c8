package elastic

import (
	"bytes"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// multiMatch measures the fields in which a text is searched.
func (r *Reader) multiMatch(kind []byte, v int) selectivity {
	text := firstOf(r.get(v, "query"), r.get(v, "like"), r.get(v, "like_text"), r.get(v, "value"))
	n := 1.0
	if text > none && r.isText(text) {
		n = float64(max(1, words(r.bytes(text))))
	}
	if k := string(kind); k == "more_like_this" || k == "mlt" {
		n = r.quantity(r.get(v, "max_query_terms"), 25)
	}
	fields := firstOf(r.get(v, "fields"), r.get(v, "fields_list"))
	if r.isArray(fields) && r.count(fields) == 0 {
		fields = none // same as unset
	}
	set := r.fieldsOf(fields)
	if fields <= none {
		set = fieldSet{spread: r.mapped(), all: true}
	}
	clauses := n * (set.named + set.spread)
	if set.all {
		clauses = n * min(set.named+set.spread, r.hintedFields())
	}
	if f := r.get(v, "fuzziness"); f > none && string(r.bytes(f)) != "0" {
		clauses += n * r.expansions(v)
	}
	r.clause(v, clauses)
	r.fanout(set, 1, 0, firstOf(fields, v))
	return selStrong
}

const (
	assumedFields = 50
	maxGuess      = 25 // assumed number of fields for a name with a star
)

// mapped returns the number of fields in an index.
func (r *Reader) mapped() float64 {
	if h, ok := r.indexHint(); ok && h.Fields > 0 {
		return h.Fields
	}
	return or(r.o.Defaults.Fields, assumedFields)
}

// hintedFields is mapped with a low default: terms × assumed fields would make a long
// sentence look expensive without evidence.
func (r *Reader) hintedFields() float64 {
	if h, ok := r.indexHint(); ok && h.Fields > 0 {
		return h.Fields
	}
	return 5
}

// fieldSet counts the fields in which a text is searched.
type fieldSet struct {
	named  float64 // fields listed by name: their number is intended
	spread float64 // fields for a star or an empty list
	all    bool    // the list is empty or contains "*"
}

// fieldsOf counts the fields of a list.
func (r *Reader) fieldsOf(n int) (s fieldSet) {
	r.each(n, func(e int) {
		if !r.isText(e) {
			return
		}
		name := r.bytes(e)
		stars := bytes.Count(name, []byte("*"))
		if stars > 0 {
			r.add(cost.WildcardStars, float64(stars), e)
		}
		base, _, _ := bytes.Cut(name, []byte("^"))
		switch {
		case stars == 0:
			s.named++
		case len(bytes.Trim(base, "*.")) == 0:
			s.spread += r.mapped()
			s.all = true
		default: // name.*: some fields
			s.spread += min(max(2, r.mapped()/10), maxGuess)
		}
	})
	return s
}

// fanout measures what the backend builds per field. Fields listed by name count as
// ordinary clauses, except with patterns, which need an automaton per field.
func (r *Reader) fanout(s fieldSet, patterns, automata float64, n int) {
	spread, named := s.spread*max(1, patterns), 0.0
	if s.named > 1 {
		named = s.named * automata
	}
	if spread+named == 0 {
		return
	}
	m := r.add(cost.FieldFanout, spread+named, n)
	if !r.o.Explain {
		return
	}
	switch {
	case spread == 0:
		m.Detail = fmt.Sprintf("%s fields × %s", figure(s.named), figure(automata))
	case named == 0:
		m.Detail = fmt.Sprintf("%s fields × %s", figure(s.spread), figure(max(1, patterns)))
	default:
		m.Detail = fmt.Sprintf("%s fields × %s + %s × %s", figure(s.spread), figure(max(1, patterns)), figure(s.named), figure(automata))
	}
	if h, ok := r.indexHint(); s.all && (!ok || h.Fields <= 0) {
		m.Detail += " (no hint gives the number of mapped fields: assumed)"
	}
}
