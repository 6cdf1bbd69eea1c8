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
	count, all := r.fieldCount(fields)
	if fields <= none {
		count, all = r.mapped(), true
	}
	clauses := n * count
	if all {
		clauses = n * min(count, r.hintedFields())
	}
	if f := r.get(v, "fuzziness"); f > none && string(r.bytes(f)) != "0" {
		clauses += n * r.expansions(v)
	}
	r.clause(v, clauses)
	if fields <= none || all || count > 1 {
		r.fanout(count, 1, firstOf(fields, v), all)
	}
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

// fieldCount counts the fields of a list; all says that "*" is among them.
func (r *Reader) fieldCount(n int) (count float64, all bool) {
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
			count++
		case len(bytes.Trim(base, "*.")) == 0:
			count += r.mapped()
			all = true
		default: // name.*: some of them
			count += min(max(2, r.mapped()/10), maxGuess)
		}
	})
	return count, all
}

func (r *Reader) fanout(fields, patterns float64, n int, all bool) {
	m := r.add(cost.FieldFanout, fields*max(1, patterns), n)
	if !r.o.Explain {
		return
	}
	m.Detail = fmt.Sprintf("%s fields × %s", figure(fields), figure(max(1, patterns)))
	if h, ok := r.indexHint(); all && (!ok || h.Fields <= 0) {
		m.Detail += " (no hint how many fields the index maps: assumed)"
	}
}
