package elastic

import (
	"bytes"
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// multiMatch measures the fields that a text is searched in.
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
		fields = none // as if nothing were said
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
	maxGuess      = 25 // fields that a name with a star in it is taken to stand for
)

// mapped is how many fields an index has.
func (r *Reader) mapped() float64 {
	if h, ok := r.indexHint(); ok && h.Fields > 0 {
		return h.Fields
	}
	return or(r.o.Defaults.Fields, assumedFields)
}

// hintedFields is like mapped, but assumes few: terms × assumed fields would
// call a long sentence expensive without knowing anything.
func (r *Reader) hintedFields() float64 {
	if h, ok := r.indexHint(); ok && h.Fields > 0 {
		return h.Fields
	}
	return 5
}

// fieldSet is how many fields a text is searched in.
type fieldSet struct {
	named  float64 // one by one: that they are many is meant
	spread float64 // that a star, or nothing, stands for
	all    bool    // "*", or nothing, is among them
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
		default: // name.*: some of them
			s.spread += min(max(2, r.mapped()/10), maxGuess)
		}
	})
	return s
}

// fanout measures what is built for each field. Fields that a caller names are
// clauses like others, but for patterns, of which each field has an automaton of its own.
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
		m.Detail += " (no hint how many fields the index maps: assumed)"
	}
}
