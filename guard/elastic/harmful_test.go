package elastic_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// numbered is format n times, with numbers in place of %d and commas between.
func numbered(format string, n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(all, ",")
}

func TestWindowsAreMeasured(t *testing.T) {
	check(t, []scenario{
		{"size", "POST /x/_search", `{"size":10001}`, "result_window"},
		{"from", "POST /x/_search", `{"from":9991,"query":{"match_all":{}}}`, "result_window"},
		{"from in the URL", "GET /x/_search?from=10000", ``, "result_window"},
		{"size in the URL wins", "GET /x/_search?size=20000", `{"size":5}`, "result_window"},
		{"size as text", "POST /x/_search", `{"size":"50000"}`, "result_window"},
		{"size written with escapes", "POST /x/_search", `{"s\u0069ze":50000}`, "result_window"},
		{"size as a float", "POST /x/_search", `{"size":1e6}`, "result_window"},
		{"percent in the URL", "GET /x/_search?s%69ze=%31%30%30%30%31", ``, "result_window"},
		{"batch of a scroll", "GET /x/_search?scroll=5m&size=10010", ``, "result_window"},
		{"scroll of two days", "POST /x/_search?scroll=2d", `{"query":{"match_all":{}}}`, "scroll_ttl"},
		{"scroll that goes on", "POST /_search/scroll", `{"scroll":"48h","scroll_id":"abc"}`, "scroll_ttl"},
		{"scroll by its id in the path", "GET /_search/scroll/abc?scroll=48h", ``, "scroll_ttl"},
		{"candidates of a graph", "POST /x/_search", `{"query":{"knn":{"v":{"vector":[1],"k":5,"method_parameters":{"ef_search":50000}}}}}`, "vector_candidates"},
		{"scroll in large letters", "POST /x/_search?scroll=90000S", `{}`, "scroll_ttl"},
		{"scroll with space", "POST /x/_search?scroll=+48h+", `{}`, "scroll_ttl"},
		{"scroll that cannot be read", "POST /x/_search?scroll=ever", `{}`, "scroll_ttl"},
		{"point in time", "POST /x/_pit?keep_alive=25h", ``, "scroll_ttl"},
		{"point in time in a body", "POST /_search", `{"pit":{"id":"a","keep_alive":"1500m"}}`, "scroll_ttl"},
		{"rescore", "POST /x/_search", `{"query":{"match_all":{}},"rescore":[{"window_size":10001,"query":{"rescore_query":{"match_all":{}}}}]}`, "rescore_window"},
		{"inner hits", "POST /x/_search", `{"query":{"nested":{"path":"c","query":{"match_all":{}},"inner_hits":{"from":50,"size":60}}}}`, "inner_window"},
		{"inner hits of a collapse", "POST /x/_search", `{"collapse":{"field":"u","inner_hits":{"name":"a","size":1000}}}`, "inner_window"},
		{"top hits", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f"},"aggs":{"t":{"top_hits":{"size":200}}}}}}`, "inner_window"},
		{"doc value fields", "POST /x/_search", `{"docvalue_fields":[` + strings.Repeat(`"f",`, 100) + `"f"]}`, "fetch"},
		{"script fields", "POST /x/_search", `{"script_fields":{` + manyScripts(33) + `}}`, "fetch"},
		{"candidates", "POST /x/_search", `{"knn":{"field":"v","query_vector":[1],"k":10,"num_candidates":100000}}`, "vector_candidates"},
		{"fetch size of SQL", "POST /_sql", `{"query":"SELECT * FROM a","fetch_size":100000}`, "result_window"},
		{"limit of SQL", "POST /_sql", `{"query":"SELECT a FROM t LIMIT 1000000"}`, "result_window"},
		{"batch of a reindex", "POST /_reindex", `{"source":{"index":"a","size":20000,"query":{"term":{"a":1}}},"dest":{"index":"b"}}`, "result_window"},
		{"a body in the URL", "GET /x/_search?source_content_type=application/json&source=%7B%22size%22%3A100000%7D", ``, "result_window"},
		{"a template's parameter", "GET /x/_search/template", `{"source":"{\"from\":\"{{from}}{{^from}}0{{/from}}\",\"size\":{{size}},\"query\":{\"terms\":{\"a\":{{#toJson}}list{{/toJson}}}}}","params":{"size":20000,"list":[1,2]}}`, "result_window"},
		{"size with space around it", "POST /x/_search", `{"size":" 50000 "}`, "result_window"},
		{"size with a letter for its type", "POST /x/_search", `{"size":"50000d"}`, "result_window"},
		{"size in hexadecimal", "POST /x/_search", `{"size":"0x1p16"}`, "result_window"},
		{"size with a long tail", "POST /x/_search", `{"size":50000.` + strings.Repeat("0", 90) + `}`, "result_window"},
		{"size that cannot be read", "POST /x/_search", `{"size":"many"}`, "result_window"},
		{"a template that counts a list", "GET /x/_search/template", `{"source":"{\"size\":{{of.size}}}","params":{"of":[` + strings.Repeat("1,", 11000) + `1]}}`, "result_window"},
		{"a template's raw parameter", "GET /x/_search/template", `{"source":"{\"query\":{\"term\":{\"a\":\"{{{v}}}\"}}}","params":{"v":"b\"}},\"size\":20000,\"x\":{\"y\":{\"z\":\"c"}}`, "result_window"},
		{"a template's element", "GET /x/_search/template", `{"source":"{\"size\":{{of.1}}}","params":{"of":[1,20000]}}`, "result_window"},
		{"an empty parameter is none", "GET /x/_search/template", `{"source":"{\"from\":0{{^f}},\"size\":20000{{/f}}}","params":{"f":""}}`, "result_window"},
		{"a window to fuse ranks in", "POST /x/_search", `{"rank":{"rrf":{"rank_window_size":20000}},"sub_searches":[{"query":{"term":{"a":1}}}]}`, "rescore_window"},
		{"an answer that is kept for a year", "POST /x/_async_search?keep_alive=365d", `{"query":{"term":{"a":1}}}`, "scroll_ttl"},
		{"and for longer", "GET /_async_search/abc?keep_alive=365d", ``, "scroll_ttl"},
		{"documents that a write reads at once", "POST /x/_update_by_query?scroll_size=20000", `{"query":{"term":{"a":1}}}`, "result_window"},
		{"the context of a write", "POST /x/_delete_by_query?scroll=3d", `{"query":{"term":{"a":1}}}`, "scroll_ttl"},
		{"the second of two searches", "POST /x/_msearch", "{}\n{\"size\":1}\n{\"index\":\"y\"}\n{\"size\":10001}\n", "result_window"},
		{"the second of two templates", "POST /_msearch/template", "\n{\"id\":\"a\"}\n{}\n{\"source\":{\"size\":\"{{s}}\"},\"params\":{\"s\":10001}}\n", "result_window"},
	})
}

func manyScripts(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"f` + strings.Repeat("x", i) + `":{"script":"1"}`)
	}
	return b.String()
}

func TestBucketsAreMeasured(t *testing.T) {
	check(t, []scenario{
		{"levels multiply", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f","size":100},"aggs":{"b":{"terms":{"field":"g","size":50},"aggs":{"c":{"terms":{"field":"h","size":20}}}}}}}}`, "agg_product"},
		{"siblings are summed", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f","size":9000},"aggs":{"b":{"terms":{"field":"g","size":4}},"c":{"terms":{"field":"g","size":4}}}}}}`, "agg_product"},
		{"all values", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f","size":2147483647}}}}`, "agg_product agg_size"},
		{"all values in old syntax", "POST /x/_search", `{"aggregations":{"a":{"terms":{"field":"f","size":0}}}}`, "agg_product agg_size"},
		{"many values", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f","size":20000}}}}`, "agg_size"},
		{"adjacency", "POST /x/_search", `{"aggs":{"a":{"adjacency_matrix":{"filters":{` + manyFilters(400) + `}}}}}`, "agg_product"},
		{"a sketch that keeps all", "POST /x/_search", `{"size":0,"aggs":{"a":{"percentiles":{"field":"f","tdigest":{"compression":1000000}}}}}`, "agg_cardinality"},
		{"a value for each document", "POST /shop/_search", `{"size":0,"aggs":{"a":{"terms":{"field":"order_id"}}}}`, "agg_cardinality"},
		{"many values, match_all", "POST /shop/_search", `{"size":0,"query":{"match_all":{}},"aggs":{"a":{"terms":{"field":"customer","size":10}}}}`, "agg_cardinality"},
		{"many values where there are any", "POST /shop/_search", `{"size":0,"query":{"bool":{"must":[{"exists":{"field":"customer"}}],"must_not":[{"term":{"customer":""}}]}},"aggs":{"a":{"terms":{"field":"customer"}}}}`, "agg_cardinality"},
		{"pairs of values", "POST /shop/_search", `{"aggs":{"a":{"multi_terms":{"terms":[{"field":"region"},{"field":"status"},{"field":"region"}]}}}}`, "agg_cardinality"},
		{"many values, all of them again", "POST /shop/_search", `{"query":{"term":{"status":"x"}},"aggs":{"g":{"global":{},"aggs":{"a":{"terms":{"field":"url"}}}}}}`, "agg_cardinality"},
		{"counting what is unique", "POST /shop/_search", `{"size":0,"aggs":{"a":{"cardinality":{"field":"order_id"}}}}`, "agg_cardinality"},
		{"counting what is unique, in buckets", "POST /shop/_search", `{"size":0,"aggs":{"s":{"terms":{"field":"status","order":{"a":"desc"}},"aggs":{"a":{"cardinality":{"field":"order_id"}}}}}}`, "agg_cardinality"},
		{"each document by its id", "POST /x/_search", `{"size":0,"aggs":{"a":{"terms":{"field":"_id"}}}}`, "agg_cardinality"},
		{"all values when half of the earth is left", "POST /shop/_search", `{"query":{"geo_bounding_box":{"p":{"top":90,"left":-180,"bottom":-60,"right":180}}},"aggs":{"a":{"terms":{"field":"url"}}}}`, "agg_cardinality"},
		{"significant terms", "POST /shop/_search", `{"aggs":{"a":{"significant_terms":{"field":"url"}}}}`, "agg_cardinality"},
		{"a template may not hide it", "POST /shop/_search/template", `{"source":{"aggs":{"a":{"terms":{"field":"{{f}}"}}}},"params":{"f":"url"}}`, "agg_cardinality"},
		{"too deep", "POST /x/_search", `{"aggs":` + nested(`{"a":{"filter":{"term":{"a":1}},"aggs":`, `{"m":{"max":{"field":"f"}}}`, `}}`, 40) + `}`, "agg_depth"},
	})
}

func manyFilters(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"f` + strings.Repeat("x", i) + `":{"term":{"a":1}}`)
	}
	return b.String()
}

func TestHistogramsAreMeasured(t *testing.T) {
	check(t, []scenario{
		{"old bounds from 1970", "POST /x/_search", `{"query":{"range":{"at":{"from":1452543896208,"to":1452544796208}}},"aggs":{"a":{"date_histogram":{"field":"at","interval":"10ms","min_doc_count":0,"extended_bounds":{"min":0,"max":1452544262018}}}}}`, "agg_product histogram_span"},
		{"seconds without a filter", "POST /x/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","interval":"1s"}}}}`, "histogram_span"},
		{"a filter on another field", "POST /x/_search", `{"query":{"range":{"price":{"gte":10,"lte":20}}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"a filter that aggregations do not see", "POST /x/_search", `{"post_filter":{"range":{"at":{"gte":"now-1h"}}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"one of several alternatives", "POST /x/_search", `{"query":{"bool":{"should":[{"range":{"at":{"gte":"now-1h"}}},{"term":{"a":1}}]}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"bounds that the data need not keep", "POST /x/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1s","extended_bounds":{"min":"now-1m","max":"now"}}}}}`, "histogram_span"},
		{"bounds with one end", "POST /x/_search", `{"query":{"range":{"at":{"gte":"2024-01-01","lt":"2024-01-02"}}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m","extended_bounds":{"min":"1970-01-01"}}}}}`, "agg_product histogram_span"},
		{"a megabyte of a compiled expression", "POST /x/_search", `{"query":{"script":{"script":{"source":"` + strings.Repeat("rO0AB", 200_000) + `","lang":"opensearch_query_expression"}}}}`, "script"},
		{"a loop in a group of a transform", "POST /_transform/_preview", `{"source":{"index":"a"},"pivot":{"group_by":{"u":{"terms":{"script":{"source":"while (true) {}"}}}},"aggs":{"m":{"max":{"field":"x"}}}}}`, "script"},
		{"a share of alternatives that is none", "POST /x/_search", `{"query":{"bool":{"must":[{"match_all":{}}],"should":[{"range":{"at":{"gte":"now-1h"}}}],"minimum_should_match":"10%"}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"a word that is no operator", "POST /x/_search", `{"query":{"query_string":{"query":"at:[2024-01-01 TO 2024-01-02] and x","default_field":"a"}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"a step in another case", "POST /x/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"100MS"}}}}`, "histogram_span"},
		{"a step with space around it", "POST /x/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":" 1 s "}}}}`, "histogram_span"},
		{"a step that cannot be read", "POST /x/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"tick"}}}}`, "histogram_span"},
		{"a step that is text", "POST /x/_search", `{"aggs":{"a":{"histogram":{"field":"n","interval":" 1e-5 "}}}}`, "histogram_span"},
		{"what must not be", "POST /x/_search", `{"query":{"bool":{"must_not":[{"range":{"at":{"gte":"now-1h"}}}]}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}`, "histogram_span"},
		{"a year of seconds", "POST /x/_search", `{"query":{"range":{"at":{"gte":"2023-01-01","lt":"2024-01-01"}}},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1s"}}}}`, "agg_product histogram_span"},
		{"past global", "POST /x/_search", `{"query":{"range":{"at":{"gte":"now-1h"}}},"aggs":{"g":{"global":{},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1m"}}}}}}`, "histogram_span"},
		{"endless, by a hint", "POST /metrics-*/_search", `{"aggs":{"a":{"date_histogram":{"field":"at","calendar_interval":"1d"}}}}`, "agg_product histogram_span"},
		{"numbers, by a hint", "POST /shop/_search", `{"aggs":{"a":{"histogram":{"field":"amount","interval":1000}}}}`, "agg_product histogram_span"},
		{"numbers far apart", "POST /x/_search", `{"aggs":{"a":{"histogram":{"field":"n","interval":1,"extended_bounds":{"min":0,"max":2147483647}}}}}`, "agg_product histogram_span"},
		{"step far too small", "POST /x/_search", `{"aggs":{"a":{"histogram":{"field":"n","interval":0.0000001}}}}`, "histogram_span"},
		{"no step", "POST /x/_search", `{"aggs":{"a":{"histogram":{"field":"n","interval":0}}}}`, "histogram_span"},
		{"in each of many terms", "POST /x/_search", `{"query":{"range":{"at":{"gte":"now-30d","lte":"now"}}},"aggs":{"t":{"terms":{"field":"f","size":1000},"aggs":{"a":{"date_histogram":{"field":"at","fixed_interval":"1h"}}}}}}`, "agg_product"},
		{"geohash of the world", "POST /x/_search", `{"aggs":{"g":{"geohash_grid":{"field":"at","precision":"8"}}}}`, "geo_cells"},
		{"geohash at its default, with buckets in each cell", "POST /x/_search", `{"aggs":{"g":{"geohash_grid":{"field":"at"},"aggs":{"t":{"terms":{"field":"f"}}}}}}`, "geo_cells"},
		{"geohash at its default, of all", "POST /x/_search", `{"query":{"match_all":{}},"aggs":{"g":{"geohash_grid":{"field":"at"}}}}`, "geo_cells"},
		{"geohash finer than its default", "POST /x/_search", `{"aggs":{"g":{"geohash_grid":{"field":"at","precision":6}}}}`, "geo_cells"},
		{"geohash cells as corners", "POST /x/_search", `{"query":{"geo_bounding_box":{"at":{"top_left":"u","bottom_right":"u"}}},"aggs":{"g":{"geohash_grid":{"field":"at","precision":9}}}}`, "geo_cells"},
		{"geohash by meters", "POST /x/_search", `{"aggs":{"g":{"geohash_grid":{"field":"at","precision":"10m"}}}}`, "geo_cells"},
		{"tiles of a continent", "POST /x/_search", `{"query":{"geo_bounding_box":{"at":{"top":70,"left":-10,"bottom":35,"right":40}}},"aggs":{"g":{"geotile_grid":{"field":"at","precision":22}}}}`, "geo_cells"},
		{"a box on another field", "POST /x/_search", `{"query":{"geo_bounding_box":{"from":{"top":1,"left":0,"bottom":0,"right":1}}},"aggs":{"g":{"geotile_grid":{"field":"at","precision":15}}}}`, "geo_cells"},
		{"hexagons", "POST /x/_search", `{"aggs":{"g":{"geohex_grid":{"field":"at","precision":12}}}}`, "geo_cells"},
	})
}

