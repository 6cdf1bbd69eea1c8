package elastic

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// leaf reads a query on a field, or on all documents.
func (r *Reader) leaf(kind []byte, v, depth, join int, every bool) selectivity {
	switch string(kind) {
	case "match_all":
		r.clause(v, 1)
		return selAll
	case "match_none":
		return selNone
	case "match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "text", "field", "common", "fuzzy", "flt_field", "fuzzy_like_this_field":
		return r.leaves(v, r.matchQuery(kind, v))
	case "multi_match", "combined_fields", "more_like_this", "mlt", "fuzzy_like_this", "flt":
		return r.multiMatch(kind, v)
	case "term", "span_term", "match_phrase_query", "term_set":
		r.clause(v, 1)
		return r.leaves(v, selStrong)
	case "terms", "in", "terms_set", "weighted_tokens", "sparse_vector":
		return r.leaves(v, r.termsQuery(v))
	case "ids":
		return r.idsQuery(v)
	case "range", "numeric_range":
		return r.rangeQuery(v, every)
	case "exists", "missing":
		r.clause(v, 1)
		return r.existsQuery(v)
	case "prefix":
		return r.leaves(v, r.prefixQuery(v))
	case "wildcard":
		return r.leaves(v, r.patternQuery(v, false))
	case "regexp":
		return r.leaves(v, r.patternQuery(v, true))
	case "query_string", "simple_query_string", "kql":
		return r.stringQuery(kind, v, every)
	case "script":
		r.clause(v, 1)
		r.expensive(v)
		r.scriptValue(v)
		return selWeak
	case "percolate":
		r.clause(v, 1)
		r.expensive(v)
		return selStrong
	case "knn", "neural", "neural_sparse":
		r.clause(v, 1)
		if k := r.first(v); k > none && r.isObject(k+1) && r.get(v, "field") <= none {
			return r.vectors(k+1, depth) // OpenSearch: {"field": {"vector", "k"}}
		}
		return r.vectors(v, depth)
	case "geo_bounding_box", "geo_distance", "geo_polygon", "geo_shape", "geo_distance_range", "geo_grid", "xy_shape", "shape", "geohash_cell":
		return r.geoQuery(kind, v, every)
	case "type":
		return selWeak
	}
	if bytes.ContainsFunc(kind, unicode.IsUpper) { // queryString, up to version 5
		return r.clauseOf(r.snake(kind), v, depth, join, every)
	}
	return r.unknownQuery(v, depth, join)
}

// snake converts queryString to query_string.
func (r *Reader) snake(name []byte) []byte {
	from := len(r.arena)
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			r.arena = append(r.arena, '_')
			c += 'a' - 'A'
		} else if c >= utf8.RuneSelf {
			c = '_' // no kind of query contains such letters
		}
		r.arena = append(r.arena, c)
	}
	return r.arena[from:len(r.arena):len(r.arena)]
}

// unknownQuery counts one clause, and reads what may be queries in it: spans, intervals,
// and queries of plugins and later versions.
func (r *Reader) unknownQuery(v, depth, join int) selectivity {
	r.clause(v, 1)
	if depth > r.query.depth {
		r.query.depth, r.query.depthAt = depth, v
	}
	if !r.isObject(v) {
		return selStrong
	}
	for k := v + 1; k < r.next(v); k = r.next(k + 1) {
		name := r.bytes(k)
		switch string(name) {
		case "query", "queries", "filter", "filters", "must", "should", "must_not", "clauses", "little", "big", "include",
			"exclude", "match", "span", "positive", "organic":
			if r.isObject(k+1) || r.isArray(k+1) {
				r.walkQuery(k+1, depth+1, join, false)
			}
		case "script":
			r.scriptValue(k + 1)
		case "wildcard", "regexp", "fuzzy", "prefix", "pattern":
			r.intervalPattern(string(name), k+1)
		default:
			if r.isObject(k+1) || r.isArray(k+1) {
				r.inside(k+1, depth+1, join)
			}
		}
	}
	return selStrong
}

// inside reads the members of an unknown query.
func (r *Reader) inside(n, depth, join int) {
	if r.isArray(n) {
		for e := n + 1; e < r.next(n); e = r.next(e) {
			if r.isObject(e) || r.isArray(e) {
				r.inside(e, depth+1, join)
			}
		}
		return
	}
	r.unknownQuery(n, depth, join)
}

