package health_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/health"
)

func tally(good, failed, timeouts int, latency time.Duration) *health.Tally {
	var t health.Tally
	for range good {
		t.Add(latency, health.Good)
	}
	for range failed {
		t.Add(latency, health.Failed)
	}
	for range timeouts {
		t.Add(latency, health.Timeout)
	}
	return &t
}

func TestCellsHaveEdges(t *testing.T) {
	if health.Cell(0) != 0 || health.Cell(-1) != 0 || health.Cell(math.MaxInt64) != health.Cells-1 {
		t.Error("the ends are elsewhere")
	}
	for d := time.Duration(1); d > 0 && d < 1<<37; d += d/7 + 1 {
		c := health.Cell(d)
		edge := health.Edge(c)
		if d >= edge || c > 0 && d < health.Edge(c-1) {
			t.Fatalf("%v is in cell %d, which ends at %v and begins at %v", d, c, edge, health.Edge(c-1))
		}
		if d >= 1<<16 && float64(edge) > 1.25*float64(d) {
			t.Fatalf("%v is taken for %v", d, edge)
		}
	}
	for c := 1; c < health.Cells-1; c++ {
		if got := health.Cell(health.Edge(c)); got != c+1 {
			t.Fatalf("the end of cell %d is in cell %d", c, got)
		}
	}
	if health.Edge(health.Cells-1) != 1<<37 {
		t.Errorf("the last cell begins at %v", health.Edge(health.Cells-1))
	}
}

func TestQuantile(t *testing.T) {
	var h health.Tally
	if h.Quantile(0.99) != 0 {
		t.Error("of nothing")
	}
	h.Merge(tally(99, 0, 0, 10*time.Millisecond))
	h.Merge(tally(0, 500, 0, time.Microsecond)) // what fails at once is not fast
	h.Merge(tally(0, 0, 1, 20*time.Second))
	within := func(q float64, want time.Duration) {
		t.Helper()
		if got := h.Quantile(q); got < want || float64(got) > 1.25*float64(want) {
			t.Errorf("quantile %g is %v, want %v or a quarter more", q, got, want)
		}
	}
	within(0, 10*time.Millisecond)
	within(0.5, 10*time.Millisecond)
	within(0.99, 10*time.Millisecond)
	within(0.991, 20*time.Second)
	within(1, 20*time.Second)
	if h.Calls() != 600 || h.Good != 99 || h.Failed != 500 || h.Timeouts != 1 {
		t.Errorf("%+v", h)
	}
	h.Add(time.Second, health.Ignored)
	if h.Calls() != 600 {
		t.Error("what is ignored was counted")
	}
}

func TestCallsAreJudged(t *testing.T) {
	const ok, degraded, failing = health.OK, health.Degraded, health.Failing
	slow := health.Rules{Latency: health.Limits{Degraded: health.Band{Upper: 0.5, Lower: 0.3}, Failing: health.Band{Upper: 2, Lower: 1}}}
	for _, tc := range []struct {
		name  string
		rules health.Rules
		calls *health.Tally
		want  health.State
	}{
		{"none", health.Rules{}, tally(0, 0, 0, 0), ok},
		{"all good", health.Rules{}, tally(100, 0, 0, time.Millisecond), ok},
		{"too few", health.Rules{}, tally(0, 10, 9, time.Minute), ok},
		{"just enough", health.Rules{}, tally(0, 11, 9, time.Millisecond), failing},
		{"a few errors", health.Rules{}, tally(95, 5, 0, time.Millisecond), degraded},
		{"fewer errors", health.Rules{}, tally(96, 4, 0, time.Millisecond), ok},
		{"half are errors", health.Rules{}, tally(50, 50, 0, time.Millisecond), failing},
		{"a quarter are timeouts", health.Rules{}, tally(75, 0, 25, time.Millisecond), failing},
		{"timeouts and errors together", health.Rules{}, tally(97, 2, 3, time.Millisecond), ok},
		{"slow, and nobody asked", health.Rules{}, tally(100, 0, 0, time.Minute), ok},
		{"slow", slow, tally(98, 0, 2, 600*time.Millisecond), degraded},
		{"very slow", slow, tally(100, 0, 0, 3*time.Second), failing},
		{"fast", slow, tally(100, 0, 0, 300*time.Millisecond), ok},
	} {
		c := health.Calls{Rules: tc.rules}
		if err := tc.rules.Validate(); err != nil {
			t.Fatal(err)
		}
		c.Add(start, tc.calls)
		r := c.Step(start)
		if r.State != tc.want || r.Calls != tc.calls.Calls() || r.Few != (r.Calls < 20) {
			t.Errorf("%s: %+v, want %v", tc.name, r, tc.want)
		}
	}
}

