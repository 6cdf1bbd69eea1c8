package elastic_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
	"github.com/bezoar-dev/bezoar/guard/elastic"
)

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// FuzzReader: no request makes it panic, and explaining changes nothing.
func FuzzReader(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed[0], seed[1], []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, path, raw string, body []byte) {
		if len(body) > 1<<16 || len(raw) > 1<<14 {
			return
		}
		q := cost.Query{Path: path, RawQuery: raw, Body: body}
		var r elastic.Reader
		now := time.Unix(1.8e9, 0)
		plain, err := r.Read(nil, q, cost.Options{Hints: hints{}, Now: now})
		explained, err2 := r.Read(nil, q, cost.Options{Hints: hints{}, Now: now, Explain: true})
		if (err == nil) != (err2 == nil) || len(plain) != len(explained) {
			t.Fatalf("%d measures, %v; explained %d, %v", len(plain), err, len(explained), err2)
		}
		for i := range plain {
			a, b := plain[i], explained[i]
			if a.Predictor != b.Predictor || !same(a.Value, b.Value) || a.Offset != b.Offset || a.Part != b.Part || a.Cap != b.Cap {
				t.Fatalf("measure %d: %+v, explained %+v", i, a, b)
			}
			if math.IsNaN(a.Value) || a.Value < 0 || a.Offset < -1 || a.Offset > len(body) || b.Path == "" {
				t.Fatalf("measure %d: %+v", i, b)
			}
			if c := a.Cap; c.Place != cost.CapNone {
				text := len(body)
				if c.Place == cost.CapURL {
					text = len(raw)
				}
				if c.Start < 0 || c.End < c.Start || c.End > text {
					t.Fatalf("measure %d edits %d to %d of %d bytes", i, c.Start, c.End, text)
				}
			}
		}
		if err != nil || !json.Valid(body) {
			return
		}
		if out := edited(body, capsOf(plain, cost.CapBody, 0), 10); strings.HasPrefix(path, "/x/_search") && !json.Valid(out) {
			t.Fatalf("caps leave no JSON: %s", out)
		}
	})
}

