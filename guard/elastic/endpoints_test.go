package elastic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

func TestAnalysesThatAreTriedAreMeasured(t *testing.T) {
	check(t, []scenario{
		{"grams", "POST /_analyze", `{"tokenizer":{"type":"ngram","min_gram":1,"max_gram":1000},"text":"` + strings.Repeat("a", 20000) + `"}`, "analysis_tokens"},
		{"grams of a filter", "GET /x/_analyze", `{"tokenizer":"standard","filter":["lowercase",{"type":"nGram","min_gram":"1","max_gram":"5000"}],"text":["` + strings.Repeat("a", 30000) + `"]}`, "analysis_tokens"},
		{"shingles", "POST /_analyze", `{"tokenizer":"standard","filter":[{"type":"shingle","max_shingle_size":500}],"text":"` + strings.Repeat("w ", 3000) + `"}`, "analysis_tokens"},
		{"hashes", "POST /_analyze", `{"tokenizer":"standard","filter":{"type":"min_hash","hash_count":1000000,"bucket_count":1000000},"text":"a"}`, "analysis_tokens"},
		{"a tokenizer's expression", "POST /_analyze", `{"tokenizer":{"type":"pattern","pattern":"(a+)+b"},"text":"a"}`, "regex_exponential"},
		{"a filter's expressions", "POST /_analyze", `{"tokenizer":"standard","char_filter":[{"type":"pattern_replace","pattern":"(x|x)*y"}],"filter":[{"type":"pattern_capture","patterns":["(\\w+)+-"]}],"text":"a"}`, "regex_exponential"},
		{"a filter's script", "POST /_analyze", `{"tokenizer":"standard","filter":[{"type":"condition","filter":["lowercase"],"script":{"source":"while (true) {}"}}],"text":"a"}`, "script"},
		{"names", "POST /_analyze", `{"analyzer":"standard","text":["open search","second"]}`, ""},
		{"an ordinary analyzer", "GET /books/_analyze", `{"tokenizer":"whitespace","char_filter":["html_strip"],"filter":["lowercase",{"type":"ngram","min_gram":3,"max_gram":8},{"type":"edge_ngram","max_gram":20},{"type":"pattern_replace","pattern":"[^a-z]+"}],"text":"The Quick brown fox","explain":true}`, ""},
		{"ordinary hashes", "POST /_analyze", `{"tokenizer":"standard","filter":[{"type":"min_hash","hash_count":1,"bucket_count":512,"hash_set_size":1}],"text":"hello big world"}`, ""},
		{"in the URL", "GET /_analyze?analyzer=standard&text=hello+world", ``, ""},
	})
}

func TestPipelinesThatAreTriedAreMeasured(t *testing.T) {
	grok := func(g string) string {
		return `{"pipeline":{"processors":[{"lowercase":{"field":"a"}},{"grok":` + g + `}]},"docs":[{"_source":{"message":"x"}}]}`
	}
	check(t, []scenario{
		{"a script", "POST /_ingest/pipeline/_simulate", `{"pipeline":{"processors":[{"foreach":{"field":"v","processor":{"script":{"source":"while (true) { ctx.a = 1 }"}}}}]},"docs":[]}`, "script"},
		{"a condition", "POST /_ingest/pipeline/p/_simulate", `{"pipeline":{"processors":[{"set":{"if":"while (true) {}","field":"a","value":1}}]},"docs":[]}`, "script"},
		{"of several", "POST /_ingest/_simulate", `{"pipeline_substitutions":{"p":{"processors":[{"script":{"source":"for (;;) {}"}}]}},"docs":[]}`, "script"},
		{"words that may begin anywhere", "POST /_ingest/pipeline/_simulate", grok(`{"field":"m","patterns":["a->\\[%{WORD:b},(?<c>(\\s*%{NOTSPACE})*)\\] d"]}`), "regex_exponential"},
		{"names that go round", "POST /_ingest/pipeline/_simulate", grok(`{"field":"m","patterns":["%{A}"],"pattern_definitions":{"A":"%{B}","B":"x%{A:y}"}}`), "regex_exponential"},
		{"names that multiply", "POST /_ingest/pipeline/_simulate", grok(`{"field":"m","patterns":["%{A20}"],"pattern_definitions":{` + eightfold(20) + `}}`), "regex_exponential"},
		{"what is in a document", "POST /_ingest/pipeline/_simulate", `{"pipeline":{"processors":[]},"docs":[{"_source":{"script":"while (true) {}","if":"for (;;) {}"}}]}`, ""},
		{"an ordinary expression", "POST /_ingest/pipeline/_simulate", grok(`{"field":"m","patterns":["^%{DATA:a} %{DATA:b} \\[%{GREEDYDATA:c}\\]$","(?:%{LIST:l}|%{NOTSPACE:s}) - %{NUMBER:n:long}"],"pattern_definitions":{"LIST":"(?:%{IP}|%{WORD})(\"?,?\\s*(?:%{IP}|%{WORD}))*"}}`), ""},
	})
}

