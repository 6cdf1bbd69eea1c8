package overload_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// fixed is a pool of a fixed limit.
func fixed(t testing.TB, n int, cfg overload.Config) *overload.Pool {
	t.Helper()
	cfg.Limit.Fixed = n
	return newPool(t, cfg)
}

func enter(t testing.TB, p *overload.Pool, r overload.Request) overload.Pass {
	t.Helper()
	pass, refusal := p.Enter(t.Context(), r)
	if refusal != nil {
		t.Fatalf("refused: %v", refusal)
	}
	return pass
}

// refused wants a refusal by the rule, with all that a refusal says.
func refused(t testing.TB, r *overload.Refusal, rule string) {
	t.Helper()
	if r == nil {
		t.Fatalf("let in, want a refusal by %s", rule)
	}
	if r.Rule != rule || r.Reason == "" || r.RetryAfter < time.Second || r.Limit < 1 || !strings.HasPrefix(r.String(), rule+": ") {
		t.Fatalf("refused with %v, want rule %s", r, rule)
	}
}

// ask enters in a goroutine of its own.
type ask struct {
	pass    overload.Pass
	refusal *overload.Refusal
	done    atomic.Bool // the others are there
	cancel  context.CancelFunc
}

func start(t *testing.T, p *overload.Pool, r overload.Request) *ask {
	ctx, cancel := context.WithCancel(t.Context())
	a := &ask{cancel: cancel}
	go func() {
		a.pass, a.refusal = p.Enter(ctx, r)
		a.done.Store(true)
	}()
	synctest.Wait()
	return a
}

func (a *ask) running() bool { return a.done.Load() && a.refusal == nil }

