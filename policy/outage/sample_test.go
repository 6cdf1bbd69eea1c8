package outage_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/outage"
)

// ending is how the model remembers a payload.
type ending struct {
	at      time.Time
	failure string
}

// While the payloads of a window fit, the guard trips exactly when counting
// them one by one says so, whatever else comes.
func TestItCountsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := outage.Config{
			Least: rapid.IntRange(2, 6).Draw(t, "least"),
			Share: rapid.SampledFrom([]float64{0.01, 0.2, 0.3, 1}).Draw(t, "share"),
		}
		g, now, model := outage.Guard{Config: c}, start, map[int]ending{}
		for range rapid.IntRange(1, 300).Draw(t, "results") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			n := rapid.IntRange(0, 40).Draw(t, "payload")
			failure := rapid.SampledFrom([]string{"good", "", "a", "b"}).Draw(t, "failure")
			var trip *outage.Trip
			if failure == "good" {
				g.Succeeded(now, payload(n), 0)
			} else {
				trip = g.Failed(now, failure, payload(n), 0)
			}
			model[n] = ending{now, failure}
			alike, ended := 0, 0
			for _, e := range model {
				if now.Sub(e.at) < time.Minute {
					ended++
					if e.failure == failure {
						alike++
					}
				}
			}
			is := failure == "a" || failure == "b"
			want := is && alike >= c.Least && float64(alike) >= c.Share*float64(ended)-1e-9
			if (trip != nil) != want || want && (trip.Alike != alike || trip.Ended != ended) {
				t.Fatalf("%d of %d fail in %q of %+v: got %+v", alike, ended, failure, c, trip)
			}
			if want {
				g.Resume(now)
				clear(model)
			}
		}
	})
}

// A window of many more payloads than are kept is judged by an even sample.
func TestTheShareIsRightInACrowd(t *testing.T) {
	for _, crowd := range []int{1000, 20_000, 80_000} {
		for _, tc := range []struct {
			percent int
			trips   bool
		}{{12, false}, {30, true}} {
			var g outage.Guard
			var trip *outage.Trip
			for n := 0; n < crowd && trip == nil; n++ {
				now := start.Add(time.Duration(n) * 59 * time.Second / time.Duration(crowd))
				switch {
				case n*37%100 < tc.percent && n > crowd/2: // once the crowd is there
					trip = fail(&g, now, "down", n, n+1)
				default:
					succeed(&g, now, n, n+1)
				}
				if g.Kept() > outage.Most {
					t.Fatalf("it keeps %d payloads", g.Kept())
				}
			}
			// In the second half alone, so half of it over all.
			if tc.trips {
				for n := crowd; n < 2*crowd && trip == nil; n++ {
					trip = fail(&g, start.Add(59*time.Second), "down", n, n+1)
				}
			}
			if (trip != nil) != tc.trips {
				t.Errorf("%d %% of %d: %+v", tc.percent, crowd, trip)
			}
		}
	}
}

// At what share does it trip, measured? The sample errs by a few points.
func TestTheSampleErrsLittle(t *testing.T) {
	for seed := range 5 {
		const crowd = 50_000
		var g outage.Guard
		from := seed * 10_000_000
		succeed(&g, start, from, from+crowd)
		failing := 0
		for ; g.Failed(start, "down", payload(from+crowd+failing), 0) == nil; failing++ {
			if failing > crowd {
				t.Fatal("it never tripped")
			}
		}
		if share := float64(failing) / float64(crowd+failing); math.Abs(share-0.2) > 0.06 {
			t.Errorf("seed %d: it tripped at %.1f %%, want 20 %%", seed, 100*share)
		}
	}
}

// A flood of payloads that fail each in its own way can dilute an outage, as
// any traffic does, but not push it out.
func TestAFloodDoesNotEvictAnOutage(t *testing.T) {
	var g outage.Guard
	var trip *outage.Trip
	n := 0
	for ; n < 200_000 && trip == nil; n++ {
		now := start.Add(time.Duration(n) * 50 * time.Microsecond) // 10 s in all
		if n%3 == 0 && n > 600 {
			trip = fail(&g, now, "down", n, n+1)
		} else if fail(&g, now, fmt.Sprint("noise ", n), n, n+1) != nil {
			t.Fatal("the noise tripped it")
		}
	}
	if trip == nil || n > 3000 {
		t.Errorf("a third of all failing alike was seen after %d: %+v", n, trip)
	}
}

// After a flood the sample fills again, within two windows.
func TestItSeesAgainWhenAFloodIsOver(t *testing.T) {
	var g outage.Guard
	for n := range 200_000 {
		g.Succeeded(start.Add(time.Duration(n)*250*time.Microsecond), payload(n), 0)
	}
	now, n := start.Add(time.Minute), 2_000_000
	var trip *outage.Trip
	for trip == nil && now.Before(start.Add(10*time.Minute)) {
		now = now.Add(time.Second)
		succeed(&g, now, n, n+1)
		trip = fail(&g, now, "down", n+1, n+2)
		n += 2
	}
	if trip == nil || now.After(start.Add(4*time.Minute)) {
		t.Errorf("half of 120 a minute fail alike, and after %v: %+v", now.Sub(start), trip)
	}
}

// When the traffic falls more payloads enter the sample than before; those must
// not outweigh the ones that were thinned out.
func TestWhatEntersAThinnedSampleIsNotOverrated(t *testing.T) {
	var g outage.Guard
	for n := range 200_000 {
		g.Succeeded(start.Add(time.Duration(n)*300*time.Microsecond), payload(n), 0)
	}
	thinned, now, n := g.Thinned(), start.Add(time.Minute), 1_000_000
	for ; g.Thinned() >= thinned; n++ { // 30,000 a minute
		if now = now.Add(2 * time.Millisecond); now.After(start.Add(5 * time.Minute)) {
			t.Fatal("nothing more enters the sample")
		}
		g.Succeeded(now, payload(n), 0)
	}
	if trip := fail(&g, now, "down", 2_000_000, 2_009_000); trip != nil {
		t.Errorf("9,000 of more than 60,000 are an outage: %+v", trip)
	}
	if trip := fail(&g, now, "down", 2_009_000, 2_080_000); trip == nil {
		t.Error("half of all is none")
	}
}

func TestAResultAllocatesNothing(t *testing.T) {
	var g outage.Guard
	n := 0
	if allocs := testing.AllocsPerRun(10_000, func() {
		now := start.Add(time.Duration(n) * time.Millisecond)
		succeed(&g, now, n, n+9)
		fail(&g, now, "down", n+9, n+10)
		n += 10
	}); allocs != 0 {
		t.Errorf("ten results: %v allocations", allocs)
	}
	if g.Kept() > outage.Most || g.Kept() == 0 {
		t.Errorf("it keeps %d payloads", g.Kept())
	}
}

func benchmark(b *testing.B, result func(g *outage.Guard, now time.Time, fp bezoar.Fingerprint)) {
	var g outage.Guard
	succeed(&g, start, 0, 500)
	now, n := start, 1000
	b.ReportAllocs()
	for b.Loop() {
		now, n = now.Add(time.Millisecond), n+1
		result(&g, now, payload(n))
	}
}

func BenchmarkSucceeded(b *testing.B) {
	benchmark(b, func(g *outage.Guard, now time.Time, fp bezoar.Fingerprint) { g.Succeeded(now, fp, 0) })
}

func BenchmarkFailed(b *testing.B) {
	benchmark(b, func(g *outage.Guard, now time.Time, fp bezoar.Fingerprint) {
		g.Failed(now, "down", fp, 0)
		g.Succeeded(now, fp, 0)
	})
}
