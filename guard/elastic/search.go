package elastic

import (
	"bytes"
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// members are the nodes of a search body that cost; none where absent.
type members struct {
	query, aggs, size, from, sort, rescore, collapse, highlight int
	docvalues, fielddata, scriptFields, runtime, suggest, knn   int
	pit, timeout, terminate, total, retriever, postFilter       int
	fields, subSearches, rank, source                           int
}

func (r *Reader) members(root int) members {
	m := members{
		none, none, none, none, none, none, none, none, none, none, none,
		none, none, none, none, none, none, none, none, none, none, none,
		none, none,
	}
	if !r.isObject(root) {
		return m
	}
	for k := root + 1; k < r.next(root); k = r.next(k + 1) {
		v := k + 1
		switch string(r.bytes(k)) {
		case "query":
			m.query = v
		case "aggs", "aggregations", "facets":
			if m.aggs > none { // both spellings: measured where it is found second
				r.aggregate(m.aggs, selAll)
			}
			m.aggs = v
		case "size":
			m.size = v
		case "from":
			m.from = v
		case "sort":
			m.sort = v
		case "rescore":
			m.rescore = v
		case "collapse":
			m.collapse = v
		case "highlight":
			m.highlight = v
		case "docvalue_fields":
			m.docvalues = v
		case "fielddata_fields":
			m.fielddata = v
		case "fields", "stored_fields":
			m.fields = v
		case "script_fields":
			m.scriptFields = v
		case "runtime_mappings", "derived":
			m.runtime = v
		case "suggest":
			m.suggest = v
		case "knn":
			m.knn = v
		case "pit":
			m.pit = v
		case "timeout":
			m.timeout = v
		case "terminate_after":
			m.terminate = v
		case "track_total_hits":
			m.total = v
		case "retriever":
			m.retriever = v
		case "post_filter", "filter":
			m.postFilter = v
		case "sub_searches":
			m.subSearches = v
		case "rank":
			m.rank = v
		case "_source":
			m.source = v
		}
	}
	return m
}

// search measures a search body. The order of the measures is fixed.
func (r *Reader) search(root int, p *parameters, ep endpoint) {
	r.query.reset()
	r.bounds, r.areas = r.bounds[:0], r.areas[:0]
	m := r.members(root)
	r.stops = r.documents(&m, p)
	sel := r.mainQuery(m.query, p)
	sel = max(sel, r.vectors(m.knn, 1))
	sel = max(sel, r.retrievers(m.retriever, 1))
	r.retrievers(m.rank, 1)
	r.subSearches(m.subSearches)
	if m.postFilter > none {
		r.walkQuery(m.postFilter, 1, 0, false)
	}
	r.window(root, &m, p, ep)
	r.rescore(m.rescore)
	r.collapse(m.collapse)
	r.fetch(&m, p)
	r.sorts(m.sort, sel)
	r.scripts(m.scriptFields)
	r.runtime(m.runtime)
	r.suggest(m.suggest)
	r.aggregate(m.aggs, sel)
	r.finishQuery()
	r.unfiltered(m.aggs, m.sort, sel)
	if ep != epRankEval {
		r.effort(root, &m, p)
	}
}

// documents is how many a search looks at before terminate_after ends it.
func (r *Reader) documents(m *members, p *parameters) float64 {
	each := r.quantity(m.terminate, 0)
	if p.terminateSet {
		each = p.terminate
	}
	if each <= 0 {
		return math.Inf(1)
	}
	total, _ := r.countShards(r.index)
	return each * max(1, total)
}

// mainQuery reads the query of the body, or that of q= in the URL.
func (r *Reader) mainQuery(query int, p *parameters) selectivity {
	sel := selAll
	if query > none {
		sel = r.walkQuery(query, 1, 0, true)
	}
	if p.q != nil {
		sel = max(sel, r.urlQuery(p))
	}
	return sel
}

const (
	defaultSize = 10
	allHits     = 10000 // that are counted when nothing is said
)

// window is from + size. What the URL says wins over the body.
func (r *Reader) window(root int, m *members, p *parameters, ep endpoint) {
	size, from := float64(defaultSize), 0.0
	at := none
	capped := cost.Cap{}
	switch {
	case p.hasSize:
		size, capped = p.size, r.urlCap(p.sizeAt, true, "", "", 0, 0)
	case m.size > none:
		size, at = r.quantity(m.size, size), m.size
		capped = r.bodyCap(m.size, "", "", 0, 0)
	default:
		if ep != epRankEval {
			capped = r.insertCap(root, addSize(), 0)
		}
	}
	switch {
	case p.hasFrom:
		from = p.from
	case m.from > none:
		from = r.quantity(m.from, 0)
	}
	scroll := r.scrolls(m, p)
	if ep == epAsyncSearch {
		r.answerKept(p)
	}
	if size < 0 || from < 0 {
		size, from = math.Inf(1), 0
	}
	capped.Base = from
	value := from + size
	var out *cost.Measure
	switch {
	case at <= none && (p.hasSize || p.hasFrom) || at <= none && m.from <= none:
		out = r.addURL(cost.ResultWindow, value, "size")
	case at > none:
		out = r.add(cost.ResultWindow, value, at)
	default:
		out = r.add(cost.ResultWindow, value, m.from)
	}
	out.Cap = capped
	if r.o.Explain {
		out.Detail = fmt.Sprintf("from %s + size %s = %s", figure(from), figure(size), figure(value))
		if scroll {
			out.Detail = "size of each batch of a scroll: " + figure(size)
		}
		if out.Offset < 0 && !p.hasSize && !p.hasFrom {
			out.Path = "$.size"
			out.Detail += " (the default)"
		}
	}
}

// scrolls measures for how long a context stays open.
func (r *Reader) scrolls(m *members, p *parameters) bool {
	if p.scroll != nil {
		r.keepAlive(none, p.scroll, "scroll")
	}
	if m.pit > none {
		if at := r.get(m.pit, "keep_alive"); at > none {
			r.keepAlive(at, nil, "")
		}
	}
	return p.scroll != nil
}

// kept is a time in milliseconds; what cannot be read is unbounded.
func kept(text []byte) float64 {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return 0
	}
	ms, ok := duration(text)
	if !ok {
		ms, ok = parseNumber(text)
	}
	switch {
	case !ok:
		return math.Inf(1)
	case text[len(text)-1] == 'S': // milliseconds to version 1, seconds since
		return ms * 1000
	}
	return ms
}

