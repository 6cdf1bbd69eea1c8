package openloop

import (
	"context"
	"testing"
	"time"
)

func TestEveryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	begin := time.Now().Add(-time.Minute) // all are due
	Every(ctx, begin, begin.Add(time.Hour), time.Millisecond, func(time.Time) {
		if n++; n == 3 {
			cancel()
		}
	})
	if n != 3 {
		t.Errorf("called %d times after the context ended, want 3", n)
	}
}

func TestEveryMakesUpForWhatIsLate(t *testing.T) {
	n := 0
	begin := time.Now().Add(-time.Minute)
	Every(t.Context(), begin, begin.Add(time.Second), 10*time.Millisecond, func(time.Time) { n++ })
	if n != 100 {
		t.Errorf("called %d times, want 100", n)
	}
}

func TestQuantile(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i))
	}
	if a, b := Quantile(times, 0.5), Quantile(times, 0.99); a != 51 || b != 100 {
		t.Errorf("p50 %d, p99 %d; want 51, 100", a, b)
	}
	if Quantile(nil, 0.5) != 0 {
		t.Error("a quantile of nothing is not 0")
	}
}

func TestPercentIsAHundredOnlyWhenItIs(t *testing.T) {
	for _, c := range []struct {
		part, whole int
		want        float64
	}{{100, 100, 100}, {99_999, 100_000, 99.99}, {1, 3, 33.33}, {0, 5, 0}, {0, 0, 0}} {
		if got := Percent(c.part, c.whole); got != c.want {
			t.Errorf("Percent(%d, %d) = %g, want %g", c.part, c.whole, got, c.want)
		}
	}
}
