package judge

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/state/facts"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
)

// table is some judges of one machine, and a clock.
type table struct {
	*testing.T
	now  time.Time
	path string
}

func newTable(t *testing.T) *table {
	return &table{T: t, now: time.Unix(1_700_000_000, 0), path: filepath.Join(t.TempDir(), "facts")}
}

func (t *table) judge(c LocalConfig) *Local {
	t.Helper()
	b, err := facts.Open(facts.Config{Path: t.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	c.Facts, c.Queue = b, "jobs"
	if c.Retry.Base == 0 {
		c.Retry.Strategy = backoff.Immediate
	}
	r, err := NewLocal(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// body is a fingerprint, spread as keyed ones are.
func body(n int) bezoar.Fingerprint {
	sum := sha256.Sum256([]byte(fmt.Sprint(n)))
	return bezoar.Fingerprint(sum[:16])
}

func (t *table) fail(r *Local, e Ending) Sentence {
	t.Helper()
	e.ID = fmt.Sprint(e.Payload)
	e.Received = t.now
	t.now = t.now.Add(time.Second)
	ruling, err := r.Failed(t.now, e)
	if err != nil {
		t.Fatal(err)
	}
	return ruling
}

func (t *table) gate(r *Local) Pass { return r.Gate(t.now) }

func TestTwoDeathsConvictOnEveryWorker(t *testing.T) {
	tb := newTable(t)
	a, b := tb.judge(LocalConfig{}), tb.judge(LocalConfig{})
	pill := Ending{Payload: body(1), Class: bezoar.Crash, Reason: "SIGSEGV"}
	if r := tb.fail(a, pill); r.Dead {
		t.Fatalf("one death: %+v", r)
	}
	if got, err := b.Admit(tb.now, body(1), false, nil); err != nil || !got.Alone || got.Refuse {
		t.Errorf("the other worker is told %+v, %v", got, err)
	}
	if r := tb.fail(b, pill); !r.Dead || r.Why == "" {
		t.Errorf("two deaths: %+v", r)
	}
	if got, _ := a.Admit(tb.now, body(1), false, nil); !got.Refuse || got.Case.Reason != "SIGSEGV" {
		t.Errorf("a convict is met as %+v", got)
	}
	tb.now = tb.now.Add(time.Hour)
	if got, _ := a.Admit(tb.now, body(1), false, nil); got.Refuse || !got.Alone {
		t.Errorf("when its term is over it is met as %+v, want a probe", got)
	}
	if err := a.Done(tb.now, "id", body(1), nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := b.Admit(tb.now, body(1), false, nil); got.Alone {
		t.Errorf("after it worked it is met as %+v", got)
	}
}

func TestWhatRepeatsItselfEndsEarly(t *testing.T) {
	for name, tc := range map[string]struct {
		e    Ending
		wait time.Duration // between
		want int           // failures until it is dead; 0: not within ten
	}{
		"a bug with a frame":           {Ending{Class: bezoar.Bug, Failure: "f", Votes: 2}, 0, 3},
		"a bug in words, soon":         {Ending{Class: bezoar.Bug, Failure: "f", Votes: 3, Span: time.Minute}, 0, 0},
		"a bug in words, over a while": {Ending{Class: bezoar.Bug, Failure: "f", Votes: 3, Span: time.Minute}, time.Minute, 3},
		"an exit code":                 {Ending{Class: bezoar.Bug, Failure: "f"}, time.Minute, 0},
		"an invalid one":               {Ending{Class: bezoar.Invalid}, 0, 1},
		"a crash":                      {Ending{Class: bezoar.Crash, Failure: "f"}, 0, 2},
		"a death unexplained":          {Ending{Class: bezoar.Crash, Weak: true}, 0, 4},
		"a timeout":                    {Ending{Class: bezoar.Timeout, Failure: "f", Votes: 2}, 0, 4},
		"what passes":                  {Ending{Class: bezoar.Transient, Failure: "f", Votes: 2}, time.Hour, 0},
		"an interruption":              {Ending{Class: bezoar.Interrupted}, 0, 0},
		"a death in company":           {Ending{Class: bezoar.Crash, Holding: 3}, 0, 2}, // the second time it ran alone
		"one that is not recognised":   {Ending{Class: bezoar.Crash, Payload: bezoar.Fingerprint{}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tb := newTable(t)
			r := tb.judge(LocalConfig{})
			if name != "one that is not recognised" {
				tc.e.Payload = body(1)
			}
			died := 0
			for n := 1; n <= 10 && died == 0; n++ {
				if tb.fail(r, tc.e).Dead {
					died = n
				}
				tb.now = tb.now.Add(tc.wait)
			}
			if died != tc.want {
				t.Errorf("dead after %d, want %d", died, tc.want)
			}
		})
	}
}

// Law 6: many payloads that fail alike are an outage. All workers pause, nothing
// is charged, and one canary tries.
func TestLaw6AnOutagePausesAllWorkers(t *testing.T) {
	tb := newTable(t)
	a, b := tb.judge(LocalConfig{}), tb.judge(LocalConfig{})
	var last Sentence
	for n := range 5 {
		last = tb.fail(a, Ending{Payload: body(n), Class: bezoar.Bug, Failure: "refused", Votes: 2})
	}
	if last.Dead || last.Delay < 20*time.Second {
		t.Errorf("the fifth is ruled %+v", last)
	}
	for _, r := range []*Local{a, b} {
		if g := tb.gate(r); g.Open || g.Wait <= 0 || g.Why == "" {
			t.Errorf("while it lasts the gate is %+v", g)
		}
	}
	tb.now = tb.now.Add(31 * time.Second)
	canary := tb.gate(b)
	if !canary.Open || canary.Trial == nil {
		t.Fatalf("when the pause is over the gate is %+v", canary)
	}
	if g := tb.gate(a); g.Open {
		t.Errorf("a second canary: %+v", g)
	}
	if r := tb.fail(b, Ending{Payload: body(9), Class: bezoar.Bug, Failure: "refused", Trial: canary.Trial}); r.Dead {
		t.Errorf("the canary is ruled %+v", r)
	}
	if g := tb.gate(a); g.Open || g.Wait < 40*time.Second {
		t.Errorf("after a canary that failed: %+v", g)
	}
	tb.now = tb.now.Add(61 * time.Second)
	again := tb.gate(a)
	if err := a.Done(tb.now, "id", body(10), again.Trial); err != nil {
		t.Fatal(err)
	}
	if g := tb.gate(b); !g.Open || g.Trial != nil {
		t.Errorf("after a canary that worked: %+v", g)
	}
}

// A worker that stops leaves no canary behind for which it has found no message: the
// others would wait until its time is over.
func TestWhoStopsGivesItsCanaryBack(t *testing.T) {
	tb := newTable(t)
	a, b := tb.judge(LocalConfig{}), tb.judge(LocalConfig{})
	for n := range 5 {
		tb.fail(a, Ending{Payload: body(n), Class: bezoar.Bug, Failure: "refused", Votes: 2})
	}
	tb.now = tb.now.Add(31 * time.Second)
	kept := tb.gate(a)
	a.Waste(tb.now, kept.Trial)
	if g := tb.gate(b); g.Open {
		t.Fatalf("beside a canary the gate is %+v", g)
	}
	a.Leave(tb.now)
	if g := tb.gate(b); !g.Open || g.Trial == nil {
		t.Errorf("when its owner has stopped the gate is %+v", g)
	}
	a.Leave(tb.now) // has nothing more to give back
	if g := tb.gate(a); g.Open {
		t.Errorf("a second canary: %+v", g)
	}
}

func TestABreakerOpensForAllWorkers(t *testing.T) {
	tb := newTable(t)
	c := LocalConfig{Downstream: "billing"}
	a, b := tb.judge(c), tb.judge(c)
	for n := range 10 {
		tb.fail(a, Ending{Payload: body(n), Class: bezoar.Throttled, Failure: fmt.Sprint("f", n)})
	}
	if g := tb.gate(b); g.Open {
		t.Fatalf("after ten in a row the gate of the other is %+v", g)
	}
	tb.now = tb.now.Add(10 * time.Second)
	probe := tb.gate(b)
	if !probe.Open || probe.Trial == nil {
		t.Fatalf("when its time is over: %+v", probe)
	}
	b.Waste(tb.now, probe.Trial)
	for range 3 {
		probe = tb.gate(b)
		if !probe.Open {
			t.Fatalf("a probe: %+v", probe)
		}
		if err := b.Done(tb.now, "id", body(20), probe.Trial); err != nil {
			t.Fatal(err)
		}
	}
	if g := tb.gate(a); !g.Open || g.Trial != nil {
		t.Errorf("after the probes worked: %+v", g)
	}
}

func TestWaits(t *testing.T) {
	tb := newTable(t)
	r := tb.judge(LocalConfig{Retry: backoff.Config{Strategy: backoff.Fixed, Base: 2 * time.Second, Cap: time.Minute}, Budget: budget.Config{Floor: 0.2}})
	fail := func(n int, after time.Duration) time.Duration {
		return tb.fail(r, Ending{Payload: body(n), Class: bezoar.Transient, Failure: fmt.Sprint(n), RetryAfter: after, Receives: 1}).Delay
	}
	if d := fail(1, 0); d != 2*time.Second {
		t.Errorf("waits %v", d)
	}
	if d := fail(2, 40*time.Second); d != 40*time.Second {
		t.Errorf("waits %v though 40s were asked for", d)
	}
	if d := fail(3, 0); d != time.Minute {
		t.Errorf("beyond the budget it waits %v", d)
	}
}

// Law 10: cases are bounded, and convicts are not evicted by newcomers.
func TestLaw10CasesAreBounded(t *testing.T) {
	b := facts.InMemory()
	r, err := NewLocal(LocalConfig{Facts: b, Queue: "jobs"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	for range 2 {
		if _, err := r.Failed(now, Ending{ID: "pill", Payload: body(-1), Class: bezoar.Crash}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range MaxCases + 2*roomFor {
		now = now.Add(time.Millisecond)
		if _, err := r.Failed(now, Ending{ID: fmt.Sprint(n), Payload: body(n), Class: bezoar.Bug, Failure: fmt.Sprint(n)}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	_ = b.View(func(tx *facts.Tx) error {
		for range tx.All("case/") {
			n++
		}
		return nil
	})
	if n > MaxCases || n < MaxCases-roomFor {
		t.Errorf("%d cases are kept", n)
	}
	if got, _ := r.Admit(now, body(-1), false, nil); !got.Refuse {
		t.Error("a convict was forgotten for newcomers")
	}
	if got, _ := r.Admit(now, body(0), false, nil); got.Case.Times != 0 {
		t.Error("the oldest is still there")
	}
}

func TestConfig(t *testing.T) {
	if _, err := NewLocal(LocalConfig{}); err == nil {
		t.Error("without a fact store and a queue")
	}
	if _, err := NewLocal(LocalConfig{Facts: facts.InMemory(), Queue: "q", Retry: backoff.Config{Strategy: "odd"}}); err == nil {
		t.Error("with an odd strategy")
	}
}
