package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/blame"
	"github.com/bezoar-dev/bezoar/policy/budget"
)

// within gives the work a deadline of its caller's.
func within(d time.Duration) func(*dispatch.Work) {
	return func(w *dispatch.Work) { w.Deadline = time.Now().Add(d) }
}

// Law 8: no wait or attempt continues past the caller's deadline, and the
// caller hears of it then.
func TestLaw8TheCallersDeadlineEndsEverything(t *testing.T) {
	const limit = 300 * time.Millisecond
	for _, tc := range []struct {
		name  string
		set   func(t *testing.T, r *rig)
		what  behaviour
		sends int
	}{
		{"waiting for a worker", func(_ *testing.T, r *rig) { r.downAll(true) }, good, 0},
		{"an attempt", nil, dawdle, 1},
		{"a worker that hangs", nil, hang, 1},
		{"waiting for the lane", func(_ *testing.T, r *rig) {
			r.do(1, snap, unsafeWork) // under suspicion now
			r.downAll(true)
		}, good, 1},
		{"waiting for a duplicate", func(t *testing.T, r *rig) {
			r.do(1, snap, unsafeWork)
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			go r.d.Do(ctx, dispatch.Work{Fingerprint: bezoar.Fingerprint{0: 1, 1: 1}, Shape: bezoar.Fingerprint{0: 1, 1: 2}, Timeout: time.Hour}, &job{r: r, id: 1, what: dawdle})
			synctest.Wait()
		}, good, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 3, dispatch.Config{}, blame.Config{})
				if tc.set != nil {
					tc.set(t, r)
				}
				began := time.Now()
				a := r.do(1, tc.what, within(limit))
				if took := time.Since(began); a.Kind != dispatch.TimedOut || a.Rule != dispatch.RuleDeadline || took != limit {
					t.Errorf("after %v: %+v, want a timeout that names the deadline after %v", took, a, limit)
				}
				if r.sends[1] != tc.sends {
					t.Errorf("%d deliveries, want %d", r.sends[1], tc.sends)
				}
			})
		})
	}
}

func TestWorkThatComesTooLateIsNotStarted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2, dispatch.Config{}, blame.Config{})
		if a := r.do(1, good, within(-time.Second)); a.Kind != dispatch.TimedOut || r.sends[1] != 0 {
			t.Errorf("got %+v after %d deliveries", a, r.sends[1])
		}
	})
}

// What callers choose says nothing about the work: impatience is no strike.
func TestImpatientCallersConvictNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		for range 20 {
			if a := r.do(1, slow, within(50*time.Millisecond)); a.Kind != dispatch.TimedOut {
				t.Fatalf("got %+v, want a timeout", a)
			}
		}
		if a := r.do(1, slow); a.Kind != dispatch.Answered || r.dead() != 0 || len(r.ledger.Verdicts()) != 0 {
			t.Errorf("then %+v, %d deaths, verdicts %v", a, r.dead(), r.ledger.Verdicts())
		}
	})
}

// Law 3: a suspect that hangs is held by the lane after its caller has been
// told that its time is over.
func TestLaw3AHangingSuspectIsHeldPastItsCallersDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		for range 3 {
			began := time.Now()
			r.do(1, hang, within(3*time.Second)) // enough for the fleet, too short for the lane
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("the caller heard after %v, want 3s", took)
			}
			time.Sleep(5 * time.Second)
		}
		if a := r.do(1, hang); a.Kind != dispatch.Refused || r.dead() != 2 || r.sends[1] != 2 {
			t.Errorf("got %+v after %d deliveries and %d deaths, want a refusal after 2 and 2", a, r.sends[1], r.dead())
		}
		if a := r.do(2, good); a.Kind != dispatch.Answered {
			t.Errorf("the lane did not give its worker back: %+v", a)
		}
	})
}

func TestAttemptsAreNumbered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{Rule: blame.Rule{After: 8}})
		r.do(1, pill)
		r.do(2, good)
		if got := fmt.Sprint(r.tries); got != "[1 2 3 1]" {
			t.Errorf("the attempts were numbered %s", got)
		}
	})
}

// Law 8: no piece of work is delivered to, or knocks at, more workers than
// there are, within its caller's shard.
func TestLaw8NoMoreAttemptsThanWorkers(t *testing.T) {
	for _, tc := range []struct {
		workers, shard, cells int
		want, dials           int
	}{{1, 0, 0, 2, 2}, {2, 0, 0, 2, 2}, {5, 0, 0, 5, 5}, {5, 2, 0, 2, 2}, {8, 0, 2, 4, 4}, {20, 0, 0, 10, 20}} {
		bubble(t, func(t *testing.T) {
			retry, err := dispatch.NewRetry(dispatch.RetryConfig{Attempts: 10, Budget: budget.Config{Floor: 100}})
			if err != nil {
				t.Fatal(err)
			}
			edit := func(w *dispatch.Work) { w.Retry, w.Shard, w.Cells, w.Caller = retry, tc.shard, tc.cells, 7 }
			r := newRig(t, tc.workers, dispatch.Config{}, blame.Config{Rule: blame.Rule{After: 8, Strikes: 8}})
			if a := r.do(1, snap, edit); a.Attempts != tc.want || r.sends[1] != tc.want {
				t.Errorf("%+v: %d deliveries, want %d", tc, r.sends[1], tc.want)
			}
			a := r.do(2, shut, edit)
			if a.Kind != dispatch.Unavailable || r.dials[2] != tc.dials {
				t.Errorf("%+v: %v after %d dials, want none available after %d", tc, a.Kind, r.dials[2], tc.dials)
			}
		})
	}
}

