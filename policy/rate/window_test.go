package rate_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

const start = int64(1_000_000_000_000_000_123)

// log knows exactly when how much came.
type log struct {
	at []int64
	n  []int64
}

func (l *log) add(at, n int64) { l.at, l.n = append(l.at, at), append(l.n, n) }

// within is what came in (from, to].
func (l *log) within(from, to int64) (sum int64) {
	for i := len(l.at) - 1; i >= 0 && l.at[i] > from; i-- {
		if l.at[i] <= to {
			sum += l.n[i]
		}
	}
	return sum
}

func drawWindow(t *rapid.T) rate.Window {
	w := rate.Window{
		Limit:   int64(rapid.IntRange(1, 50).Draw(t, "limit")),
		Buckets: rapid.IntRange(1, 6).Draw(t, "buckets"),
	}
	// Lengths that the buckets divide: the exact log knows no other.
	w.Per = time.Duration(w.Buckets) * rapid.SampledFrom([]time.Duration{time.Millisecond, 1_234_567, time.Second}).Draw(t, "width")
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	return w
}

// drawPause leans towards the ends of buckets, where errors are largest.
func drawPause(t *rapid.T, w *rate.Window, now int64) int64 {
	width := int64(w.Width())
	switch rapid.IntRange(0, 3).Draw(t, "pause") {
	case 0:
		return 0
	case 1: // to the last instant of this bucket, or of a later one
		return width - 1 - now%width + width*int64(rapid.IntRange(0, w.Buckets+1).Draw(t, "buckets later"))
	default:
		return rapid.Int64Range(0, 2*width).Draw(t, "ns")
	}
}

// Whatever comes, what counts differs from the truth by no more than the part
// of the oldest bucket that was guessed.
func TestTheErrorIsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, exact, now := drawWindow(t), log{}, start
		state := make([]int64, w.Words())
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += drawPause(t, &w, now)
			n := rapid.Int64Range(0, 9).Draw(t, "n")
			w.Add(state, now, n)
			exact.add(now, n)

			width := int64(w.Width())
			b := w.BucketAt(now)
			first := (b - int64(w.Buckets)) * width // where the oldest bucket begins
			c := exact.within(first-1, first+width-1)
			left := float64(width-now%width) / float64(width)
			used, truth := w.Used(state, now), exact.within(now-int64(w.Per), now)
			if diff := float64(used - truth); diff < -(1-left)*float64(c) || diff >= left*float64(c)+1 {
				t.Fatalf("%d are counted, %d came; of the oldest bucket's %d, %.3f are left", used, truth, c, left)
			}
		}
	})
}

// What a limiter lets through obeys the promises of the documentation.
func TestTheLimitHoldsWithinItsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, taken, now := drawWindow(t), log{}, start
		state := make([]int64, w.Words())
		per, width := int64(w.Per), int64(w.Width())
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now += drawPause(t, &w, now)
			n := rapid.Int64Range(0, w.Limit).Draw(t, "n")
			d := w.Check(state, now, n)
			if !d.Allowed {
				if all := taken.within(now-per-width, now) + n; all <= w.Limit {
					t.Fatalf("%d more were refused, and with them only %d of %d would have come", n, all, w.Limit)
				}
				continue
			}
			w.Add(state, now, n)
			taken.add(now, n)
			first := now/width*width - per
			m := taken.within(first-1, first+width-1)
			if all := taken.within(now-per, now); all > w.Limit+m || all > 2*w.Limit {
				t.Fatalf("%d of %d came within %v, %d in the oldest bucket", all, w.Limit, w.Per, m)
			}
			if all := taken.within(now-per+width, now); all > w.Limit {
				t.Fatalf("%d of %d came within %v", all, w.Limit, w.Per-w.Width())
			}
			if all := taken.within(now-3*per, now); all > 4*w.Limit {
				t.Fatalf("%d of 4 × %d came within 3 × %v", all, w.Limit, w.Per)
			}
		}
	})
}

