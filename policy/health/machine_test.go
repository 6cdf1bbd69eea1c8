package health_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/health"
)

func drawLimits(t *rapid.T) health.Limits {
	upper := rapid.Float64Range(0.1, 0.9).Draw(t, "degraded upper")
	lower := rapid.Float64Range(0.01, upper).Draw(t, "degraded lower")
	worse := rapid.Float64Range(upper, 1).Draw(t, "failing upper")
	l := health.Limits{
		Degraded: health.Band{Upper: upper, Lower: lower},
		Failing:  health.Band{Upper: worse, Lower: rapid.Float64Range(lower, worse).Draw(t, "failing lower")},
		Times:    rapid.IntRange(1, 4).Draw(t, "times"),
		For:      time.Duration(rapid.IntRange(0, 20).Draw(t, "for")) * time.Second,
		Calm:     time.Duration(rapid.IntRange(0, 20).Draw(t, "calm")) * time.Second,
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	return l
}

// moment is one step of a gauge.
type moment struct {
	at    time.Time
	value float64
	state health.State
}

// Whatever is measured: a state begins only after Times samples at or above the
// threshold over For, and ends only after Calm below the other; so in any time
// there are no more changes than that allows.
func TestAGaugeDoesNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		g := health.Gauge{Limits: l}
		now := start
		var past []moment
		worse, better := 0, 0
		for range rapid.IntRange(1, 120).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
			was := g.State()
			m := moment{at: now, value: rapid.Float64Range(0, 1).Draw(t, "value")}
			m.state = g.Step(now, m.value)
			past = append(past, m)
			if m.state > was {
				worse++
				b := l.Degraded
				if m.state == health.Failing {
					b = l.Failing
				}
				justified(t, past, l.Times, l.For, func(v float64) bool { return v >= b.Upper })
			}
			if m.state < was {
				better++
				b := l.Failing
				if was == health.Degraded {
					b = l.Degraded
				}
				justified(t, past, 1, l.Calm, func(v float64) bool { return v < b.Lower })
			}
		}
		if cycle := l.For + l.Calm; cycle > 0 {
			// Two bands, each on and off once in a cycle.
			if most := 2 * (int(now.Sub(start)/cycle) + 1); worse > most {
				t.Fatalf("%d times worse in %v, want %d at most (for %v, calm %v)", worse, now.Sub(start), most, l.For, l.Calm)
			}
		}
		if better > 2*worse {
			t.Fatalf("%d times better, %d times worse", better, worse)
		}
	})
}

// justified wants the last samples to speak for a change, as many and for as
// long as it takes.
func justified(t *rapid.T, past []moment, times int, lasts time.Duration, speaks func(float64) bool) {
	n := 0
	var first time.Time
	for i := len(past) - 1; i >= 0 && speaks(past[i].value); i-- {
		n++
		first = past[i].at
	}
	now := past[len(past)-1].at
	if n < times || now.Sub(first) < lasts {
		t.Fatalf("a change after %d samples over %v, want %d over %v", n, now.Sub(first), times, lasts)
	}
}

// Noise that is narrower than the room between the thresholds changes a state
// once at most, wherever it lies.
func TestNoiseChangesAStateOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		room := min(l.Degraded.Upper-l.Degraded.Lower, l.Failing.Upper-l.Failing.Lower)
		middle := rapid.Float64Range(0, 1).Draw(t, "middle")
		g := health.Gauge{Limits: l}
		now, degraded, failing := start, 0, 0
		was := g.State()
		for range 200 {
			now = now.Add(time.Second)
			s := g.Step(now, middle+room*rapid.Float64Range(-0.49, 0.49).Draw(t, "noise"))
			if (s == health.Failing) != (was == health.Failing) {
				failing++
			}
			if (s == health.OK) != (was == health.OK) {
				degraded++
			}
			was = s
		}
		if degraded > 1 || failing > 1 {
			t.Fatalf("degraded changed %d times, failing %d times", degraded, failing)
		}
	})
}

// What lasts is always seen, however it was before, and so is its end.
func TestAGaugeFollowsWhatLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLimits(t)
		g := health.Gauge{Limits: l}
		now := start
		for range rapid.IntRange(0, 50).Draw(t, "before") {
			now = now.Add(time.Duration(rapid.IntRange(-2000, 5000).Draw(t, "ms")) * time.Millisecond)
			g.Step(now, rapid.Float64Range(0, 1).Draw(t, "value"))
		}
		last := func(value float64) health.State {
			for range 30 {
				now = now.Add(time.Second)
				g.Step(now, value)
			}
			return g.State()
		}
		if s := last(1); s != health.Failing {
			t.Fatalf("after 30 s at 1 it is %v", s)
		}
		if s := last(0); s != health.OK {
			t.Fatalf("after 30 s at 0 it is %v", s)
		}
	})
}

// A window holds what came within it, give or take a tenth, and nothing else.
func TestAWindowHoldsWhatItShould(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		window := time.Duration(rapid.IntRange(1, 60).Draw(t, "window")) * time.Second
		c := health.Calls{Rules: health.Rules{Window: window}}
		type batch struct {
			at time.Time
			n  uint64
		}
		var all []batch
		now := start
		for range rapid.IntRange(1, 60).Draw(t, "batches") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			n := rapid.IntRange(0, 5).Draw(t, "calls")
			c.Add(now, tally(n, 0, 0, time.Millisecond))
			all = append(all, batch{now, uint64(n)})
			var most, least uint64
			for _, b := range all {
				if age := now.Sub(b.at); age <= window {
					most += b.n
					if age < window-window/10 {
						least += b.n
					}
				}
			}
			if r := c.Step(now); r.Calls < least || r.Calls > most {
				t.Fatalf("%d calls, want %d to %d", r.Calls, least, most)
			}
		}
	})
}
