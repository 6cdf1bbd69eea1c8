package guard

import (
	"encoding/json"
	"testing"
	"time"
)

// dashboard is a panel as dashboards send them: a KiB of filters and two levels
// of aggregations.
const dashboard = `{"size":0,"track_total_hits":false,"query":{"bool":{"must":[],"filter":[
{"range":{"@timestamp":{"format":"strict_date_optional_time","gte":"2026-11-27T00:00:00.000Z","lte":"2026-11-28T00:00:00.000Z"}}},
{"term":{"service.name":"checkout"}},{"terms":{"http.response.status_code":[500,502,503,504]}},
{"bool":{"should":[{"match_phrase":{"cloud.region":"eu-central-1"}},{"match_phrase":{"cloud.region":"eu-west-1"}}],"minimum_should_match":1}}],
"should":[],"must_not":[{"match_phrase":{"user_agent.name":"health-check"}},{"exists":{"field":"synthetics.id"}}]}},
"aggs":{"per_service":{"terms":{"field":"service.name","size":10,"order":{"_count":"desc"}},
"aggs":{"over_time":{"date_histogram":{"field":"@timestamp","fixed_interval":"30m","time_zone":"Europe/Berlin","min_doc_count":1},
"aggs":{"latency":{"percentiles":{"field":"transaction.duration.us","percents":[50,95,99]}},
"errors":{"filter":{"range":{"http.response.status_code":{"gte":500}}}}}}}}},
"_source":false,"stored_fields":["*"],"runtime_mappings":{},"script_fields":{}}`

func dashboardQuery() *Query {
	return &Query{Kind: Elasticsearch, Method: "POST", Path: "/logs-2026.11.27/_search", RawQuery: "ignore_unavailable=true", Body: []byte(dashboard), Caller: "grafana"}
}

func benchGuard(tb testing.TB) *Guard {
	tb.Helper()
	set, _, err := ParseHints("hints", []byte(`{"logs-*": {docs: 5e9, shards: 60, fields: {service.name: low, user.id: unique}}}`))
	if err != nil {
		tb.Fatal(err)
	}
	store := &HintStore{}
	if err := store.Set(Static, set, time.Now()); err != nil {
		tb.Fatal(err)
	}
	g, err := New(Config{Hints: store})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func BenchmarkCheck(b *testing.B) {
	g, q := benchGuard(b), dashboardQuery()
	var v Verdict
	b.SetBytes(int64(len(q.Body)))
	b.ReportAllocs()
	for b.Loop() {
		g.Check(q, &v)
	}
	if v.Verdict != Accepted {
		b.Fatalf("%+v", v)
	}
}

// BenchmarkJSONValid is what Check is compared with: the least that reading the
// same body can cost.
func BenchmarkJSONValid(b *testing.B) {
	body := []byte(dashboard)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal("no JSON")
		}
	}
}

func TestAcceptedQueriesCostNoAllocation(t *testing.T) {
	g, q := benchGuard(t), dashboardQuery()
	var v Verdict
	d := newScratch()
	g.scratches.New = func() any { return d } // under the race detector a pool forgets at random
	if n := testing.AllocsPerRun(200, func() { g.Check(q, &v) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
	if v.Verdict != Accepted {
		t.Errorf("%+v", v)
	}
}
