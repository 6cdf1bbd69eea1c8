package rate_test

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

func drawBucket(t *rapid.T) rate.Bucket {
	b := rate.Bucket{
		Limit: rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 1e12)).Draw(t, "limit"),
		Per:   rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 24 * time.Hour, 7_777_777_777}).Draw(t, "per"),
		Burst: rapid.OneOf(rapid.Int64Range(1, 10), rapid.Int64Range(1, 100_000)).Draw(t, "burst"),
	}
	if b.Validate() != nil {
		t.Skip("takes too long to fill")
	}
	return b
}

// tokens is a token bucket in exact fractions.
type tokens struct {
	have *big.Rat
	at   int64
}

func (k *tokens) pass(b *rate.Bucket, now int64) {
	gain := new(big.Rat).Mul(big.NewRat(now-k.at, 1), big.NewRat(b.Limit, int64(b.Per)))
	k.have.Add(k.have, gain)
	if full := big.NewRat(b.Burst, 1); k.have.Cmp(full) > 0 {
		k.have = full
	}
	k.at = now
}

// The bucket is an exact token bucket, up to rounding in the caller's favour by
// 2⁻³² ns a charge.
func TestABucketIsATokenBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBucket(t)
		state, now := make([]int64, rate.BucketWords), start
		exact := tokens{big.NewRat(b.Burst, 1), now}
		slack := new(big.Rat) // what rounding may have given away
		step := new(big.Rat).Mul(big.NewRat(b.Limit, int64(b.Per)), big.NewRat(1, 1<<32))
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, int64(b.Per)/b.Limit+1), rapid.Int64Range(0, int64(b.Per))).Draw(t, "ns")
			exact.pass(&b, now)
			slack.Add(slack, step)
			slack.Add(slack, step)
			n := rapid.Int64Range(0, b.Burst+1).Draw(t, "n")
			d := b.Check(state, now, n)
			want := big.NewRat(n, 1)
			if fits := want.Cmp(exact.have) <= 0; fits && !d.Allowed {
				t.Fatalf("refused %d of %v: %+v", n, exact.have, d)
			}
			if generous := new(big.Rat).Add(exact.have, slack); want.Cmp(generous) > 0 && d.Allowed {
				t.Fatalf("allowed %d of %v: %+v", n, exact.have, d)
			}
			if d.Allowed != (n <= d.Remaining) || d.Never != (n > b.Burst) {
				t.Fatalf("%d: %+v", n, d)
			}
			if d.Allowed {
				b.Add(state, now, n)
				exact.have.Sub(exact.have, want)
			}
		}
	})
}

// A refusal lasts exactly as long as it says.
func TestBucketWaitsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBucket(t)
		state, now := make([]int64, rate.BucketWords), start
		for range rapid.IntRange(0, 10).Draw(t, "steps") {
			now += rapid.Int64Range(0, int64(b.Per)).Draw(t, "ns")
			b.Add(state, now, rapid.Int64Range(0, 2*b.Burst).Draw(t, "n")) // may be more than there is
		}
		n := rapid.Int64Range(1, b.Burst).Draw(t, "asked")
		d := b.Check(state, now, n)
		if d.Wait > b.Longest() || d.Reset > b.Longest() {
			t.Fatalf("%+v, want %v at most", d, b.Longest())
		}
		if !d.Allowed && (d.Wait <= 0 || b.Check(state, now+int64(d.Wait)-1, n).Allowed || !b.Check(state, now+int64(d.Wait), n).Allowed) {
			t.Fatalf("%d of %+v: %+v", n, b, d)
		}
		took := append([]int64(nil), state...)
		if with, _, _ := b.Take(took, now, n); with.Allowed != d.Allowed {
			t.Fatalf("%+v, and taken %+v", d, with)
		} else if after := b.Check(took, now, 0); d.Allowed && (with.Used != after.Used || with.Remaining != after.Remaining || with.Reset != after.Reset) {
			t.Fatalf("taking %d gave %+v, then %+v", n, with, after)
		}
		if full := b.Check(state, now+int64(d.Reset), b.Burst); !full.Allowed || full.Used != 0 {
			t.Fatalf("after %v: %+v", d.Reset, full)
		}
	})
}

// One by one, a full bucket gives exactly its burst, and then its rate.
func TestABurstThenTheRate(t *testing.T) {
	for _, b := range []rate.Bucket{
		{Limit: 3, Per: time.Second, Burst: 3},
		{Limit: 7, Per: time.Minute, Burst: 70},
		{Limit: 999_999_999_999, Per: time.Second, Burst: 5_000},
		{Limit: 1, Per: time.Hour, Burst: 1},
	} {
		state, now := make([]int64, rate.BucketWords), start
		take := func() (n int64) {
			for ; n <= 2*b.Burst; n++ {
				d := b.Check(state, now, 1)
				if !d.Allowed {
					return n
				}
				if d.Used != n && now == start || d.Remaining < 1 {
					t.Fatalf("%+v: after %d: %+v", b, n, d)
				}
				b.Add(state, now, 1)
			}
			return n
		}
		if n := take(); n != b.Burst {
			t.Errorf("%+v gave %d at once", b, n)
		}
		now += int64(b.Per)
		if n := take(); n != min(b.Limit, b.Burst) {
			t.Errorf("%+v gave %d after %v", b, n, b.Per)
		}
	}
}

// However the clock jumps, nobody waits longer than Longest, and no step back
// gives back what was taken.
func TestBucketsAndClocksThatStepBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBucket(t)
		state, now := make([]int64, rate.BucketWords), start
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			before := b.Check(state, now, 1)
			step := rapid.Int64Range(-3*int64(b.Longest()), int64(b.Per)).Draw(t, "step")
			now += step
			d := b.Check(state, now, b.Burst)
			if step <= 0 && before.Used > 0 && d.Used < min(before.Used, b.Burst) {
				t.Fatalf("a step of %d made %+v of %+v", step, d, before)
			}
			if d.Wait > b.Longest() {
				t.Fatalf("%+v, want %v at most", d, b.Longest())
			}
			b.Add(state, now, rapid.Int64Range(0, b.Burst).Draw(t, "n"))
		}
	})
}

// The high half of the second word is the caller's.
func TestTheCallersHalfStays(t *testing.T) {
	b := rate.Bucket{Limit: 3, Per: time.Second, Burst: 3}
	state := []int64{0, 0x7654321 << 32}
	b.Add(state, start, 1)
	if state[1]>>32 != 0x7654321 || state[1]&(1<<32-1) == 0 {
		t.Errorf("%x", state)
	}
}

func TestBucketScale(t *testing.T) {
	b := rate.Bucket{Limit: 10, Per: time.Second, Burst: 30}
	if got := b.Scale(0.5); got != (rate.Bucket{Limit: 5, Per: time.Second, Burst: 15}) {
		t.Errorf("%+v", got)
	}
}
