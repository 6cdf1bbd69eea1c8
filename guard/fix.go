package guard

import (
	"fmt"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

// fixFor is fixOf with wording for the measured construct.
func fixFor(m *cost.Measure, k Kind, limit float64) string {
	if m.Fix != "" {
		return m.Fix
	}
	if m.Predictor == cost.MissingWhere {
		switch m.Path {
		case "DELETE":
			return "add a WHERE that selects the rows to delete; to empty the table, use TRUNCATE"
		case "MERGE":
			return "join the target and the source by a key in ON"
		}
	}
	if m.Predictor == cost.NonSargable && m.Path == "LIKE" { // where a leading wildcard costs little, it is reported this way
		return fixOf(cost.LeadingWildcard, k, limit)
	}
	return fixOf(m.Predictor, k, limit)
}

// fixOf returns one sentence that tells the author how to get the query below a limit.
func fixOf(p cost.Predictor, k Kind, limit float64) string {
	n := Number(limit).String()
	switch p.String() {
	case "leading_wildcard":
		if k == SQL {
			return "begin the pattern with plain text, add another selective condition, or use a full-text or trigram index"
		}
		return "begin the pattern with plain text, map the field as wildcard, or index it reversed or as n-grams"
	case "expensive_class":
		if k == GraphQL {
			return "read the schema when building, not at run time (limit " + n + ")"
		}
	case "batch":
		if k == GraphQL {
			return "split the batch: at most " + n + " requests in one"
		}
	case "unparsable":
		if k == GraphQL {
			return "send one document, or JSON with a query, that all servers read in the same way"
		}
		if k == Elasticsearch || k == OpenSearch {
			return "send one JSON object without repeated names; a template must be such an object after its parameters are filled in"
		}
		return "correct the text, or set unparsable: accept for this class if the backend can read it"
	}
	for _, f := range fixes() {
		if f.predictor == p {
			return fmt.Sprintf(f.text, n)
		}
	}
	return fmt.Sprintf("lower it to %s", n)
}

type fix struct {
	predictor cost.Predictor
	text      string
}

// fixes lists fix texts with a %s for the limit; %.0s omits the limit.
func fixes() []fix {
	return []fix{
		{cost.ResultWindow, "keep from + size at or below %s; page deeper with search_after and a point in time"},
		{cost.InnerWindow, "keep from + size of top_hits and inner_hits at or below %s"},
		{cost.RescoreWindow, "lower window_size to %s or less"},
		{cost.AggProduct, "lower the sizes, or nest less, until the product of buckets is at most %s; or page with a composite aggregation of a small size"},
		{cost.AggCardinality, "add a filter that selects fewer documents, aggregate a field of at most %s values, or page with a composite aggregation"},
		{cost.HistogramSpan, "use a longer interval, or a narrower range filter on the same field, for at most %s buckets (min_doc_count: 1 does not help)"},
		{cost.GeoCells, "lower the precision, or give bounds, for at most %s cells"},
		{cost.AggDepth, "nest aggregations at most %s levels deep"},
		{cost.QueryDepth, "nest queries at most %s levels deep; join clauses of one bool into a list"},
		{cost.ClauseCount, "use at most %s clauses, counting words times fields; a terms query takes a list as one clause"},
		{cost.TermsCount, "send at most %s values in a request, or look them up with a terms lookup"},
		{cost.IDsCount, "ask for at most %s ids at once; _mget fetches documents by id"},
		{cost.PatternLength, "shorten the pattern or prefix to %s characters; use term or match for plain text"},
		{cost.RegexLength, "shorten the expression to %s characters"},
		{cost.RegexStates, "use fewer or shorter repetitions, for at most %s states, and no higher max_determinized_states"},
		{cost.WildcardStars, "use at most %s wildcards in one pattern, field name or index name"},
		{cost.FieldFanout, "name the fields that are searched: at most %s, times the patterns that are searched in them"},
		{cost.Script, "use a stored script, or compute the value when indexing; weight %s is allowed"},
		{cost.ScriptScore, "filter first, or rescore the best hits only, so that the script does not run for every document (limit %s)"},
		{cost.Joining, "nest has_child, has_parent and nested at most %s levels deep; store related data in one document"},
		{cost.ExpensiveClass, "prefer term, match and range on keyword, numeric and date fields (limit %s)"},
		{cost.ScrollTTL, "keep a scroll, a point in time or an answer for at most %s seconds; each request renews it"},
		{cost.Fetch, "ask for at most %s of these fields"},
		{cost.Shards, "name the indices, or narrow the pattern by date, for at most %s shards"},
		{cost.Unfiltered, "add a range or a term that selects at most %s documents"},
		{cost.UnfilteredWrite, "add a query that leaves documents out, or max_docs of 10000 or less; to empty an index, delete it%.0s"},
		{cost.Batch, "split the request: at most %s searches, or slices, in one"},
		{cost.Timeout, "set timeout to %ss or less"},
		{cost.TerminateAfter, "set terminate_after to %s or less"},
		{cost.TotalHits, "set track_total_hits to %s or less"},
		{cost.StoredTemplate, "send the query itself, so that the guard can judge it%.0s"},
		{cost.DeniedEndpoint, "use _search: the guard cannot judge what this endpoint runs%.0s"},
		{cost.AggSize, "ask for at most %s buckets; page through the rest with a composite aggregation"},
		{cost.UnreadEndpoint, "send it to the backend directly: the guard does not read what this endpoint runs%.0s"},
		{cost.SuggestSize, "ask for at most %s suggestions or candidates"},
		{cost.VectorCandidates, "lower k, num_candidates and ef_search to %s or less"},

		{cost.MissingWhere, "add a WHERE that selects the rows to change; to change all, take them in parts by key%.0s"},
		{cost.LikeWildcards, "use at most %s wildcards in one pattern, or full-text search"},
		{cost.CrossJoin, "join all tables by equalities in ON or WHERE (%s unjoined group is allowed)"},
		{cost.JoinCount, "join at most %s tables; split the statement, or keep a summary table"},
		{cost.InList, "send at most %s values; join a temporary table, or use = ANY with an array in parts"},
		{cost.OffsetRows, "keep OFFSET + LIMIT at or below %s; page by key: WHERE id > last ORDER BY id"},
		{cost.MissingLimit, "add LIMIT %s or less"},
		{cost.NonSargable, "compare the bare column, with the function on the other side, or index the expression (limit %s)"},
		{cost.Regex, "use LIKE with plain text first, =, or a full-text index (limit %s)"},
		{cost.Sort, "pick random rows by key, or TABLESAMPLE, and sort by an indexed column (limit %s)"},
		{cost.GroupCardinality, "group by fewer columns, or filter first, for at most %s groups"},
		{cost.SubqueryDepth, "nest SELECT at most %s levels deep; join, or name parts in WITH"},
		{cost.Recursive, "bound the recursion by a depth in its WHERE, and by LIMIT (limit %s)"},
		{cost.DeniedFunction, "remove the function call%.0s"},
		{cost.MultiStatement, "send at most %s statement at once"},
		{cost.FullScan, "add WHERE or LIMIT: at most %s rows"},
		{cost.Generated, "make at most %s rows or bytes: bound the series, the repetition or the recursion"},
		{cost.Drop, "delete rows by a WHERE, or send it as a class that may drop tables (limit %s)"},

		{cost.GQLCost, "ask for fewer fields, or a smaller first, for a cost of at most %s"},
		{cost.GQLDepth, "nest fields at most %s levels deep"},
		{cost.GQLAliases, "use at most %s aliases"},
		{cost.GQLTokens, "shorten the document to %s tokens"},
		{cost.GQLDirectives, "use at most %s directives"},
		{cost.GQLNodes, "lower first or last along the nesting, for at most %s nodes"},
		{cost.GQLRootFields, "ask for at most %s fields of the root at once"},
		{cost.GQLIntrospection, "ask for types by name instead of through nested lists (%s nested lists are allowed)"},
		{cost.GQLList, "ask for at most %s at a time, and page with after"},

		{cost.RegexExponential, "rewrite the repetition so that a text matches it in only one way, or use an engine without backtracking%.0s"},
		{cost.RegexPolynomial, "put a separator between repetitions that match the same text, bound them, or use an engine without backtracking (degree %s is allowed)"},
		{cost.RegexSearch, "anchor the expression with ^, or limit the length of the searched texts%.0s"},
		{cost.RegexUnknown, "shorten the expression, or repeat less, so that the guard can judge it%.0s"},

		{cost.Encoding, "send plain JSON, uncompressed%.0s"},
		{cost.BodyBytes, "shorten the request to %s bytes"},
		{cost.BodyDepth, "nest less: at most %s levels"},
	}
}
