package guard

import (
	"slices"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

const layered = `
classes:
  reports:  {match: {opaque_id: ["nightly-*"]}, inherits: batch}
  batch:    {match: {header: ["X-Team: data*"]}, rules: [{predictor: agg_product, limit: 1e6}]}
  trial:    {match: {user: ["*"]}, dial: 0.1}
  watched:  {match: {api_key: [k1]}, report_only: true}
rules:
  - {predictor: agg_product, limit: 2000, index: logs-*}
  - {predictor: agg_product, limit: 100, index: logs-secret-*}
  - {predictor: agg_product, limit: 500, index: logs-*, action: report}
  - {predictor: agg_product, limit: 5e6, class: batch, index: archive-*}
  - {predictor: script, action: off}
`

func TestTheMostSpecificRuleDecides(t *testing.T) {
	l := limits(t, layered)
	for _, c := range []struct {
		class, index string
		value        float64
		want         Outcome
	}{
		{"", "orders", 65_536, Accepted},
		{"", "orders", 65_537, Rejected},
		{"", "logs-a", 500, Accepted},
		{"", "logs-a", 501, Reported}, // as specific as the other: both apply
		{"", "logs-a", 2001, Rejected},
		{"", "logs-secret-a", 101, Rejected},
		{"", "logs-s*", 101, Rejected}, // a pattern that might be about them
		{"", "*", 101, Rejected},
		{"", "_all", 101, Rejected},
		{"", "", 101, Rejected},
		{"", "orders,logs-secret-a", 101, Rejected},
		{"", "orders,-logs-secret-a", 101, Accepted},
		{"", "cluster:logs-secret-a", 101, Rejected},
		{"", "<logs-{now/d}>", 101, Rejected},
		{"batch", "orders", 1e6, Accepted},
		{"batch", "logs-a", 1e6, Accepted}, // the class goes before the pattern
		{"batch", "orders", 1e6 + 1, Rejected},
		{"batch", "archive-1", 5e6, Accepted},
		{"batch", "archive-1,orders", 5e6, Rejected},
		{"reports", "archive-1", 5e6, Accepted},
		{"reports", "orders", 1e6 + 1, Rejected},
		{"trial", "orders", 6554, Rejected},
		{"watched", "orders", 65_537, Reported},
		{"nobody", "orders", 65_537, Rejected}, // a class that is not known has the default limits
	} {
		g := withMeasures(t, l, product(c.value, c.index))
		if v := check(g, Query{Kind: Elasticsearch, Class: c.class}); v.Verdict != c.want {
			t.Errorf("class %q, index %q, %v: %s, want %s: %v", c.class, c.index, c.value, v.Verdict, c.want, v.Findings)
		}
	}
}

func TestCallersAreClassified(t *testing.T) {
	g := withMeasures(t, limits(t, layered))
	team := func(name string) string { return map[string]string{"X-Team": "data-eng"}[name] }
	for _, c := range []struct {
		caller Caller
		want   string
	}{
		{Caller{}, ""},
		{Caller{OpaqueID: "nightly-7"}, "reports"},
		{Caller{OpaqueID: "nightly-7", User: "ann"}, "reports"}, // both match: more plain text
		{Caller{User: "ann"}, "trial"},
		{Caller{User: "ann", Header: team}, "batch"},
		{Caller{APIKey: "k1"}, "watched"},
		{Caller{APIKey: "k11"}, ""},
	} {
		if got := g.Classify(c.caller); got != c.want {
			t.Errorf("%+v is %q, want %q", c.caller, got, c.want)
		}
	}
}

// Which class a caller belongs to does not depend on the order in which classes
// are written, nor on what else their patterns would take.
func TestTheMostSpecificClassWins(t *testing.T) {
	classes := []Class{
		{Name: "a-all", Match: Match{User: []string{"*"}}},
		{Name: "batch", Match: Match{User: []string{"etl-*", "x"}}}, // short, but not what matches
		{Name: "nightly", Match: Match{User: []string{"etl-n*", "*"}}},
		{Name: "one", Match: Match{User: []string{"etl-night-1"}}},
		{Name: "panels", Match: Match{OpaqueID: []string{"kibana*", "k"}}},
		{Name: "team", Match: Match{Header: []string{"X-A-Very-Long-Name-Of-A-Header: d*"}}},
		{Name: "team-batch", Match: Match{Header: []string{"X-A-Very-Long-Name-Of-A-Header: d*"}, User: []string{"*"}}},
		{Name: "z-panels", Match: Match{OpaqueID: []string{"kiban?*"}}},
		{Name: "nobody"},
	}
	header := func(value string) func(string) string {
		return func(name string) string {
			if name == "X-A-Very-Long-Name-Of-A-Header" {
				return value
			}
			return ""
		}
	}
	for _, c := range []struct {
		caller Caller
		want   string
	}{
		{Caller{}, ""},
		{Caller{User: "bob"}, "a-all"}, // nightly's * is as long; the first by name
		{Caller{User: "etl-7"}, "batch"},
		{Caller{User: "etl-night-2"}, "nightly"},
		{Caller{User: "etl-night-1"}, "one"},
		{Caller{User: "x"}, "batch"},
		{Caller{OpaqueID: "kibana7"}, "panels"}, // six letters, the other five
		{Caller{OpaqueID: "kibanX"}, "z-panels"},
		{Caller{OpaqueID: "kibana7", Header: header("data")}, "panels"},
		{Caller{Header: header("data")}, "team"},
		{Caller{Header: header("ops")}, ""},
		{Caller{User: "etl-night-1", Header: header("data")}, "team-batch"}, // two conditions
	} {
		for turn := range classes {
			g, err := New(Config{Limits: Limits{Classes: append(slices.Clone(classes[turn:]), classes[:turn]...)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := g.Classify(c.caller); got != c.want {
				t.Errorf("%d: %+v is %q, want %q", turn, c.caller, got, c.want)
			}
		}
	}
}

func TestDialAndLoadMultiplyLimits(t *testing.T) {
	g := withMeasures(t, Limits{LoadFloor: 0.5, Dial: 2}, product(100_000, "i"))
	is := func(want Outcome) {
		t.Helper()
		if v := check(g, Query{Kind: OpenSearch}); v.Verdict != want {
			t.Errorf("%s, want %s: %v", v.Verdict, want, v.Findings)
		}
	}
	is(Accepted) // 131 072
	g.SetLoad(1)
	is(Rejected) // 65 536
	g.SetLoad(0.25)
	is(Accepted)
	override(t, g, Override{ID: "a", Dial: 0.5})
	is(Rejected)
}

func TestADialLeavesFlagsAndDegreesAlone(t *testing.T) {
	g := withMeasures(t, Limits{Dial: 0.01}, cost.Measure{Predictor: cost.CrossJoin, Value: 1}, cost.Measure{Predictor: cost.MultiStatement, Value: 1})
	if v := check(g, Query{Kind: SQL}); v.Verdict != Accepted {
		t.Errorf("%+v", v.Findings)
	}
	g = withMeasures(t, Limits{Dial: 100}, cost.Measure{Predictor: cost.MissingWhere, Value: 2})
	if v := check(g, Query{Kind: SQL}); v.Verdict != Rejected {
		t.Errorf("%+v", v)
	}
}

func TestUpdateTakesEffectAsAWholeAndHasAVersion(t *testing.T) {
	g := withMeasures(t, Limits{}, product(10, "i"))
	q := Query{Kind: Elasticsearch}
	if v := check(g, q); v.Verdict != Accepted || v.Version != 1 {
		t.Fatalf("%+v", v)
	}
	version, err := g.Update(limits(t, "rules: [{predictor: agg_product, limit: 9}]"))
	if err != nil || version != 2 {
		t.Fatal(version, err)
	}
	v := check(g, q)
	if v.Verdict != Rejected || v.Version != 2 || v.Findings[0].Rule != "guard.yaml: rules[0]" {
		t.Fatalf("%+v", v)
	}
	if version, err = g.Update(Limits{Dial: -1}); err == nil || version != 2 {
		t.Fatal(version, err)
	}
	if v := check(g, q); v.Verdict != Rejected || v.Version != 2 {
		t.Fatalf("after an invalid update: %+v", v)
	}
}

func TestGlobsAndWhatTwoShare(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		match         bool
	}{
		{"", "", true},
		{"*", "", true},
		{"a*c", "abbc", true},
		{"a*c", "abbd", false},
		{"a?c", "abc", true},
		{"*a*b", "xaxbxb", true},
		{"a*", "b", false},
		{"?", "", false},
		{"logs-*-x", "logs-x", false},
	} {
		if got := glob(c.pattern, c.text); got != c.match {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"logs-*", "logs-a", true}, {"logs-*", "metrics-*", false}, {"logs-*", "*-eu", true}, {"a*-eu", "*-us", false}, {"x", "y", false}, {"x", "x", true},
	} {
		if overlap(c.a, c.b) != c.want || overlap(c.b, c.a) != c.want {
			t.Errorf("overlap(%q, %q) is not %v", c.a, c.b, c.want)
		}
	}
}
