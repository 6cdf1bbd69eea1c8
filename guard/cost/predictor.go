package cost

import "fmt"

// Predictor is a number that can be read off a query and that says something
// about what it will cost. Its name is stable: limits and reports use it.
type Predictor uint8

// Elasticsearch and OpenSearch.
const (
	None Predictor = iota

	ResultWindow     // from + size, in hits; a scroll's size
	InnerWindow      // from + size of top_hits and inner_hits, in hits for each parent
	RescoreWindow    // largest rescore window, in hits
	AggProduct       // buckets: product along nested aggregations, summed over siblings
	AggCardinality   // distinct values that an aggregation collects: least of the field's and of the matching documents
	HistogramSpan    // buckets of one histogram: span / interval
	GeoCells         // cells of one grid within its bounds
	AggDepth         // levels of aggregations
	QueryDepth       // levels of queries, or of parentheses in a query string
	ClauseCount      // clauses, terms of query strings × fields, expansions of fuzzy terms
	TermsCount       // values in one terms, ids or include list
	LeadingWildcard  // patterns that begin with a wildcard; also LIKE '%x'
	PatternLength    // bytes of the longest wildcard pattern
	RegexLength      // bytes of the longest regular expression that an automaton runs
	RegexStates      // states that it may need: product of counted repeats, or what the query asks for
	WildcardStars    // wildcards in one pattern or field name
	FieldFanout      // fields that one query is run against
	Script           // inline scripts, weighed by loops and length; 1 is a short one without loops
	ScriptScore      // scripts that run for each document of an unfiltered query
	Joining          // levels of has_child, has_parent and nested
	ExpensiveClass   // clauses of kinds that Elasticsearch calls expensive
	ScrollTTL        // seconds for which a scroll or a point in time stays open
	Fetch            // docvalue fields, script fields, highlighted fields
	Shards           // shards, or indices when their shards are not known
	Unfiltered       // documents that are aggregated or sorted without a selective clause; 1 when not known
	UnfilteredWrite  // 1: writes or deletes what matches, and everything matches
	Batch            // members of one request
	Timeout          // seconds that the query may run by its own words; unbounded when it says nothing
	TerminateAfter   // documents after which each shard stops; unbounded when it says nothing
	TotalHits        // hits that are counted exactly; unbounded for track_total_hits: true
	StoredTemplate   // 1: what runs is stored in the backend and cannot be seen
	DeniedEndpoint   // 1: an endpoint whose cost cannot be read off the request
	SuggestSize      // candidates that a suggester asks for
	VectorCandidates // k or num_candidates of a vector search
	IDsCount         // values in one ids query
	AggSize          // buckets that one terms-like aggregation asks for by its size
	UnreadEndpoint   // 1: an endpoint that has a query, script or expression in it and is not read
)

// SQL.
const (
	MissingWhere     Predictor = iota + 64 // 1: UPDATE or DELETE of every row
	LikeWildcards                          // wildcards in one LIKE pattern
	CrossJoin                              // groups of tables that no equality joins; 1 is none missing
	JoinCount                              // relations in one FROM
	InList                                 // values in one list
	OffsetRows                             // rows skipped and read: OFFSET + LIMIT
	MissingLimit                           // rows that one SELECT may return; unbounded without LIMIT
	NonSargable                            // conditions that wrap a column in a function
	Regex                                  // regular expression operators
	Sort                                   // sorts that no index can serve, such as ORDER BY RAND()
	GroupCardinality                       // groups: product of the cardinalities of the columns
	SubqueryDepth                          // levels of SELECT in SELECT
	Recursive                              // recursive common table expressions
	DeniedFunction                         // calls of functions that only burn time
	MultiStatement                         // statements in one text
	FullScan                               // rows that a SELECT without WHERE, LIMIT and aggregate returns; 1 when not known
	Generated                              // rows, or bytes of text, that a statement makes out of nothing
	Drop                                   // tables, columns and partitions that TRUNCATE and DROP empty
)

// GraphQL.
const (
	GQLCost          Predictor = iota + 96 // weighed fields × first or last
	GQLDepth                               // levels of fields
	GQLAliases                             // aliases
	GQLTokens                              // tokens of the document
	GQLDirectives                          // directives
	GQLNodes                               // nodes: sum of products of first or last
	GQLRootFields                          // fields of the root, over all operations
	GQLList                                // length of the longest list that is asked for
	GQLIntrospection                       // nested lists of an introspection
)

// Regular expressions, judged for an engine that backtracks.
const (
	RegexExponential Predictor = iota + 128 // unbounded: time doubles with each character
	RegexPolynomial                         // degree of the polynomial, 2 or more
	RegexSearch                             // degree, when only a search that restarts at every position takes it
	RegexUnknown                            // 1: too large, or too unusual, to be sure
)

// Every kind of query.
const (
	Unparsable Predictor = iota + 160 // 1: not a query of its kind
	Encoding                          // 1: an encoding that is not read
	BodyBytes                         // bytes of the query
	BodyDepth                         // levels of nesting of the text
)

// String is the stable name.
func (p Predictor) String() string {
	if n := nameOf(p); n != "" {
		return n
	}
	return fmt.Sprintf("predictor(%d)", uint8(p))
}

// ParsePredictor is the predictor with the stable name.
func ParsePredictor(name string) (Predictor, error) {
	if name != "" {
		for _, n := range names() {
			if n.name == name {
				return n.predictor, nil
			}
		}
	}
	return None, fmt.Errorf("no predictor is called %q", name)
}

// Predictors are all there are, in the order of their numbers.
func Predictors() []Predictor {
	all := names()
	list := make([]Predictor, 0, len(all))
	for _, n := range all {
		list = append(list, n.predictor)
	}
	return list
}

// MarshalText writes the stable name.
func (p Predictor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the stable name.
func (p *Predictor) UnmarshalText(text []byte) error {
	got, err := ParsePredictor(string(text))
	if err != nil {
		return err
	}
	*p = got
	return nil
}
