package breaker_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func drawConfig(t *rapid.T) breaker.Config {
	c := breaker.Config{
		Window:       time.Duration(rapid.IntRange(1, 20).Draw(t, "window")) * time.Second,
		MinVolume:    rapid.IntRange(1, 20).Draw(t, "volume"),
		FailureRatio: rapid.SampledFrom([]float64{breaker.Off, 0.01, 0.5, 1}).Draw(t, "failure ratio"),
		SlowRatio:    rapid.SampledFrom([]float64{breaker.Off, 0.5, 1}).Draw(t, "slow ratio"),
		Consecutive:  rapid.SampledFrom([]int{breaker.Off, 1, 3}).Draw(t, "consecutive"),
		Open:         time.Duration(rapid.IntRange(1, 10).Draw(t, "open")) * time.Second,
		Probes:       rapid.IntRange(1, 5).Draw(t, "probes"),
		ProbeFor:     time.Duration(rapid.IntRange(1, 60).Draw(t, "probe for")) * time.Second,
		Node:         rapid.SampledFrom([]string{"", "a"}).Draw(t, "node"),
	}
	c.MaxOpen = c.Open * time.Duration(rapid.IntRange(1, 8).Draw(t, "max open"))
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

func drawResult(t *rapid.T) breaker.Result {
	return rapid.SampledFrom([]breaker.Result{good, good, failed, slow, ignored}).Draw(t, "result")
}

// sent is a call that is on its way.
type sent struct {
	ticket     breaker.Ticket
	generation uint64
	probe      bool
}

// check is one breaker under random calls.
type check struct {
	breaker.Breaker
	now    time.Time
	calls  []sent
	probes map[uint64]int // that are out or succeeded, by generation
}

func (c *check) allow(t *rapid.T) {
	was := c.Snapshot()
	state := c.State(c.now)
	tk, d := c.Allow(c.now)
	is := c.Snapshot()
	if d.Changed != (is != was) || is.Generation < was.Generation || is.Generation > was.Generation+1 {
		t.Fatalf("%+v and %+v: %+v", was, is, d)
	}
	if d.Allowed != (state == breaker.Closed || d.Probe) || d.Allowed == (d.Reason != "") {
		t.Fatalf("%v gave %+v", state, d)
	}
	cfg := c.Config
	if !d.Allowed && (d.RetryAfter <= 0 || d.RetryAfter > max(cfg.MaxOpen, cfg.ProbeFor)) {
		t.Fatalf("refused for %v", d.RetryAfter)
	}
	if !d.Allowed {
		return
	}
	if d.Probe {
		if is.State != breaker.HalfOpen {
			t.Fatalf("a probe while %v", is.State)
		}
		if c.probes[is.Generation]++; c.probes[is.Generation] > cfg.Probes {
			t.Fatalf("%d probes, want %d at most", c.probes[is.Generation], cfg.Probes)
		}
	}
	c.calls = append(c.calls, sent{tk, is.Generation, d.Probe})
}

func (c *check) done(t *rapid.T) {
	i := rapid.IntRange(0, len(c.calls)-1).Draw(t, "call")
	call, r := c.calls[i], drawResult(t)
	c.calls = append(c.calls[:i], c.calls[i+1:]...)
	was := c.Breaker
	changed := c.Done(c.now, call.ticket, r, rapid.Float64Range(0, 0.999).Draw(t, "random"))
	before, after := was.Snapshot(), c.Snapshot()
	if changed != (before != after) {
		t.Fatalf("said %v of a change from %+v to %+v", changed, before, after)
	}
	if call.generation != before.Generation && c.Breaker != was {
		t.Fatalf("a result of generation %d changed generation %d", call.generation, before.Generation)
	}
	if r.Ignored && call.probe {
		c.probes[call.generation]--
	}
	if r.Ignored && changed {
		t.Fatalf("an ignored result changed the state")
	}
	if !changed {
		return
	}
	switch {
	case after.Generation != before.Generation+1:
		t.Fatalf("generation %d follows %d", after.Generation, before.Generation)
	case after.State == breaker.Open:
		if lasts := after.Until.Sub(c.now); lasts > c.Config.MaxOpen || lasts < c.Config.Open*4/5-time.Microsecond || after.Reason == "" || after.Level == 0 {
			t.Fatalf("at %v: %+v", c.now, after)
		}
	case after.State != breaker.Closed || before.State != breaker.HalfOpen || r.Failed:
		t.Fatalf("%v led from %+v to %+v", r, before, after)
	}
}

// Whatever calls come and go, never more than Probes of one generation are out
// or have succeeded, late results change nothing, and every refusal says why
// and for how long.
func TestTheMachineKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &check{Breaker: breaker.Breaker{Config: drawConfig(t)}, now: start, probes: map[uint64]int{}}
		t.Repeat(map[string]func(*rapid.T){
			"allow": c.allow,
			"done": func(t *rapid.T) {
				if len(c.calls) > 0 {
					c.done(t)
				}
			},
			"pass": func(t *rapid.T) {
				c.now = c.now.Add(time.Duration(rapid.IntRange(-1000, 20_000).Draw(t, "ms")) * time.Millisecond)
			},
		})
	})
}

// A downstream that recovered is closed again, however it failed before.
func TestItAlwaysComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &check{Breaker: breaker.Breaker{Config: drawConfig(t)}, now: start, probes: map[uint64]int{}}
		for range rapid.IntRange(0, 200).Draw(t, "calls") {
			if tk, d := c.Allow(c.now); d.Allowed && rapid.Float64().Draw(t, "lost") > 0.1 {
				c.Done(c.now, tk, drawResult(t), 0)
			}
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
		}
		deadline := c.now.Add(c.Config.MaxOpen*2 + c.Config.ProbeFor + 20*time.Second)
		for !c.now.After(deadline) {
			if tk, d := c.Allow(c.now); d.Allowed {
				c.Done(c.now, tk, good, 0)
			}
			c.now = c.now.Add(time.Second)
		}
		if s := c.State(c.now); s != breaker.Closed {
			t.Fatalf("it is %v", s)
		}
	})
}

// Below every limit nothing trips, whatever the order.
func TestAHealthyDownstreamIsNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := breaker.Breaker{Config: breaker.Config{FailureRatio: 0.5, Consecutive: 5}}
		now := start
		for range rapid.IntRange(1, 300).Draw(t, "rounds") {
			// Of three results one is bad at most, so that no window holds a half of them.
			bad := rapid.IntRange(0, 2).Draw(t, "bad")
			for i := range 3 {
				tk, d := r.Allow(now)
				if !d.Allowed {
					t.Fatalf("refused: %s", d.Reason)
				}
				r.Done(now, tk, breaker.Result{Failed: i == bad, Slow: i == bad}, 0)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
		}
	})
}

func TestReasonsAreOneLine(t *testing.T) {
	r := tripped(t, breaker.Config{Node: "a"})
	r.pass(5 * time.Second)
	r.allowed()
	if d := r.refused(); strings.Contains(d.Reason, "\n") || len(d.Reason) > 300 {
		t.Errorf("%q", d.Reason)
	}
}
