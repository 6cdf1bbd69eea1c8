package backoff_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

func all() []backoff.Strategy {
	return []backoff.Strategy{
		backoff.Immediate, backoff.Fixed, backoff.Exponential,
		backoff.FullJitter, backoff.EqualJitter, backoff.Decorrelated,
	}
}

func TestStrategiesHaveNames(t *testing.T) {
	names := backoff.Strategies()
	for i, s := range all() {
		text, err := json.Marshal(s)
		if err != nil || string(text) != `"`+names[i]+`"` || s.String() != names[i] {
			t.Errorf("%q is written %s (%v), want %q", string(s), text, err, names[i])
		}
		back := backoff.Strategy("something else")
		if err := json.Unmarshal(text, &back); err != nil || back != s {
			t.Errorf("%s is read as %q (%v), want %q", text, string(back), err, string(s))
		}
	}
	if s := backoff.Fixed; s.UnmarshalText(nil) != nil || s != backoff.FullJitter {
		t.Errorf("nothing is read as %q, want the default", s)
	}
}

func TestAnUnknownStrategyIsToldTheKnownOnes(t *testing.T) {
	const want = `strategy "expo" is unknown, want immediate, fixed, exponential, full-jitter, equal-jitter or decorrelated-jitter`
	s := backoff.Fixed
	if err := s.UnmarshalText([]byte("expo")); err == nil || err.Error() != want || s != backoff.Fixed {
		t.Errorf("got %v and %q, want %s and no change", err, s, want)
	}
	if err := (backoff.Config{Strategy: "expo"}).Validate(); err == nil || err.Error() != want {
		t.Errorf("Validate says %v, want %s", err, want)
	}
}

func TestWaitsOfEachStrategy(t *testing.T) {
	for _, tc := range []struct {
		strategy backoff.Strategy
		random   float64
		want     []time.Duration // one after the other, in whole seconds
	}{
		{backoff.Immediate, 0.5, []time.Duration{0, 0, 0, 0, 0}},
		{backoff.Fixed, 0.5, []time.Duration{2, 2, 2, 2, 2}},
		{backoff.Exponential, 0.5, []time.Duration{2, 4, 8, 16, 20}},
		{backoff.FullJitter, 0.5, []time.Duration{1, 2, 4, 8, 10}},
		{backoff.FullJitter, 0, []time.Duration{0, 0, 0, 0, 0}},
		{backoff.EqualJitter, 0.5, []time.Duration{1, 3, 6, 12, 15}},
		{backoff.EqualJitter, 0, []time.Duration{1, 2, 4, 8, 10}},
		{backoff.Decorrelated, 0, []time.Duration{2, 2, 2, 2, 2}},
		{backoff.Decorrelated, 0.5, []time.Duration{4, 7, 11, 18, 20}},
	} {
		c := backoff.Config{Strategy: tc.strategy, Base: 2 * time.Second, Cap: 20 * time.Second}
		previous := time.Duration(0)
		for n, want := range tc.want {
			previous = c.After(n, previous, tc.random)
			if previous.Truncate(time.Second) != want*time.Second {
				t.Errorf("%s at %g: wait %d is %v, want %ds", tc.strategy, tc.random, n, previous, want)
			}
		}
	}
}

// draw draws a valid configuration of any strategy.
func draw(t *rapid.T) backoff.Config {
	c := backoff.Config{
		Strategy: rapid.SampledFrom(all()).Draw(t, "strategy"),
		Base:     time.Duration(rapid.Int64Range(1, int64(1000*time.Hour)).Draw(t, "base")),
	}
	c.Cap = time.Duration(rapid.Int64Range(int64(c.Base), 1<<63-1).Draw(t, "cap"))
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Whatever is drawn, no wait is above its ceiling, no ceiling above the cap or
// below the one before, and no sequence takes longer than the retry bound.
func TestNoSequenceOfWaitsExceedsTheRetryBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		deliveries := rapid.IntRange(1, 80).Draw(t, "deliveries")
		known := rapid.Bool().Draw(t, "previous is known")
		var sum, previous, before time.Duration
		for n := range deliveries - 1 {
			wait := c.After(n, previous, rapid.Float64Range(0, 0.999999).Draw(t, "random"))
			ceiling := c.Ceiling(n)
			if wait < low(c, n) || wait > ceiling || ceiling > c.Cap || ceiling < before {
				t.Fatalf("wait %d of %+v is %v, between %v and %v; the ceiling before was %v", n, c, wait, low(c, n), ceiling, before)
			}
			if sum += wait; sum < 0 {
				return // centuries
			}
			before = ceiling
			if known {
				previous = wait
			}
		}
		if bound := c.RetryBound(deliveries); sum > bound {
			t.Fatalf("the waits of %d deliveries of %+v took %v, want at most %v", deliveries, c, sum, bound)
		}
	})
}

// low is the shortest wait there can be.
func low(c backoff.Config, n int) time.Duration {
	switch c.Strategy {
	case backoff.FullJitter:
		return 0
	case backoff.EqualJitter:
		return c.Ceiling(n) / 2
	case backoff.Decorrelated:
		return c.Base
	case backoff.Immediate, backoff.Fixed, backoff.Exponential:
	}
	return c.Ceiling(n)
}

func TestMeansAreThoseOfTheFormulas(t *testing.T) {
	for _, tc := range []struct {
		strategy backoff.Strategy
		attempt  int
		previous time.Duration
		want     float64 // seconds
	}{
		{backoff.FullJitter, 0, 0, 0.5},
		{backoff.FullJitter, 3, 0, 4},
		{backoff.FullJitter, 30, 0, 150},
		{backoff.EqualJitter, 0, 0, 0.75},
		{backoff.EqualJitter, 3, 0, 6},
		{backoff.Decorrelated, 0, 0, 2},
		{backoff.Decorrelated, 3, 10 * time.Second, 15.5},
		{backoff.Decorrelated, 2, 0, 8}, // the wait before was 1 s to 9 s: it stands for 5 s
	} {
		random := rand.New(rand.NewPCG(1, 2))
		c, sum := backoff.Config{Strategy: tc.strategy}, 0.0
		const n = 100_000
		for range n {
			sum += c.After(tc.attempt, tc.previous, random.Float64()).Seconds()
		}
		if mean := sum / n; mean < 0.98*tc.want || mean > 1.02*tc.want {
			t.Errorf("%s: the mean of wait %d is %.3f s, want %.3f s ± 2 %%", tc.strategy, tc.attempt, mean, tc.want)
		}
	}
}

// Of a thousand that failed at once, no instant sees many come back.
func TestJitterSpreadsThoseThatFailedTogether(t *testing.T) {
	for _, s := range []backoff.Strategy{backoff.FullJitter, backoff.EqualJitter, backoff.Decorrelated} {
		random, most, at := rand.New(rand.NewPCG(3, 4)), 0, map[time.Duration]int{}
		for range 1000 {
			wait := backoff.Config{Strategy: s}.Wait(4, random.Float64()).Truncate(100 * time.Millisecond)
			at[wait]++
			most = max(most, at[wait])
		}
		if most > 50 {
			t.Errorf("%s sends %d of 1,000 back within 100 ms", s, most)
		}
	}
}