// keepAlive measures a time that is in the body at node n, or in the URL.
func (r *Reader) keepAlive(n int, inURL []byte, parameter string) {
	text := inURL
	if n > none {
		text = r.bytes(n)
	}
	if text == nil {
		return
	}
	ms := kept(text)
	if ms <= 0 {
		return
	}
	var m *cost.Measure
	if n > none {
		m = r.add(cost.ScrollTTL, ms/1000, n)
	} else {
		m = r.addURL(cost.ScrollTTL, ms/1000, parameter)
	}
	if r.o.Explain {
		m.Detail = fmt.Sprintf("%s = %s s", quoted(text), figure(ms/1000))
	}
}

func (r *Reader) rescore(n int) {
	if n <= none {
		return
	}
	largest, at := -1.0, none
	r.each(n, func(e int) {
		size, where := 10.0, e
		if w := r.get(e, "window_size"); w > none {
			size, where = r.quantity(w, size), w
		}
		if size > largest {
			largest, at = size, where
		}
		if q := r.get(e, "query"); q > none {
			if rq := r.get(q, "rescore_query"); rq > none {
				r.walkQuery(rq, 1, 0, false)
			}
		}
		r.scriptIn(e, false)
	})
	if at > none {
		m := r.add(cost.RescoreWindow, largest, at)
		if r.kind(at) == kindNumber {
			m.Cap = r.bodyCap(at, "", "", 0, 1)
		}
	}
}

// each calls f for the elements of an array, or for the value itself.
func (r *Reader) each(n int, f func(int)) {
	if n <= none {
		return
	}
	if !r.isArray(n) {
		f(n)
		return
	}
	for e := n + 1; e < r.next(n); e = r.next(e) {
		f(e)
	}
}

func (r *Reader) collapse(n int) {
	if n <= none {
		return
	}
	r.each(r.get(n, "inner_hits"), func(e int) {
		r.innerHits(e)
		r.collapse(r.get(e, "collapse"))
	})
}

// innerHits measures inner_hits and top_hits: from + size, for each parent.
func (r *Reader) innerHits(n int) {
	sizeAt := r.get(n, "size")
	size, from := r.quantity(sizeAt, 3), r.quantity(r.get(n, "from"), 0)
	at := n
	if sizeAt > none {
		at = sizeAt
	}
	if size < 0 {
		size = math.Inf(1)
	}
	m := r.add(cost.InnerWindow, from+size, at)
	if sizeAt > none {
		m.Cap = r.bodyCap(sizeAt, "", "", from, 0)
	}
	if r.o.Explain {
		m.Detail = fmt.Sprintf("from %s + size %s, for each parent", figure(from), figure(size))
	}
	if r.isObject(n) {
		inner := r.members(n)
		inner.aggs = none
		r.fetch(&inner, &parameters{})
		r.scripts(inner.scriptFields)
		r.sorts(inner.sort, selStrong)
	}
}
