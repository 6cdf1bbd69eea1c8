package elastic

import (
	"fmt"
	"math"
	"strings"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// scope is what an aggregation inherits from the enclosing ones.
type scope struct {
	depth int
	sel   selectivity
	room  float64 // maximum product of assumed numbers of buckets that is left
	below bool    // it contains aggregations that create buckets inside each of its buckets
}

// buckets counts the buckets of one aggregation.
type buckets struct {
	count float64
	chain string // with Explain: the factors on the path to the most buckets
}

// maxAssumed is the maximum product of assumed (not known) numbers of buckets along one
// chain, when they are multiplied with others.
const maxAssumed = 400

// assumed returns an assumed number of buckets for a product, limited by maxAssumed.
func (c scope) assumed(buckets float64, inner *scope) float64 {
	buckets = max(1, min(buckets, c.room))
	inner.room = c.room / buckets
	return buckets
}

// aggregate measures the aggregations of a search.
func (r *Reader) aggregate(n int, sel selectivity) {
	if !r.isObject(n) {
		return
	}
	r.aggDepth, r.aggAt = 0, n
	b, at := r.aggs(n, scope{depth: 1, sel: sel, room: maxAssumed})
	if b.count > 0 {
		m := r.add(cost.AggProduct, b.count, firstOf(at, n))
		if r.o.Explain {
			m.Detail = r.productDetail(b)
		}
	}
	if r.aggDepth > 0 {
		r.add(cost.AggDepth, float64(r.aggDepth), r.aggAt)
	}
}

func (r *Reader) productDetail(b buckets) string {
	levels := 1 + strings.Count(b.chain, " × ")
	word := "levels"
	if levels == 1 {
		word = "level"
	}
	return fmt.Sprintf("%d %s: %s; %s buckets in all", levels, word, b.chain, figure(b.count))
}

// aggs sums over siblings. The node is that of the sibling with the most buckets.
func (r *Reader) aggs(n int, c scope) (buckets, int) {
	var sum buckets
	most, at := 0.0, none
	if !r.isObject(n) {
		return sum, at
	}
	if c.depth > r.aggDepth {
		r.aggDepth, r.aggAt = c.depth, n
	}
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		b := r.agg(k, k+1, c)
		sum.count += b.count
		if b.count > most {
			most, at, sum.chain = b.count, k+1, b.chain
		}
	}
	return sum, at
}

// agg measures one named aggregation.
func (r *Reader) agg(key, n int, c scope) buckets {
	if !r.isObject(n) {
		return buckets{}
	}
	sub, kindAt, narrowed := none, none, none
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		switch string(r.bytes(k)) {
		case "aggs", "aggregations", "facets":
			sub = k + 1
		case "meta", "global", "facet_filter":
			if string(r.bytes(k)) == "global" && kindAt <= none {
				kindAt = k
			} else if string(r.bytes(k)) == "facet_filter" {
				narrowed = k + 1
			}
		default:
			if kindAt <= none || !r.isObject(kindAt+1) {
				kindAt = k
			}
		}
	}
	bounds, areas := len(r.bounds), len(r.areas)
	inner := scope{depth: c.depth + 1, sel: c.sel, room: c.room}
	c.below = sub > none && r.makesBuckets(sub)
	own, leading, global := 0.0, r.query.leading, false
	var saved []bound
	var savedAreas []area
	if kindAt > none {
		kind := string(r.bytes(kindAt))
		if global = kind == "global"; global { // it covers all documents again
			inner.sel, saved, savedAreas = selAll, r.bounds, r.areas
			r.bounds, bounds = r.bounds[len(r.bounds):], 0
			r.areas, areas = r.areas[len(r.areas):], 0
		}
		if narrowed > none {
			inner.sel = max(inner.sel, r.walkQuery(narrowed, 1, 0, true))
			c.sel = inner.sel
		}
		own = r.aggOf(kind, kindAt+1, c, &inner)
	}
	result := buckets{count: own}
	if sub > none {
		below, _ := r.aggs(sub, inner)
		if own > 0 || below.count > 0 {
			result.count = max(1, own) * max(1, below.count)
		}
		result.chain = below.chain
	}
	if global {
		r.readApart(leading)
	}
	r.bounds, r.areas = r.bounds[:bounds], r.areas[:areas]
	if saved != nil {
		r.bounds = saved
	}
	if savedAreas != nil {
		r.areas = savedAreas
	}
	if r.o.Explain && own > 0 {
		factor := fmt.Sprintf("%s %s", shortName(r.bytes(key)), figure(own))
		if result.chain != "" {
			factor += " × " + result.chain
		}
		result.chain = factor
	}
	return result
}

