package elastic_test

import (
	"strings"
	"testing"
)

// What backends make room for before there is anything to keep: nodes have died of
// each of these.
func TestRoomThatIsAskedForIsMeasured(t *testing.T) {
	months := func(pipeline string) string {
		return `{"size":0,"aggs":{"d":{"date_histogram":{"field":"@timestamp","calendar_interval":"month"},"aggs":{"t":{"sum":{"field":"bytes"}},"w":` + pipeline + `}}}}`
	}
	highlight := func(h string) string { return `{"query":{"match":{"m":"a"}},"highlight":` + h + `}` }
	shape := func(depth int) string {
		return `{"query":{"geo_shape":{"l":{"shape":"` + nested("GEOMETRYCOLLECTION (", "POINT (1 1)", ")", depth) + `"}}}}`
	}
	check(t, []scenario{
		{"a sampler", "POST /x/_search", `{"aggs":{"s":{"sampler":{"shard_size":2000000000},"aggs":{"a":{"terms":{"field":"f"}}}}}}`, "agg_size"},
		{"a diversified sampler", "POST /x/_search", `{"aggs":{"s":{"diversified_sampler":{"shard_size":1000000,"field":"a"}}}}`, "agg_size"},
		{"an ordinary sampler", "POST /x/_search", `{"aggs":{"s":{"sampler":{"shard_size":5000},"aggs":{"a":{"terms":{"field":"f"}}}}}}`, ""},
		{"a sample of a graph", "POST /x/_graph/explore", `{"controls":{"sample_size":2000000000},"query":{"match":{"a":"b"}},"vertices":[{"field":"f"}]}`, "agg_size"},
		{"an ordinary sample of a graph", "POST /x/_graph/explore", `{"controls":{"sample_size":2000,"timeout":2000},"query":{"match":{"a":"b"}},"vertices":[{"field":"f","size":5}],"connections":{"vertices":[{"field":"g"}]}}`, ""},
		{"a lag", "POST /x/_search", months(`{"serial_diff":{"buckets_path":"t","lag":2147483647}}`), "agg_size"},
		{"an ordinary lag", "POST /x/_search", months(`{"serial_diff":{"buckets_path":"t","lag":30}}`), ""},
		{"a moving window", "POST /x/_search", months(`{"moving_avg":{"buckets_path":"t","window":1000000000}}`), "agg_size"},
		{"predictions", "POST /x/_search", months(`{"moving_avg":{"buckets_path":"t","predict":100000000}}`), "agg_size"},
		{"an ordinary moving window", "POST /x/_search", months(`{"moving_avg":{"buckets_path":"t","window":30,"model":"holt","predict":10}}`), ""},
		{"a buffer", "POST /x/_search", `{"aggs":{"v":{"variable_width_histogram":{"field":"p","buckets":5,"initial_buffer":1000000}}}}`, "agg_size"},
		{"clusters", "POST /x/_search", `{"aggs":{"v":{"variable_width_histogram":{"field":"p","buckets":5,"shard_size":1000000}}}}`, "agg_size"},
		{"the largest buffer that is made unasked", "POST /x/_search", `{"aggs":{"v":{"variable_width_histogram":{"field":"p","buckets":50,"shard_size":5000,"initial_buffer":50000}}}}`, ""},
		{"a line", "POST /x/_search", `{"aggs":{"l":{"geo_line":{"point":{"field":"a"},"sort":{"field":"b"},"size":1000000}}}}`, "agg_size"},
		{"lines", "POST /x/_search", `{"aggs":{"b":{"terms":{"field":"bus","size":100},"aggs":{"l":{"geo_line":{"point":{"field":"a"},"sort":{"field":"b"},"size":10000}}}}}}`, ""},
		{"pages of buckets", "POST /x/_search", `{"aggs":{"a":{"terms":{"field":"f","size":10000},"aggs":{"m":{"max":{"field":"t"}},"s":{"bucket_sort":{"sort":[{"m":"desc"}],"from":20,"size":20}}}}}}`, ""},
		{"fragments of a field", "POST /x/_search", highlight(`{"fields":{"m":{"type":"plain","number_of_fragments":1000000000}}}`), "fetch"},
		{"fragments of all fields", "POST /x/_search", highlight(`{"number_of_fragments":"500000000","fields":[{"m":{}}]}`), "fetch"},
		{"fragments of inner hits", "POST /x/_search", `{"query":{"nested":{"path":"c","query":{"match":{"c.t":"a"}},"inner_hits":{"highlight":{"fields":{"c.t":{"number_of_fragments":100000000}}}}}}}`, "fetch"},
		{"as many fragments as backends allow", "POST /x/_search", highlight(`{"number_of_fragments":10000,"fragment_size":2147483647,"fields":{"*":{}}}`), ""},
		{"fields of many kinds", "POST /x/_search", highlight(`{"fields":{` + numbered(`"k%d.name":{}`, 300) + `}}`), ""},
		{"thousands of fields", "POST /x/_search", highlight(`{"fields":[` + numbered(`{"k%d":{}}`, 2000) + `]}`), "fetch"},
		{"words of a phrase", "POST /x/_search", `{"suggest":{"p":{"text":"` + strings.Repeat("a ", 2000) + `","phrase":{"field":"t","token_limit":10000000}}}}`, "suggest_size"},
		{"as many words as backends allow", "POST /x/_search", `{"suggest":{"p":{"text":"a b","phrase":{"field":"t","token_limit":1000}}}}`, ""},
		{"slices of a scroll", "GET /x/_search?scroll=1m", `{"slice":{"id":0,"max":1025},"query":{"match_all":{}}}`, "batch"},
		{"slices of a write", "POST /x/_delete_by_query", `{"slice":{"id":0,"max":5000},"query":{"term":{"a":1}}}`, "batch"},
		{"as many slices as backends allow", "GET /x/_search?scroll=1m", `{"slice":{"id":7,"max":1024}}`, ""},
		{"many long patterns", "POST /x/_search", `{"query":{"bool":{"should":[` + numbered(`{"wildcard":{"a":"`+strings.Repeat("x", 90)+`%d*"}}`, 900) + `]}}}`, "pattern_length"},
		{"many patterns in a text", "POST /x/_search", `{"query":{"query_string":{"default_field":"a","query":"` + strings.Repeat(strings.Repeat("x", 100)+"?y ", 800) + `"}}}`, "pattern_length"},
		{"many short patterns", "POST /x/_search", `{"query":{"bool":{"should":[` + numbered(`{"wildcard":{"a":"C:\\Windows\\System32\\x%d*.exe"}}`, 500) + `]}}}`, ""},
		{"a shape in shapes", "POST /x/_search", shape(1500), "query_depth"},
		{"an ordinary shape", "POST /x/_search", `{"query":{"geo_shape":{"l":{"shape":"GEOMETRYCOLLECTION (POINT (1 1), MULTIPOLYGON (((1 1, 2 1, 2 2, 1 1)), ((5 5, 6 5, 6 6, 5 5))))"}}}}`, ""},
	})
}

