package shed_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/shed"
)

// downstream serves c at a time, each for took; what is more waits there.
type downstream struct {
	shed.Limit
	rng  *rand.Rand
	now  time.Time
	took time.Duration
	c    int
	want int // how much its callers would have in flight
}

func newDownstream(cfg shed.Config, c int) *downstream {
	return &downstream{
		Limit: shed.NewLimit(start, cfg), rng: rand.New(rand.NewPCG(1, 2)),
		now: start, took: 20 * time.Millisecond, c: c, want: 1 << 20,
	}
}

// pass lets it work for a time.
func (d *downstream) pass(length time.Duration) {
	for end := d.now.Add(length); d.now.Before(end); {
		inFlight := min(d.Now(), d.want)
		latency := time.Duration((0.8 + 0.4*d.rng.Float64()) * float64(d.took))
		if inFlight > d.c {
			latency = time.Duration(float64(latency) * float64(inFlight) / float64(d.c))
		}
		d.now = d.now.Add(latency / time.Duration(inFlight))
		if d.Done(inFlight, shed.Outcome{Latency: latency}) {
			d.Step(d.now)
		}
	}
}

// wantLimit wants everybody busy and not too much beyond.
func (d *downstream) wantLimit(t *testing.T) {
	t.Helper()
	if got := d.Now(); got < d.c || got > 2*d.c+8 {
		t.Errorf("the limit is %d for a downstream that does %d at once (baseline %v)", got, d.c, d.Baseline())
	}
}

func (d *downstream) wantBaseline(t *testing.T, want time.Duration) {
	t.Helper()
	if got := d.Baseline(); got < want*8/10 || got > want*12/10 {
		t.Errorf("the baseline is %v, want about %v", got, want)
	}
}

func TestTheLimitFindsWhatFits(t *testing.T) {
	for _, c := range []int{4, 16, 64, 300} {
		d := newDownstream(shed.Config{}, c)
		d.pass(2 * time.Minute)
		d.wantLimit(t)
		d.wantBaseline(t, d.took)
	}
}

// A queue in the downstream is never taken for its normal state, however long
// callers want more than it can do.
func TestLongOverloadDoesNotRaiseTheLimit(t *testing.T) {
	d := newDownstream(shed.Config{}, 8)
	for range 60 {
		d.pass(time.Minute)
		if !d.Probing() {
			d.wantLimit(t)
		}
	}
	d.wantBaseline(t, d.took)
}

func TestAnInitialLimitThatIsTooHighIsNotTheBaseline(t *testing.T) {
	d := newDownstream(shed.Config{Initial: 400}, 8)
	d.pass(time.Minute)
	d.wantBaseline(t, d.took)
	d.wantLimit(t)
}

func TestTheBaselineFollowsWhatHasReallyChanged(t *testing.T) {
	for name, want := range map[string]int{"saturated": 1 << 20, "half used": 10} {
		d := newDownstream(shed.Config{}, 16)
		d.want = want
		d.pass(time.Minute)
		d.wantBaseline(t, 20*time.Millisecond)
		for _, took := range []time.Duration{100 * time.Millisecond, 10 * time.Millisecond, 300 * time.Millisecond} {
			d.took = took
			d.pass(3 * time.Minute)
			if t.Failed() {
				break
			}
			d.wantBaseline(t, took)
			if got := d.Now(); got < 16 && want > 16 || got < want && want <= 16 {
				t.Errorf("%s: the limit is %d after a change to %v", name, got, took)
			}
		}
	}
}

func TestALimitIsLoweredWhenThereIsLessToUse(t *testing.T) {
	d := newDownstream(shed.Config{}, 100)
	d.pass(time.Minute)
	d.c = 10
	d.pass(time.Minute)
	d.wantLimit(t)
	d.c = 100
	d.pass(time.Minute)
	d.wantLimit(t)
}