// intervalPattern reads {"pattern": …} of an intervals rule.
func (r *Reader) intervalPattern(kind string, v int) {
	p := firstOf(r.get(v, "pattern"), r.get(v, "value"))
	if r.isObject(v) && p <= none {
		r.leaf([]byte(kind), v, 1, 0, false)
		return
	}
	if p <= none && r.isText(v) {
		p = v
	}
	if p <= none {
		return
	}
	switch kind {
	case "regexp":
		r.regexpPattern(r.bytes(p), p, nil)
	case "wildcard", "pattern":
		r.wildcardPattern(r.bytes(p), p, nil)
	}
}

// words returns the number of words in a search text.
func words(text []byte) int {
	n, inside := 0, false
	for _, c := range text {
		space := c <= ' '
		if !space && !inside {
			n++
		}
		inside = !space
	}
	return n
}

const fuzzyExpansions = 50

// expansions returns the number of terms that fuzziness adds per word.
func (r *Reader) expansions(options int) float64 {
	return r.quantity(r.get(options, "max_expansions"), fuzzyExpansions)
}

// matchQuery reads {"field": "text"} or {"field": {"query": "text", …}}.
func (r *Reader) matchQuery(kind []byte, v int) selectivity {
	if r.isText(v) { // {"field": …} of old filters
		r.clause(v, float64(max(1, words(r.bytes(v)))))
		return selStrong
	}
	sel := selAll
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		if r.isMeta(k) {
			continue
		}
		text, options := k+1, none
		if r.isObject(text) {
			options = text
			text = firstOf(r.get(options, "query"), r.get(options, "value"), r.get(options, "like_text"))
		}
		n := 1.0
		if text > none && r.isText(text) {
			n = float64(words(r.bytes(text)))
		}
		sel = selStrong
		if n == 0 && string(r.bytes(firstOf(r.get(options, "zero_terms_query"), k))) == "all" {
			sel = selAll
		}
		fuzz := r.get(options, "fuzziness")
		switch {
		case string(kind) == "fuzzy":
			r.expensive(v)
			n = r.expansions(options)
		case string(kind) == "match_phrase_prefix", string(kind) == "match_bool_prefix":
			n += r.expansions(options)
		case fuzz > none && string(r.bytes(fuzz)) != "0":
			n += n * r.expansions(options)
		}
		r.clause(v, max(1, n))
	}
	return sel
}

// isMeta reports whether a member of a query is not a field.
func (r *Reader) isMeta(k int) bool {
	switch string(r.bytes(k)) {
	case "boost", "_name", "_cache", "_cache_key", "execution", "value_type":
		return true
	}
	return false
}

// termsQuery reads {"field": [ … ]}. A lookup in another document counts as one value.
func (r *Reader) termsQuery(v int) selectivity {
	r.clause(v, 1)
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		list := k + 1
		if r.isObject(list) {
			r.scriptIn(list, false)
			list = firstOf(r.get(list, "terms"), r.get(list, "tokens"), r.get(list, "query_vector"))
		}
		if list > none && (r.isArray(list) || r.isObject(list)) {
			r.add(cost.TermsCount, float64(r.count(list)), list)
		}
	}
	return selStrong
}

func (r *Reader) idsQuery(v int) selectivity {
	r.clause(v, 1)
	if list := firstOf(r.get(v, "values"), r.get(v, "ids")); list > none && r.isArray(list) {
		r.add(cost.IDsCount, float64(r.count(list)), list)
	}
	return selStrong
}

func (r *Reader) existsQuery(v int) selectivity {
	f := r.get(v, "field")
	if f <= none || !r.isText(f) {
		return selWeak
	}
	name := r.bytes(f)
	if isEverywhere(name) {
		return selAll
	}
	if stars := bytes.Count(name, []byte("*")); stars > 0 {
		r.add(cost.WildcardStars, float64(stars), f)
		if len(bytes.Trim(name, "*")) == 0 {
			return selAll
		}
	}
	return selWeak
}

// isEverywhere reports whether every document has the field, so that a condition that
// accepts any of its values excludes none.
func isEverywhere(field []byte) bool {
	switch string(field) {
	case "_id", "_uid", "_index", "_source", "_version", "_seq_no", "_primary_term", "_doc_count", "_tier":
		return true
	}
	return false
}

// leaves adjusts the selectivity of a query on an ordinary field to special fields: _index
// excludes no document of an index, and a condition that accepts any value of a field in
// all documents is no condition.
func (r *Reader) leaves(v int, sel selectivity) selectivity {
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		name := r.bytes(k)
		if string(name) == "_index" || sel < selStrong && isEverywhere(name) {
			return selAll
		}
	}
	return sel
}
