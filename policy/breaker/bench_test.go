package breaker_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/bezoar-dev/bezoar/policy/breaker"
)

func TestACallAllocatesNothing(t *testing.T) {
	closed := newRig(t, breaker.Config{Consecutive: breaker.Off, FailureRatio: 1})
	closed.calls(1, good)
	open := tripped(t, breaker.Config{})
	half := tripped(t, breaker.Config{Probes: 1})
	half.pass(5 * time.Second)
	half.allowed()
	for name, r := range map[string]*rig{"closed": closed, "open": open, "half-open": half} {
		results := []breaker.Result{good, failed, slow, ignored}
		i := 0
		if n := testing.AllocsPerRun(1000, func() {
			tk, _ := r.Allow(r.now)
			r.Done(r.now, tk, results[i%len(results)], 0)
			r.State(r.now)
			i++
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if size := unsafe.Sizeof(breaker.Breaker{}); size > 1024 {
		t.Errorf("a breaker has %d bytes, want 1 KiB at most", size)
	}
}

func BenchmarkAllowAndDone(b *testing.B) {
	for _, tc := range []struct {
		name   string
		result breaker.Result
	}{{"good", good}, {"failed", failed}} {
		b.Run(tc.name, func(b *testing.B) {
			r := newRig(b, breaker.Config{Consecutive: breaker.Off, FailureRatio: breaker.Off})
			b.ReportAllocs()
			for b.Loop() {
				r.pass(time.Millisecond)
				t, _ := r.Allow(r.now)
				r.Done(r.now, t, tc.result, 0.5)
			}
		})
	}
}

func BenchmarkRefuse(b *testing.B) {
	r := tripped(b, breaker.Config{})
	b.ReportAllocs()
	for b.Loop() {
		r.Allow(r.now)
	}
}
