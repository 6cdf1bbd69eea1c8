package balance_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/balance"
)

func TestRamp(t *testing.T) {
	for _, c := range []struct {
		age, over time.Duration
		want      float64
	}{
		{0, 0, 1},
		{-time.Second, 0, 1},
		{0, 10 * time.Second, 0.1},
		{-time.Hour, 10 * time.Second, 0.1},
		{500 * time.Millisecond, 10 * time.Second, 0.1},
		{5 * time.Second, 10 * time.Second, 0.5},
		{10 * time.Second, 10 * time.Second, 1},
		{time.Hour, 10 * time.Second, 1},
	} {
		if got := balance.Ramp(c.age, c.over); got != c.want {
			t.Errorf("Ramp(%v, %v) = %v, want %v", c.age, c.over, got, c.want)
		}
	}
}

func TestRampNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		over := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "over"))
		age := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(2*time.Hour)).Draw(t, "age"))
		more := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))
		a, b := balance.Ramp(age, over), balance.Ramp(age+more, over)
		if a > b || a < balance.LeastShare || b > 1 {
			t.Fatalf("%v at %v, %v at %v", a, age, b, age+more)
		}
	})
}

// The share of a fresh worker is what Ramp says, in a fleet that idles and in
// one that is busy, chosen of all and of two.
func TestLoadGivesAFreshWorkerItsShare(t *testing.T) {
	const picks, n = 200_000, 8
	rng := rand.New(rand.NewPCG(1, 2))
	for _, share := range []float64{0.1, 0.25, 0.5, 1} {
		for _, depth := range []int{1, 400} { // in flight in the whole fleet
			for _, two := range []bool{false, true} {
				got := simulate(rng, picks, n, depth, share, two)
				want := share / (share + n - 1)
				if depth == 1 && !two {
					want = share / n // it wins a tie with the others as often as that
				}
				// Of two, load differences blur the share: a fifth of it is well within
				// what a slow start is for.
				if math.Abs(got-want) > 0.2*want+0.002 {
					t.Errorf("share %v, %d in flight, of two %v: it got %.4f of the work, want %.4f", share, depth, two, got, want)
				}
			}
		}
	}
}

// simulate returns the part of the picks that fall on worker 0, whose share is
// given, while depth pieces of work are in flight and end in random order.
func simulate(rng *rand.Rand, picks, n, depth int, share float64, two bool) float64 {
	inFlight := make([]int, n)
	var out []int
	load := func(i int) float64 {
		s := 1.0
		if i == 0 {
			s = share
		}
		return balance.Load(inFlight[i], s, rng.Float64())
	}
	hits := 0
	for range picks {
		best := rng.IntN(n)
		if two {
			if other := (best + 1 + rng.IntN(n-1)) % n; load(other) < load(best) {
				best = other
			}
		} else {
			best = 0
			least := load(0)
			for i := 1; i < n; i++ {
				if l := load(i); l < least {
					best, least = i, l
				}
			}
		}
		if best == 0 {
			hits++
		}
		inFlight[best]++
		out = append(out, best)
		if len(out) >= depth {
			k := rng.IntN(len(out))
			inFlight[out[k]]--
			out[k] = out[len(out)-1]
			out = out[:len(out)-1]
		}
	}
	return float64(hits) / float64(picks)
}

func TestPanic(t *testing.T) {
	for _, c := range []struct {
		up, well int
		below    float64
		want     bool
	}{
		{0, 0, 0.5, false},
		{1, 1, 0.5, false},
		{1, 0, 0.5, true},
		{2, 1, 0.5, false},
		{8, 4, 0.5, false},
		{8, 3, 0.5, true},
		{10, 9, 0.9, false},
		{10, 8, 0.9, true},
		{3, 3, 1, false},
		{3, 2, 1, true},
		{8, 0, 0, false},
	} {
		if got := balance.Panic(c.up, c.well, c.below); got != c.want {
			t.Errorf("%d of %d well, below %v: panic %v", c.well, c.up, c.below, got)
		}
	}
}
