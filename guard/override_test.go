package guard

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func override(tb testing.TB, g *Guard, all ...Override) {
	tb.Helper()
	if err := g.SetOverrides(all); err != nil {
		tb.Fatal(err)
	}
}

func TestOverridesChangeWhatTheyNameAndNothingElse(t *testing.T) {
	l := limits(t, layered)
	dial := Override{ID: "ov-d", Dial: 0.5}
	batch := Override{ID: "ov-b", Class: "batch", Dial: 0.5}
	caller := Override{ID: "ov-c", Caller: "dash-*", Dial: 0.1}
	one := Override{ID: "ov-o", Caller: "dash-1", ReportOnly: true}
	watch := Override{ID: "ov-w", Class: "trial", ReportOnly: true}
	limit := Override{ID: "ov-l", Predictor: cost.AggProduct, Limit: 10, Action: Reject, Index: "orders*"}
	batchLimit := Override{ID: "ov-bl", Class: "batch", Predictor: cost.AggProduct, Limit: 20, Action: Report}
	off := Override{ID: "ov-x", Predictor: cost.AggProduct, Limit: math.Inf(1), Action: Off}
	for _, c := range []struct {
		name          string
		set           []Override
		class, caller string
		index         string
		value         float64
		want          Outcome
		note          string
	}{
		{"none", nil, "", "", "orders", 65_536, Accepted, ""},
		{"dial", []Override{dial}, "", "", "orders", 40_000, Rejected, "ov-d"},
		{"dial below", []Override{dial}, "", "", "orders", 30_000, Accepted, "ov-d"},
		{"class", []Override{batch}, "batch", "", "orders", 600_000, Rejected, "ov-b"},
		{"class, others", []Override{batch}, "", "", "orders", 60_000, Accepted, ""},
		{"a class that inherits", []Override{batch}, "reports", "", "orders", 600_000, Rejected, "ov-b"},
		{"class and dial", []Override{dial, batch}, "batch", "", "orders", 250_001, Rejected, "ov-d, ov-b"},
		{"caller", []Override{caller}, "", "dash-7", "orders", 7000, Rejected, "ov-c"},
		{"caller, others", []Override{caller}, "", "app", "orders", 7000, Accepted, ""},
		{"caller, nobody", []Override{caller}, "", "", "orders", 7000, Accepted, ""},
		{"two of a caller", []Override{caller, one}, "", "dash-1", "orders", 7000, Reported, "ov-o, ov-c"},
		{"report", []Override{watch}, "trial", "", "orders", 1e9, Reported, "ov-w"},
		{"report, others", []Override{watch}, "", "", "orders", 1e9, Rejected, ""},
		{"limit", []Override{limit}, "", "", "orders-1", 11, Rejected, "ov-l"},
		{"limit, other index", []Override{limit}, "", "", "archive", 11, Accepted, "ov-l"},
		{"limit, a pattern over it", []Override{limit}, "", "", "*", 11, Rejected, "ov-l"},
		{"limit before a class's rule", []Override{limit}, "batch", "", "orders", 11, Rejected, "ov-l"},
		{"limit of a class", []Override{batchLimit}, "batch", "", "orders", 21, Reported, "ov-bl"},
		{"limit of a class, others", []Override{batchLimit}, "", "", "orders", 21, Accepted, ""},
		{"a class before an index", []Override{limit, batchLimit}, "batch", "", "orders", 15, Accepted, "ov-l, ov-bl"},
		{"off", []Override{off}, "", "", "logs-secret-a", 1e9, Accepted, "ov-x"},
		{"a class that is gone", []Override{{ID: "ov-g", Class: "gone", Dial: 0.001}}, "", "", "orders", 60_000, Accepted, ""},
	} {
		g := withMeasures(t, l, product(c.value, c.index))
		override(t, g, c.set...)
		v := check(g, Query{Kind: Elasticsearch, Class: c.class, Caller: c.caller})
		if v.Verdict != c.want || v.Override != c.note {
			t.Errorf("%s: %s under %q, want %s under %q: %v", c.name, v.Verdict, v.Override, c.want, c.note, v.Findings)
		}
		if len(v.Findings) > 0 && strings.HasPrefix(c.name, "limit") && !strings.HasPrefix(v.Findings[0].Rule, "override ov-") {
			t.Errorf("%s: the rule is %q", c.name, v.Findings[0].Rule)
		}
		override(t, g)
		if v := check(g, Query{Kind: Elasticsearch, Class: c.class, Caller: c.caller}); v.Override != "" {
			t.Errorf("%s: afterwards under %q", c.name, v.Override)
		}
	}
}

