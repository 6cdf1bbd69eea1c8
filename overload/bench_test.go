package overload_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

func TestALetInAllocatesNothing(t *testing.T) {
	p := newPool(t, overload.Config{PerCaller: 10})
	caller, ctx := uint64(0), t.Context()
	deadline := time.Now().Add(time.Hour)
	if n := testing.AllocsPerRun(1000, func() {
		caller++
		a, _ := p.Enter(ctx, overload.Request{Caller: caller})
		b, _ := p.Enter(ctx, overload.Request{Caller: caller, Deadline: deadline})
		p.Leave(a, shed.Outcome{Latency: time.Millisecond})
		p.Leave(b, shed.Outcome{Latency: time.Millisecond})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEnterLeave(b *testing.B) {
	for _, bc := range []struct {
		name string
		cfg  overload.Config
		r    overload.Request
	}{
		{"fixed", overload.Config{Limit: shed.Config{Fixed: 10}}, overload.Request{Caller: 7}},
		{"adaptive", overload.Config{}, overload.Request{Caller: 7}},
		{"per_caller", overload.Config{PerCaller: 4}, overload.Request{Caller: 7}},
		{"deadline", overload.Config{}, overload.Request{Caller: 7, Deadline: time.Now().Add(time.Hour)}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			p, ctx := newPool(b, bc.cfg), b.Context()
			b.ReportAllocs()
			for b.Loop() {
				pass, refusal := p.Enter(ctx, bc.r)
				if refusal != nil {
					b.Fatal(refusal)
				}
				p.Leave(pass, shed.Outcome{Latency: time.Millisecond})
			}
		})
	}
	b.Run("parallel", func(b *testing.B) {
		p, ctx := newPool(b, overload.Config{Limit: shed.Config{Fixed: 100}}), b.Context()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				pass, _ := p.Enter(ctx, overload.Request{Caller: 7})
				p.Leave(pass, shed.Outcome{Latency: time.Millisecond})
			}
		})
	})
}

func BenchmarkRefuse(b *testing.B) {
	p := newPool(b, overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
	enter(b, p, overload.Request{})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, r := p.Enter(ctx, overload.Request{Priority: shed.Sheddable}); r == nil {
			b.Fatal("let in")
		}
	}
}