func TestClausesAndPatternsAreMeasured(t *testing.T) {
	check(t, []scenario{
		{"should clauses", "POST /x/_search", `{"query":{"bool":{"should":[` + strings.Repeat(`{"term":{"a":1}},`, 1100) + `{"term":{"a":1}}]}}}`, "clause_count"},
		{"words", "POST /x/_search", `{"query":{"match":{"t":"` + strings.Repeat("word ", 1100) + `"}}}`, "clause_count"},
		{"words of a query string", "POST /x/_search", `{"query":{"query_string":{"default_field":"t","query":"` + strings.Repeat("w OR ", 1100) + `w"}}}`, "clause_count"},
		{"words in many fields", "POST /x/_search", `{"query":{"multi_match":{"query":"` + strings.Repeat("word ", 120) + `","fields":["a","b","c","d","e","f","g","h","i","j"]}}}`, "clause_count"},
		{"fuzzy words", "POST /x/_search", `{"query":{"query_string":{"default_field":"t","query":"` + strings.Repeat("word~ ", 30) + `"}}}`, "clause_count"},
		{"bool in bool", "POST /x/_search", `{"query":` + nested(`{"bool":{"must":[`, `{"term":{"a":1}}`, `]}}`, 50) + `}`, "query_depth"},
		{"parentheses", "POST /x/_search", `{"query":{"query_string":{"default_field":"t","query":"` + nested("(", "a", ")", 1000) + `"}}}`, "query_depth"},
		{"parentheses of the simple kind", "POST /x/_search", `{"query":{"simple_query_string":{"fields":["t"],"query":"` + strings.Repeat("(", 1000) + `a"}}}`, "query_depth"},
		{"old filters", "POST /x/_search", `{"query":{"filtered":{"query":{"match_all":{}},"filter":` + nested(`{"and":[`, `{"term":{"a":1}}`, `]}`, 50) + `}}}`, "query_depth"},
		{"too many terms", "POST /x/_search", `{"query":{"terms":{"id":[` + strings.Repeat("1,", 70000) + `1]}}}`, "terms_count"},
		{"too many ids", "POST /x/_search", `{"query":{"ids":{"values":[` + strings.Repeat("1,", 70000) + `1]}}}`, "ids_count"},
		{"leading star", "POST /x/_search", `{"query":{"wildcard":{"url":{"value":"*google*"}}}}`, "leading_wildcard"},
		{"leading question mark", "POST /x/_search", `{"query":{"wildcard":{"url":"?oogle"}}}`, "leading_wildcard"},
		{"escaped in JSON", "POST /x/_search", `{"query":{"wildcard":{"url":"\u002agoogle"}}}`, "leading_wildcard"},
		{"in a query string", "POST /x/_search", `{"query":{"query_string":{"query":"host:web AND name:*son","default_field":"t"}}}`, "leading_wildcard"},
		{"in a group of a field", "POST /x/_search", `{"query":{"query_string":{"query":"name:(bob OR *son)","default_field":"t"}}}`, "leading_wildcard"},
		{"regular expression in a query string", "POST /x/_search", `{"query":{"query_string":{"query":"name:/.*d/","allow_leading_wildcard":false}}}`, "leading_wildcard"},
		{"in the URL", "GET /x/_search?q=name:*son", ``, "leading_wildcard"},
		{"in the URL of a count", "GET /x/_count?q=name%3A%2Ason", ``, "leading_wildcard"},
		{"to be validated", "GET /x/_validate/query?q=name:*son", ``, "leading_wildcard"},
		{"to be explained", "GET /x/_explain/1", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"in SQL", "POST /_sql", `{"query":"SELECT a FROM t WHERE name LIKE '%son'"}`, "leading_wildcard"},
		{"in ES|QL", "POST /_query", `{"query":"FROM t | WHERE name LIKE \"*son\" | LIMIT 5"}`, "leading_wildcard"},
		{"a regular expression in ES|QL", "POST /_query", `{"query":"FROM t | WHERE name RLIKE \".*son\" | LIMIT 5"}`, "leading_wildcard"},
		{"in SQL in the URL", "GET /_sql?sql=SELECT+a+FROM+t+WHERE+b+LIKE+'%25son'", ``, "leading_wildcard"},
		{"in a query's old name", "POST /x/_search", `{"query":{"queryString":{"query":"name:*son"}}}`, "leading_wildcard"},
		{"in a pipeline", "POST /x/_search", `{"search_pipeline":{"request_processors":[{"filter_query":{"query":{"wildcard":{"a":"*b"}}}}]}}`, "leading_wildcard"},
		{"in EQL", "GET /t/_eql/search", `{"query":"process where process.name : \"*shell.exe\""}`, "leading_wildcard"},
		{"in PPL", "POST /_plugins/_ppl", `{"query":"source=t | where like(name, '%son')"}`, "leading_wildcard"},
		{"in the filter of SQL", "POST /_sql", `{"query":"SELECT a FROM t","filter":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"in an aggregation", "POST /x/_search", `{"aggs":{"f":{"filters":{"filters":{"a":{"wildcard":{"a":"*b"}}}}}}}`, "leading_wildcard"},
		{"in a rescore", "POST /x/_search", `{"rescore":{"query":{"rescore_query":{"wildcard":{"a":"*b"}}}}}`, "leading_wildcard"},
		{"in spans", "POST /x/_search", `{"query":{"span_multi":{"match":{"wildcard":{"a":"*b"}}}}}`, "leading_wildcard"},
		{"in a plugin's query", "POST /x/_search", `{"query":{"new_thing":{"inner":{"query":{"wildcard":{"a":"*b"}}}}}}`, "leading_wildcard"},
		{"in a transform", "PUT /_transform/a", `{"source":{"index":"a","query":{"wildcard":{"a":"*b"}}},"dest":{"index":"b"}}`, "leading_wildcard"},
		{"in the filter of fields", "POST /x/_field_caps", `{"fields":["a"],"index_filter":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"regexp", "POST /x/_search", `{"query":{"regexp":{"t":{"value":".*ou.*id.*"}}}}`, "leading_wildcard"},
		{"regexp in a group", "POST /x/_search", `{"query":{"regexp":{"t":"(foo|.*bar)"}}}`, "leading_wildcard"},
		{"regexp behind what may be missing", "POST /x/_search", `{"query":{"regexp":{"t":"a?[a-z]*bar"}}}`, "leading_wildcard"},
		{"long pattern", "POST /x/_search", `{"query":{"wildcard":{"trace":"a` + strings.Repeat("Ab3", 500) + `"}}}`, "pattern_length"},
		{"many stars", "POST /x/_search", `{"query":{"wildcard":{"trace":"a*b*c*d*e*f*g*h*i*j*"}}}`, "wildcard_stars"},
		{"many stars in a field", "POST /x/_search", `{"query":{"exists":{"field":"` + strings.Repeat("*a", 3000) + `"}}}`, "wildcard_stars"},
		{"long regexp", "POST /x/_search", `{"query":{"regexp":{"t":"a` + strings.Repeat("b|c", 400) + `"}}}`, "regex_length"},
		{"long include", "POST /x/_search", `{"query":{"term":{"a":1}},"aggs":{"a":{"terms":{"field":"f","include":"` + strings.Repeat("(a|A)", 300) + `"}}}}`, "regex_length"},
		{"repeats in repeats", "POST /x/_search", `{"query":{"regexp":{"t":"((a{1,100}){1,100}){1,100}"}}}`, "regex_states"},
		{"a count behind a loop", "POST /x/_search", `{"query":{"regexp":{"t":"x[ac]*a[ac]{50,200}"}}}`, "regex_states"},
		{"states that are asked for", "POST /x/_search", `{"query":{"regexp":{"t":{"value":"ab","max_determinized_states":2147483647}}}}`, "regex_states"},
		{"all fields by name", "POST /metrics-*/_search", `{"query":{"multi_match":{"query":"error","fields":["*"]}}}`, "field_fanout"},
		{"all fields by saying nothing", "POST /metrics-*/_search", `{"query":{"query_string":{"query":"error"}}}`, "field_fanout"},
		{"all fields in the URL", "GET /metrics-*/_search?q=error", ``, "field_fanout"},
		{"wildcards in all fields", "POST /x/_search", `{"query":{"query_string":{"query":"foo* ba* qu*"}}}`, "field_fanout"},
		{"joins in joins", "POST /x/_search", `{"query":` + nested(`{"nested":{"path":"a","query":`, `{"term":{"a":1}}`, `}}`, 3) + `}`, "joining"},
		{"long prefix", "POST /x/_search", `{"query":{"prefix":{"t":{"value":"` + strings.Repeat("ab", 600) + `"}}}}`, "pattern_length"},
		{"long start of terms", "POST /x/_terms_enum", `{"field":"t","string":"` + strings.Repeat("ab", 600) + `"}`, "pattern_length"},
		{"long prefix to complete", "POST /x/_search", `{"suggest":{"s":{"prefix":"` + strings.Repeat("ab", 600) + `","completion":{"field":"c"}}}}`, "pattern_length"},
		{"candidates of a phrase", "POST /x/_search", `{"suggest":{"s":{"text":"a","phrase":{"field":"c","direct_generator":[{"field":"c","size":100000}]}}}}`, "suggest_size"},
		{"stars in what is fetched", "POST /x/_search", `{"_source":{"excludes":["a*b*c*d*e*f*g*h*i*j"]}}`, "wildcard_stars"},
		{"stars in what is fetched, in the URL", "GET /x/_search?_source_includes=b,a*b*c*d*e*f*g*h*i*j", ``, "wildcard_stars"},
		{"stars in what is asked of fields", "GET /x/_field_caps?fields=b,a*b*c*d*e*f*g*h*i*j", ``, "wildcard_stars"},
		{"stars in what is asked of fields, in the body", "POST /x/_field_caps", `{"fields":["a*b*c*d*e*f*g*h*i*j"]}`, "wildcard_stars"},
		{"a place at the beginning", "POST /x/_search", `{"query":{"wildcard":{"t":"?bc"}}}`, "leading_wildcard"},
		{"nothing but places", "POST /x/_search", `{"query":{"wildcard":{"t":"?????"}}}`, "leading_wildcard"},
		{"a place at the beginning, in ES|QL", "POST /_query", `{"query":"FROM t | WHERE a LIKE \"?bc\""}`, "leading_wildcard"},
		{"stars, in ES|QL", "POST /_query", `{"query":"FROM t | WHERE a LIKE \"a*b*c*d*e*f*g*h*i*j\""}`, "wildcard_stars"},
		{"a pattern in fields by name", "POST /x/_search", `{"query":{"query_string":{"query":"fo*bar","fields":[` + numbered(`"f%d"`, 150) + `]}}}`, "field_fanout"},
		{"stars in an index", "GET /a*b*c*d*e*f*g*h*i*j/_search", ``, "wildcard_stars"},
		{"stars in the index of a member", "POST /_msearch", "{\"index\":\"a*b*c*d*e*f*g*h*i*j\"}\n{}\n", "wildcard_stars"},
		{"no fields are all fields", "POST /metrics-*/_search", `{"query":{"query_string":{"query":"error","fields":[]}}}`, "field_fanout"},
		{"no fields of several words", "POST /metrics-*/_search", `{"query":{"multi_match":{"query":"error","fields":[]}}}`, "field_fanout"},
		{"in a highlighted field", "POST /x/_search", `{"highlight":{"fields":{"a":{"highlight_query":{"wildcard":{"a":"*b"}}}}}}`, "leading_wildcard"},
		{"in the background of terms", "POST /x/_search", `{"aggs":{"a":{"significant_terms":{"field":"f","background_filter":{"wildcard":{"a":"*b"}}}}}}`, "leading_wildcard"},
		{"as a parameter of ES|QL", "POST /_query", `{"query":"FROM t | WHERE a LIKE ?p","params":[{"p":"*son"}]}`, "leading_wildcard"},
		{"in an analysis", "PUT /_ml/data_frame/analytics/d", `{"source":{"index":"x","query":{"wildcard":{"a":"*b"}}}}`, "leading_wildcard"},
		{"under a type", "POST /x/_doc/_search", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"under an old type", "POST /x/thing/_search", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"under a doubled slash", "POST //x//_search/", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"under dots", "POST /x/./_search", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"under dots that go back", "POST /x/_doc/../_search", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"on another cluster", "POST /far:x,*:y/_search", `{"query":{"wildcard":{"a":"*b"}}}`, "leading_wildcard"},
		{"too many indices", "POST /" + strings.Repeat("a,", 1000) + "a/_search", `{}`, "shards"},
	})
}

func TestWritesScriptsAndBatchesAreMeasured(t *testing.T) {
	ternaries := strings.Repeat("doc['a'].value == 1 ? 1 : (", 24) + "0" + strings.Repeat(")", 24)
	check(t, []scenario{
		{"delete all", "POST /x/_delete_by_query", `{"query":{"match_all":{}}}`, "unfiltered_write"},
		{"delete all, hidden", "POST /x/_delete_by_query", `{"query":{"bool":{"must":[{"constant_score":{"filter":{"match_all":{}}}}]}}}`, "unfiltered_write"},
		{"delete what has an id", "POST /x/_delete_by_query", `{"query":{"exists":{"field":"_id"}}}`, "unfiltered_write"},
		{"delete what is in an index", "POST /x/_delete_by_query", `{"query":{"term":{"_index":"x"}}}`, "unfiltered_write"},
		{"delete every id", "POST /x/_delete_by_query", `{"query":{"wildcard":{"_id":"*"}}}`, "unfiltered_write"},
		{"delete every id, in words", "POST /x/_delete_by_query?q=_exists_:_id", ``, "unfiltered_write"},
		{"delete a range without ends", "POST /x/_delete_by_query", `{"query":{"range":{"at":{"gte":null}}}}`, "unfiltered_write"},
		{"delete but for nothing", "POST /x/_delete_by_query", `{"query":{"bool":{"must_not":[{"match_none":{}}]}}}`, "unfiltered_write"},
		{"delete but for no clause", "POST /x/_delete_by_query", `{"query":{"bool":{"must_not":[],"filter":[{"match_all":{}}]}}}`, "unfiltered_write"},
		{"delete by a score", "POST /x/_delete_by_query", `{"query":{"function_score":{"query":{"match_all":{}},"random_score":{}}}}`, "unfiltered_write"},
		{"delete all by a star", "POST /x/_delete_by_query?q=*", ``, "unfiltered_write"},
		{"delete without a query", "POST /x/_delete_by_query", ``, "unfiltered_write"},
		{"delete of old versions", "DELETE /x/_query", `{"query":{"match_all":{}}}`, "unfiltered_write"},
		{"delete one or all", "POST /x/_delete_by_query", `{"query":{"bool":{"should":[{"term":{"a":1}},{"match_all":{}}]}}}`, "unfiltered_write"},
		{"update all", "POST /x/_update_by_query?conflicts=proceed", ``, "unfiltered_write"},
		{"reindex all", "POST /_reindex", `{"source":{"index":"a"},"dest":{"index":"b"}}`, "unfiltered_write"},
		{"loops in loops without braces", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"for (a in l) for (b in l) for (c in l) for (d in l) n++; return n"}}}}`, "script"},
		{"loops in loops", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"for (a in l) { if (a > 1) { for (b in l) { while (n < 9) { for (;n < 5;) { n++; } } } } }"}}}}`, "script"},
		{"loops in functions that call one another", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"int f(def l) { for (a in l) { n++; } } int g(def l) { for (a in l) { f(l); } } int h(def l) { for (a in l) { g(l); } } for (a in l) { h(l); }"}}}}`, "script"},
		{"loops behind else", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"for (a in l) if (f) { n++; } else { for (b in l) if (f) { n++; } else { for (c in l) if (f) {} else { for (d in l) n++; } } }"}}}}`, "script"},
		{"loops behind what looks like the end of blocks", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"for (a in l) { /* }}}} */ for (b in l) { s =~ /}}}}/; for (c in l) { t = '}}}}'; for (d in l) { n++; } } } }"}}}}`, "script"},
		{"loops in very many blocks", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"` + nested("if (x) { n++; ", "for (a in l) { n++; for (b in l) { n++; for (c in l) { n++; for (d in l) { n++; } } } }", "}", 40) + `"}}}}`, "script"},
		{"closures in closures", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"l.forEach(a -> { n++; m.forEach(b -> { n++; o.forEach(c -> p.forEach(d -> q.add(d))); }); })"}}}}`, "script"},
		{"very many loops", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"` + strings.Repeat("for (a in l) { n++; } ", 40) + `"}}}}`, "script"},
		{"ternaries in braces", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"if (a) { return ` + ternaries + `; }"}}}}`, "script"},
		{"ternaries", "POST /x/_search", `{"query":{"term":{"a":1}},"script_fields":{"f":{"script":{"source":"` + ternaries + `"}}}}`, "script"},
		{"an endless loop", "POST /x/_search", `{"query":{"script":{"script":"while (true) { } return true"}}}`, "script"},
		{"a long loop in a sort", "POST /x/_search", `{"sort":{"_script":{"type":"number","script":{"inline":"int s=0; for (int i=0; i<100000000; i++) { s+=i } return s"}}}}`, "script"},
		{"a script in a runtime field", "POST /x/_search", `{"runtime_mappings":{"f":{"type":"long","script":{"source":"for(;;){}"}}}}`, "script"},
		{"a script in a function", "POST /x/_search", `{"query":{"function_score":{"functions":[{"filter":{"term":{"a":1}},"script_score":{"script":{"source":"for ( ; ; ) {}"}}}]}}}`, "script"},
		{"a script in an aggregation", "POST /x/_search", `{"query":{"term":{"a":1}},"aggs":{"a":{"terms":{"script":"while(true){}"}}}}`, "script"},
		{"a script in the weights of a mean", "POST /x/_search", `{"query":{"term":{"a":1}},"aggs":{"a":{"weighted_avg":{"value":{"script":"while(true){}"},"weight":{"field":"w"}}}}}`, "script"},
		{"a script in several terms", "POST /x/_search", `{"query":{"term":{"a":1}},"aggs":{"a":{"multi_terms":{"terms":[{"field":"a"},{"script":"while(true){}"}]}}}}`, "script"},
		{"a script that is stored", "PUT /_scripts/s", `{"script":{"lang":"painless","source":"for(;;){}"}}`, "script"},
		{"a write in many slices", "POST /x/_update_by_query?slices=500", `{"query":{"term":{"a":1}}}`, "batch"},
		{"a script that is run", "POST /_scripts/painless/_execute", `{"script":{"source":"for(;;){}"}}`, "script"},
		{"a graph", "POST /x/_graph/explore", `{"query":{"wildcard":{"a":"*b"}},"vertices":[{"field":"a","size":5}],"connections":{"vertices":[{"field":"b","size":50000}]}}`, "agg_size leading_wildcard"},
		{"many searches", "POST /x/_msearch", strings.Repeat("{}\n{\"query\":{\"match_all\":{}}}\n", 101), "batch"},
	})
}

// What is encoded is read all the same.
func TestEncodingsHideNothing(t *testing.T) {
	const hidden = `{"query":{"wildcard":{"a":"*b"}}}`
	pack := func(w interface {
		Write([]byte) (int, error)
		Close() error
	}, b *bytes.Buffer,
	) []byte {
		if _, err := w.Write([]byte(hidden)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var gz, zl bytes.Buffer
	packed := map[string][]byte{"gzip": pack(gzip.NewWriter(&gz), &gz), "deflate": pack(zlib.NewWriter(&zl), &zl)}
	var r elastic.Reader
	for range 2 { // and with what the first request left behind
		for encoding, body := range packed {
			ms, err := r.Read(nil, cost.Query{Path: "/x/_search", Body: body, ContentEncoding: encoding}, cost.Options{Explain: true})
			if err != nil || strings.Join(over(ms), " ") != "leading_wildcard" {
				t.Errorf("%s: over %v, %v", encoding, over(ms), err)
			}
			for _, m := range ms {
				if m.Cap.Place == cost.CapBody {
					t.Errorf("%s: %v would edit a packed body", encoding, m.Predictor)
				}
			}
		}
	}
	once := base64.StdEncoding.EncodeToString([]byte(`{"wildcard":{"a":"*b"}}`))
	twice := base64.StdEncoding.EncodeToString([]byte(`{"wrapper":{"query":"` + once + `"}}`))
	check(t, []scenario{
		{"wrapper", "POST /x/_search", `{"query":{"bool":{"filter":[{"wrapper":{"query":"` + once + `"}}]}}}`, "leading_wildcard"},
		{"wrapper in a wrapper", "POST /x/_search", `{"query":{"wrapper":{"query":"` + twice + `"}}}`, "leading_wildcard"},
	})
}
