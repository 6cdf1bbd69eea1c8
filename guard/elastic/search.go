package elastic

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// members holds the nodes of a search body that have a cost; none if absent.
type members struct {
	query, aggs, size, from, sort, rescore, collapse, highlight int
	docvalues, fielddata, scriptFields, runtime, suggest, knn   int
	pit, timeout, terminate, total, retriever, postFilter       int
	fields, subSearches, rank, source, pipeline, slice          int
}

func (r *Reader) members(root int) members {
	m := members{
		none, none, none, none, none, none, none, none, none, none, none,
		none, none, none, none, none, none, none, none, none, none, none,
		none, none, none, none,
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
			if m.aggs > none { // both spellings are present: the second one counts
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
		case "search_pipeline":
			m.pipeline = v
		case "_source":
			m.source = v
		case "slice":
			m.slice = v
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
	if p.suggestSize > 0 {
		r.addURL(cost.SuggestSize, p.suggestSize, "suggest_size")
	}
	r.processors(m.pipeline)
	r.slice(m.slice)
	r.aggregate(m.aggs, sel)
	r.finishQuery()
	r.unfiltered(m.aggs, m.sort, sel)
	if ep != epRankEval {
		r.effort(root, &m, p)
	}
}

// documents returns the maximum number of documents that a search reads before
// terminate_after ends it.
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

// processors measures queries and scripts of a pipeline in the request.
func (r *Reader) processors(pipeline int) {
	r.each(r.get(pipeline, "request_processors"), func(e int) {
		if q := r.get(r.get(e, "filter_query"), "query"); q > none {
			r.walkQuery(q, 1, 0, false)
		}
		if s := r.get(e, "script"); s > none {
			r.scriptValue(s)
		}
	})
}

// mainQuery reads the query of the body, or of q= in the URL.
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

// each calls f for the elements of an array, or for a single value.
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
