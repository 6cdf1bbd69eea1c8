package shed_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

func TestAQuarterOfTheWorkIsQuicker(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, draw := range map[string]func() time.Duration{
		"even": func() time.Duration { return time.Duration(rng.Int64N(int64(time.Second))) },
		"long": func() time.Duration { return time.Duration(rng.ExpFloat64() * float64(time.Second)) },
		"two kinds": func() time.Duration {
			return time.Millisecond + time.Duration(rng.IntN(2))*time.Second
		},
	} {
		var s shed.Service
		if s.Quick(start) != 0 {
			t.Error("known before the first result")
		}
		for range 2000 {
			s.Done(draw())
		}
		faster, sum := 0, 0.0
		for range 20_000 {
			x := draw()
			if x < s.Quick(start) {
				faster++
			}
			s.Done(x)
			sum += s.Quick(start).Seconds()
		}
		if name == "two kinds" { // half of it takes 1 ms: that is the quarter's
			if mean := sum / 20_000; mean > 0.003 {
				t.Errorf("%s: %.4f s is quick, want 1 ms", name, mean)
			}
			continue
		}
		if share := float64(faster) / 20_000; share < 0.2 || share > 0.3 {
			t.Errorf("%s: %.2f of the work is faster than quick, want a quarter", name, share)
		}
	}
}

// Without results the estimate fades, or it could refuse everything for ever.
func TestAnEstimateFades(t *testing.T) {
	var s shed.Service
	s.Done(time.Second)
	now := start
	if got := s.Quick(now); got != time.Second {
		t.Fatalf("quick is %v after one result", got)
	}
	for _, want := range []time.Duration{time.Second, time.Second / 2, time.Second / 4} {
		if got := s.Quick(now.Add(999 * time.Millisecond)); got != want {
			t.Errorf("quick is %v after %v, want %v", got, now.Sub(start), want)
		}
		now = now.Add(time.Second)
	}
	if got := s.Quick(now.Add(time.Hour)); got != 0 {
		t.Errorf("quick is %v after an hour", got)
	}
	s.Done(time.Millisecond)
	if got := s.Quick(now.Add(2 * time.Hour)); got != time.Millisecond {
		t.Errorf("quick is %v after a new result", got)
	}
}

func TestRetryAfterSpreads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load, random := rapid.Float64Range(-1, 1e9).Draw(t, "load"), rapid.Float64Range(0, 0.999999).Draw(t, "random")
		if got := shed.RetryAfter(load, random); got < time.Second || got > 90*time.Second {
			t.Fatalf("%v at load %g", got, load)
		}
	})
	rng := rand.New(rand.NewPCG(7, 8))
	for _, tc := range []struct {
		load      float64
		low, high int // whole seconds
	}{{1, 1, 3}, {10, 10, 30}, {1000, 30, 90}} {
		seen := map[int]int{}
		for range 10_000 {
			seen[int(shed.RetryAfter(tc.load, rng.Float64())/time.Second)]++
		}
		for s, n := range seen {
			if s < tc.low || s >= tc.high || n > 2*10_000/(tc.high-tc.low) {
				t.Errorf("at load %g %d of 10000 come back in second %d", tc.load, n, s)
			}
		}
		if len(seen) != tc.high-tc.low {
			t.Errorf("at load %g they come back in %d different seconds, want %d", tc.load, len(seen), tc.high-tc.low)
		}
	}
}
