package elastic

import (
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// vectors measures one or several knn searches.
func (r *Reader) vectors(n, depth int) selectivity {
	if n <= none {
		return selAll
	}
	r.each(n, func(e int) {
		at := firstOf(r.get(e, "num_candidates"), r.get(e, "k"))
		value := math.Max(r.quantity(r.get(e, "num_candidates"), 0), r.quantity(r.get(e, "k"), 0))
		if ef := r.get(r.get(e, "method_parameters"), "ef_search"); ef > none {
			at, value = firstOf(at, ef), math.Max(value, r.quantity(ef, 0))
		}
		if value > r.query.vectors {
			r.query.vectors, r.query.vectorsAt = value, at
		}
		if f := r.get(e, "filter"); f > none {
			leading := r.query.leading
			r.walkQuery(f, depth+1, 0, false)
			r.readApart(leading)
		}
		if ih := r.get(e, "inner_hits"); ih > none {
			r.innerHits(ih)
		}
	})
	return selStrong
}

// retrievers reads a tree of retrievers.
func (r *Reader) retrievers(n, depth int) selectivity {
	sel := selAll
	if n <= none {
		return sel
	}
	if r.isArray(n) {
		for e := n + 1; e < r.next(n); e = r.next(e) {
			sel = max(sel, r.retrievers(e, depth))
		}
		return sel
	}
	if !r.isObject(n) {
		return sel
	}
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		v := k + 1
		switch string(r.bytes(k)) {
		case "query", "filter":
			if r.isObject(v) || r.isArray(v) {
				leading := r.query.leading
				sel = max(sel, r.walkQuery(v, depth+1, 0, false))
				r.readApart(leading)
			}
		case "knn":
			sel = max(sel, r.vectors(v, depth+1))
		case "rank_window_size", "window_size":
			m := r.add(cost.RescoreWindow, r.quantity(v, 10), v)
			m.Cap = r.bodyCap(v, "", "", 0, 1)
		case "collapse":
			r.collapse(v)
		case "params", "field", "inference_text":
		default:
			sel = max(sel, r.retrievers(v, depth+1))
		}
	}
	return sel
}

func (r *Reader) subSearches(n int) {
	leading := r.query.leading
	r.each(n, func(e int) { r.walkQuery(r.get(e, "query"), 1, 0, false) })
	r.readApart(leading)
}