func seeds() [][3]string {
	return [][3]string{
		{"/x/_search", "", `{"query":{"bool":{"filter":[{"geo_shape":{"g":{"shape":"POLYGON ((1 2, 3 4.5, 1 2))","relation":"within"}}},{"geo_shape":{"g":{"shape":{"type":"geometrycollection","geometries":[{"type":"circle","coordinates":[1,2],"radius":"3km"},{"type":"polygon","coordinates":[[[1,2],[3,4]]]}]}}}},{"geo_grid":{"g":{"geotile":"6/32/22"}}}]}},"aggs":{"g":{"geotile_grid":{"field":"g","precision":9}}}}`},
		{"/x-2026.01.01,<y-{now/d}>/_search", "q=t:>now-1h", `{"query":{"bool":{"should":[{"range":{"t":{"gte":"now-1h"}}},{"range":{"t":{"gte":5,"lt":"2026"}}},{"geo_bounding_box":{"g":{"top_left":[1,2],"bottom_right":[2,1]}}}],"minimum_should_match":0}},"aggs":{"f":{"filters":{"filters":{"a":{"range":{"t":{"lt":7}}},"b":{"match_none":{}}}},"aggs":{"r":{"date_range":{"field":"t","ranges":[{"from":1,"to":"now"}]},"aggs":{"h":{"date_histogram":{"field":"t","fixed_interval":"1s","min_doc_count":1}},"g":{"geohash_grid":{"field":"g"}}}}}}}}`},
		{"/x/_search", "", `{"from":1,"size":2,"query":{"bool":{"must":[{"match":{"a":"b c"}}],"filter":{"range":{"at":{"gte":"now-1d/d","lt":"2024-01-01||/M"}}},"should":[{"wildcard":{"a":"*b"}}],"must_not":{"exists":{"field":"a*"}}}}}`},
		{"/x/_search", "scroll=1m&q=a:(b+OR+*c)%20/d.*/&size=5", `{}`},
		{"/x/_search", "source=%7B%22size%22%3A1%7D&source_content_type=application/json", ``},
		{"/x/_search", "", `{"aggs":{"a":{"terms":{"field":"f","size":5,"include":"a.*"},"aggs":{"b":{"date_histogram":{"field":"at","fixed_interval":"1h","extended_bounds":{"min":"2020","max":1}}},"c":{"geohash_grid":{"field":"p","precision":"1km","bounds":{"top_left":"u4","bottom_right":[1,2]}}},"d":{"global":{},"aggs":{"e":{"top_hits":{"size":1}}}}}}}}`},
		{"/x/_search", "", `{"query":{"query_string":{"query":"a:[1 TO *} AND (b~2 OR \"c d\"~3^4) -e* +f:/x{2,3}y/ g:>=5","fields":["t^2","*"]}}}`},
		{"/x/_search", "", `{"query":{"wrapper":{"query":"eyJtYXRjaF9hbGwiOnt9fQ=="}},"script_fields":{"a":{"script":{"source":"for(i=0;i<10;i++){a?b:c}"}}}}`},
		{"/x/_search", "", `{"query":{"regexp":{"a":{"value":"(a{2,3}|[b-d]*)+x{5}","max_determinized_states":5}}},"sort":[{"_script":{"script":"1"}}],"suggest":{"s":{"text":"a","term":{"field":"f","size":3}}}}`},
		{"/x/_msearch", "", "{\"index\":[\"a\",\"b*\"]}\n{\"size\":1}\n\n{\"aggs\":{\"a\":{\"composite\":{\"sources\":[{\"d\":{\"terms\":{\"script\":\"1\"}}}]}}}}\n"},
		{"/_search/template", "", `{"source":"{\"size\":\"{{s}}\",\"query\":{{#toJson}}q{{/toJson}}{{#l}},\"a\":{{.}}{{/l}}}","params":{"s":3,"q":{"match_all":{}},"l":[1]}}`},
		{"/_search/template", "", `{"source":"{\"a\":\"{{{v}}}{{&v}}{{l.size}}{{l.0}}{{!c}}\"{{^e}},\"size\":1{{/e}}}","params":{"v":"\"","l":[[1,2],3],"e":""}}`},
		{"/x/_update_by_query", "slices=5&scroll_size=7&q=a;b&scroll=+1S", `{"query":{"bool":{"must_not":[{"match_none":{}}],"should":[{"range":{"_id":{"gte":""}}}],"minimum_should_match":"30%"}}}`},
		{"/_async_search/a", "keep_alive=9d", ``},
		{"/x/_doc/_search", "", `{"search_pipeline":{"request_processors":[{"filter_query":{"query":{"queryString":{"query":"_id:* and a"}}}},{"script":{"source":"1"}}]},"rank":{"rrf":{"rank_window_size":5}},"_source":["a*b*"],"size":" 7d "}`},
		{"/_sql", "sql=SELECT+a+FROM+b+WHERE+c+LIKE+?", `{"query":"SELECT 1 FROM a WHERE c LIKE ?","params":[{"value":"%b"}]}`},
		{"/x/_search", "", `{"terminate_after":5,"query":{"geo_bounding_box":{"p":{"top_left":"u","bottom_right":"s"}}},"aggs":{"t":{"terms":{"field":"_id"},"aggs":{"g":{"geohash_grid":{"field":"p"},"aggs":{"d":{"date_histogram":{"field":"at","interval":" 1 S","extended_bounds":{"min":0}}}}},"p":{"percentiles":{"field":"f","tdigest":{"compression":"9e9"}}}}}}}`},
		{"/x/_delete_by_query", "max_docs=5", `{"query":{"ids":{"values":[1,2]}},"max_docs":7}`},
		{"/_reindex", "", `{"source":{"index":["a","b"],"size":5,"query":{"match_all":{}}},"dest":{"index":"c"},"script":{"source":"ctx._source.a=1"}}`},
		{"/_query", "", `{"query":"FROM a*,b | WHERE x LIKE \"*y\" AND QSTR(\"a:*b\") // c\n | LIMIT 5"}`},
		{"/_sql", "", `{"query":"SELECT * FROM \"a\" WHERE x LIKE '%y''z' /* c */ LIMIT 10","fetch_size":5,"filter":{"term":{"a":1}}}`},
		{"/x/_rank_eval", "", `{"requests":[{"request":{"size":1,"query":{"match":{"a":"b"}}}}],"templates":[{"template":{"source":{"size":1}}}]}`},
		{"/_transform/a/_start", "", `{"source":{"index":"a","query":{"match_all":{}}},"pivot":{"aggs":{"a":{"max":{"field":"b"}}}}}`},
		{"/<a-{now/d}>/_count", "q=*", ``},
		{"/x/_search", "", `{"query":{"geo_distance":{"distance":"5mi","p":{"lat":1,"lon":2}}},"aggs":{"g":{"geotile_grid":{"field":"p","precision":9}},"h":{"histogram":{"field":"n","interval":"0.1"}}}}`},
		{"/x/_search", "", `{"query":{"intervals":{"a":{"any_of":{"intervals":[{"wildcard":{"pattern":"*a"}},{"regexp":{"pattern":".*a"}}]}}}},"retriever":{"rrf":{"retrievers":[{"knn":{"k":5}}],"rank_window_size":9}}}`},
		{"/_scripts/t", "", `{"script":{"lang":"mustache","source":"{\"size\":{{s}},\"query\":{\"wildcard\":{\"a\":\"*{{q}}\"}}{{#l}},\"from\":{{.}}{{/l}}{{^l}}5{{/l}}}","params":{"s":3}}}`},
		{"/x/_search", "", `{"slice":{"id":0,"max":5},"highlight":{"number_of_fragments":500,"fields":[{"a":{"number_of_fragments":"1e3"}}]},"suggest":{"p":{"text":"a","phrase":{"field":"f","token_limit":7}}},"query":{"geo_shape":{"p":{"shape":"GEOMETRYCOLLECTION (POINT (1 2))"}}},"aggs":{"s":{"sampler":{"shard_size":7},"aggs":{"d":{"serial_diff":{"lag":-5}},"v":{"variable_width_histogram":{"initial_buffer":9}},"b":{"bucket_sort":{"size":3}}}}}}`},
		{"/_plugins/_ppl", "", `{"query":"search source=a b=*c* \"d\" | where wildcard_query(e, '*f') and query_string(['g'], '*h')"}`},
		{"/x/_rank_eval", "", `{"templates":[{"id":"t","template":{"source":"{\"size\":{{s}}}"}}],"requests":[{"template_id":"t","params":{"s":5}},{"template_id":"u"}]}`},
	}
}

