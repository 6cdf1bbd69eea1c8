package watchdog

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	mib    = 1 << 20
	window = 10 * time.Minute
	fewest = 96 // samples in a window
)

// feed samples a series of bytes over time as an engine does, each wait spread
// by a fifth, and returns when growth of at least limit was first seen; -1 never.
func feed(rng *rand.Rand, every, length time.Duration, limit float64, value func(at time.Duration) float64) time.Duration {
	var t trend
	began := time.Unix(1_000_000, 0)
	for at := time.Duration(0); at < length; at += every*4/5 + time.Duration(rng.Int64N(int64(every*2/5)+1)) {
		t.add(began.Add(at), window, int64(value(at)))
		if t.rate >= limit {
			return at
		}
	}
	return -1
}

func source(t *rapid.T) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
}

func interval(t *rapid.T) time.Duration {
	return window / time.Duration(rapid.IntRange(fewest, 600).Draw(t, "samples in a window"))
}

func share(t *rapid.T, name string, from, to float64) time.Duration {
	return time.Duration(rapid.Float64Range(from, to).Draw(t, name) * float64(window))
}

// A steady leak is found at the end of the first window, and under noise of a
// seventh of what it adds in a window, within another.
func TestLeaksAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(t)
		base := rapid.Float64Range(10, 4096).Draw(t, "base, MiB") * mib
		perWindow := max(8, base/mib/50) * rapid.Float64Range(1, 50).Draw(t, "leak, least") * mib
		swing := perWindow * rapid.Float64Range(0, 0.15).Draw(t, "noise")
		rate := perWindow * float64(time.Hour/window)
		found := feed(rng, interval(t), 3*window, rate/1.25, func(at time.Duration) float64 {
			return base + perWindow*float64(at)/float64(window) + swing*rng.Float64()
		})
		bound := 2 * window
		if swing == 0 {
			bound = window + window/blocks
		}
		if found < 0 || found > bound {
			t.Fatalf("a leak of %.0f MiB per window was found after %v, want within %v", perWindow/mib, found, bound)
		}
	})
}

// A leak under a collector that swings by a seventh of what leaks in a window.
func TestLeaksUnderASawtoothAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(t)
		perWindow := rapid.Float64Range(16, 2048).Draw(t, "leak, MiB") * mib
		swing := perWindow * rapid.Float64Range(0.1, 0.15).Draw(t, "swing")
		period := share(t, "period", 0.02, 1.0/24)
		rate := perWindow * float64(time.Hour/window)
		found := feed(rng, interval(t), 4*window, rate/1.5, func(at time.Duration) float64 {
			return 100*mib + perWindow*float64(at)/float64(window) + swing*math.Mod(float64(at)/float64(period), 1)
		})
		if found < 0 || found > 3*window {
			t.Fatalf("found after %v", found)
		}
	})
}

// What a collector frees in periods of up to half a window is no growth,
// however much it is.
func TestASawtoothIsNoGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(t)
		floor := rapid.Float64Range(1, 4096).Draw(t, "floor, MiB") * mib
		swing := rapid.Float64Range(0, 8192).Draw(t, "swing, MiB") * mib
		period := share(t, "period", 0.001, 0.5)
		phase := rapid.Float64Range(0, 1).Draw(t, "phase")
		wave := rapid.SampledFrom([]func(float64) float64{
			func(x float64) float64 { return x }, // fills steadily
			math.Sqrt,                            // quickly at first
			func(x float64) float64 { return 0.5 - 0.5*math.Cos(2*math.Pi*x) },   // up and down
			func(x float64) float64 { return math.Round(x) },                     // half and half
			func(x float64) float64 { return max(0, 1-4*math.Abs(x-0.5)) },       // peaks
			func(x float64) float64 { return x + 0.01*rng.Float64()*(1+1e-9*x) }, // with noise
		}).Draw(t, "wave")
		found := feed(rng, interval(t), 8*window, 1, func(at time.Duration) float64 {
			return floor + swing*wave(math.Mod(phase+float64(at)/float64(period), 1))
		})
		if found >= 0 {
			t.Fatalf("growth after %v", found)
		}
	})
}

