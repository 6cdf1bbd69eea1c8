package elastic

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// Weight of a script field relative to a doc value field: backends allow 32 and 100 of
// them.
const scriptFieldWeight = 100.0 / 32

// Weight of a highlighted field. Only fields that exist and match cost something: searches
// over many kinds of documents name hundreds, and backends do not limit them.
const highlightWeight = 1.0 / 10

// fetch measures what a search fetches for each hit.
func (r *Reader) fetch(m *members, p *parameters) {
	docvalues := m.docvalues
	if docvalues <= none {
		docvalues = m.fielddata
	}
	if n := r.size(docvalues) + float64(p.docvalues); n > 0 {
		r.fetched(n, docvalues, "doc value fields")
	}
	if n := r.size(m.scriptFields); n > 0 {
		r.fetched(n*scriptFieldWeight, m.scriptFields, "script fields, each counted as 3.125 doc value fields")
	}
	if h := m.highlight; h > none {
		r.fragments(h)
		if n := r.size(r.get(h, "fields")); n > 0 {
			r.fetched(n*highlightWeight, r.get(h, "fields"), "highlighted fields, ten counted as one doc value field")
		}
		if q := r.get(h, "highlight_query"); q > none {
			r.walkQuery(q, 1, 0, false)
		}
		r.highlighted(r.get(h, "fields"))
	}
	r.urlStars(p)
	r.each(m.fields, r.fieldStars)
	r.each(docvalues, r.fieldStars)
	r.each(m.source, r.fieldStars)
	for _, name := range [...]string{"includes", "include", "excludes", "exclude"} {
		r.each(r.get(m.source, name), r.fieldStars)
	}
}

// highlighted measures the queries of highlighted fields.
func (r *Reader) highlighted(fields int) {
	r.each(fields, func(e int) {
		for k := e + 1; r.isObject(e) && k < r.next(e); k = r.next(k + 1) {
			r.fragments(k + 1)
			if q := r.get(k+1, "highlight_query"); q > none {
				r.walkQuery(q, 1, 0, false)
			}
		}
	})
}

// fieldStars measures a field name, or {"field": NAME}. A single star does not count as a
// pattern.
func (r *Reader) fieldStars(n int) {
	if r.isObject(n) {
		n = r.get(n, "field")
	}
	if n <= none || !r.isText(n) {
		return
	}
	if stars := bytes.Count(r.bytes(n), []byte("*")); stars > 1 {
		r.add(cost.WildcardStars, float64(stars), n)
	}
}

// urlStars is fieldStars for field names in the URL.
func (r *Reader) urlStars(p *parameters) {
	if p.stars > 1 {
		r.addURL(cost.WildcardStars, float64(p.stars), p.starsIn)
	}
}

func (r *Reader) size(n int) float64 {
	if n <= none {
		return 0
	}
	if r.isObject(n) || r.isArray(n) {
		return float64(r.count(n))
	}
	return 1
}

func (r *Reader) fetched(value float64, n int, what string) {
	m := r.add(cost.Fetch, value, n)
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s: %s", what, figure(value))
	}
}

// sorts measures scripts, and filters of nested fields, in a sort.
func (r *Reader) sorts(n int, sel selectivity) {
	r.each(n, func(e int) {
		if !r.isObject(e) {
			return
		}
		for k := e + 1; k < r.next(e); k = r.next(k + 1) {
			v := k + 1
			if string(r.bytes(k)) == "_script" {
				if r.scriptIn(v, false) > 0 {
					r.scored(v, sel)
				}
				continue
			}
			if f := firstOf(r.get(v, "nested_filter"), r.get(r.get(v, "nested"), "filter")); f > none {
				r.walkQuery(f, 1, 0, false)
			}
		}
	})
}

// suggest measures suggesters.
func (r *Reader) suggest(n int) {
	if !r.isObject(n) {
		return
	}
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		named := k + 1
		for j := named + 1; r.isObject(named) && j < r.next(named); j = r.next(j + 1) {
			v := j + 1
			if !r.isObject(v) {
				continue
			}
			if c := r.get(v, "collate"); c > none {
				r.scriptIn(c, false)
			}
			r.suggestSizes(v)
			r.each(r.get(v, "direct_generator"), r.suggestSizes)
			if p := r.get(named, "prefix"); p > none && r.isText(p) { // an automaton with one state per character
				r.add(cost.PatternLength, float64(utf8.RuneCount(r.bytes(p))), p)
			}
			if x := firstOf(r.get(v, "regex"), r.get(named, "regex")); x > none && r.isText(x) {
				r.regexpPattern(r.bytes(x), x, nil)
			}
		}
	}
}

