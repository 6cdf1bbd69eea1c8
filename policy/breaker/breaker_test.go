package breaker_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

var start = time.Unix(1_000_000, 0)

// rig is a breaker and its clock.
type rig struct {
	t testing.TB
	breaker.Breaker
	now time.Time
}

func newRig(t testing.TB, c breaker.Config) *rig {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, Breaker: breaker.Breaker{Config: c}, now: start}
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

// allowed asks for one call and wants it.
func (r *rig) allowed() (breaker.Ticket, breaker.Decision) {
	r.t.Helper()
	t, d := r.Allow(r.now)
	if !d.Allowed {
		r.t.Fatalf("refused: %+v", d)
	}
	return t, d
}

// refused asks for one call and wants none.
func (r *rig) refused() breaker.Decision {
	r.t.Helper()
	t, d := r.Allow(r.now)
	if d.Allowed || t != (breaker.Ticket{}) || d.Reason == "" || d.RetryAfter <= 0 {
		r.t.Fatalf("got %+v, want a refusal that says why and how long", d)
	}
	return d
}

func (r *rig) calls(n int, res breaker.Result) {
	r.t.Helper()
	for range n {
		t, _ := r.allowed()
		r.Done(r.now, t, res, 0)
	}
}

func (r *rig) wantState(want breaker.State) {
	r.t.Helper()
	if got := r.State(r.now); got != want {
		r.t.Fatalf("the breaker is %v, want %v", got, want)
	}
}

var (
	good    = breaker.Result{}
	failed  = breaker.Result{Failed: true}
	slow    = breaker.Result{Slow: true}
	ignored = breaker.Result{Failed: true, Slow: true, Ignored: true}
)

func TestEachRuleTripsAtItsLimitAndNotBefore(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cfg    breaker.Config
		before func(r *rig) // must not trip
		last   breaker.Result
		reason string
	}{
		{
			"half of twenty failed",
			breaker.Config{Consecutive: breaker.Off},
			func(r *rig) { r.calls(10, good); r.calls(9, failed) }, failed,
			"10 of 20 calls within 10s failed (50 %, the limit is 50 %)",
		},
		{
			"a good result completes the volume",
			breaker.Config{Consecutive: breaker.Off},
			func(r *rig) { r.calls(19, failed) }, good,
			"19 of 20 calls within 10s failed (95 %, the limit is 50 %)",
		},
		{
			"ten in a row",
			breaker.Config{MinVolume: 1000},
			func(r *rig) { r.calls(9, failed); r.calls(1, good); r.calls(9, failed) }, failed,
			"10 calls in a row failed, the limit is 10",
		},
		{
			"slow calls",
			breaker.Config{},
			func(r *rig) { r.calls(4, good); r.calls(15, slow) }, slow,
			"16 of 20 calls within 10s were slow (80 %, the limit is 80 %)",
		},
		{
			"failures that were ignored do not count",
			breaker.Config{Consecutive: breaker.Off},
			func(r *rig) { r.calls(100, ignored); r.calls(10, good); r.calls(9, failed) }, failed,
			"10 of 20 calls",
		},
		{
			"what has left the window does not count",
			breaker.Config{Consecutive: breaker.Off, MinVolume: 10},
			func(r *rig) {
				r.calls(9, failed)
				r.pass(11 * time.Second)
				r.calls(9, failed)
			}, failed,
			"10 of 10 calls",
		},
		{
			"a gap breaks a row",
			breaker.Config{},
			func(r *rig) {
				r.calls(9, failed)
				r.pass(11 * time.Second)
				r.calls(9, failed)
			}, failed,
			"10 calls in a row",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.cfg)
			tc.before(r)
			r.wantState(breaker.Closed)
			tk, _ := r.allowed()
			if !r.Done(r.now, tk, tc.last, 0) {
				t.Fatal("the last result did not trip")
			}
			r.wantState(breaker.Open)
			if d := r.refused(); !strings.Contains(d.Reason, tc.reason) || d.RetryAfter != 5*time.Second {
				t.Errorf("refused with %+v, want %s", d, tc.reason)
			}
		})
	}
}

