package guard_test

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/cost"
)

// While limits, dials, overrides and hints change, each verdict follows from one
// version of the limits, and nothing is lost from the counts.
func TestEverythingChangesAtOnce(t *testing.T) {
	limitsOf := func(window int) guard.Limits {
		l, err := guard.ParseLimits("storm.yaml", fmt.Appendf(nil, `
classes: {a: {match: {opaque_id: ["a*"]}}}
rules: [{predictor: result_window, limit: %d, action: reject}]
`, window))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	store := new(guard.HintStore)
	g, err := guard.New(guard.Config{Limits: limitsOf(1000), Hints: store, MaxCallers: 16, MaxShapes: 16})
	if err != nil {
		t.Fatal(err)
	}
	// Even versions allow 100 hits, odd ones 1000.
	var changing, checking sync.WaitGroup
	ticks := make(chan struct{}, 16) // not more changes than queries
	change := func(do func(i int) error) {
		changing.Go(func() {
			i := 0
			for range ticks {
				i++
				if err := do(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	change(func(i int) error {
		_, err := g.Update(limitsOf([]int{1000, 100}[i%2]))
		return err
	})
	change(func(i int) error {
		if i%2 == 0 {
			g.SetLoad(float64(i%3) / 2)
		}
		return g.SetOverrides([]guard.Override{{ID: "a", Dial: 1}})
	})
	change(func(i int) error {
		return store.Set(guard.Static, guard.HintSet{"big*": {IndexHint: cost.IndexHint{Docs: float64(i)}, Fields: map[string]cost.FieldHint{"u": {Cardinality: 5}}}}, time.Time{})
	})
	change(func(int) error {
		g.Callers(5)
		g.Shapes(5)
		g.Labelled()
		g.Total()
		return nil
	})
	bodies := []string{`{"size":500,"query":{"term":{"a":1}},"aggs":{"x":{"terms":{"field":"u","size":10}}}}`, `{"size":500}` + strings.Repeat(" ", 300<<10)}
	const askers, each = 100, 20
	for i := range askers {
		checking.Go(func() {
			var v guard.Verdict
			for n := range each {
				q := guard.Query{
					Kind: guard.Elasticsearch, Method: "POST", Path: "/big1,big2*/_search", Body: []byte(bodies[min(1, (i+n)%20/19)]),
					Caller: fmt.Sprintf("c%d", i), Class: g.Classify(guard.Caller{OpaqueID: fmt.Sprintf("a%d", i)}),
				}
				select {
				case ticks <- struct{}{}:
				default:
				}
				g.Check(&q, &v)
				limit := []float64{100, 1000}[v.Version%2]
				if refused := v.Verdict == guard.Rejected; refused != (limit < 500) {
					t.Errorf("version %d: %s", v.Version, v.Verdict)
				}
				for _, f := range v.Findings {
					if f.Predictor == "result_window" && math.Abs(float64(f.Limit)-limit) > 0.5 {
						t.Errorf("version %d: the limit is %v, want %v", v.Version, f.Limit, limit)
					}
				}
				g.Observe(guard.Observation{Shape: v.Shape, Caller: q.Caller, Took: time.Millisecond})
			}
		})
	}
	checking.Wait()
	close(ticks)
	changing.Wait()
	total := g.Total()
	if total.Checked != askers*each || total.Accepted+total.Rejected+total.Reported+total.Capped != total.Checked {
		t.Errorf("%+v", total)
	}
	sum := int64(0)
	for _, s := range g.Callers(1000) {
		sum += s.Checked
	}
	if sum != total.Checked {
		t.Errorf("callers have %d of %d queries", sum, total.Checked)
	}
}
