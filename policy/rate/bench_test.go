package rate_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/rate"
)

func BenchmarkWindow(b *testing.B) {
	for name, buckets := range map[string]int{"1 bucket": 1, "5 buckets": 5} {
		b.Run(name, func(b *testing.B) {
			w := rate.Window{Limit: 1000, Per: time.Second, Buckets: buckets}
			state, now := make([]int64, w.Words()), start
			b.ReportAllocs()
			for b.Loop() {
				now += 1_100_000
				if w.Check(state, now, 1).Allowed {
					w.Add(state, now, 1)
				}
			}
		})
	}
}

func BenchmarkBucket(b *testing.B) {
	k := rate.Bucket{Limit: 1000, Per: time.Second, Burst: 100}
	state, now := make([]int64, rate.BucketWords), start
	b.ReportAllocs()
	for b.Loop() {
		now += 1_100_000
		if k.Check(state, now, 1).Allowed {
			k.Add(state, now, 1)
		}
	}
}

func TestNothingAllocates(t *testing.T) {
	w := rate.Window{Limit: 10, Per: time.Second, Buckets: 5}
	k := rate.Bucket{Limit: 10, Per: time.Second, Burst: 10}
	ws, ks, now := make([]int64, w.Words()), make([]int64, rate.BucketWords), start
	if n := testing.AllocsPerRun(1000, func() {
		now += 50_000_000
		w.Check(ws, now, 1)
		w.Add(ws, now, 1)
		k.Check(ks, now, 1)
		k.Add(ks, now, 1)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