// Law 8: retries of all together stay within the budget, those that wait
// for their turn included, and it is the budget that says no.
func TestLaw8RetriesStayWithinTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		retry, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budget.Config{Ratio: 0.1, Floor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 6, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		rules := map[string]int{}
		var mu sync.Mutex
		for range 200 {
			wg.Go(func() {
				a := r.do(1, shut, func(w *dispatch.Work) { w.Retry, w.Off = retry, true })
				mu.Lock()
				rules[a.Rule]++
				mu.Unlock()
			})
		}
		wg.Wait()
		// Nothing was delivered, so that there is only the floor's ten seconds' worth.
		if n := r.dials[1] - 200; n > 10 || uint64(n) != r.d.Stats().Retries {
			t.Errorf("%d retries (%d by the statistics), want at most 10", n, r.d.Stats().Retries)
		}
		if rules[dispatch.RuleBudget] < 190 {
			t.Errorf("refused by %v, want the budget named", rules)
		}
	})
}

// The budget of a fleet holds over all that name it, beside the budgets of each.
func TestLaw8BudgetsOfAFleetHoldTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fleet, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budget.Config{Ratio: 0.1, Floor: 1}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 6, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		for route := range 4 {
			retry, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budget.Config{Floor: 0.7}, Fleet: fleet})
			if err != nil {
				t.Fatal(err)
			}
			for range 50 {
				wg.Go(func() { r.do(byte(route+1), shut, func(w *dispatch.Work) { w.Retry, w.Off = retry, true }) })
			}
		}
		wg.Wait()
		all := 0
		for route := range 4 {
			n := r.dials[byte(route+1)] - 50
			if all += n; n > 7 {
				t.Errorf("route %d retried %d times, want at most its own 7", route, n)
			}
		}
		if all > 10 || all < 8 {
			t.Errorf("%d retries of all routes, want about the fleet's 10", all)
		}
		if _, err := dispatch.NewRetry(dispatch.RetryConfig{Fleet: mustRetry(t, fleet)}); err == nil {
			t.Error("a fleet's budget may have another above it")
		}
	})
}

func mustRetry(t *testing.T, fleet *dispatch.Retry) *dispatch.Retry {
	t.Helper()
	r, err := dispatch.NewRetry(dispatch.RetryConfig{Fleet: fleet})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// One caller's failures do not use up what others may retry.
func TestCallersHaveBudgetsOfTheirOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		budgets, err := dispatch.NewCallerBudgets(dispatch.CallerBudgetsConfig{Budget: budget.Config{Floor: 0.5}})
		if err != nil {
			t.Fatal(err)
		}
		retry, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budget.Config{Floor: 2}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 6, dispatch.Config{}, blame.Config{})
		by := func(caller uint64) func(*dispatch.Work) {
			return func(w *dispatch.Work) { w.Retry, w.Off, w.Caller, w.Budget = retry, true, caller, budgets }
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { r.do(1, shut, by(1)) })
		}
		wg.Wait()
		if n := r.dials[1] - 50; n != 5 {
			t.Errorf("the greedy caller's work was retried %d times, want its own 5", n)
		}
		r.do(2, shut, by(2))
		if n := r.dials[2]; n != 6 {
			t.Errorf("the other caller's work knocked at %d workers, want all 6", n)
		}
	})
}

// A replay after a crash comes out of the budget too; beyond it the work waits
// a little, and is then sent back with the rule's name, not run.
func TestLaw8ReplaysComeOutOfTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		retry, err := dispatch.NewRetry(dispatch.RetryConfig{Budget: budget.Config{Ratio: 0.001, Floor: 0.1}})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 6, dispatch.Config{}, blame.Config{Rule: blame.Rule{After: 8}})
		edit := func(w *dispatch.Work) { w.Retry = retry }
		r.do(1, snap, edit) // one replay, all there is
		if r.sends[1] != 2 {
			t.Fatalf("%d deliveries, want 2", r.sends[1])
		}
		began := time.Now()
		a := r.do(2, snap, edit)
		if took := time.Since(began); a.Kind != dispatch.Unavailable || a.Rule != dispatch.RuleBudget || r.sends[2] != 1 || took > 3*time.Second {
			t.Errorf("got %+v after %d deliveries and %v", a, r.sends[2], took)
		}
	})
}