func TestRulesCanBeOff(t *testing.T) {
	r := newRig(t, breaker.Config{FailureRatio: breaker.Off, SlowRatio: breaker.Off, Consecutive: breaker.Off})
	r.calls(1000, breaker.Result{Failed: true, Slow: true})
	r.wantState(breaker.Closed)
}

// tripped is a breaker that is open for its first time.
func tripped(t testing.TB, c breaker.Config) *rig {
	t.Helper()
	c.Consecutive = 2
	r := newRig(t, c)
	r.calls(2, failed)
	r.wantState(breaker.Open)
	return r
}

func TestProbesThatSucceedCloseIt(t *testing.T) {
	r := tripped(t, breaker.Config{})
	r.pass(5*time.Second - 1)
	r.refused()
	r.pass(1)
	r.wantState(breaker.HalfOpen)
	var tickets []breaker.Ticket
	for i := range 3 {
		tk, d := r.allowed()
		if !d.Probe || d.Changed != (i == 0) {
			t.Errorf("probe %d is %+v", i, d)
		}
		tickets = append(tickets, tk)
	}
	if d := r.refused(); !strings.Contains(d.Reason, "half-open: at most 3 calls test it; it was open because 2 calls in a row failed") {
		t.Errorf("the fourth call got %+v", d)
	}
	for i, tk := range tickets {
		if changed := r.Done(r.now, tk, good, 0); changed != (i == 2) {
			t.Errorf("success %d changed the state: %v", i, changed)
		}
		r.Done(r.now, tk, good, 0) // once more is once too often, and nothing
	}
	r.wantState(breaker.Closed)
	r.calls(1, failed) // what led to the trip is forgotten
	r.wantState(breaker.Closed)
}

func TestAProbeThatIsBadOpensIt(t *testing.T) {
	for name, bad := range map[string]breaker.Result{"a probe failed": failed, "a probe was slow": slow} {
		r := tripped(t, breaker.Config{})
		r.pass(5 * time.Second)
		tk, _ := r.allowed()
		if !r.Done(r.now, tk, bad, 0) {
			t.Fatalf("%s: nothing changed", name)
		}
		if d := r.refused(); d.RetryAfter != 10*time.Second || !strings.Contains(d.Reason, name) {
			t.Errorf("%s: %+v, want 10 s", name, d)
		}
	}
	r := tripped(t, breaker.Config{SlowRatio: breaker.Off, Probes: 1})
	r.pass(5 * time.Second)
	r.calls(1, slow)
	r.wantState(breaker.Closed)
}

func TestAnIgnoredProbeGivesItsSlotBack(t *testing.T) {
	r := tripped(t, breaker.Config{Probes: 1})
	r.pass(5 * time.Second)
	for range 10 {
		tk, d := r.allowed()
		if !d.Probe {
			t.Fatalf("got %+v", d)
		}
		r.refused()
		r.Done(r.now, tk, ignored, 0)
	}
	r.calls(1, good)
	r.wantState(breaker.Closed)
}

func TestAProbeThatHangsCountsAsFailed(t *testing.T) {
	r := tripped(t, breaker.Config{})
	r.pass(5 * time.Second)
	tk, _ := r.allowed()
	r.pass(30*time.Second - 1)
	r.allowed()
	r.pass(1)
	if d := r.refused(); !d.Changed || d.RetryAfter != 10*time.Second || !strings.Contains(d.Reason, "a probe did not return within 30s") {
		t.Errorf("got %+v", d)
	}
	if r.Done(r.now, tk, good, 0) {
		t.Error("the probe's late success changed the state")
	}
}

// With little traffic the probes may come one in a long while.
func TestRareProbesCloseItAllTheSame(t *testing.T) {
	r := tripped(t, breaker.Config{})
	for range 3 {
		r.pass(time.Minute)
		if tk, d := r.allowed(); !d.Probe || !d.Changed {
			t.Errorf("got %+v, want a new lease", d)
		} else {
			r.Done(r.now, tk, good, 0)
		}
	}
	r.wantState(breaker.Closed)
}