func TestNothingIsAllocatedWhenNothingIsExplained(t *testing.T) {
	for _, seed := range seeds() {
		if strings.Contains(seed[0], "template") || strings.Contains(seed[0], "rank_eval") || strings.Contains(seed[0], "_simulate") || strings.Contains(seed[0], "_scripts") || strings.Contains(seed[0], "_analyze") || strings.Contains(seed[2], "wrapper") {
			continue // what is decoded needs memory
		}
		q := cost.Query{Path: seed[0], RawQuery: seed[1], Body: []byte(seed[2])}
		var r elastic.Reader
		var out []cost.Measure
		run := func() {
			var err error
			if out, err = r.Read(out[:0], q, cost.Options{Hints: hints{}}); err != nil {
				t.Fatalf("%s %s: %v", seed[0], seed[2], err)
			}
		}
		run()
		if n := testing.AllocsPerRun(50, run); n > 0 {
			t.Errorf("%s?%s %s: %v allocations", seed[0], seed[1], seed[2], n)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	body := []byte(typical)
	b.Run("read", func(b *testing.B) {
		var r elastic.Reader
		var out []cost.Measure
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			out, _ = r.Read(out[:0], cost.Query{Path: "/logs-*/_search", Body: body}, cost.Options{})
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			json.Valid(body)
		}
	})
}

// typical is what a dashboard's panel sends: 1 KB.
const typical = `{
  "size": 0,
  "track_total_hits": false,
  "timeout": "30s",
  "query": {
    "bool": {
      "must": [{"query_string": {"query": "service.name:checkout AND level:(error OR fatal)", "analyze_wildcard": true, "default_field": "message"}}],
      "filter": [
        {"range": {"@timestamp": {"gte": "2024-05-14T00:00:00.000Z", "lte": "2024-05-14T06:00:00.000Z", "format": "strict_date_optional_time"}}},
        {"terms": {"region": ["eu-west-1", "eu-west-2", "eu-central-1", "us-east-1"]}},
        {"term": {"environment": {"value": "production"}}}
      ],
      "must_not": [{"term": {"synthetic": true}}]
    }
  },
  "aggs": {
    "per_service": {
      "terms": {"field": "service.name", "size": 20, "order": {"_count": "desc"}},
      "aggs": {
        "over_time": {
          "date_histogram": {"field": "@timestamp", "fixed_interval": "5m", "min_doc_count": 0, "extended_bounds": {"min": 1715644800000, "max": 1715666400000}},
          "aggs": {"p95": {"percentiles": {"field": "duration", "percents": [50, 95, 99]}}}
        }
      }
    }
  }
}`