func TestDropsShrinkTheLimitOnceARound(t *testing.T) {
	l := shed.NewLimit(start, shed.Config{Initial: 100})
	for range 90 { // all of one round
		l.Done(100, shed.Outcome{Dropped: true})
	}
	if l.Now() != 90 {
		t.Errorf("the limit is %d after a round of drops, want 90", l.Now())
	}
	l.Done(90, shed.Outcome{Dropped: true})
	if l.Now() != 81 {
		t.Errorf("the limit is %d after another, want 81", l.Now())
	}
	for range 10_000 {
		l.Done(l.Now(), shed.Outcome{Dropped: true})
	}
	if l.Now() != 4 {
		t.Errorf("the limit is %d after many, want the floor, 4", l.Now())
	}
	for range 1000 {
		if l.Done(4, shed.Outcome{Ignored: true, Dropped: true, Latency: time.Hour}) || l.Done(4, shed.Outcome{}) {
			t.Fatal("what says nothing is counted")
		}
	}
}

// One result that took an hour says little about the others.
func TestAnOutlierCountsLittle(t *testing.T) {
	d := newDownstream(shed.Config{}, 64)
	d.pass(time.Minute)
	before := d.Now()
	d.Done(before, shed.Outcome{Latency: time.Hour})
	for range 20 {
		d.pass(10 * time.Millisecond)
		if d.Now() < before*95/100 {
			t.Fatalf("the limit went from %d to %d", before, d.Now())
		}
	}
}

func TestAFixedLimitStays(t *testing.T) {
	d := newDownstream(shed.Config{Fixed: 50}, 8)
	d.pass(10 * time.Minute)
	d.Done(50, shed.Outcome{Dropped: true})
	if d.Now() != 50 || d.Probing() {
		t.Errorf("the limit is %d, probing %v", d.Now(), d.Probing())
	}
}

func TestUpdateKeepsWhatWasLearned(t *testing.T) {
	d := newDownstream(shed.Config{}, 64)
	d.pass(time.Minute)
	base, limit := d.Baseline(), d.Now()
	d.Update(shed.Config{Max: 30})
	if d.Now() != 30 || d.Baseline() != base {
		t.Errorf("limit %d, baseline %v; want 30, %v", d.Now(), d.Baseline(), base)
	}
	d.Update(shed.Config{Fixed: 7})
	if d.Now() != 7 {
		t.Errorf("limit %d, want the fixed 7", d.Now())
	}
	d.Update(shed.Config{})
	if d.Now() != 30 || limit < 64 {
		t.Errorf("limit %d, want the 30 that it was", d.Now())
	}
}

// Whatever comes, the limit stays between floor and ceiling.
func TestTheLimitKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := shed.Config{Min: rapid.IntRange(1, 10).Draw(t, "min"), Samples: 4, Window: time.Millisecond, Recheck: 10 * time.Millisecond}
		cfg.Max = cfg.Min + rapid.IntRange(0, 100).Draw(t, "more")
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		l, now := shed.NewLimit(start, cfg), start
		for range rapid.IntRange(1, 300).Draw(t, "results") {
			now = now.Add(time.Duration(rapid.Int64Range(-1e6, 1e8).Draw(t, "step")))
			if l.Done(rapid.IntRange(1, 200).Draw(t, "in flight"), shed.Outcome{
				Latency: time.Duration(rapid.Int64Range(-5, 1e12).Draw(t, "latency")),
				Dropped: rapid.IntRange(0, 9).Draw(t, "drop") == 0,
			}) {
				l.Step(now)
			}
			if l.Now() < cfg.Min || l.Now() > cfg.Max {
				t.Fatalf("the limit is %d, want %d to %d", l.Now(), cfg.Min, cfg.Max)
			}
		}
	})
}

func TestConfigNamesEveryFault(t *testing.T) {
	if err := (shed.Config{}).Validate(); err != nil {
		t.Errorf("the zero config: %v", err)
	}
	bad := shed.Config{
		Fixed: -1, Min: -1, Max: -2, Initial: 7, Tolerance: 0.5, Smoothing: 2, Backoff: 1, Window: -1, Samples: 1, Recheck: -5, Turn: 1,
	}
	err := bad.Validate()
	if err == nil {
		t.Fatal("all wrong and no error")
	}
	for _, field := range []string{"fixed", "min", "max", "initial", "tolerance", "smoothing", "backoff", "window", "samples", "recheck", "turn"} {
		if !strings.Contains(err.Error(), field+" is ") {
			t.Errorf("%s is not named in %v", field, err)
		}
	}
}
