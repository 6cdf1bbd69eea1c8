package cost

type named struct {
	predictor Predictor
	name      string
}

func nameOf(p Predictor) string {
	for _, n := range names() {
		if n.predictor == p {
			return n.name
		}
	}
	return ""
}

// names returns an array instead of a map: it costs nothing to build and keeps its order.
func names() [72]named {
	return [...]named{
		{ResultWindow, "result_window"},
		{InnerWindow, "inner_window"},
		{RescoreWindow, "rescore_window"},
		{AggProduct, "agg_product"},
		{AggCardinality, "agg_cardinality"},
		{HistogramSpan, "histogram_span"},
		{GeoCells, "geo_cells"},
		{AggDepth, "agg_depth"},
		{QueryDepth, "query_depth"},
		{ClauseCount, "clause_count"},
		{TermsCount, "terms_count"},
		{LeadingWildcard, "leading_wildcard"},
		{PatternLength, "pattern_length"},
		{RegexLength, "regex_length"},
		{RegexStates, "regex_states"},
		{WildcardStars, "wildcard_stars"},
		{FieldFanout, "field_fanout"},
		{Script, "script"},
		{ScriptScore, "script_score"},
		{Joining, "joining"},
		{ExpensiveClass, "expensive_class"},
		{ScrollTTL, "scroll_ttl"},
		{Fetch, "fetch"},
		{Shards, "shards"},
		{Unfiltered, "unfiltered"},
		{UnfilteredWrite, "unfiltered_write"},
		{Batch, "batch"},
		{Timeout, "timeout"},
		{TerminateAfter, "terminate_after"},
		{TotalHits, "total_hits"},
		{StoredTemplate, "stored_template"},
		{DeniedEndpoint, "denied_endpoint"},
		{SuggestSize, "suggest_size"},
		{VectorCandidates, "vector_candidates"},
		{IDsCount, "ids_count"},
		{AggSize, "agg_size"},
		{UnreadEndpoint, "unread_endpoint"},

		{MissingWhere, "missing_where"},
		{LikeWildcards, "like_wildcards"},
		{CrossJoin, "cross_join"},
		{JoinCount, "join_count"},
		{InList, "in_list"},
		{OffsetRows, "offset"},
		{MissingLimit, "missing_limit"},
		{NonSargable, "non_sargable"},
		{Regex, "regex"},
		{Sort, "sort"},
		{GroupCardinality, "group_cardinality"},
		{SubqueryDepth, "subquery_depth"},
		{Recursive, "recursive"},
		{DeniedFunction, "denied_function"},
		{MultiStatement, "multi_statement"},
		{FullScan, "full_scan"},
		{Generated, "generated"},
		{Drop, "drop"},

		{GQLCost, "gql_cost"},
		{GQLDepth, "gql_depth"},
		{GQLAliases, "gql_aliases"},
		{GQLTokens, "gql_tokens"},
		{GQLDirectives, "gql_directives"},
		{GQLNodes, "gql_nodes"},
		{GQLRootFields, "gql_root_fields"},
		{GQLList, "gql_list"},
		{GQLIntrospection, "gql_introspection"},

		{RegexExponential, "regex_exponential"},
		{RegexPolynomial, "regex_polynomial"},
		{RegexSearch, "regex_search"},
		{RegexUnknown, "regex_unknown"},

		{Unparsable, "unparsable"},
		{Encoding, "encoding"},
		{BodyBytes, "body_bytes"},
		{BodyDepth, "body_depth"},
	}
}
