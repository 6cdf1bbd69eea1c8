package backoff_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/backoff"
)

func TestTheRetryBoundIsSpeltOut(t *testing.T) {
	for _, tc := range []struct {
		cfg      backoff.Config
		attempts int
		bound    time.Duration
		explain  string
	}{
		{backoff.Config{}, 0, 0, "no waits = 0s"},
		{backoff.Config{}, 1, 0, "no waits = 0s"},
		{backoff.Config{}, 2, time.Second, "1s = 1s"},
		{backoff.Config{}, 5, 15 * time.Second, "1s + 2s + 4s + 8s = 15s"},
		{backoff.Config{Cap: 5 * time.Second}, 7, 22 * time.Second, "1s + 2s + 4s + 3 × 5s = 22s"},
		{backoff.Config{Cap: 4 * time.Second}, 5, 11 * time.Second, "1s + 2s + 2 × 4s = 11s"},
		{backoff.Config{}, 7, 63 * time.Second, "1s + 2s + 4s + 8s + 16s + 32s = 1m3s"},
		{backoff.Config{}, 20, 58*time.Minute + 31*time.Second, "1s + 2s + 4s + … (5 more) + 4m16s + 10 × 5m0s = 58m31s"},
		{backoff.Config{Strategy: backoff.Immediate}, 5, 0, "4 × 0s = 0s"},
		{backoff.Config{Strategy: backoff.Fixed}, 5, 4 * time.Second, "4 × 1s = 4s"},
		{backoff.Config{Strategy: backoff.EqualJitter}, 4, 7 * time.Second, "1s + 2s + 4s = 7s"},
		{backoff.Config{Strategy: backoff.Decorrelated}, 4, 39 * time.Second, "3s + 9s + 27s = 39s"},
		{backoff.Config{Cap: math.MaxInt64}, 100, math.MaxInt64, "1s + 2s + 4s + … (30 more) + 2386092h56m32s + 65 × 2562047h47m16.854775807s = more than 292 years"},
		{backoff.Config{}, math.MaxInt, math.MaxInt64, "1s + 2s + 4s + … (5 more) + 4m16s + 9223372036854775797 × 5m0s = more than 292 years"},
	} {
		if got := tc.cfg.RetryBound(tc.attempts); got != tc.bound {
			t.Errorf("%+v: the bound of %d deliveries is %v, want %v", tc.cfg, tc.attempts, got, tc.bound)
		}
		if got := tc.cfg.Explain(tc.attempts); got != tc.explain {
			t.Errorf("%+v: %d deliveries are explained as\n%s, want\n%s", tc.cfg, tc.attempts, got, tc.explain)
		}
	}
}

func TestTheRetryBoundIsTheSumOfTheCeilings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		n := rapid.IntRange(0, 200).Draw(t, "deliveries")
		sum := 0.0
		for i := range n - 1 {
			sum += float64(c.Ceiling(i))
		}
		want := min(sum, math.MaxInt64)
		if got := float64(c.RetryBound(n)); math.Abs(got-want) > 1e-9*want {
			t.Fatalf("the bound of %d deliveries of %+v is %g, want %g", n, c, got, want)
		}
		if line := c.Explain(n); len(line) > 250 || strings.ContainsAny(line, "\n\r") {
			t.Fatalf("%q is no readable line", line)
		}
	})
}

// A deadline that the waits alone can exceed is refused with the arithmetic.
func ExampleConfig_Explain() {
	c, attempts, deadline := backoff.Config{Base: time.Second, Cap: time.Minute}, 10, 3*time.Minute
	if bound := c.RetryBound(attempts); bound > deadline {
		fmt.Printf("the waits of %d attempts can take %s, more than the deadline of %v\n", attempts, c.Explain(attempts), deadline)
	}
	// Output:
	// the waits of 10 attempts can take 1s + 2s + 4s + … (2 more) + 32s + 3 × 1m0s = 4m3s, more than the deadline of 3m0s
}

func ExampleConfig_After() {
	c := backoff.Config{Strategy: backoff.Decorrelated, Base: time.Second, Cap: time.Minute}
	var wait time.Duration
	for attempt, random := range []float64{0.5, 0.1, 0.9} {
		wait = c.After(attempt, wait, random)
		fmt.Println(wait)
	}
	// Output:
	// 2s
	// 1.5s
	// 4.15s
}
