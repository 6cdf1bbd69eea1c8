package mask

// leaf is what the values of a clause are whose members are named after fields.
func leaf(name string) (is what, ok bool) {
	switch name {
	case "term", "terms", "terms_set", "match", "match_phrase", "match_phrase_prefix", "match_bool_prefix", "text", "prefix", "wildcard", "fuzzy", "span_term",
		"field", "intervals", "common", "text_expansion", "weighted_tokens", "semantic", "in", "neural", "neural_sparse":
		return words, true
	case "range":
		return bounds, true
	case "regexp":
		return expressions, true
	case "geo_distance", "geo_bounding_box", "geo_polygon", "geo_shape", "geo_grid", "geo_bbox", "geo_distance_range", "xy_shape", "shape":
		return places, true
	}
	return settled, false
}

// namesField reports whether what is called like a clause may be something else,
// which names its field: an aggregation, or what is suggested.
func namesField(name string, hints bool) bool {
	switch name {
	case "terms", "range", "geo_distance", "semantic", "text":
		return true
	case "term":
		return hints
	}
	return false
}

// isValues: members that hold values of users, however deep.
func isValues(name string) bool {
	switch name {
	case "values", "params", "document", "documents", "like", "unlike", "like_text", "docs", "search_after", "after", "query_vector",
		"vector", "tokens", "ids", "doc", "artificial_document", "origin", "missing", "lookup", "dfs", "routing", "preference", "model_text", "query_text",
		"query_tokens", "from_value", "context", "contexts", "upsert", "match_criteria":
		return true
	}
	return false
}

// places hold coordinates.
func located(name string) bool {
	switch name {
	case "bounds", "location", "top_left", "bottom_right", "top_right", "bottom_left", "coordinates", "lat", "lon", "top", "left", "bottom", "right",
		"wkt", "point", "center", "points", "radius":
		return true
	}
	return false
}

// verbatim are members whose strings say how something is done, and not what is
// looked for.
func verbatim(name string) bool {
	switch name {
	case "field", "fields", "default_field", "type", "path", "index", "indices", "_index", "lang", "order", "mode", "unit", "format",
		"time_zone", "operator", "default_operator", "interval", "fixed_interval", "calendar_interval", "minimum_interval", "minimum_should_match", "fuzziness",
		"rewrite", "score_mode", "boost_mode", "execution_hint", "collect_mode", "analyzer", "quote_analyzer", "search_analyzer", "keyword_analyzer",
		"scroll", "keep_alive", "timeout", "sort", "_source", "includes", "excludes", "include_fields", "docvalue_fields", "stored_fields", "nested_path",
		"similarity", "zero_terms_query", "buckets_path", "gap_policy", "normalizer", "encoder", "boundary_scanner", "fragmenter", "distance", "distance_type",
		"precision", "scale", "decay", "offset", "parent_type", "child_type", "relation", "strategy", "key_field", "value_field", "method", "space_type",
		"search_type", "conflicts", "slices", "refresh", "op_type", "size", "from", "shard_size", "k", "num_candidates", "track_total_hits", "terminate_after",
		"tie_breaker", "boost", "slop", "prefix_length", "max_expansions", "case_insensitive", "flags", "rescore", "window_size", "score_type", "pivot",
		"validation_method", "ignore_unmapped", "orientation", "max_determinized_states", "number_of_fragments", "fragment_size", "no_match_size",
		"expand_wildcards", "max_docs", "requests_per_second", "suggest_mode", "min_doc_count", "min_word_length", "max_edits", "stats", "bucket_sort",
		"max_query_terms", "precision_threshold", "compression", "num_partitions", "partition", "gte_inclusive", "include_lower", "include_upper", "step",
		"collapse", "rank_constant", "rank_window_size", "expected_terms", "shard_min_doc_count", "highlighter_type", "default_lang", "ext", "max_analyzed_offset":
		return true
	}
	return false
}

// parameters of URLs that stay as they are.
func urlVerbatim(name string) bool {
	switch name {
	case "size", "from", "scroll", "timeout", "sort", "df", "analyzer", "default_operator", "lenient", "explain", "version", "track_total_hits",
		"track_scores", "terminate_after", "request_cache", "search_type", "allow_no_indices", "expand_wildcards", "ignore_unavailable", "ignore_throttled",
		"batched_reduce_size", "max_concurrent_shard_requests", "max_concurrent_searches", "pre_filter_shard_size", "ccs_minimize_roundtrips",
		"rest_total_hits_as_int", "typed_keys", "pretty", "human", "error_trace", "filter_path", "format", "_source", "_source_includes", "_source_excludes",
		"_source_include", "_source_exclude", "fields", "stored_fields", "docvalue_fields", "suggest_field", "suggest_mode", "suggest_size",
		"wait_for_completion", "wait_for_completion_timeout", "keep_alive", "keep_on_completion", "slices", "conflicts", "requests_per_second", "refresh",
		"scroll_size", "max_docs", "allow_partial_search_results", "source_content_type", "analyze_wildcard", "lowercase_expanded_terms",
		"seq_no_primary_term", "index", "search_pipeline", "cancel_after_time_interval", "phase_took", "batched_reduce", "op_type", "type", "v", "h", "s",
		"search_timeout", "wait_for_active_shards", "allow_partial_results", "include_named_queries_score", "verbose_pipeline":
		return true
	}
	return false
}
