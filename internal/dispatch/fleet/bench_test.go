package fleet_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

func benchFleet(b *testing.B, n int, cfg fleet.Config) *fleet.Fleet {
	b.Helper()
	cfg.Name = "bench"
	f, err := fleet.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		f.Up(fmt.Sprint(i), "127.0.0.1:1")
	}
	return f
}

func BenchmarkAcquire(b *testing.B) {
	for _, bc := range []struct {
		name string
		n    int
		want fleet.Want
	}{
		{"all", 8, fleet.Want{}},
		{"shard of 2 of 8", 8, fleet.Want{Shard: 2}},
		{"shard of 4 of 64", 64, fleet.Want{Shard: 4}},
		{"shard of 4 of 1024", 1024, fleet.Want{Shard: 4}},
		{"cell of 2 of 8", 8, fleet.Want{Cells: 4}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			f := benchFleet(b, bc.n, fleet.Config{})
			b.ReportAllocs()
			for i := uint64(1); b.Loop(); i++ {
				bc.want.Caller = i % 1000
				w, _ := f.Acquire(context.Background(), bc.want)
				f.Release(w)
			}
		})
	}
}

func BenchmarkAcquireDuringSlowStart(b *testing.B) {
	f := benchFleet(b, 8, fleet.Config{SlowStart: time.Hour})
	b.ReportAllocs()
	for b.Loop() {
		w, _ := f.Acquire(context.Background(), fleet.Want{})
		f.Release(w)
	}
}

func BenchmarkObserve(b *testing.B) {
	f := benchFleet(b, 8, fleet.Config{})
	w, _ := f.Acquire(context.Background(), fleet.Want{})
	for _, bc := range []struct {
		name string
		o    balance.Outcome
	}{
		{"success", balance.Outcome{Status: 200, Latency: time.Millisecond, Caller: 7}},
		{"failure", balance.Outcome{Status: 500, Latency: time.Millisecond, Caller: 7}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.Observe(time.Now(), w, bc.o)
			}
		})
	}
}