// eightfold are n names, each eight times the one before it.
func eightfold(n int) string {
	all := []string{`"A0":"x"`}
	for i := range n {
		all = append(all, fmt.Sprintf(`"A%d":"%s"`, i+1, strings.Repeat(fmt.Sprintf("%%{A%d}", i), 8)))
	}
	return strings.Join(all, ",")
}

func TestTemplatesAreFilledAsTheyWillBe(t *testing.T) {
	rank := func(q string) string {
		return `{"templates":[{"id":"t","template":{"source":"{\"query\":{\"wildcard\":{\"m\":\"{{q}}\"}}}"}},{"id":"u","template":{"source":{"query":{"match":{"m":"{{q}}"}}}}}],` +
			`"requests":[{"id":"a","template_id":"u","params":{"q":"*x"},"ratings":[]},{"id":"b","template_id":"t","params":{"q":"` + q + `"},"ratings":[]}],"metric":{"precision":{}}}`
	}
	keep := func(source string) string { return `{"script":{"lang":"mustache","source":` + source + `}}` }
	check(t, []scenario{
		{"of a rank evaluation", "GET /x/_rank_eval", rank("*x"), "leading_wildcard"},
		{"of an ordinary rank evaluation", "GET /x/_rank_eval", rank("x*"), ""},
		{"kept, with a wildcard", "PUT /_scripts/t", keep(`{"query":{"wildcard":{"m":"*{{x}}*"}}}`), "leading_wildcard"},
		{"kept, as text", "POST /_scripts/t", keep(`"{\"size\":{{n}},\"aggs\":{\"a\":{\"terms\":{\"field\":\"{{f}}\",\"size\":5000000}}}{{#s}},\"sort\":[{{#toJson}}s{{/toJson}}]{{/s}}}"`), "agg_product agg_size"},
		{"kept, an ordinary one", "PUT /_scripts/t", keep(`{"from":"{{from}}{{^from}}0{{/from}}","size":"{{size}}{{^size}}10{{/size}}","query":{"bool":{"must":[{"multi_match":{"query":"{{q}}","fields":["a","b^2"]}}]}}}`), ""},
		{"kept, with two ways", "PUT /_scripts/t", keep(`"{ {{#a}}\"query\":{\"match\":{\"x\":\"{{a}}\"}}{{/a}}{{#b}}\"query\":{\"match_all\":{}}{{/b}} }"`), ""},
		{"kept, and no search", "PUT /_scripts/t", keep(`"{{#join delimiter=' or '}}emails{{/join}} {{>other}}"`), ""},
		{"kept, a script", "PUT /_scripts/s", `{"script":{"lang":"painless","source":"while (true) {}"}}`, "script"},
		{"of a datafeed that is tried", "POST /_ml/datafeeds/_preview", `{"datafeed_config":{"indices":["a"],"query":{"wildcard":{"m":"*x"}}},"job_config":{}}`, "leading_wildcard"},
	})
}

// Documents pass: a guard that had to hold them would refuse the large ones.
func TestDocumentsAreNotJudged(t *testing.T) {
	for _, path := range []string{"/_bulk", "/x/_bulk", "/x/_doc/1", "/x/_create/1", "/x/_update/1", "/_aliases", "/x/_alias/y", "/_mget", "/x/_termvectors/1", "/_mtermvectors", "/x/_search_shards", "/_ingest/pipeline/p", "/_cat/indices", "/"} {
		if path != "/" && elastic.Judges(path) {
			t.Errorf("%s is judged", path)
		}
	}
	for _, path := range []string{"/x/_analyze", "/_analyze", "/_ingest/pipeline/_simulate", "/_ingest/pipeline/p/_simulate", "/_ingest/_simulate"} {
		if !elastic.Judges(path) {
			t.Errorf("%s is not judged", path)
		}
	}
}