// suggestSizes measures the sizes of one suggester or candidate generator.
func (r *Reader) suggestSizes(v int) {
	for _, name := range [...]string{"size", "shard_size", "max_inspections"} {
		r.sized(cost.SuggestSize, r.get(v, name), 0)
	}
	if s := r.get(v, "token_limit"); s > none { // one recursive call per word
		m := r.add(cost.SuggestSize, r.quantity(s, 0)*tokenWeight, s)
		if r.o.Explain {
			m.Detail = "words of a phrase, each counted as ten suggestions: " + figure(r.quantity(s, 0))
		}
	}
}

// fieldCaps measures the endpoints for field information.
func (r *Reader) fieldCaps(root int, p *parameters, ep endpoint) {
	r.each(r.get(root, "fields"), r.fieldStars)
	r.urlStars(p)
	if f := r.get(root, "index_filter"); f > none {
		r.query.reset()
		r.walkQuery(f, 1, 0, false)
		r.finishQuery()
	}
	if ep == epTermsEnum {
		r.sized(cost.AggSize, r.get(root, "size"), 10)
		if s := r.get(root, "string"); s > none { // a prefix, which becomes an automaton
			r.add(cost.PatternLength, float64(utf8.RuneCount(r.bytes(s))), s)
		}
	}
}

// rankEval measures a ranking evaluation, which runs a search per request.
func (r *Reader) rankEval(root int, p *parameters) {
	members := 0
	r.each(r.get(root, "requests"), func(e int) {
		r.part = members
		if q := r.get(e, "request"); q > none {
			r.search(q, p, epRankEval)
		}
		if id := r.get(e, "template_id"); id > none && r.fault == nil {
			r.rankTemplate(root, id, r.get(e, "params"), p)
		}
		members++
	})
	r.part = 0
	if members > 0 {
		r.add(cost.Batch, float64(members), r.get(root, "requests"))
	}
}

// rankTemplate renders the template of a request.
func (r *Reader) rankTemplate(root, id, params int, p *parameters) {
	r.each(r.get(root, "templates"), func(e int) {
		t := r.get(e, "template")
		if t <= none || !bytes.Equal(r.bytes(firstOf(r.get(e, "id"), e)), r.bytes(id)) {
			return
		}
		v := &r.t.nodes[t]
		if r.filled += int(v.end - v.off); r.filled > r.o.MaxBytes {
			r.unreadable(cost.BodyBytes, "the rendered templates are too long", -1)
			return
		}
		r.inlineTemplate(t, params, p)
	})
}

// graph measures a graph exploration: its query, and the number of vertices at each hop.
func (r *Reader) graph(root int, p *parameters) {
	r.query.reset()
	r.mainQuery(r.get(root, "query"), p)
	r.finishQuery()
	r.keeps(r.get(root, "controls"), "sample_size")
	for hop := root; r.isObject(hop); hop = r.get(hop, "connections") {
		r.each(r.get(hop, "vertices"), func(e int) {
			r.sized(cost.AggSize, r.get(e, "size"), 5)
		})
		if q := r.get(hop, "query"); hop != root && q > none {
			r.walkQuery(q, 1, 0, false)
		}
	}
}

// transform measures the search of a transform, which runs repeatedly.
func (r *Reader) transform(root int, p *parameters) {
	root = firstOf(r.get(root, "config"), r.get(root, "transform"), root) // in a preview, and in OpenSearch
	source, pivot := r.get(root, "source"), r.get(root, "pivot")
	r.query.reset()
	r.bounds, r.areas = r.bounds[:0], r.areas[:0]
	r.mainQuery(firstOf(r.get(source, "query"), r.get(root, "data_selection_query")), p)
	r.runtime(r.get(source, "runtime_mappings"))
	if a := r.get(root, "aggregations"); a > none {
		r.aggregate(a, selStrong)
	}
	if pivot > none {
		r.groups(r.get(pivot, "group_by"))
		r.aggregate(firstOf(r.get(pivot, "aggregations"), r.get(pivot, "aggs")), selStrong)
	}
	r.finishQuery()
}
