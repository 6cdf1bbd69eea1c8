package guard_test

import (
	"fmt"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// A query is judged before the backend sees it.
func Example() {
	g, err := guard.New(guard.Config{})
	if err != nil {
		panic(err)
	}
	var v guard.Verdict
	g.Check(&guard.Query{
		Kind: guard.Elasticsearch, Method: "POST", Path: "/orders/_search", Caller: "shop",
		Body: []byte(`{"from": 90000, "size": 50}`),
	}, &v)
	fmt.Println(v.Verdict)
	fmt.Println(v.Findings[0])
	// Output:
	// reject
	// 1:25 $.size: result_window is 90050, limit 10000 (reject): keep from + size at or below 10000; page deeper with search_after and a point in time
}

// Limits come from YAML, and change while queries are judged.
func ExampleGuard_Update() {
	g, err := guard.New(guard.Config{})
	if err != nil {
		panic(err)
	}
	limits, err := guard.ParseLimits("guard.yaml", []byte(`
classes:
  dashboards: {match: {opaque_id: ["grafana-*"]}}
rules:
  - {predictor: result_window, limit: 100, action: cap, class: dashboards}
`))
	if err != nil {
		panic(err)
	}
	version, err := g.Update(limits)
	if err != nil {
		panic(err)
	}
	class := g.Classify(guard.Caller{OpaqueID: "grafana-7"})
	var v guard.Verdict
	g.Check(&guard.Query{
		Kind: guard.Elasticsearch, Method: "POST", Path: "/orders/_search", Class: class,
		Body: []byte(`{"size": 500}`),
	}, &v)
	fmt.Println(version, class, v.Verdict, string(v.Body), v.Caps)
	// Output: 2 dashboards cap {"size": 100} [result_window 500→100]
}

// Hints say what is known of the data.
func ExampleHintStore() {
	set, _, err := guard.ParseHints("hints.yaml", []byte(`
events: {docs: 80M, fields: {user_id: unique, country: low}}
`))
	if err != nil {
		panic(err)
	}
	hints := &guard.HintStore{}
	if err := hints.Set(guard.Static, set, time.Now()); err != nil {
		panic(err)
	}
	g, err := guard.New(guard.Config{Hints: hints})
	if err != nil {
		panic(err)
	}
	var v guard.Verdict
	for _, field := range []string{"country", "user_id"} {
		g.Check(&guard.Query{
			Kind: guard.Elasticsearch, Method: "POST", Path: "/events/_search",
			Body: []byte(`{"size": 0, "aggs": {"by": {"terms": {"field": "` + field + `"}}}}`),
		}, &v)
		fmt.Println(field, v.Verdict)
	}
	// Output:
	// country report
	// user_id reject
}
