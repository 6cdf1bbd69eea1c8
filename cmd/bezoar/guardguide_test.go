package main

import (
	"testing"
)

// Every command of the guide to the query guard is run, in order.
func TestGuardGuide(t *testing.T) {
	t.Parallel()
	r := newBuilt(t, "docs/guard.md")
	r.read(map[string][]string{
		"panel.json":         {"agg_product 2000000, limit 65536  at 1:27 $.aggs.a\n", "refused"},
		"update orders set paid": {"missing_where", "regex_exponential", "refused"},
		"guard check --batch queries.ndjson\n": {
			`{"id":1,"verdict":"accept",`, `{"id":"two","verdict":"reject",`, `"predictor":"offset"`, `{"id":3,"verdict":"reject","regex":"`, "3 queries in ",
		},
		"guard replay": {`{"id":1,"verdict":"cap",`, "result_window 20→10", "this would have rejected 2 of 3 queries"},
		"guard top":    {"200", "400", "X-Bezoar-Guard: reject", "X-Bezoar-Guard-Caps: result_window 500->10", "elasticsearch, limits version 1 of limits.yaml", "grafana-7  dashboards", "3 queries: 1 accepted, 0 reported, 1 capped, 1 rejected"},
		"guard set":    {"agg_product 5000", "limits of queries × 0.5", "dashboards", "X-Bezoar-Guard: reject", " lifted"},
		"metrics":      {`bezoar_guard_queries_total{route="/*",verdict="reject"} 2`, `bezoar_guard_caller_cost_units_total{caller="shop",route="/*"}`, `bezoar_guard_slow_queries_total{route="/*"} 0`},
	})
}
