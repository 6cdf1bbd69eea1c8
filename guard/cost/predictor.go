package cost

import "fmt"

// Predictor is a number that can be derived from a query and indicates its cost. Names of
// predictors are stable: limits and reports use them.
type Predictor uint8

// Elasticsearch and OpenSearch.
const (
	None Predictor = iota

	ResultWindow     // from + size, in hits; a scroll's size
	InnerWindow      // from + size of top_hits and inner_hits, in hits per parent
	RescoreWindow    // largest rescore window, in hits
	AggProduct       // buckets: product along nested aggregations, summed over siblings
	AggCardinality   // distinct values that an aggregation collects: the smaller of the field's and of the number of matching documents
	HistogramSpan    // buckets of one histogram: span / interval
	GeoCells         // cells of one grid within its bounds
	AggDepth         // levels of aggregations
	QueryDepth       // levels of queries, or of parentheses in a query string
	ClauseCount      // clauses, terms of query strings × fields, expansions of fuzzy terms
	TermsCount       // values in one terms, ids or include list
	LeadingWildcard  // patterns that begin with a wildcard; also LIKE '%x'
	PatternLength    // bytes of the longest wildcard pattern
	RegexLength      // bytes of the longest regular expression that runs as an automaton
	RegexStates      // states that it may need: product of counted repeats, or the requested maximum
	WildcardStars    // wildcards in one pattern or field name
	FieldFanout      // fields that one query runs against
	Script           // inline scripts, weighted by loops and length; 1: a short one without loops
	ScriptScore      // scripts that run for each document of an unfiltered query
	Joining          // levels of has_child, has_parent and nested
	ExpensiveClass   // clauses of kinds that Elasticsearch calls expensive
	ScrollTTL        // seconds for which a scroll or a point in time stays open
	Fetch            // docvalue fields, script fields, highlighted fields
	Shards           // shards, or indices if their shards are unknown
	Unfiltered       // documents that are aggregated or sorted without a selective clause; 1: unknown
	UnfilteredWrite  // 1: the request writes or deletes all matching documents, and everything matches
	Batch            // members of one request
	Timeout          // the query's own time limit in seconds; unbounded without one
	TerminateAfter   // documents after which each shard stops; unbounded without the setting
	TotalHits        // hits that are counted exactly; unbounded for track_total_hits: true
	StoredTemplate   // 1: the query is stored in the backend and not visible
	DeniedEndpoint   // 1: an endpoint whose cost cannot be derived from the request
	SuggestSize      // candidates that a suggester requests
	VectorCandidates // k or num_candidates of a vector search
	IDsCount         // values in one ids query
	AggSize          // buckets that one terms-like aggregation requests by its size
	UnreadEndpoint   // 1: an endpoint whose query, script or expression the guard does not read
)

// SQL.
const (
	MissingWhere     Predictor = iota + 64 // 1: UPDATE or DELETE of all rows
	LikeWildcards                          // wildcards in one LIKE pattern
	CrossJoin                              // groups of tables that no equality joins; 1: all are joined
	JoinCount                              // relations in one FROM
	InList                                 // values in one list
	OffsetRows                             // rows skipped and read: OFFSET + LIMIT
	MissingLimit                           // maximum rows of one SELECT; unbounded without LIMIT
	NonSargable                            // conditions that wrap a column in a function
	Regex                                  // regular expression operators
	Sort                                   // sorts that no index can serve, such as ORDER BY RAND()
	GroupCardinality                       // groups: product of the cardinalities of the columns
	SubqueryDepth                          // levels of SELECT in SELECT
	Recursive                              // recursive common table expressions
	DeniedFunction                         // calls of functions that only consume time
	MultiStatement                         // statements in one text
	FullScan                               // rows that a SELECT without WHERE, LIMIT and aggregate returns; 1: unknown
	Generated                              // rows, or bytes of text, that a statement generates
	Drop                                   // tables, columns and partitions that TRUNCATE and DROP empty
)

// GraphQL.
const (
	GQLCost          Predictor = iota + 96 // weighted fields × first or last
	GQLDepth                               // levels of fields
	GQLAliases                             // aliases
	GQLTokens                              // tokens of the document
	GQLDirectives                          // directives
	GQLNodes                               // nodes: sum of products of first or last
	GQLRootFields                          // root fields, over all operations
	GQLList                                // length of the longest requested list
	GQLIntrospection                       // nested lists of an introspection
)

// Regular expressions, judged for a backtracking engine.
const (
	RegexExponential Predictor = iota + 128 // unbounded: the time doubles with each character
	RegexPolynomial                         // degree of the polynomial, 2 or more
	RegexSearch                             // degree, if only a search that restarts at every position is slow
	RegexUnknown                            // 1: too large or too unusual for a reliable result
)

// All kinds of queries.
const (
	Unparsable Predictor = iota + 160 // 1: not a valid query of its kind
	Encoding                          // 1: an unsupported encoding
	BodyBytes                         // bytes of the query
	BodyDepth                         // nesting depth of the text
)

// String returns the stable name.
func (p Predictor) String() string {
	if n := nameOf(p); n != "" {
		return n
	}
	return fmt.Sprintf("predictor(%d)", uint8(p))
}

// ParsePredictor returns the predictor with the stable name.
func ParsePredictor(name string) (Predictor, error) {
	if name != "" {
		for _, n := range names() {
			if n.name == name {
				return n.predictor, nil
			}
		}
	}
	return None, fmt.Errorf("unknown predictor %q", name)
}

// Predictors returns all predictors, in the order of their numbers.
func Predictors() []Predictor {
	all := names()
	list := make([]Predictor, 0, len(all))
	for _, n := range all {
		list = append(list, n.predictor)
	}
	return list
}

// MarshalText returns the stable name.
func (p Predictor) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the stable name.
func (p *Predictor) UnmarshalText(text []byte) error {
	got, err := ParsePredictor(string(text))
	if err != nil {
		return err
	}
	*p = got
	return nil
}