// A window forgets, and calls that no longer come speak for health: only so
// does a service that took itself out of traffic come back.
func TestSilenceHeals(t *testing.T) {
	var c health.Calls
	c.Add(start, tally(0, 100, 0, time.Millisecond))
	step := func(after time.Duration, want health.State) health.Reading {
		t.Helper()
		r := c.Step(start.Add(after))
		if r.State != want {
			t.Fatalf("after %v: %+v, want %v", after, r, want)
		}
		return r
	}
	step(0, health.Failing)
	if r := step(26*time.Second, health.Failing); r.Errors != 1 || r.Calls != 100 {
		t.Errorf("%+v", r)
	}
	if r := step(30*time.Second, health.Failing); r.Calls != 0 || r.Errors != 0 || !r.Few {
		t.Errorf("%+v", r)
	}
	step(39*time.Second, health.Failing)
	step(40*time.Second, health.OK)
}

func TestAClockThatStepsBack(t *testing.T) {
	var c health.Calls
	c.Add(start.Add(time.Hour), tally(0, 100, 0, 0))
	if r := c.Step(start); r.Calls != 0 || r.State != health.OK {
		t.Errorf("calls of the future: %+v", r)
	}
	c.Add(start, tally(30, 0, 0, 0))
	if r := c.Step(start); r.Calls != 30 {
		t.Errorf("%+v", r)
	}
	old := time.Date(1905, 1, 1, 0, 0, 0, 0, time.UTC)
	c.Add(old, tally(30, 0, 0, 0))
	if r := c.Step(old); r.Calls != 30 {
		t.Errorf("before 1970: %+v", r)
	}
}

func TestRulesValidate(t *testing.T) {
	for _, tc := range []struct {
		rules health.Rules
		want  string
	}{
		{health.Rules{Window: time.Millisecond}, "window is 1ms"},
		{health.Rules{MinVolume: -1}, "min volume is -1"},
		{health.Rules{Quantile: 1.01}, "quantile is 1.01"},
		{health.Rules{Quantile: math.NaN()}, "quantile is NaN"},
		{health.Rules{Errors: health.Limits{Failing: health.Band{Upper: 5}}}, "errors: upper is above 1"},
		{health.Rules{Timeouts: health.Limits{Times: -1}}, "timeouts: times is -1"},
		{health.Rules{Latency: health.Limits{Failing: health.Band{Upper: 1, Lower: 2}}}, "latency: failing lower is 2"},
	} {
		if err := tc.rules.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.rules, err, tc.want)
		}
	}
	if err := (health.Rules{}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestResultsHaveNames(t *testing.T) {
	var names []string
	for r := health.Good; r <= health.Ignored; r++ {
		names = append(names, r.String())
	}
	if got := strings.Join(names, " "); got != "good failed timeout ignored" {
		t.Error(got)
	}
}

func BenchmarkStep(b *testing.B) {
	var c health.Calls
	c.Add(start, tally(100, 5, 5, time.Millisecond))
	b.ReportAllocs()
	for b.Loop() {
		c.Step(start)
	}
}