// So many expressions are looked at, and then it is said that there are more.
func TestExpressionsOfARequestAreBounded(t *testing.T) {
	ms, err := read(t, "POST /_analyze", `{"tokenizer":"standard","filter":[{"type":"pattern_capture","patterns":[`+numbered(`"a%db"`, 100)+`]}],"text":"a"}`, cost.Options{Explain: true})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range ms {
		if m.Predictor == cost.RegexUnknown {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d measures say so, want 1: %v", n, ms)
	}
}

// Whatever slashes, dots, types and prefixes a path has, the endpoint is what the
// backend, or a proxy before it, takes it for.
func TestPathsHideNothing(t *testing.T) {
	query := `{"query":{"wildcard":{"a":"*x"}}}`
	template := `{"source":"{\"query\":{\"wildcard\":{\"a\":\"*x\"}}}"}`
	statement := `{"query":"SELECT a FROM t WHERE b LIKE '%x'"}`
	var list []scenario
	for body, paths := range map[string][]string{
		query: {
			"/a/_search/", "//a//_search", "/a/_search/.", "/a/./_search", "/a/x/../_search", "/a/t/_search", "/_all/_search", "/_all/t/_search",
			"/<logs-{now/d}>/_search", "/<logs-{now/d{yyyy.MM.dd|+12:00}}>,b/_search", "/*:*/_search", "/a:b*,-a:bc/_search", "/a/_search?expand_wildcards=all&filter_path=hits.total",
			"/a/t/_validate/query", "/a/t/1/_explain", "/a/_mvt/f/1/1/1", "/a/t/_update_by_query", "/_plugins/_alerting/monitors/_search", "/_ml/data_frame/_evaluate", "/_xpack/ml/datafeeds/x",
		},
		template: {"/_search//template", "/a//_search/template", "/a/t/_search/template", "/_search/template/", "/_render//template"},
		statement: {
			"/_plugins//_sql", "/_opendistro/_sql/", "/_sql/translate", "/_xpack/sql", "/_xpack/sql/translate", "/_xpack//sql", "/_query/view/v",
		},
		"{}\n" + template + "\n":                                          {"/_msearch//template", "/a/_msearch/template/"},
		`{"input":{"search":{"request":{"body":` + query + `}}}}`:         {"/_xpack/watcher/watch/x", "/_watcher/watch/x/_execute"},
		`{"transform":{"data_selection_query":{"wildcard":{"a":"*x"}}}}`:  {"/_plugins/_transform/t", "/_plugins/_transform/_preview"},
		`{"config":{"source":{"query":{"wildcard":{"a":"*x"}}}}}`:         {"/_ml/data_frame/analytics/_preview"},
		`{"indices":["a"],"filter_query":{"wildcard":{"a":"*x"}},"f":[]}`: {"/_plugins/_anomaly_detection/detectors"},
	} {
		for _, p := range paths {
			list = append(list, scenario{p, "POST " + p, body, "leading_wildcard"})
		}
	}
	check(t, append(list, scenario{"Grok that is tried", "POST /_text_structure/test_grok_pattern", `{"grok_pattern":"(\\s*%{NOTSPACE})*x","text":["a"]}`, "regex_exponential"}))
}

// Some name what they ask for _query, and have nothing to do with its language.
func TestQueriesOfWhatIsKept(t *testing.T) {
	check(t, []scenario{
		{"keys", "POST /_security/_query/api_key?with_limited_by=true", `{"query":{"term":{"owner":"ann"}},"size":100,"aggs":{"t":{"terms":{"field":"type"}}}}`, ""},
		{"users", "GET /_security/_query/user", `{"query":{"prefix":{"roles":"other"}},"sort":["username"]}`, ""},
		{"watches", "POST /_watcher/_query/watches", `{"from":0,"size":500,"sort":["metadata.name.keyword"]}`, ""},
		{"settings of a plugin", "PUT /_plugins/_query/settings", `{"transient":{"plugins.sql.enabled":"false"}}`, ""},
		{"a view", "PUT /_query/view/v", `{"query":"FROM a | WHERE b LIKE \"*x\""}`, "leading_wildcard"},
		{"too many keys", "POST /_security/_query/api_key", `{"size":100000}`, "result_window"},
		{"keys by a pattern", "POST /_security/_query/api_key", `{"query":{"wildcard":{"name":"*x"}}}`, "leading_wildcard"},
	})
}
