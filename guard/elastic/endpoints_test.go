package elastic_test

import (
	"testing"

	"github.com/bezoar-dev/bezoar/guard/elastic"
)

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
	})
}

// What nobody sends through a gateway is told, and not read.
func TestWhatIsNotReadIsTold(t *testing.T) {
	var list []scenario
	for _, path := range []string{
		"/_analyze", "/x/_analyze", "/_ingest/pipeline/p/_simulate", "/_ingest/_simulate", "/_text_structure/test_grok_pattern", "/_ml/datafeeds/d",
		"/_xpack/ml/datafeeds/d", "/_ml/datafeeds/_preview", "/_watcher/watch/w", "/_xpack/watcher/watch/w", "/_plugins/_alerting/monitors",
		"/_plugins/_anomaly_detection/detectors",
	} {
		list = append(list, scenario{path, "POST " + path, `{"query":{"wildcard":{"a":"*x"}}}`, "unread_endpoint"}, scenario{path + " that is asked for", "GET " + path, "", ""})
	}
	check(t, list)
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
			"/a/t/_validate/query", "/a/t/1/_explain", "/a/_mvt/f/1/1/1", "/a/t/_update_by_query", "/_plugins/_alerting/monitors/_search", "/_ml/data_frame/_evaluate",
		},
		template: {"/_search//template", "/a//_search/template", "/a/t/_search/template", "/_search/template/", "/_render//template"},
		statement: {
			"/_plugins//_sql", "/_opendistro/_sql/", "/_sql/translate", "/_xpack/sql", "/_xpack/sql/translate", "/_xpack//sql", "/_query/view/v",
		},
		"{}\n" + template + "\n": {"/_msearch//template", "/a/_msearch/template/"},
		`{"transform":{"data_selection_query":{"wildcard":{"a":"*x"}}}}`: {"/_plugins/_transform/t", "/_plugins/_transform/_preview"},
		`{"config":{"source":{"query":{"wildcard":{"a":"*x"}}}}}`:        {"/_ml/data_frame/analytics/_preview"},
	} {
		for _, p := range paths {
			list = append(list, scenario{p, "POST " + p, body, "leading_wildcard"})
		}
	}
	check(t, list)
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
