package outage_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

var start = time.Unix(1_000_000, 0)

// payload is a fingerprint as uniform as the real ones.
func payload(n int) bezoar.Fingerprint {
	var fp bezoar.Fingerprint
	h := uint64(n+1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
	binary.LittleEndian.PutUint64(fp[:], h^h>>32)
	fp[15] = 1
	return fp
}

func fail(g *outage.Guard, now time.Time, failure string, from, to int) *outage.Trip {
	for n := from; n < to; n++ {
		if t := g.Failed(now, failure, payload(n), 0); t != nil {
			return t
		}
	}
	return nil
}

func succeed(g *outage.Guard, now time.Time, from, to int) {
	for n := from; n < to; n++ {
		g.Succeeded(now, payload(n), 0)
	}
}

func TestWhatTripsAndWhatDoesNot(t *testing.T) {
	const down = "connect: refused"
	for _, tc := range []struct {
		name  string
		trips bool
		run   func(g *outage.Guard) *outage.Trip
	}{
		{"five payloads fail alike", true, func(g *outage.Guard) *outage.Trip { return fail(g, start, down, 0, 5) }},
		{"four payloads fail alike", false, func(g *outage.Guard) *outage.Trip { return fail(g, start, down, 0, 4) }},
		{"one poison payload is sent again a thousand times", false, func(g *outage.Guard) *outage.Trip {
			for range 1000 {
				if t := fail(g, start, down, 7, 8); t != nil {
					return t
				}
			}
			return nil
		}},
		{"four are, and take turns", false, func(g *outage.Guard) *outage.Trip {
			for i := range 1000 {
				if t := fail(g, start, down, i%4, i%4+1); t != nil {
					return t
				}
			}
			return nil
		}},
		{"five fail alike while a thousand succeed", false, func(g *outage.Guard) *outage.Trip {
			succeed(g, start, 100, 1100)
			return fail(g, start, down, 0, 5)
		}},
		{"five fail alike while twenty succeed", true, func(g *outage.Guard) *outage.Trip {
			succeed(g, start, 100, 120)
			return fail(g, start, down, 0, 5)
		}},
		{"five fail alike while 21 succeed", false, func(g *outage.Guard) *outage.Trip {
			succeed(g, start, 100, 121)
			return fail(g, start, down, 0, 5)
		}},
		{"a good payload that succeeds often is one", true, func(g *outage.Guard) *outage.Trip {
			for range 1000 {
				succeed(g, start, 100, 101)
			}
			return fail(g, start, down, 0, 5)
		}},
		{"five fail, each in its way", false, func(g *outage.Guard) *outage.Trip {
			for n := range 100 {
				if t := fail(g, start, fmt.Sprint("failure ", n), n, n+1); t != nil {
					return t
				}
			}
			return nil
		}},
		{"five fail and nobody knows how", false, func(g *outage.Guard) *outage.Trip { return fail(g, start, "", 0, 1000) }},
		{"what failed and then worked is good", false, func(g *outage.Guard) *outage.Trip {
			for n := range 1000 {
				if t := fail(g, start, down, n, n+1); t != nil {
					return t
				}
				succeed(g, start, n, n+1)
			}
			return nil
		}},
		{"five within two windows", false, func(g *outage.Guard) *outage.Trip {
			if t := fail(g, start, down, 0, 4); t != nil {
				return t
			}
			return fail(g, start.Add(time.Minute), down, 4, 8)
		}},
		{"five at the ends of one window", true, func(g *outage.Guard) *outage.Trip {
			if t := fail(g, start, down, 0, 4); t != nil {
				return t
			}
			return fail(g, start.Add(time.Minute-1), down, 4, 5)
		}},
		{"clocks that differ a little are one window", true, func(g *outage.Guard) *outage.Trip {
			fail(g, start.Add(time.Second), down, 0, 4)
			return fail(g, start, down, 4, 5)
		}},
		{"messages without a fingerprint count by their ids", true, func(g *outage.Guard) *outage.Trip {
			for id := range uint64(5) {
				if t := g.Failed(start, down, bezoar.Fingerprint{}, id); t != nil {
					return t
				}
			}
			return nil
		}},
		{"one message without a fingerprint is one", false, func(g *outage.Guard) *outage.Trip {
			for range 1000 {
				if t := g.Failed(start, down, bezoar.Fingerprint{}, 42); t != nil {
					return t
				}
			}
			return nil
		}},
		{"an id does not tell copies of a payload apart", false, func(g *outage.Guard) *outage.Trip {
			for id := range uint64(1000) {
				if t := g.Failed(start, down, payload(1), id); t != nil {
					return t
				}
			}
			return nil
		}},
		{"a flood of distinct failures of few payloads hides nothing", true, func(g *outage.Guard) *outage.Trip {
			fail(g, start, down, 0, 4)
			for n := range 20_000 {
				if t := fail(g, start, fmt.Sprint("noise ", n), 100+n%15, 101+n%15); t != nil {
					return nil
				}
			}
			return fail(g, start, down, 4, 5)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var g outage.Guard
			trip := tc.run(&g)
			if _, paused := g.Paused(); (trip != nil) != tc.trips || paused != tc.trips {
				t.Fatalf("got %+v and paused %v, want a trip: %v", trip, paused, tc.trips)
			}
			if trip != nil && trip.Failure != down {
				t.Errorf("it tripped over %q", trip.Failure)
			}
		})
	}
}

func TestATripSaysItsArithmetic(t *testing.T) {
	var g outage.Guard
	succeed(&g, start, 100, 116)
	trip := fail(&g, start, "connect: refused", 0, 10)
	const why = "5 of 21 distinct payloads that ended within 1m0s failed alike (24 %); " +
		"an outage begins at 5, the larger of 5 and 20 % of 21"
	want := outage.Trip{
		Pause: outage.Pause{Until: start.Add(30 * time.Second), Failure: "connect: refused", Level: 1, Why: why},
		Alike: 5, Ended: 21, Sampled: 1, Since: start.Add(-time.Minute),
	}
	if trip == nil || *trip != want {
		t.Errorf("got %+v, want %+v", trip, want)
	}
	for failure, want := range map[string]bool{"connect: refused": true, "something else": false, "": false} {
		if got := g.Excuses(failure); got != want {
			t.Errorf("an attempt that ends in %q is excused: %v", failure, got)
		}
	}
	if trip := fail(&g, start, "connect: refused", 200, 300); trip != nil {
		t.Errorf("it tripped while paused: %+v", trip)
	}
	big := outage.Guard{Config: outage.Config{Share: 0.123, Window: time.Hour}}
	succeed(&big, start, 0, 50_000)
	if trip = fail(&big, start, "x", 1_000_000, 1_050_000); trip == nil || !strings.Contains(trip.Why, fmt.Sprintf(", in a sample of 1 in %d)", trip.Sampled)) ||
		!strings.Contains(trip.Why, "12.3 %") || len(trip.Why) > 250 {
		t.Errorf("got %+v", trip)
	}
}

// paused is a guard that has just tripped.
func paused(t testing.TB, c outage.Config) *outage.Guard {
	t.Helper()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	g := &outage.Guard{Config: c}
	if fail(g, start, "down", 0, 5) == nil {
		t.Fatal("no trip")
	}
	return g
}

func canary(t testing.TB, g *outage.Guard, now time.Time) uint64 {
	t.Helper()
	generation, ok := g.Canary(now)
	if !ok {
		t.Fatalf("no canary at %v: %+v", now, g.Snapshot())
	}
	if _, again := g.Canary(now); again {
		t.Fatal("two canaries at a time")
	}
	return generation
}

func TestACanaryThatWorksEndsThePause(t *testing.T) {
	g := paused(t, outage.Config{})
	if _, ok := g.Canary(start.Add(30*time.Second - 1)); ok {
		t.Fatal("a canary during the pause")
	}
	now := start.Add(30 * time.Second)
	generation := canary(t, g, now)
	if p, ok := g.Paused(); !ok || !p.Trying || p.Until != now.Add(time.Minute) || p.Failure != "down" {
		t.Errorf("with the canary out it is %+v, %v", p, ok)
	}
	succeed(g, now, 0, 100) // stragglers are no canary
	if _, ok := g.Paused(); !ok {
		t.Fatal("a straggler ended the pause")
	}
	if !g.Returned(now, generation, outage.Worked, "") {
		t.Fatal("the canary's success changed nothing")
	}
	if p, ok := g.Paused(); ok || p != (outage.Pause{}) || g.Excuses("down") {
		t.Fatalf("it is still paused: %+v", p)
	}
	if _, ok := g.Canary(now.Add(time.Hour)); ok {
		t.Error("a canary of a queue that runs")
	}
	if trip := fail(g, now, "down", 10, 14); trip != nil {
		t.Errorf("what failed before the pause counts after it: %+v", trip)
	}
}

func TestPausesDoubleUpToTheCap(t *testing.T) {
	g, now := paused(t, outage.Config{}), start
	for i, want := range []time.Duration{30, 60, 120, 240, 480, 600, 600} {
		p, _ := g.Paused()
		if got := p.Until.Sub(now); got != want*time.Second || p.Level != uint8(i+1) {
			t.Errorf("pause %d is %+v and lasts %v, want %ds", i+1, p, got, want)
		}
		now = p.Until
		if !g.Returned(now, canary(t, g, now), outage.Failed, "something else") {
			t.Fatal("the canary's failure changed nothing")
		}
	}
	p, _ := g.Paused()
	if p.Failure != "down" || p.Why != "a canary failed: something else" {
		t.Errorf("after failed canaries it is %+v", p)
	}
	now = p.Until
	g.Returned(now, canary(t, g, now), outage.Worked, "")
	now = now.Add(10*time.Minute - time.Second)
	if trip := fail(g, now, "down", 0, 5); trip == nil || trip.Level != p.Level+1 {
		t.Errorf("a relapse is %+v, want level %d", trip, p.Level+1)
	}
	g.Resume(now)
	now = now.Add(10 * time.Minute)
	if trip := fail(g, now, "down", 0, 5); trip == nil || trip.Level != 1 {
		t.Errorf("after ten good minutes a trip is %+v, want level 1", trip)
	}
}

func TestOnlyTheCanaryThatIsOutCounts(t *testing.T) {
	g := paused(t, outage.Config{})
	now := start.Add(30 * time.Second)
	lost := canary(t, g, now)
	now = now.Add(time.Minute)
	second := canary(t, g, now) // the first is overdue
	if second == lost {
		t.Fatal("two canaries have one generation")
	}
	before := g.Snapshot()
	for _, r := range []outage.Result{outage.Worked, outage.Failed, outage.Lost} {
		if g.Returned(now, lost, r, "") || g.Snapshot() != before {
			t.Errorf("the late canary changed %+v into %+v", before, g.Snapshot())
		}
	}
	if !g.Returned(now, second, outage.Lost, "") {
		t.Fatal("a lost canary is no change")
	}
	third := canary(t, g, now)
	if p, _ := g.Paused(); p.Level != 1 {
		t.Errorf("a lost canary made the pause longer: %+v", p)
	}
	now = now.Add(2 * time.Minute)
	if !g.Returned(now, third, outage.Worked, "") {
		t.Error("a canary that is late but the last does not count")
	}
	if g.Returned(now, third, outage.Worked, "") {
		t.Error("it counts twice")
	}
}

func TestAnOperatorResumes(t *testing.T) {
	g := paused(t, outage.Config{})
	if !g.Resume(start) || g.Resume(start) {
		t.Error("resuming is not one change")
	}
	if _, ok := g.Paused(); ok {
		t.Error("it is still paused")
	}
}

func TestAClockThatStepsBackDoesNotKeepItPaused(t *testing.T) {
	g, now := paused(t, outage.Config{Cap: time.Minute}), start.Add(-24*time.Hour)
	if _, ok := g.Canary(now); ok {
		t.Error("a canary during the pause")
	}
	now = now.Add(time.Minute)
	canary(t, g, now)
	now = now.Add(-24 * time.Hour)
	if _, ok := g.Canary(now); ok {
		t.Error("a second canary")
	}
	canary(t, g, now.Add(time.Minute))
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		cfg  outage.Config
		want string
	}{
		{outage.Config{}, "<nil>"},
		{outage.Config{Pause: time.Hour}, "<nil>"}, // the cap follows
		{outage.Config{Least: 1, Share: 1.5}, "least is 1, want 2 to 100 distinct payloads\nshare is 1.5, want more than 0, up to 1"},
		{
			outage.Config{Window: 1, Pause: -1, Cap: 48 * time.Hour, CanaryFor: -1},
			"window is 1ns, want 1s to 24h\npause is -1ns, want 1ms or more\ncap is 48h0m0s, want pause (-1ns) to 24h\ncanary for is -1ns, want 1ms to 24h",
		},
	} {
		if got := fmt.Sprint(tc.cfg.Validate()); got != tc.want {
			t.Errorf("%+v:\n%s, want\n%s", tc.cfg, got, tc.want)
		}
	}
}