// aggOf measures an aggregation by its kind. It returns the number of its buckets per
// enclosing bucket; 0 for a metric. It changes inner for the aggregations below.
func (r *Reader) aggOf(kind string, v int, c scope, inner *scope) float64 {
	r.scriptIn(v, false)
	switch kind {
	case "terms", "multi_terms", "significant_terms", "significant_text", "rare_terms", "categorize_text", "terms_stats", "string_terms":
		return r.termsAgg(kind, v, c)
	case "composite":
		return r.compositeAgg(v)
	case "date_histogram", "histogram":
		return r.histogram(kind, v, c, inner)
	case "auto_date_histogram", "variable_width_histogram":
		r.keeps(v, "shard_size", "initial_buffer")
		return max(1, r.quantity(r.get(v, "buckets"), 10))
	case "geohash_grid", "geotile_grid", "geohex_grid":
		buckets, known := r.grid(kind, v, c)
		if !known {
			return c.assumed(buckets, inner)
		}
		return buckets
	case "range", "date_range", "ip_range", "geo_distance":
		r.rangesBound(v)
		return math.Max(1, float64(max(0, r.countOf(v, "ranges"))))
	case "filter":
		inner.sel = max(inner.sel, r.walkQuery(v, 1, 0, true))
		return 1
	case "filters":
		return r.filtersAgg(v, inner)
	case "adjacency_matrix":
		n := r.filtersAgg(v, inner)
		return n * (n + 1) / 2
	case "global", "missing", "nested", "reverse_nested", "children", "parent", "sampler", "random_sampler", "diversified_sampler":
		if strings.HasSuffix(kind, "sampler") {
			inner.sel = selStrong
			r.keeps(v, "shard_size")
		}
		return 1
	case "top_hits", "top_metrics":
		r.topHits(kind, v)
		return 0
	case "cardinality":
		r.cardinalityAgg(v, c)
		return 0
	case "percentiles", "percentile_ranks", "boxplot", "median_absolute_deviation":
		r.sketch(v)
		return 0
	case "serial_diff", "moving_avg", "geo_line":
		r.keeps(v, "lag", "window", "predict", "size")
		return 0
	case "bucket_sort": // removes buckets
		return 0
	case "frequent_item_sets", "time_series", "ip_prefix":
		return r.quantity(r.get(v, "size"), 10)
	}
	return r.unknownAgg(v)
}

// makesBuckets reports whether any of a list of aggregations is not a metric.
func (r *Reader) makesBuckets(n int) bool {
	for k := n + 1; r.isObject(n) && k < r.next(n); k = r.next(k + 1) {
		for j := k + 2; r.isObject(k+1) && j < r.next(k+1); j = r.next(j + 1) {
			switch string(r.bytes(j)) {
			case "terms", "multi_terms", "significant_terms", "significant_text", "rare_terms", "date_histogram", "histogram",
				"auto_date_histogram", "variable_width_histogram", "range", "date_range", "ip_range", "filters", "geohash_grid",
				"geotile_grid", "geohex_grid", "adjacency_matrix", "composite", "aggs", "aggregations":
				return true
			}
		}
	}
	return false
}

func (r *Reader) countOf(v int, name string) int {
	if n := r.get(v, name); n > none && (r.isArray(n) || r.isObject(n)) {
		return r.count(n)
	}
	return 0
}

// unknownAgg measures an aggregation of an unknown kind: a metric, or one with a size.
func (r *Reader) unknownAgg(v int) float64 {
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		r.scriptIn(k+1, false) // {"value": {"script"}, "weight": {"field"}}
	}
	if s := r.get(v, "size"); s > none {
		return max(0, r.quantity(s, 0))
	}
	return 0
}

func (r *Reader) topHits(kind string, v int) {
	if kind == "top_hits" {
		r.innerHits(v)
		return
	}
	size := r.get(v, "size")
	m := r.add(cost.InnerWindow, r.quantity(size, 1), firstOf(size, v))
	if size > none {
		m.Cap = r.bodyCap(size, "", "", 0, 1)
	}
}

// compositeAgg measures a composite aggregation, which creates only size buckets at a time.
func (r *Reader) compositeAgg(v int) float64 {
	size := r.get(v, "size")
	n := r.quantity(size, 10)
	if size > none {
		r.add(cost.AggSize, n, size).Cap = r.bodyCap(size, "", "", 0, 1)
	}
	r.each(r.get(v, "sources"), r.groups)
	return max(1, n)
}

// groups measures the scripts of grouping expressions: {"name": {"terms": …}}.
func (r *Reader) groups(n int) {
	for k := n + 1; r.isObject(n) && k < r.next(n); k = r.next(k + 1) {
		r.scriptIn(k+1, false)
		for j := k + 2; r.isObject(k+1) && j < r.next(k+1); j = r.next(j + 1) {
			r.scriptIn(j+1, false)
		}
	}
}
