package elastic

import (
	"fmt"
	"math"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const assumedCardinality = 100_000

// cardinality returns the number of a field's values. known means that it comes from a
// hint.
func (r *Reader) cardinality(field []byte) (values float64, known bool) {
	h, ok := r.fieldHint(field)
	docs := math.Inf(1)
	if ih, found := r.indexHint(); found && ih.Docs > 0 {
		docs = ih.Docs
	}
	assumed := or(r.o.Defaults.Cardinality, assumedCardinality)
	switch {
	case ok && h.Unique, string(field) == "_id", string(field) == "_uid":
		return docs, true
	case ok && h.Cardinality > 0:
		return min(h.Cardinality, docs), true
	}
	return min(assumed, docs), false
}

// termsAgg measures terms and similar aggregations: the values that they collect and the
// buckets that they return. It returns the number of buckets.
func (r *Reader) termsAgg(kind string, v int, c scope) float64 {
	values, known := r.collected(kind, v)
	values, known = r.included(v, values, known)
	if c.sel < selStrong {
		r.collects(v, values, known, c)
	}
	size := 10.0
	at := r.get(v, "size")
	if size = r.quantity(at, size); size <= 0 || size >= math.MaxInt32 { // 0 meant all in versions 1 and 2
		size = math.Inf(1)
	}
	if kind == "rare_terms" {
		size = 1000
	}
	returned := size
	if known {
		returned = min(size, values)
	}
	if at > none {
		m := r.add(cost.AggSize, returned, at)
		m.Cap = r.bodyCap(at, "", "", 0, 1)
		if r.o.Explain && returned < size {
			m.Detail = fmt.Sprintf("size %s, but the field has %s values", figure(size), figure(values))
		}
	}
	if q := r.get(v, "background_filter"); q > none {
		leading := r.query.leading
		r.walkQuery(q, 1, 0, false)
		r.readApart(leading)
	}
	if shard := r.get(v, "shard_size"); shard > none {
		asked := r.quantity(shard, 0)
		if asked <= 0 || asked >= math.MaxInt32 { // all, as with size
			asked = math.Inf(1)
		}
		r.add(cost.AggSize, min(asked, values), shard)
	}
	return max(1, min(returned, max(values, 1)))
}

// collected returns the number of values that an aggregation reads without filters.
func (r *Reader) collected(kind string, v int) (values float64, known bool) {
	if kind != "multi_terms" {
		f := r.get(v, "field")
		if f <= none || !r.isText(f) {
			return r.cardinality(nil)
		}
		return r.cardinality(r.bytes(f))
	}
	product, unknown := 1.0, false
	r.each(r.get(v, "terms"), func(e int) {
		r.scriptIn(e, false)
		f := r.get(e, "field")
		if f <= none || !r.isText(f) {
			unknown = true
			return
		}
		n, ok := r.cardinality(r.bytes(f))
		if !ok {
			unknown = true
			return
		}
		product *= n
	})
	if h, ok := r.indexHint(); ok && h.Docs > 0 {
		product = min(product, h.Docs)
	}
	if unknown { // one of the factors is assumed, so the product is not known
		return max(product, or(r.o.Defaults.Cardinality, assumedCardinality)), product > 1
	}
	return product, true
}

// included limits the values to a list or to one of several partitions, and measures
// expressions that filter values.
func (r *Reader) included(v int, values float64, known bool) (float64, bool) {
	for _, name := range [...]string{"include", "exclude"} {
		n := r.get(v, name)
		if n <= none {
			continue
		}
		switch {
		case r.isArray(n):
			r.add(cost.TermsCount, float64(r.count(n)), n)
			if name == "include" {
				values, known = min(values, float64(r.count(n))), true
			}
		case r.isText(n):
			r.includePattern(n)
		case r.isObject(n):
			if parts := r.numberOr(r.get(n, "num_partitions"), 0); parts > 0 {
				values /= parts
			}
			if p := r.get(n, "pattern"); p > none && r.isText(p) {
				r.includePattern(p)
			}
		}
	}
	return values, known
}

// includePattern measures an expression that runs over the values of a field. It reads all
// values, whatever its start.
func (r *Reader) includePattern(n int) {
	p := r.bytes(n)
	r.add(cost.RegexLength, float64(len(p)), n)
	if states, _ := automaton(p); states > 1 {
		r.add(cost.RegexStates, states, n)
	}
}

func (r *Reader) collects(v int, values float64, known bool, c scope) {
	stopped := values > r.stops
	values = min(values, r.stops)
	m := r.add(cost.AggCardinality, values, firstOf(r.get(v, "field"), r.get(v, "terms"), v))
	if !r.o.Explain {
		return
	}
	m.Detail = figure(values) + " values, from a hint"
	switch {
	case stopped:
		m.Detail = figure(values) + " documents, after which the search stops"
	case !known:
		m.Detail = figure(values) + " values or more (assumed: no hint)"
	}
	if c.sel == selAll {
		m.Detail += "; no clause excludes a document"
	} else {
		m.Detail += "; no selective clause"
	}
}

// sketchNodes is the number of values in a t-digest, per unit of its compression.
const sketchNodes = 20

// sketch measures the memory of percentiles, per enclosing bucket.
func (r *Reader) sketch(v int) {
	at := firstOf(r.get(v, "compression"), r.get(r.get(v, "tdigest"), "compression"))
	if at <= none {
		return
	}
	values := sketchNodes * r.quantity(at, 0)
	m := r.add(cost.AggCardinality, values, at)
	if r.o.Explain {
		m.Detail = "a sketch of " + figure(values) + " values"
	}
}

// Number of values that a cardinality aggregation counts exactly.
const (
	precision    = 3000
	maxPrecision = 40000
)

// cardinalityAgg measures a cardinality aggregation, which uses a sketch of bounded size.
// Two cases cost as much as the field's values: a field with a unique value per document
// over all documents, and buckets, which need a sketch each.
func (r *Reader) cardinalityAgg(v int, c scope) {
	f := r.get(v, "field")
	if f <= none || !r.isText(f) {
		return
	}
	h, ok := r.fieldHint(r.bytes(f))
	if ok && h.Unique && c.sel < selStrong {
		values, _ := r.cardinality(r.bytes(f))
		r.collects(v, values, true, c)
		return
	}
	threshold := min(r.quantity(r.get(v, "precision_threshold"), precision), maxPrecision)
	m := r.add(cost.AggCardinality, threshold, f)
	if r.o.Explain {
		m.Detail = "a sketch, exact up to " + figure(threshold) + " values"
	}
}
