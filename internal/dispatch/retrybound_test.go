package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/backoff"
	"github.com/bezoar-dev/bezoar/policy/budget"
)

func TestTheRetryBoundIsSpeltOut(t *testing.T) {
	for _, tc := range []struct {
		cfg     dispatch.RetryConfig
		workers int
		timeout time.Duration
		total   time.Duration
		text    string
	}{
		{dispatch.RetryConfig{}, 8, 0, 2 * time.Minute, "3 attempts × 30s + 30s of waiting = 2m0s; at most 20 % and 3/s more deliveries"},
		{dispatch.RetryConfig{}, 1, 2 * time.Second, 21 * time.Second, "3 attempts (2 while workers live) × 2s + 15s of waiting = 21s; at most 20 % and 3/s more deliveries"},
		{dispatch.RetryConfig{Attempts: 10}, 4, time.Second, 25 * time.Second, "10 attempts (4 while workers live) × 1s + 15s of waiting = 25s; at most 20 % and 3/s more deliveries"},
		{dispatch.RetryConfig{Attempts: 10}, 0, time.Second, 25 * time.Second, "10 attempts × 1s + 15s of waiting = 25s; at most 20 % and 3/s more deliveries"},
		{
			dispatch.RetryConfig{Budget: budget.Config{Ratio: 1, Floor: 1000}},
			3, time.Second, 18 * time.Second,
			"3 attempts × 1s + 15s of waiting = 18s; at most 100 % and 1000/s more deliveries",
		},
		{
			dispatch.RetryConfig{Budget: budget.Config{Ratio: 1e-9, Floor: 1e-9}},
			3, time.Second, 18 * time.Second,
			"3 attempts × 1s + 15s of waiting = 18s; at most 0 % and 0/s more deliveries",
		},
		{dispatch.RetryConfig{Attempts: 1}, 8, time.Second, 16 * time.Second, "1 attempt × 1s + 15s of waiting = 16s; no more deliveries than work"},
		{
			dispatch.RetryConfig{Budget: budget.Config{Ratio: 0.05, Floor: 0.5}},
			8, 200 * 365 * 24 * time.Hour, 1<<63 - 1,
			"3 attempts × 1752000h0m0s + 1752000h0m0s of waiting = more than 292 years; at most 5 % and 0.5/s more deliveries",
		},
	} {
		w := dispatch.RetryBoundOf(tc.cfg, tc.workers, tc.timeout)
		if w.Total != tc.total || w.String() != tc.text {
			t.Errorf("%+v, %d workers, %v: %v,\n%s, want %v,\n%s", tc.cfg, tc.workers, tc.timeout, w.Total, w, tc.total, tc.text)
		}
	}
}

// However often work comes and fails, what is delivered in the long run stays
// within the bound, because the budget is asked before each retry.
func TestNoLoadIsAboveTheRetryBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := dispatch.RetryConfig{
			Attempts: rapid.IntRange(1, 10).Draw(t, "attempts"),
			Budget:   budget.Config{Ratio: rapid.Float64Range(0.01, 1).Draw(t, "ratio"), Floor: rapid.Float64Range(0.1, 20).Draw(t, "floor")},
			Backoff:  backoff.Config{Strategy: backoff.Immediate},
		}
		w := dispatch.RetryBoundOf(cfg, rapid.IntRange(0, 12).Draw(t, "workers"), time.Second)
		rate := rapid.IntRange(1, 200).Draw(t, "work a second")
		b := budget.Budget{Config: cfg.Budget}
		const seconds = 100
		deliveries := 0
		for s := range seconds {
			now := time.Unix(int64(1_000_000+s), 0)
			for range rate {
				b.First(now)
				deliveries++
				for n := 1; n < w.Attempts && b.Retry(now); n++ {
					deliveries++
				}
			}
		}
		// The floor of the ten seconds before the first may come on top.
		if most := w.Load(float64(rate))*seconds + 10*w.Floor; float64(deliveries) > most {
			t.Fatalf("%d deliveries of %d pieces of work, want at most %g (%s)", deliveries, rate*seconds, most, w)
		}
	})
}

// A route whose callers give it less time than it may need is worth a warning.
func ExampleRetryBoundOf() {
	w := dispatch.RetryBoundOf(dispatch.RetryConfig{Attempts: 5}, 4, 10*time.Second)
	fmt.Println(w)
	fmt.Printf("100 pieces of work a second become at most %.0f deliveries\n", w.Load(100))
	// Output:
	// 5 attempts (4 while workers live) × 10s + 15s of waiting = 1m5s; at most 20 % and 3/s more deliveries
	// 100 pieces of work a second become at most 123 deliveries
}
