package health

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	policy "github.com/bezoar-dev/bezoar/policy/health"
)

func TestADependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		d := h.Dependency("db", DependencyConfig{})
		run(t, h)
		second := func(good, failed, timeouts int) {
			for range good {
				d.Observe(10*time.Millisecond, Good)
			}
			for range failed {
				d.Observe(time.Millisecond, Failed)
			}
			for range timeouts {
				d.Observe(5*time.Second, Timeout)
			}
			for range 100 {
				d.Observe(time.Hour, Ignored)
			}
			after(time.Second)
		}
		for range 10 {
			second(10, 0, 0)
		}
		c := check(t, h, "db")
		if c.State != OK || c.Kind != Called || c.Detail != "" || len(c.Measures) != 4 {
			t.Fatalf("%+v", c)
		}
		for name, want := range map[string]float64{"calls": 100, "errors": 0, "timeouts": 0, "latency": 0.01} {
			for _, m := range c.Measures {
				if m.Name == name && (m.Value < want || m.Value > 1.25*want) {
					t.Errorf("%+v, want %g", m, want)
				}
			}
		}
		second(10, 5, 2) // 7 of 117
		wantState(t, h, "db", Degraded)
		for range 10 {
			second(0, 10, 0)
		}
		second(0, 10, 0)
		wantState(t, h, "db", Failing)
		if r := h.Report(); r.NotReady != "failing" {
			t.Errorf("%+v", r)
		}
		after(29 * time.Second) // nobody calls any more
		wantState(t, h, "db", Failing)
		after(12 * time.Second)
		c = check(t, h, "db")
		if c.State != OK || c.Detail != "fewer than 20 calls in 30s say nothing" {
			t.Errorf("%+v", c)
		}
	})
}

func TestADependencyCanBeOptional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(t, bare(), nil)
		d := h.Dependency("cache", DependencyConfig{Optional: true})
		run(t, h)
		for range 50 {
			d.Observe(time.Millisecond, Failed)
		}
		after(time.Second)
		wantState(t, h, "cache", Failing)
		if r := h.Report(); r.State != Degraded || !r.Ready {
			t.Errorf("%+v", r)
		}
		// A new configuration takes effect for the same dependency.
		if h.Dependency("cache", DependencyConfig{}) != d {
			t.Error("another dependency of the same name")
		}
		if r := h.Report(); r.State != Failing {
			t.Errorf("%+v", r)
		}
		h.Dependency("cache", DependencyConfig{Rules: Rules{MinVolume: 100}})
		after(15 * time.Second)
		wantState(t, h, "cache", OK)
		h.Remove("cache")
		d.Observe(time.Millisecond, Failed) // into nothing
		after(time.Second)
		if r := h.Report(); len(r.Checks) != 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestFaultsAreSeen(t *testing.T) {
	var out bytes.Buffer
	cfg := bare()
	cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
	h := newHealth(t, cfg, nil)
	h.Dependency("db", DependencyConfig{Rules: Rules{MinVolume: -1}}).Observe(time.Second, Good)
	h.Dependency("a b", DependencyConfig{}).Observe(time.Second, Good)
	r := h.Report()
	if r.State != Degraded || len(r.Checks) != 1 || len(r.Faults) != 2 ||
		!strings.Contains(r.Faults[0], `dependency "a b": name is "a b"`) || !strings.Contains(r.Faults[1], "min volume is -1") {
		t.Errorf("%+v", r)
	}
	if n := strings.Count(out.String(), "level=ERROR"); n != 2 {
		t.Errorf("%d errors in the log:\n%s", n, &out)
	}
	h.Dependency("db", DependencyConfig{})
	if r := h.Report(); len(r.Faults) != 1 {
		t.Errorf("%+v", r)
	}
	for i := range 2 * MaxChecks {
		h.Dependency(fmt.Sprint("d", i), DependencyConfig{}).Observe(time.Second, Good)
	}
	if r := h.Report(); len(r.Checks) != MaxChecks || len(r.Faults) != maxFaults {
		t.Errorf("%d checks, %d faults", len(r.Checks), len(r.Faults))
	}
}

// No call is lost, whoever counts while Run takes the counts away.
func TestObserveCountsEveryCall(t *testing.T) {
	h := newHealth(t, bare(), nil)
	d := h.Dependency("db", DependencyConfig{Rules: Rules{Window: time.Hour}})
	const callers, each = 8, 5000
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range each {
				d.Observe(time.Duration(n)*time.Millisecond, []Result{Good, Failed, Timeout, Ignored}[(i+n)%4])
			}
		})
	}
	now := time.Now()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for counting := true; counting; {
		select {
		case <-done:
			counting = false
		default:
		}
		h.mu.Lock()
		h.judge(d, now)
		h.mu.Unlock()
	}
	m := check(t, h, "db").Measures
	if m[0].Value != callers*each*3/4 || math.Abs(m[1].Value-2.0/3) > 1e-9 || math.Abs(m[2].Value-1.0/3) > 1e-9 {
		t.Errorf("%+v", m)
	}
}

func TestDrainTakesEachCallOnce(t *testing.T) {
	d := newHealth(t, bare(), nil).Dependency("db", DependencyConfig{})
	d.Observe(time.Second, Good)
	d.Observe(time.Second, Timeout)
	d.Observe(time.Second, Failed)
	var first, second policy.Tally
	d.drain(&first)
	d.drain(&second)
	if first.Calls() != 3 || first.Latency[policy.Cell(time.Second)] != 2 || second != (policy.Tally{}) {
		t.Errorf("%+v, then %+v", first, second)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	d := newHealth(t, bare(), nil).Dependency("db", DependencyConfig{})
	for r := Good; r <= Ignored; r++ {
		if n := testing.AllocsPerRun(100, func() { d.Observe(time.Millisecond, r) }); n != 0 {
			t.Errorf("%v: %v allocations", r, n)
		}
	}
}

func BenchmarkObserve(b *testing.B) {
	h, err := New(bare())
	if err != nil {
		b.Fatal(err)
	}
	d := h.Dependency("db", DependencyConfig{})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			d.Observe(time.Millisecond, Good)
		}
	})
}