// Whatever work does, in whatever fleet: its caller hears within its deadline
// and what finding out about a worker takes, and it is delivered no
// more often than allowed.
func TestLaw8WhateverComes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 6).Draw(rt, "workers")
		attempts := rapid.IntRange(1, 10).Draw(rt, "attempts")
		type one struct {
			what     behaviour
			at       time.Duration
			deadline time.Duration
		}
		var all []one
		for range rapid.IntRange(1, 12).Draw(rt, "work") {
			all = append(all, one{
				what:     behaviour(rapid.IntRange(int(good), int(shut)).Draw(rt, "what")),
				at:       time.Duration(rapid.IntRange(0, 2000).Draw(rt, "at")) * time.Millisecond,
				deadline: time.Duration(rapid.IntRange(1, 5000).Draw(rt, "deadline")) * time.Millisecond,
			})
		}
		var fault string
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, workers, dispatch.Config{Retry: dispatch.RetryConfig{Attempts: attempts}}, blame.Config{})
			var wg sync.WaitGroup
			answers, took := make([]dispatch.Answer, len(all)), make([]time.Duration, len(all))
			for i, w := range all {
				wg.Go(func() {
					time.Sleep(w.at)
					began := time.Now()
					answers[i] = r.do(byte(i), w.what, within(w.deadline))
					took[i] = time.Since(began)
				})
			}
			wg.Wait()
			for i, w := range all {
				if over := took[i] - w.deadline; over > confirmation {
					fault = fmt.Sprintf("work %d (%+v) was answered %v late: %+v", i, w, over, answers[i])
				}
				// Eight may be given back while a whole fleet is in trouble.
				if most := attempts + 8; r.sends[byte(i)] > most {
					fault = fmt.Sprintf("work %d (%+v) was delivered %d times, want at most %d", i, w, r.sends[byte(i)], most)
				}
			}
			for _, st := range r.fleet.Snapshot() {
				if st.InFlight != 0 && st.State != fleet.Lane {
					fault = fmt.Sprintf("%d in flight on %s when all is answered", st.InFlight, st.Name)
				}
			}
		})
		if fault != "" {
			rt.Fatal(fault)
		}
	})
}

// confirmation is how long a conviction may wait for signs that it is wrong.
const confirmation = 100 * time.Millisecond

// downAll takes every worker down, for good or to be restarted.
func (r *rig) downAll(forGood bool) {
	r.mu.Lock()
	r.stopped = forGood
	r.mu.Unlock()
	for _, st := range r.fleet.Snapshot() {
		r.fleet.Down(st.Name, st.Epoch, fleet.End{Planned: true})
	}
}

func TestBudgetsOfCallersNameEveryFault(t *testing.T) {
	_, err := dispatch.NewCallerBudgets(dispatch.CallerBudgetsConfig{Max: -1, Budget: budget.Config{Ratio: 2}})
	if want := "budgets of callers: Max is -1, want 0 or more\nratio is 2, want 0 to 1"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The fleet hears of every attempt in it, and of a request's failures only the
// first counts: what fails everywhere ejects nobody.
func TestOnlyTheFirstFailureCountsAgainstAWorker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8, dispatch.Config{}, blame.Config{})
		for i := range 200 {
			caller := func(w *dispatch.Work) { w.Caller = uint64(1 + i) }
			r.do(byte(i), good, caller)
			if i%10 == 0 {
				r.do(byte(201+i/10), snap, caller)
			}
		}
		heard := 0
		for _, st := range r.fleet.Snapshot() {
			// Of a piece of work that breaks its connection thrice, one worker hears.
			heard += st.Failed
			if st.HeldOut {
				t.Errorf("worker %s is held out", st.Name)
			}
		}
		if heard != 20 {
			t.Errorf("workers heard of %d failures, want one for each of 20 requests", heard)
		}
	})
}

// A worker that lives and takes no connections is found out without its keeper.
func TestAWorkerThatTakesNoConnectionsIsEjected(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 8, dispatch.Config{}, blame.Config{})
		r.closed = "w3"
		held := func() (names []string) {
			for _, st := range r.fleet.Snapshot() {
				if st.HeldOut {
					names = append(names, st.Name)
				}
			}
			return names
		}
		dials := func() (n int) {
			for _, of := range r.dials {
				n += of
			}
			return n
		}
		sent := 0
		send := func() {
			if a := r.do(byte(sent), good, func(w *dispatch.Work) { w.Caller = uint64(1 + sent) }); a.Kind != dispatch.Answered {
				t.Fatalf("work %d got %+v", sent, a)
			}
			sent++
		}
		for len(held()) == 0 && sent < 2000 { // how often it is picked is left to luck
			send()
		}
		if got := held(); !slices.Equal(got, []string{"w3"}) {
			t.Fatalf("after %d pieces of work %v are held out", sent, got)
		}
		if extra := dials() - sent; extra > 60 {
			t.Errorf("%d dials for %d pieces of work", dials(), sent)
		}
		before := dials()
		for range 50 {
			send()
		}
		if n := dials() - before; n != 50 {
			t.Errorf("%d dials for 50 pieces of work while it is held out", n)
		}
	})
}
