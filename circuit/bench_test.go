package circuit_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func BenchmarkAllowAndDone(b *testing.B) {
	n, ctx, now := newNode(b, newShelf(), "a"), b.Context(), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		t, _ := n.b.Allow(ctx, now)
		n.b.Done(now, t, breaker.Result{})
	}
}

func BenchmarkAllowAndDoneParallel(b *testing.B) {
	n, ctx, now := newNode(b, newShelf(), "a"), b.Context(), time.Now()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			t, _ := n.b.Allow(ctx, now)
			n.b.Done(now, t, breaker.Result{})
		}
	})
}

func BenchmarkRefuse(b *testing.B) {
	n, ctx, now := newNode(b, newShelf(), "a"), b.Context(), time.Now()
	n.calls(2, failed)
	b.ReportAllocs()
	for b.Loop() {
		n.b.Allow(ctx, now)
	}
}
