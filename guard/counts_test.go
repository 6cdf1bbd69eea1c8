package guard

import (
	"bytes"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/guard/cost"
)

func TestCallersAreCountedWithinBounds(t *testing.T) {
	g, err := New(Config{MaxCallers: 3, MaxShapes: 4})
	if err != nil {
		t.Fatal(err)
	}
	send := func(caller, body string) {
		check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Caller: caller, Body: []byte(body)})
	}
	const dear = `{"from": 20000}`
	for range 2 {
		send("heavy", dear)
	}
	for i := range 50 { // each is forgotten for the next; the one that costs much is not
		send("c"+strconv.Itoa(i), `{}`)
	}
	send("heavy", `{}`)
	callers := g.Callers(10)
	if len(callers) != 4 || callers[1].Caller != Others && callers[0].Caller != Others {
		t.Fatalf("%+v", callers)
	}
	total := Tally{}
	for _, c := range callers {
		total.sum(&c.Tally)
		switch c.Caller {
		case "heavy":
			if c.Rejected != 2 || c.Accepted != 1 || c.Rules["result_window"] != 2 || len(c.Worst) != 16 || len(c.Shapes) != 2 || c.Shapes[0].Rejected != 2 {
				t.Errorf("%+v", c)
			}
		case Others:
			if c.Checked != 48 || len(c.Shapes) != 0 {
				t.Errorf("%+v", c)
			}
		}
	}
	if have := g.Total(); total.Checked != have.Checked || math.Abs(total.Cost-have.Cost) > 1e-6 {
		t.Errorf("the callers have %+v, all together %+v", total, have)
	}
	long := strings.Repeat("x", maxCallerName-1) + "é"
	for range 3 {
		check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Caller: long, Body: []byte(`{"from": 80000}`)})
	}
	if name := g.Callers(10)[0].Caller; name != long[:maxCallerName-1] {
		t.Errorf("a name of %d bytes was kept: %q", len(name), name)
	}
}

func TestShapesJoinPredictedAndActual(t *testing.T) {
	g, err := New(Config{MaxShapes: 4})
	if err != nil {
		t.Fatal(err)
	}
	send := func(body string) uint64 {
		return check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Body: []byte(body)}).Shape
	}
	a, b := send(`{"query":{"term":{"user":"ann"}}}`), send(`{"query": {"term": {"user": "bob"}}}`)
	if a != b {
		t.Error("two values of one query have two shapes")
	}
	killer := send(`{"query":{"bool":{"filter":[{"term":{"a":1}},{"term":{"b":1}},{"term":{"c":1}}]}},"size":500}`)
	if killer == a {
		t.Error("two constructions have one shape")
	}
	g.Observe(Observation{Shape: a, Took: time.Second, Bytes: 10})
	g.Observe(Observation{Shape: a, Took: 3 * time.Second, Bytes: 10})
	g.Observe(Observation{Shape: killer, Took: time.Millisecond, Died: true})
	g.Observe(Observation{Shape: 12345, Took: time.Hour}) // of a shape that is not kept
	shapes := g.Shapes(10)
	if len(shapes) != 2 || shapes[0].Deaths != 1 || shapes[0].Shape != shapeText(killer) {
		t.Fatalf("%+v", shapes)
	}
	if s := shapes[1]; s.Checked != 2 || s.Observed != 2 || s.Took != 4*time.Second || s.MaxTook != 3*time.Second || s.Bytes != 20 {
		t.Errorf("%+v", s)
	}
	for size := 10; size < 9000; size *= 2 {
		send(`{"size":` + strconv.Itoa(size) + `}`)
	}
	shapes = g.Shapes(10)
	if len(shapes) != 4 || shapes[0].Shape != shapeText(killer) {
		t.Errorf("newcomers took the place of one that killed, or of more than there are: %+v", shapes)
	}
}

func TestALogIsNotFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		g, err := New(Config{Log: slog.New(slog.NewTextHandler(&out, nil)), LogRate: 1, LogBurst: 3})
		if err != nil {
			t.Fatal(err)
		}
		lines := func() int { return strings.Count(out.String(), "\n") }
		bad := Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Caller: "grafana", Body: []byte(`{"from": 20000, "query": {"term": {"secret": "hunter2"}}}`)}
		for range 50 {
			check(g, bad)
		}
		if lines() != 3 {
			t.Fatalf("%d lines", lines())
		}
		time.Sleep(2 * time.Second) // virtual
		slow := Observation{
			Route: "/es/*", Caller: "grafana", Class: "dashboards", Shape: 0xabc, Predictor: "agg_product", Cost: 40.5, Request: "r-7",
			Took: time.Minute, Bytes: 12, Text: bad.Body,
		}
		for range 50 {
			g.Observe(slow)
		}
		g.Observe(Observation{Took: time.Millisecond})
		if lines() != 5 || !strings.Contains(out.String(), "lines_dropped=47") {
			t.Errorf("%d lines:\n%s", lines(), out.String())
		}
		for _, want := range []string{
			"predictor=result_window", "caller=grafana", "value=20010", "limit=10000",
			`msg="slow query" route=/es/* caller=grafana class=dashboards shape=0000000000000abc predictor=agg_product cost=40.5 took=1m0s bytes=12 died=false request=r-7 lines_dropped=47`,
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s in:\n%s", want, out.String())
			}
		}
		if n, lost := g.Slow(); n != 50 || lost != 95 {
			t.Errorf("%d were slow, %d lines were suppressed", n, lost)
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Error("the log repeats a value of the query")
		}
		if err := g.SetSlow(time.Hour, 30); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		g.Observe(slow)
		if n, _ := g.Slow(); n != 50 {
			t.Errorf("a minute is slow where an hour is: %d", n)
		}
		slow.Died = true
		g.Observe(slow)
		if text := `text="{\"from\": 20000, \"query\": {\"ter"`; !strings.Contains(out.String(), text) || strings.Contains(out.String(), "hunter2") {
			t.Errorf("the text that was asked for is not %s in:\n%s", text, out.String())
		}
		if g.SetSlow(-1, 0) == nil || g.SetSlow(0, -1) == nil {
			t.Error("less than nothing is slow")
		}
	})
}

func TestCostUnitsAreBounded(t *testing.T) {
	if c, p := weigh(nil); c != 1 || p != cost.None {
		t.Errorf("nothing costs %v", c)
	}
	if c, p := weigh([]cost.Measure{product(5000, ""), {Predictor: cost.LeadingWildcard, Value: 1}, {Predictor: cost.Timeout, Value: inf()}}); c != 26 || p != cost.LeadingWildcard {
		t.Errorf("costs %v, want 26", c)
	}
	var many []cost.Measure
	for range 1000 {
		many = append(many, product(inf(), ""))
	}
	if c, _ := weigh(many[:1]); c != 1001 {
		t.Errorf("one without bound costs %v", c)
	}
	if c, _ := weigh(many); c != maxCost {
		t.Errorf("a thousand without bound cost %v", c)
	}
}