func TestConfigNamesEveryFault(t *testing.T) {
	_, err := overload.New(overload.Config{Name: "reports", Limit: shed.Config{Fixed: -1}, Queue: -2, Wait: -1, PerCaller: -1, Streams: -2, Long: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"reports"`, "limit: fixed is -1", "queue is -2", "wait is -1ns", "per caller is -1", "streams is -2", "long is -1ns"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestTheHighestPriorityGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{})
		pass := enter(t, p, overload.Request{})
		var asks []*ask
		for _, priority := range []shed.Priority{shed.Sheddable, shed.Critical, shed.SheddablePlus, shed.CriticalPlus, shed.Critical} {
			asks = append(asks, start(t, p, overload.Request{Priority: priority}))
		}
		for _, next := range []int{3, 1, 4, 2, 0} { // in the order of arrival within one
			p.Leave(pass, shed.Outcome{})
			synctest.Wait()
			for i, a := range asks {
				if a != nil && a.running() != (i == next) {
					t.Fatalf("number %d runs: %v; it is number %d's turn", i, a.running(), next)
				}
			}
			pass, asks[next] = asks[next].pass, nil
		}
		p.Leave(pass, shed.Outcome{})
		idle(t, p)
	})
}

func TestTheNewestGoesFirstInAQueueThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{Wait: time.Second})
		pass := enter(t, p, overload.Request{})
		old := start(t, p, overload.Request{})
		time.Sleep(100 * time.Millisecond)
		young := start(t, p, overload.Request{})
		p.Leave(pass, shed.Outcome{})
		synctest.Wait()
		if !young.running() || old.done.Load() {
			t.Fatal("the oldest went first in a queue that had stood for 100 ms")
		}
		p.Leave(young.pass, shed.Outcome{})
		synctest.Wait()
		if !old.running() || old.pass.Waited() != 100*time.Millisecond {
			t.Errorf("the oldest runs: %v, waited %v", old.running(), old.pass.Waited())
		}
	})
}

func TestAFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{Queue: 2})
		enter(t, p, overload.Request{})
		a := start(t, p, overload.Request{Priority: shed.SheddablePlus})
		b := start(t, p, overload.Request{Priority: shed.SheddablePlus})
		_, r := p.Enter(t.Context(), overload.Request{Priority: shed.SheddablePlus})
		refused(t, r, overload.RuleQueue)
		if r.Limit != 1 || r.InFlight != 1 || r.Queued != 2 || r.Priority != shed.SheddablePlus {
			t.Errorf("the refusal says %v", r)
		}
		c := start(t, p, overload.Request{Priority: shed.Critical}) // pushes the oldest out
		if !a.done.Load() || b.done.Load() || c.done.Load() {
			t.Fatal("not the oldest of the lowest priority gave way")
		}
		refused(t, a.refusal, overload.RuleQueue)
		time.Sleep(150 * time.Millisecond)
		d := start(t, p, overload.Request{Priority: shed.SheddablePlus}) // overload: newer is better
		if !b.done.Load() || c.done.Load() || d.done.Load() {
			t.Fatal("in an overloaded queue not the oldest gave way")
		}
		_, r = p.Enter(t.Context(), overload.Request{Priority: shed.Sheddable})
		refused(t, r, overload.RuleQueue)
	})
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{Wait: 300 * time.Millisecond})
		pass := enter(t, p, overload.Request{})
		began := time.Now()
		_, r := p.Enter(t.Context(), overload.Request{})
		refused(t, r, overload.RuleQueue)
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("waited %v, want Wait", took)
		}
		a := start(t, p, overload.Request{})
		a.cancel()
		synctest.Wait()
		refused(t, a.refusal, overload.RuleDeadline)
		p.Leave(pass, shed.Outcome{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, r = p.Enter(ctx, overload.Request{})
		refused(t, r, overload.RuleDeadline)
		enter(t, p, overload.Request{}) // neither took the slot
	})
}

func TestDeadlinesAreHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{Wait: 10 * time.Second})
		pass := enter(t, p, overload.Request{})
		p.Leave(pass, shed.Outcome{Latency: 100 * time.Millisecond})
		in := func(d time.Duration) overload.Request { return overload.Request{Deadline: time.Now().Add(d)} }

		_, r := p.Enter(t.Context(), in(99*time.Millisecond)) // though a slot is free
		refused(t, r, overload.RuleDeadline)
		pass = enter(t, p, in(100*time.Millisecond))

		began := time.Now()
		_, r = p.Enter(t.Context(), in(250*time.Millisecond))
		refused(t, r, overload.RuleDeadline)
		if took := time.Since(began); took != 150*time.Millisecond {
			t.Errorf("refused after %v, want when less than 100 ms were left", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		began = time.Now()
		_, r = p.Enter(ctx, overload.Request{})
		refused(t, r, overload.RuleDeadline)
		if took := time.Since(began); took != 150*time.Millisecond {
			t.Errorf("the context's deadline: refused after %v", took)
		}
		p.Leave(pass, shed.Outcome{Latency: 100 * time.Millisecond})
		idle(t, p)
	})
}

// Slow results that come while others wait make some of them late.
func TestLateWorkIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 2, overload.Config{Wait: 10 * time.Second})
		one, two := enter(t, p, overload.Request{}), enter(t, p, overload.Request{})
		hurried := start(t, p, overload.Request{Priority: shed.CriticalPlus, Deadline: time.Now().Add(time.Second)})
		patient := start(t, p, overload.Request{})
		p.Leave(one, shed.Outcome{Latency: 2 * time.Second})
		synctest.Wait()
		refused(t, hurried.refusal, overload.RuleDeadline)
		if !patient.running() {
			t.Error("the slot went to nobody")
		}
		p.Leave(patient.pass, shed.Outcome{})
		p.Leave(two, shed.Outcome{})
		idle(t, p)
	})
}

// A grant that crosses with its caller's giving up starts nothing and costs no
// slot, whichever comes first.
func TestAGrantThatCrosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{})
		for i := range 200 {
			pass := enter(t, p, overload.Request{})
			a := start(t, p, overload.Request{Caller: 5})
			if i%2 == 0 {
				a.cancel()
			}
			p.Leave(pass, shed.Outcome{})
			a.cancel()
			synctest.Wait()
			if a.running() {
				p.Leave(a.pass, shed.Outcome{}) // it was quicker
			}
			idle(t, p)
		}
		if n := p.Stats().Of(shed.Critical).Deadline; n < 100 {
			t.Errorf("%d of 200 gave up, of which half certainly did", n)
		}
	})
}

// Who would be late by the time that its turn comes does not even wait.
func TestAQueueThatIsTooLongForTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{Wait: 10 * time.Second})
		pass := enter(t, p, overload.Request{})
		for range 40 { // ten a second
			time.Sleep(100 * time.Millisecond)
			p.Leave(pass, shed.Outcome{Latency: 100 * time.Millisecond})
			pass = enter(t, p, overload.Request{})
		}
		var asked []*ask
		for range 5 {
			asked = append(asked, start(t, p, overload.Request{Priority: shed.CriticalPlus}))
		}
		now := time.Now()
		hurried := start(t, p, overload.Request{Deadline: now.Add(550 * time.Millisecond)})
		if !hurried.done.Load() {
			t.Error("one that has 550 ms waits behind five of 100 ms")
		}
		last := start(t, p, overload.Request{Deadline: now.Add(800 * time.Millisecond)})
		if last.done.Load() {
			t.Errorf("one that has 800 ms: %v", last.refusal)
		}
		refused(t, hurried.refusal, overload.RuleDeadline)
		p.Leave(pass, shed.Outcome{})
		for _, a := range append(asked, last) { // let them all go
			synctest.Wait()
			p.Leave(a.pass, shed.Outcome{})
		}
		idle(t, p)
	})
}

// A downstream that hangs leaves nothing to wait for but hope, which is for
// CriticalPlus.
func TestAStallShedsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{})
		pass := enter(t, p, overload.Request{})
		for range 300 {
			time.Sleep(20 * time.Millisecond)
			go p.Enter(t.Context(), overload.Request{Caller: 3})
		}
		synctest.Wait()
		_, r := p.Enter(t.Context(), overload.Request{Caller: 3})
		refused(t, r, overload.RuleConcurrency)
		if a := start(t, p, overload.Request{Priority: shed.CriticalPlus}); a.done.Load() {
			t.Errorf("critical-plus does not even wait: %v", a.refusal)
		}
		time.Sleep(time.Second)
		p.Leave(pass, shed.Outcome{})
		idle(t, p)
	})
}

func TestOneCallersCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 2, overload.Config{PerCaller: 3})
		mine := overload.Request{Caller: 7}
		one, two := enter(t, p, mine), enter(t, p, mine)
		third := start(t, p, mine) // what waits counts
		_, r := p.Enter(t.Context(), mine)
		refused(t, r, overload.RulePerCaller)
		if r.Limit != 3 || r.InFlight != 3 {
			t.Errorf("the refusal says %v", r)
		}
		other := start(t, p, overload.Request{Caller: 8})
		unknown := start(t, p, overload.Request{})
		if other.done.Load() || unknown.done.Load() {
			t.Error("others were refused")
		}
		third.cancel()
		synctest.Wait()
		refused(t, third.refusal, overload.RuleDeadline)
		fourth := start(t, p, mine)
		for _, pass := range []overload.Pass{one, two} {
			p.Leave(pass, shed.Outcome{})
		}
		synctest.Wait()
		for _, a := range []*ask{other, unknown} {
			p.Leave(a.pass, shed.Outcome{})
		}
		synctest.Wait()
		p.Leave(fourth.pass, shed.Outcome{})
		idle(t, p)
	})
}

func TestUpdateTakesEffectAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 1, overload.Config{})
		pass := enter(t, p, overload.Request{Caller: 1})
		a, b := start(t, p, overload.Request{}), start(t, p, overload.Request{})
		if err := p.Update(overload.Config{Limit: shed.Config{Fixed: -4}}); err == nil {
			t.Error("an invalid config was taken")
		}
		if a.done.Load() {
			t.Error("an invalid config changed something")
		}
		if err := p.Update(overload.Config{Limit: shed.Config{Fixed: 2}, Queue: overload.Off, PerCaller: 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !a.running() || b.done.Load() {
			t.Error("a higher limit let in not exactly one more")
		}
		_, r := p.Enter(t.Context(), overload.Request{})
		refused(t, r, overload.RuleConcurrency)
		p.Leave(pass, shed.Outcome{}) // its caller was never counted
		synctest.Wait()
		if !b.running() {
			t.Error("who waited when the queue was closed was forgotten")
		}
		if err := p.Update(overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off}); err != nil {
			t.Fatal(err)
		}
		p.Leave(a.pass, shed.Outcome{})
		_, r = p.Enter(t.Context(), overload.Request{})
		refused(t, r, overload.RuleConcurrency) // b is the one that may be in flight
		p.Leave(b.pass, shed.Outcome{})
		p.Leave(b.pass, shed.Outcome{}) // once too often
		p.Leave(overload.Pass{}, shed.Outcome{})
		enter(t, p, overload.Request{})
		if s := p.Stats(); s.InFlight != 1 {
			t.Errorf("%d in flight", s.InFlight)
		}
	})
}

func TestPressureAndStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed(t, 4, overload.Config{Name: "search", Queue: overload.Off})
		if p.Pressure() != 0 {
			t.Errorf("pressure %g when idle", p.Pressure())
		}
		passes := []overload.Pass{enter(t, p, overload.Request{}), enter(t, p, overload.Request{Priority: shed.Sheddable})}
		if p.Pressure() != 0.5 {
			t.Errorf("pressure %g with half of the slots taken", p.Pressure())
		}
		passes = append(passes, enter(t, p, overload.Request{}), enter(t, p, overload.Request{}))
		for range 20 { // three times as much as is done
			time.Sleep(50 * time.Millisecond)
			for i, pass := range passes {
				p.Leave(pass, shed.Outcome{Latency: 50 * time.Millisecond})
				passes[i] = enter(t, p, overload.Request{})
				for range 2 {
					_, r := p.Enter(t.Context(), overload.Request{Priority: shed.SheddablePlus})
					refused(t, r, overload.RuleConcurrency)
				}
			}
		}
		if got := p.Pressure(); got < 2.7 || got > 3.3 {
			t.Errorf("pressure %g, want about 3", got)
		}
		s := p.Stats()
		if s.Name != "search" || s.Limit != 4 || s.InFlight != 4 || s.Quick < 45*time.Millisecond || s.Served < 70 || s.Served > 90 {
			t.Errorf("stats %+v", s)
		}
		if c := s.Of(shed.SheddablePlus); c.Concurrency != 160 || c.Refused() != 160 || c.Admitted != 0 {
			t.Errorf("counts of sheddable-plus: %+v", c)
		}
		if c := s.Of(shed.Critical); c.Admitted != 83 || c.Refused() != 0 {
			t.Errorf("counts of critical: %+v", c)
		}
		time.Sleep(time.Minute)
		if got := p.Pressure(); got != 1 {
			t.Errorf("pressure %g a minute later, want that of the slots", got)
		}
	})
}