func TestFunctionsOfLanguagesTakePatterns(t *testing.T) {
	check(t, []scenario{
		{"wildcard_query", "POST /_plugins/_sql", `{"query":"SELECT a FROM t WHERE wildcard_query(message, '*error*')"}`, "leading_wildcard"},
		{"wildcardquery", "POST /_plugins/_sql", `{"query":"SELECT a FROM t WHERE message = WILDCARDQUERY('*error*')"}`, "leading_wildcard"},
		{"wildcard_query in a pipe", "POST /_plugins/_ppl", `{"query":"source=t | where wildcard_query(message, '*error*') | head 5"}`, "leading_wildcard"},
		{"fields in brackets", "POST /_plugins/_sql", `{"query":"SELECT a FROM t WHERE query_string(['message', 'title'], '*error*')"}`, "leading_wildcard"},
		{"a comparison in a search", "POST /_plugins/_ppl", `{"query":"search source=t message=\"*error*\""}`, "leading_wildcard"},
		{"a comparison without quotes", "POST /_plugins/_ppl", `{"query":"search source=t message=*error* | head 5"}`, "leading_wildcard"},
		{"a bare word", "POST /_plugins/_ppl", `{"query":"search source=t *error*"}`, "leading_wildcard"},
		{"an end", "POST /_plugins/_sql", `{"query":"SELECT a FROM t WHERE wildcard_query(message, 'error*')"}`, ""},
		{"an equality behind a pipe", "POST /_plugins/_ppl", `{"query":"source=t | where message = '*' and a * 2 = b | head 5"}`, ""},
		{"a value in a search", "POST /_plugins/_ppl", `{"query":"source=logs-2022* status=500 host=\"web-*\" | stats count() by span(t, 1h)"}`, ""},
		{"any value in a search", "POST /_plugins/_ppl", `{"query":"source=logs status=*"}`, ""},
	})
}
