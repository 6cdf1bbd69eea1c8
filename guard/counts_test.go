package guard

import (
	"bytes"
	"log/slog"
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
	for i := range 20 {
		check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Caller: "c" + strconv.Itoa(i), Body: []byte(`{"from": 20000}`)})
	}
	check(g, Query{Kind: Elasticsearch, Method: "POST", Path: "/a/_search", Caller: "c1", Body: []byte(`{}`)})
	callers := g.Callers(10)
	if len(callers) != 4 || callers[0].Caller != Others || callers[0].Checked != 17 {
		t.Fatalf("%+v", callers)
	}
	for _, c := range callers[1:] {
		if c.Rejected != 1 || c.Rules["result_window"] != 1 || len(c.Worst) != 16 {
			t.Errorf("%+v", c)
		}
		if want := int64(1); c.Caller == "c1" && (c.Accepted != want || c.Checked != 2) {
			t.Errorf("%+v", c)
		}
	}
	long := strings.Repeat("x", 1000)
	check(g, Query{Kind: SQL, Caller: long})
	if n := len(g.Callers(10)[0].Caller); n > maxCallerName {
		t.Errorf("a name of %d bytes was kept", n)
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
		for range 50 {
			g.Observe(Observation{Caller: "grafana", Took: time.Minute})
		}
		g.Observe(Observation{Took: time.Millisecond})
		if lines() != 5 || !strings.Contains(out.String(), "lines_dropped=47") {
			t.Errorf("%d lines:\n%s", lines(), out.String())
		}
		for _, want := range []string{"predictor=result_window", "caller=grafana", "value=20010", "limit=10000", "slow query", "took=1m0s"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %s in:\n%s", want, out.String())
			}
		}
		if strings.Contains(out.String(), "hunter2") {
			t.Error("the log repeats a value of the query")
		}
	})
}

func TestCostUnitsAreBounded(t *testing.T) {
	if c := weigh(nil); c != 1 {
		t.Errorf("nothing costs %v", c)
	}
	if c := weigh([]cost.Measure{product(5000, ""), {Predictor: cost.LeadingWildcard, Value: 1}, {Predictor: cost.Timeout, Value: inf()}}); c != 26 {
		t.Errorf("costs %v, want 26", c)
	}
	var many []cost.Measure
	for range 1000 {
		many = append(many, product(inf(), ""))
	}
	if c := weigh(many[:1]); c != 1001 {
		t.Errorf("one without bound costs %v", c)
	}
	if c := weigh(many); c != maxCost {
		t.Errorf("a thousand without bound cost %v", c)
	}
}