func TestTripsInARowLastLonger(t *testing.T) {
	r := tripped(t, breaker.Config{MaxOpen: time.Minute})
	for i, want := range []time.Duration{5, 10, 20, 40, 60, 60, 60} {
		if d := r.refused(); d.RetryAfter != want*time.Second {
			t.Errorf("trip %d lasts %v, want %ds", i+1, d.RetryAfter, want)
		}
		r.pass(want * time.Second)
		r.calls(1, failed)
	}
	r.pass(time.Minute)
	r.calls(3, good)
	r.wantState(breaker.Closed)
	level := r.Snapshot().Level
	r.calls(2, failed)
	if got := r.Snapshot().Level; got != level+1 {
		t.Errorf("a relapse is trip %d in a row, want %d", got, level+1)
	}
	r.pass(time.Minute)
	r.calls(3, good)
	r.pass(time.Minute)
	r.calls(2, failed)
	if d := r.refused(); d.RetryAfter != 5*time.Second || r.Snapshot().Level != 1 {
		t.Errorf("after a good minute a trip lasts %v, want 5s", d.RetryAfter)
	}
}

func TestRandomnessShortensATripByUpToAFifth(t *testing.T) {
	for _, tc := range []struct {
		random float64
		want   time.Duration
	}{{0, 5 * time.Second}, {0.5, 4500 * time.Millisecond}, {math.Nextafter(1, 0), 4 * time.Second}} {
		r := newRig(t, breaker.Config{Consecutive: 1})
		tk, _ := r.allowed()
		r.Done(r.now, tk, failed, tc.random)
		if d := r.refused(); d.RetryAfter.Round(time.Millisecond) != tc.want {
			t.Errorf("at %g a trip lasts %v, want %v", tc.random, d.RetryAfter, tc.want)
		}
	}
}

// sony/gobreaker#122: what was sent before a trip must not decide about the
// state after it.
func TestLateResultsOfAnOlderGenerationChangeNothing(t *testing.T) {
	r := newRig(t, breaker.Config{Consecutive: 2, Probes: 1})
	stale := make([]breaker.Ticket, 100)
	for i := range stale {
		stale[i], _ = r.allowed()
	}
	r.calls(2, failed)
	late := func(when string) {
		t.Helper()
		want := r.Breaker
		for _, tk := range stale {
			for _, res := range []breaker.Result{good, failed, slow, ignored} {
				if r.Done(r.now, tk, res, 0) || r.Breaker != want {
					t.Fatalf("%s: a late result changed the breaker", when)
				}
			}
		}
	}
	late("open")
	r.pass(5 * time.Second)
	tk, _ := r.allowed()
	late("half-open")
	r.Done(r.now, tk, good, 0)
	stale = append(stale, tk)
	late("closed")
	var none breaker.Ticket
	stale = append(stale, none)
	late("with the zero ticket")
}

func TestAClockThatStepsBackDoesNotKeepItOpen(t *testing.T) {
	r := tripped(t, breaker.Config{MaxOpen: 10 * time.Second, Probes: 1})
	r.pass(-24 * time.Hour)
	if d := r.refused(); d.RetryAfter > 10*time.Second {
		t.Errorf("refused for %v, want 10 s at most", d.RetryAfter)
	}
	r.pass(10 * time.Second)
	if _, d := r.allowed(); !d.Probe {
		t.Errorf("got %+v", d)
	}
	r.pass(-24 * time.Hour)
	r.refused()
	r.pass(30 * time.Second)
	if d := r.refused(); !d.Changed || d.RetryAfter > 10*time.Second {
		t.Errorf("a probe of tomorrow holds its slot: %+v", d)
	}
	zero := newRig(t, breaker.Config{})
	zero.now = time.Time{}
	zero.calls(9, failed)
	zero.wantState(breaker.Closed)
}