// The bounds are reached: a burst at the end of a bucket, then whatever fits,
// takes twice the limit in one Per; the same evenly takes what the limit says,
// and at most one bucket's share more.
func TestTheBoundIsReached(t *testing.T) {
	const limit = 1000
	for buckets := 1; buckets <= 5; buckets++ {
		w := rate.Window{Limit: limit, Per: time.Duration(buckets) * time.Second, Buckets: buckets}
		width := int64(w.Width())

		state, burst := make([]int64, w.Words()), log{}
		now := (start/width+1)*width - 1 // the last instant of a bucket
		w.Add(state, now, limit)
		burst.add(now, limit)
		most := int64(0)
		for end := now + int64(w.Per); now < end; now += width / limit {
			if w.Check(state, now, 1).Allowed {
				w.Add(state, now, 1)
				burst.add(now, 1)
			}
			most = max(most, burst.within(now-int64(w.Per), now))
		}
		if most < 2*limit-5 {
			t.Errorf("%d buckets: the worst burst takes %d of %d: the bound is loose", buckets, most, limit)
		}

		state, even := make([]int64, w.Words()), log{}
		most = 0
		for step, end := int64(w.Per)/(2*limit), now+10*int64(w.Per); now < end; now += step {
			if w.Check(state, now, 1).Allowed {
				w.Add(state, now, 1)
				even.add(now, 1)
			}
			most = max(most, even.within(now-int64(w.Per), now))
		}
		if bound := int64(limit + limit/buckets); most > bound || most < limit {
			t.Errorf("%d buckets: twice the limit, evenly, takes %d of %d, the bound is %d", buckets, most, limit, bound)
		}
	}
}

// A refusal lasts exactly as long as it says, and so does what is used.
func TestWindowWaitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, now := drawWindow(t), start
		state := make([]int64, w.Words())
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now += drawPause(t, &w, now)
			w.Add(state, now, rapid.Int64Range(0, 2*w.Limit).Draw(t, "n"))
		}
		n := rapid.Int64Range(0, w.Limit+1).Draw(t, "asked")
		d := w.Check(state, now, n)
		if d.Never != (!d.Allowed && n > w.Limit) || d.Allowed != (n <= w.Limit-d.Used) || d.Remaining != max(w.Limit-d.Used, 0) {
			t.Fatalf("%d of %d: %+v", n, w.Limit, d)
		}
		if took := append([]int64(nil), state...); n > 0 && w.Take(took, now, n).Allowed {
			with := w.Take(append([]int64(nil), state...), now, n)
			if after := w.Check(took, now, 0); with.Used != after.Used || with.Remaining != after.Remaining || with.Reset != after.Reset {
				t.Fatalf("taking %d gave %+v, then %+v", n, with, after)
			}
		}
		at := func(wait time.Duration) rate.Decision {
			later := append([]int64(nil), state...)
			return w.Check(later, now+int64(wait), n)
		}
		if d.Allowed || d.Never {
			if d.Wait != 0 {
				t.Fatalf("%+v", d)
			}
		} else if d.Wait <= 0 || at(d.Wait-1).Allowed || !at(d.Wait).Allowed {
			t.Fatalf("%d of %d at %d: %+v, a moment before %+v, then %+v", n, w.Limit, now, d, at(d.Wait-1), at(d.Wait))
		}
		if (d.Reset > 0) != (d.Used > 0) || at(d.Reset).Used != 0 || d.Used > 0 && at(d.Reset-1).Used == 0 {
			t.Fatalf("resets after %v: %+v", d.Reset, at(d.Reset))
		}
	})
}