func TestOverridesOutliveNewLimits(t *testing.T) {
	g := withMeasures(t, limits(t, layered), product(40_000, "orders"))
	override(t, g, Override{ID: "a", Dial: 0.5}, Override{ID: "b", Class: "batch", Dial: 2})
	if _, version := g.Limits(); version != 1 {
		t.Errorf("version %d: it is of the limits", version)
	}
	if _, err := g.Update(limits(t, layered)); err != nil {
		t.Fatal(err)
	}
	if dial, _ := g.Dial(); dial != 0.5 || len(g.Overrides()) != 2 {
		t.Errorf("dial %v, overrides %v", dial, g.Overrides())
	}
	if v := check(g, Query{Kind: Elasticsearch}); v.Verdict != Rejected || v.Version != 2 || v.Override != "a" || v.Findings[0].Limit != 65_536/2 {
		t.Errorf("%+v", v)
	}
}

func TestInvalidOverridesChangeNothing(t *testing.T) {
	g := withMeasures(t, Limits{}, product(40_000, "orders"))
	good := Override{ID: "a", Dial: 0.5}
	override(t, g, good)
	for _, bad := range []Override{
		{Dial: 0.5},
		{ID: "a"},
		{ID: "a", Dial: -1},
		{ID: "a", Dial: math.NaN()},
		{ID: "a", Dial: MaxDial + 1},
		{ID: "a", Dial: 0.5, ReportOnly: true},
		{ID: "a", Predictor: cost.AggProduct, Limit: -1, Action: Reject},
		{ID: "a", Predictor: cost.AggProduct, Limit: 1, Action: "perhaps"},
		{ID: "a", Predictor: cost.AggProduct, Limit: 1, Action: Reject, Caller: "x"},
		{ID: "a", ReportOnly: true, Index: "logs-*"},
	} {
		if err := g.SetOverrides([]Override{good, bad}); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	many := make([]Override, MaxOverrides+1)
	for i := range many {
		many[i] = Override{ID: fmt.Sprint(i), Caller: fmt.Sprint(i), Dial: 1}
	}
	if err := g.SetOverrides(many); err == nil {
		t.Error("too many were accepted")
	}
	if dial, _ := g.Dial(); dial != 0.5 {
		t.Errorf("the dial is %v", dial)
	}
	if g.ReportOnly("", "x") {
		t.Error("it only reports")
	}
	override(t, g, Override{ID: "r", Caller: "x*", ReportOnly: true})
	if !g.ReportOnly("", "xy") || g.ReportOnly("", "y") {
		t.Error("the caller's queries are not only reported, or all are")
	}
}

func TestAVerdictNamesAFewOverrides(t *testing.T) {
	g := withMeasures(t, Limits{}, product(1, "orders"))
	var all []Override
	for i := range 100 {
		all = append(all, Override{ID: fmt.Sprintf("ov-%016d", i), Class: "", Dial: 1})
	}
	override(t, g, all...)
	if v := check(g, Query{Kind: Elasticsearch}); len(v.Override) > maxOverrideNote+40 || !strings.HasSuffix(v.Override, "…") {
		t.Errorf("%d bytes: %s", len(v.Override), v.Override)
	}
}

func TestAcceptingUnderOverridesAllocatesNothing(t *testing.T) {
	g := withMeasures(t, Limits{}, product(1, "orders"))
	override(t, g, Override{ID: "a", Dial: 0.5}, Override{ID: "b", Caller: "dash-*", Dial: 0.5}, Override{ID: "c", Caller: "app", Dial: 2})
	q, v := Query{Kind: Elasticsearch, Caller: "somebody"}, Verdict{}
	d := g.scratches.Get()
	g.scratches.New = func() any { return d } // under the race detector a pool forgets at random
	if n := testing.AllocsPerRun(100, func() { g.Check(&q, &v) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		text   string
		limit  float64
		action Action
	}{
		{"5000", 5000, Reject},
		{"64k report", 64_000, Report},
		{"5m cap", 300, Cap},
		{"unbounded", math.Inf(1), Reject},
		{"off", math.Inf(1), Off},
		{"0", 0, Reject},
	} {
		limit, action, err := ParseLimit(c.text)
		if limit != c.limit || action != c.action || err != nil {
			t.Errorf("%q is %v %s, %v", c.text, limit, action, err)
		}
	}
	for _, bad := range []string{"", "x", "-1", "5 off", "5 maybe", "5  report", "off report", "1e999"} {
		if limit, action, err := ParseLimit(bad); err == nil {
			t.Errorf("%q is %v %s", bad, limit, action)
		}
	}
}