func TestOperatorsOverride(t *testing.T) {
	r := newRig(t, breaker.Config{Consecutive: 2})
	inFlight, _ := r.allowed()
	if err := r.Force(r.now, breaker.Open, r.now.Add(time.Hour), "ann"); err != nil {
		t.Fatal(err)
	}
	r.wantState(breaker.Open)
	if d := r.refused(); d.Reason != "the circuit is forced open until 1970-01-12T14:46:40Z by ann" || d.RetryAfter != time.Hour {
		t.Errorf("got %+v", d)
	}
	if r.Done(r.now, inFlight, failed, 0) {
		t.Error("a result changed a forced breaker")
	}
	r.pass(time.Hour)
	r.wantState(breaker.Closed)
	r.calls(2, failed)
	r.wantState(breaker.Open)

	if err := r.Force(r.now, breaker.Closed, r.now.Add(time.Minute), ""); err != nil {
		t.Fatal(err)
	}
	r.calls(1000, failed) // pass, and do not count
	r.wantState(breaker.Closed)
	r.pass(time.Minute)
	r.wantState(breaker.HalfOpen) // the trip beneath is over, too
	if err := r.Force(r.now, breaker.Open, r.now.Add(time.Minute), ""); err != nil {
		t.Fatal(err)
	}
	r.refused()
	if err := r.Force(r.now, breaker.Open, time.Time{}, "ann"); err != nil {
		t.Fatal(err)
	}
	r.calls(3, good)
	r.wantState(breaker.Closed)
	if err := r.Force(r.now, breaker.HalfOpen, r.now.Add(time.Minute), ""); err == nil || !strings.Contains(err.Error(), "not half-open") {
		t.Errorf("forcing it half-open says %v", err)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		cfg  breaker.Config
		want string
	}{
		{breaker.Config{}, "<nil>"},
		{breaker.Config{Open: time.Hour}, "<nil>"}, // the maximum follows
		{breaker.Config{FailureRatio: breaker.Off, SlowRatio: breaker.Off, Consecutive: breaker.Off}, "<nil>"},
		{breaker.Config{FailureRatio: 1.5, Probes: 65}, "failure ratio is 1.5, want more than 0, up to 1, or -1 for off\nprobes is 65, want 1 to 64"},
		{
			breaker.Config{Window: 1, MinVolume: -1, FailureRatio: -2, SlowRatio: 2, Consecutive: -2, Open: 1, MaxOpen: 48 * time.Hour, Probes: -1, ProbeFor: -1},
			"window is 1ns, want 1ms to 1h\nmin volume is -1, want 1 or more\nfailure ratio is -2, want more than 0, up to 1, or -1 for off\n" +
				"slow ratio is 2, want more than 0, up to 1, or -1 for off\nconsecutive is -2, want 1 or more, or -1 for off\nopen is 1ns, want 1ms or more\n" +
				"max open is 48h0m0s, want open (1ns) to 24h\nprobes is -1, want 1 to 64\nprobe for is -1ns, want 1ms to 24h",
		},
	} {
		if got := fmt.Sprint(tc.cfg.Validate()); got != tc.want {
			t.Errorf("%+v:\n%s, want\n%s", tc.cfg, got, tc.want)
		}
	}
}

func TestCountsAreOfTheWindow(t *testing.T) {
	r := newRig(t, breaker.Config{})
	if c := r.Counts(r.now); c != (breaker.Counts{}) {
		t.Errorf("a new breaker counts %+v", c)
	}
	r.calls(2, good)
	r.calls(1, slow)
	r.calls(3, failed)
	r.calls(1, ignored)
	if c := r.Counts(r.now); c != (breaker.Counts{Calls: 6, Failed: 3, Slow: 1, InARow: 3}) {
		t.Errorf("it counts %+v", c)
	}
	r.pass(5 * time.Second)
	r.calls(1, good)
	if c := r.Counts(r.now); c != (breaker.Counts{Calls: 7, Failed: 3, Slow: 1}) {
		t.Errorf("after half a window it counts %+v", c)
	}
	r.calls(1, failed)
	r.pass(6 * time.Second)
	if c := r.Counts(r.now); c != (breaker.Counts{Calls: 2, Failed: 1, InARow: 1}) {
		t.Errorf("when the first are too old it counts %+v", c)
	}
	r.pass(5 * time.Second)
	if c := r.Counts(r.now); c != (breaker.Counts{}) {
		t.Errorf("after a window it counts %+v", c)
	}
}