// A start is over some time: it levels off, is done, or steps.
func TestAStartIsNoGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(t)
		base := rapid.Float64Range(1, 1024).Draw(t, "base, MiB") * mib
		fill := rapid.Float64Range(0, 16384).Draw(t, "fill, MiB") * mib
		levels := float64(share(t, "time constant", 0.001, 0.5))
		takes := float64(share(t, "takes", 0.001, 0.5))
		step := float64(share(t, "step at", 0, 3))
		shape := rapid.SampledFrom([]func(at float64) float64{
			func(at float64) float64 { return 1 - math.Exp(-at/levels) },
			func(at float64) float64 { return min(1, at/takes) },
			func(at float64) float64 { return min(1, math.Floor(10*at/takes)/10) },
			func(at float64) float64 {
				if at >= step {
					return 1
				}
				return 0
			},
		}).Draw(t, "shape")
		shake := rapid.Float64Range(0, 0.02).Draw(t, "noise")
		found := feed(rng, interval(t), 6*window, 1, func(at time.Duration) float64 {
			return (base + fill*shape(float64(at))) * (1 + shake*rng.Float64())
		})
		if found >= 0 {
			t.Fatalf("growth after %v", found)
		}
	})
}

func TestNoiseIsNoGrowth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := source(t)
		base := rapid.Float64Range(1, 8192).Draw(t, "base, MiB") * mib
		shake := rapid.Float64Range(0, 1).Draw(t, "noise")
		found := feed(rng, interval(t), 8*window, 1, func(time.Duration) float64 { return base * (1 + shake*rng.Float64()) })
		if found >= 0 {
			t.Fatalf("growth after %v", found)
		}
	})
}

// Samples that are missing are no floor, and a long silence begins anew.
func TestGaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var tr trend
	began := time.Unix(1_000_000, 0)
	at := func(d time.Duration) {
		tr.add(began.Add(d), window, int64(100*mib+float64(d)/float64(time.Second)*mib))
	}
	for d := time.Duration(0); d < 2*window; d += 5 * time.Second {
		if d > window/2 && d < window/2+window/10 {
			continue // a tenth is missing
		}
		at(d + time.Duration(rng.Int64N(int64(time.Second))))
	}
	if got := tr.rate / mib; math.Abs(got-3600) > 36 {
		t.Errorf("growth is %.0f MiB per hour, want 3600", got)
	}
	at(4 * window)
	if tr.rate != 0 || tr.n != 0 {
		t.Errorf("after a silence of two windows: %v, %d blocks", tr.rate, tr.n)
	}
	at(0) // a clock that stepped back
	if tr.rate != 0 || tr.n != 0 {
		t.Errorf("after a step back: %v, %d blocks", tr.rate, tr.n)
	}
	before := tr
	tr.add(began, window, 0)
	if tr != before {
		t.Error("what is not known changed something")
	}
}

// What is too little, too uneven or too full of holes to be called growth.
func TestWhatIsNotCalledGrowth(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value func(share float64) float64 // of the window that has passed
		holes bool                        // a third of the blocks have no samples
		grows bool
	}{
		{"10 MiB in a window", func(x float64) float64 { return 100 + 10*x }, false, true},
		{"the same with holes", func(x float64) float64 { return 100 + 10*x }, true, false},
		{"2 MiB in a window", func(x float64) float64 { return 3 + 2*x }, false, false},
		{"10 MiB of 4 GiB", func(x float64) float64 { return 4096 + 10*x }, false, false},
		{"10 MiB, and a step of 500", func(x float64) float64 {
			if x > 0.5 {
				x += 50
			}
			return 100 + 10*x
		}, false, false},
		{"half as fast in the second half", func(x float64) float64 { return 100 + 100*min(x, 0.25+x/2) }, false, false},
	} {
		var tr trend
		began := time.Unix(1_000_000, 0)
		for d := time.Duration(0); d < window+time.Second; d += time.Second {
			if block := int(d / (window / blocks)); tc.holes && block%3 == 1 && block > 0 {
				continue
			}
			tr.add(began.Add(d), window, int64(tc.value(float64(d)/float64(window))*mib))
		}
		if (tr.rate > 0) != tc.grows || tr.n != blocks {
			t.Errorf("%s: growth %.0f MiB per hour", tc.name, tr.rate/mib)
		}
	}
}

func TestTheilSen(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{7}, 0},
		{[]float64{1, 3, 5, 7}, 2},
		{[]float64{1, 3, nan, 7}, 2},
		{[]float64{1, 3, 1000, 7, 9, 11}, 2},
		{[]float64{nan, nan, nan}, 0},
		{[]float64{9, 6, 3}, -3},
	} {
		if got := theilSen(tc.values, nil); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.values, got, tc.want)
		}
	}
}

func BenchmarkTrend(b *testing.B) {
	var t trend
	at := time.Unix(1_000_000, 0)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ { // one sample closes one block: the dearest there is
		at = at.Add(window / blocks)
		t.add(at, window, int64(100+i%1000)*mib+int64(i*7919%13)<<16)
	}
}
