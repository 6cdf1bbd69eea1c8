package elastic

import (
	"bytes"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// selectivity estimates how much of an index a query selects.
type selectivity uint8

const (
	selAll    selectivity = iota // every document
	selWeak                      // perhaps nearly every document: exists, must_not, an open range
	selStrong                    // a normal search condition
	selNone                      // no document: match_none
)

// queryState holds the sums over all queries of one search.
type queryState struct {
	depth, depthAt int
	clauses        float64
	clausesAt      int
	joins, joinsAt int
	expensive      float64
	expensiveAt    int
	vectors        float64
	vectorsAt      int
	scored         float64
	scoredAt       int
	patterns       float64 // total characters: each is a state of an automaton
	patternsAt     int
	leading        int  // number of patterns that begin with a wildcard
	leadingAt      int  // index of the first of their measures
	apart          bool // some of them are searched without the query's conditions
}

func (q *queryState) reset() {
	*q = queryState{depthAt: none, clausesAt: none, joinsAt: none, expensiveAt: none, vectorsAt: none, scoredAt: none, patternsAt: none}
}

func (r *Reader) clause(n int, count float64) {
	if r.query.clausesAt <= none {
		r.query.clausesAt = n
	}
	r.query.clauses += count
}

func (r *Reader) expensive(n int) {
	if r.query.expensiveAt <= none {
		r.query.expensiveAt = n
	}
	r.query.expensive++
}

// finishQuery appends the sums.
func (r *Reader) finishQuery() {
	q := &r.query
	if q.clauses > 0 {
		r.add(cost.ClauseCount, q.clauses, q.clausesAt)
	}
	if q.depth > 0 {
		r.add(cost.QueryDepth, float64(q.depth), q.depthAt)
	}
	if q.joins > 0 {
		r.add(cost.Joining, float64(q.joins), q.joinsAt)
	}
	if q.expensive > 0 {
		r.add(cost.ExpensiveClass, q.expensive, q.expensiveAt)
	}
	if q.vectors > 0 {
		r.add(cost.VectorCandidates, q.vectors, q.vectorsAt)
	}
	if q.scored > 0 {
		r.add(cost.ScriptScore, q.scored, q.scoredAt)
	}
	r.allPatterns()
	if q.leading > 0 && !q.apart && r.recent() {
		r.mild(q.leadingAt)
	}
}

// readApart records that the patterns with a leading wildcard since the given count are
// searched in all documents, whatever the query selects.
func (r *Reader) readApart(leading int) {
	r.query.apart = r.query.apart || r.query.leading > leading
}

// shortSpan is a time range in which an index has so few documents that a pattern with a
// leading wildcard costs little.
const shortSpan = hour

// recent reports whether every document is within a short time range.
func (r *Reader) recent() bool {
	for i := range r.bounds {
		b := r.tightest(r.bounds[i].field)
		if w, ok := b.lo.until(b.hi); ok && b.lo.date && w <= shortSpan {
			return true
		}
	}
	return false
}

// mild changes measures of leading wildcards, from an index on, to a value that is only
// reported.
func (r *Reader) mild(from int) {
	for i := from; i < len(r.out); i++ {
		if m := &r.out[i]; m.Predictor == cost.LeadingWildcard {
			m.Predictor = cost.ExpensiveClass
		}
	}
}

// walkQuery reads one query, or an array of queries that must all match. every means that
// each document of the result passes it, so that its ranges bound the aggregations.
func (r *Reader) walkQuery(n, depth, join int, every bool) selectivity {
	if n <= none {
		return selAll
	}
	if r.isArray(n) {
		sel := selAll
		for e := n + 1; e < r.next(n); e = r.next(e) {
			sel = max(sel, r.walkQuery(e, depth, join, every))
		}
		return sel
	}
	if !r.isObject(n) {
		return selAll
	}
	if depth > r.query.depth {
		r.query.depth, r.query.depthAt = depth, n
	}
	sel := selAll
	for k := n + 1; k < r.next(n); k = r.next(k + 1) {
		sel = max(sel, r.clauseOf(r.bytes(k), k+1, depth, join, every))
	}
	return sel
}

// clauseOf reads a query by its kind.
func (r *Reader) clauseOf(kind []byte, v, depth, join int, every bool) selectivity {
	switch string(kind) {
	case "boost", "_name", "_cache":
		return selAll
	case "bool":
		return r.boolQuery(v, depth, join, every)
	case "constant_score", "filtered", "function_score", "custom_score", "custom_filters_score", "script_score", "boosting",
		"fquery", "query", "pinned", "rule", "rule_query", "indices", "top_children", "custom_boost_factor":
		return r.wrapping(string(kind), v, depth, join, every)
	case "dis_max", "or", "hybrid":
		return r.disjunction(v, depth, join, every)
	case "and":
		filters := v
		if f := r.get(v, "filters"); f > none {
			filters = f
		}
		return r.walkQuery(filters, depth+1, join, every)
	case "not":
		inner := v
		if f := firstOf(r.get(v, "filter"), r.get(v, "query")); f > none {
			inner = f
		}
		return negated(r.walkQuery(inner, depth+1, join, false))
	case "nested", "parent_id":
		return r.joinQuery(v, depth, join)
	case "has_child", "has_parent":
		defer r.readApart(r.query.leading)
		return r.joinQuery(v, depth, join)
	case "wrapper":
		return r.wrapper(v, depth, join, every)
	case "template":
		return r.walkQuery(firstOf(r.get(v, "query"), r.get(v, "source"), r.get(v, "inline")), depth+1, join, every)
	}
	return r.leaf(kind, v, depth, join, every)
}

func firstOf(nodes ...int) int {
	for _, n := range nodes {
		if n > none {
			return n
		}
	}
	return none
}

func (r *Reader) boolQuery(v, depth, join int, every bool) selectivity {
	sel, should := selAll, none
	conjunctive := false
	for k := v + 1; r.isObject(v) && k < r.next(v); k = r.next(k + 1) {
		switch string(r.bytes(k)) {
		case "must", "filter":
			if r.hasAny(k + 1) {
				conjunctive = true
			}
			sel = max(sel, r.walkQuery(k+1, depth+1, join, every))
		case "must_not", "mustNot":
			if least := r.anyOf(k+1, depth+1, join, false); r.hasAny(k + 1) {
				sel = max(sel, negated(least))
			}
		case "should":
			should = k + 1
		}
	}
	if should <= none {
		return sel
	}
	msm := r.get(v, "minimum_should_match")
	required := !conjunctive
	if msm > none {
		required = r.required(msm, r.count(should), required)
	}
	least := r.anyOf(should, depth+1, join, every && required)
	if required && r.hasAny(should) {
		sel = max(sel, least)
	}
	return sel
}

// required reports whether minimum_should_match requires any of count alternatives. If it
// requires none, or cannot be determined, the result is otherwise: if nothing else must
// match, the backend requires one of them anyway.
func (r *Reader) required(msm, count int, otherwise bool) bool {
	if n, ok := r.number(msm); ok {
		return n > 0 || otherwise
	}
	if !r.isText(msm) {
		return otherwise
	}
	share, ok := bytes.CutSuffix(bytes.TrimSpace(r.bytes(msm)), []byte("%"))
	if n, isNumber := parseNumber(share); ok && isNumber {
		return n*float64(count)/100 >= 1 || otherwise
	}
	return otherwise
}

// negated returns the selectivity of must_not: everything if the query matches nothing. The
// reverse is not certain enough to be called nothing.
func negated(sel selectivity) selectivity {
	if sel == selNone {
		return selAll
	}
	return selWeak
}

func (r *Reader) hasAny(n int) bool {
	return n > none && (r.isObject(n) || r.isArray(n)) && r.count(n) > 0
}

// wrapping reads queries that contain others under a few names.
func (r *Reader) wrapping(kind string, v, depth, join int, every bool) selectivity {
	if !r.isObject(v) {
		return r.walkQuery(v, depth+1, join, every)
	}
	sel, known := selAll, false
	for k := v + 1; k < r.next(v); k = r.next(k + 1) {
		switch string(r.bytes(k)) {
		case "query", "filter", "positive", "organic":
			sel, known = max(sel, r.walkQuery(k+1, depth+1, join, every && kind != "pinned")), true
		case "negative", "no_match_query":
			r.walkQuery(k+1, depth+1, join, false)
		case "functions", "filters":
			r.each(k+1, func(e int) {
				if f := r.get(e, "filter"); f > none {
					r.walkQuery(f, depth+1, join, false)
				}
			})
		}
	}
	if kind == "query" && !known { // old form: {"query": {"match": …}} as a filter
		return r.walkQuery(v, depth+1, join, every)
	}
	if r.scriptIn(v, true) > 0 {
		r.expensive(v)
		r.scored(v, sel)
	}
	return sel
}

// scored counts a script that runs for every document.
func (r *Reader) scored(n int, sel selectivity) {
	if sel != selAll {
		return
	}
	if r.query.scoredAt <= none {
		r.query.scoredAt = n
	}
	r.query.scored++
}

func (r *Reader) joinQuery(v, depth, join int) selectivity {
	join++
	r.clause(v, 1)
	r.expensive(v)
	if join > r.query.joins {
		r.query.joins, r.query.joinsAt = join, v
	}
	if ih := r.get(v, "inner_hits"); ih > none {
		r.innerHits(ih)
	}
	if q := firstOf(r.get(v, "query"), r.get(v, "filter")); q > none {
		return max(selWeak, r.walkQuery(q, depth+1, join, false))
	}
	return selStrong // parent_id
}