// However the clock jumps, a window that is left alone is empty after its
// length, and steps back of up to that free nothing that was taken.
func TestClocksThatStepBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, now := drawWindow(t), start
		state := make([]int64, w.Words())
		per := int64(w.Per)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			step := rapid.Int64Range(-3*per, 2*per).Draw(t, "step")
			before := w.Used(state, now)
			newest := state[0]
			now += step
			if step < 0 && newest-w.BucketAt(now) <= int64(w.Buckets) && w.Used(state, now) < before {
				t.Fatalf("a step back by %d freed %d to %d", -step, before, w.Used(state, now))
			}
			w.Add(state, now, rapid.Int64Range(0, w.Limit).Draw(t, "n"))
			if d := w.Check(state, now, w.Limit); d.Wait > 2*w.Per+w.Width() || d.Reset > w.Per+w.Width() {
				t.Fatalf("%+v", d)
			}
		}
		if used := w.Used(state, now+2*per+2*int64(w.Width())); used != 0 {
			t.Fatalf("%d still count", used)
		}
	})
}

// Rings behind the first forget with it.
func TestFurtherRingsForgetToo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, now := drawWindow(t), start
		state := make([]int64, w.Words()+w.Buckets+1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now += rapid.Int64Range(-int64(w.Per), 2*int64(w.Per)).Draw(t, "step")
			w.Slide(state, now)
			w.Add(state, now, 2)
			state[w.Slot(state[0])+w.Buckets+1]++
			for i := 1; i <= w.Buckets+1; i++ {
				if state[i] != 2*state[i+w.Buckets+1] {
					t.Fatalf("the rings differ: %v", state)
				}
			}
		}
	})
}

func TestCountsDoNotOverflow(t *testing.T) {
	w := rate.Window{Limit: rate.MaxLimit, Per: time.Second, Buckets: 3}
	state := make([]int64, w.Words())
	for i := range int64(8) {
		w.Add(state, start+i*int64(w.Width())/2, math.MaxInt64)
		d := w.Check(state, start+i*int64(w.Width())/2, math.MaxInt64)
		if d.Allowed || d.Used < 1<<50 || d.Remaining != 0 || !d.Never {
			t.Fatalf("%+v", d)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{rate.Window{}.Validate(), []string{"limit is 0", "per is 0s"}},
		{rate.Window{Limit: 1, Per: time.Millisecond, Buckets: 2}.Validate(), []string{"per is 1ms, want 2ms"}},
		{rate.Window{Limit: 1, Per: time.Hour, Buckets: 61}.Validate(), []string{"buckets is 61"}},
		{rate.Window{Limit: rate.MaxLimit + 1, Per: 367 * 24 * time.Hour, Buckets: -1}.Validate(), []string{"limit is", "per is", "buckets is -1"}},
		{rate.Bucket{}.Validate(), []string{"limit is 0", "per is 0s", "burst is 0"}},
		{rate.Bucket{Limit: rate.MaxLimit, Per: time.Second, Burst: 1}.Validate(), []string{"1e+12 a second"}},
		{rate.Bucket{Limit: 1, Per: time.Hour, Burst: 1e6}.Validate(), []string{"burst of 1000000 takes more than"}},
		{rate.Bucket{Limit: 1, Per: rate.MaxPer, Burst: rate.MaxLimit}.Validate(), []string{"burst of"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%v does not mention %q", c.err, want)
			}
		}
	}
	for _, err := range []error{
		rate.Window{Limit: 1, Per: time.Millisecond}.Validate(),
		rate.Window{Limit: rate.MaxLimit, Per: rate.MaxPer, Buckets: rate.MaxBuckets}.Validate(),
		rate.Bucket{Limit: 1e12, Per: time.Second, Burst: rate.MaxLimit}.Validate(),
		rate.Bucket{Limit: 1, Per: rate.MaxPer, Burst: 1}.Validate(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestScaled(t *testing.T) {
	for _, c := range []struct {
		limit int64
		scale float64
		want  int64
	}{
		{100, 0, 100},
		{100, 1, 100},
		{100, 0.5, 50},
		{100, 2.5, 250},
		{100, 1e-9, 1},
		{100, -1, 100},
		{100, math.NaN(), 100},
		{100, math.Inf(1), rate.MaxLimit},
	} {
		if got := rate.Scaled(c.limit, c.scale); got != c.want {
			t.Errorf("%d × %g = %d, want %d", c.limit, c.scale, got, c.want)
		}
	}
}
