package overload_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// Many at once, with everything that can cross: time, hang-ups, settings. No
// more than the limit ever run, and at the end all slots are there.
func TestNoSlotIsLost(t *testing.T) {
	const limit, crowd, rounds = 5, 40, 300
	cfg := overload.Config{Limit: shed.Config{Fixed: limit}, Queue: 16, Wait: time.Millisecond, PerCaller: 9}
	p := newPool(t, cfg)
	var running, most, served, refusals atomic.Int64
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range rounds {
				ctx, cancel := context.WithCancel(t.Context())
				r := overload.Request{Priority: shed.Priorities()[rng.IntN(shed.Tiers)], Caller: rng.Uint64N(6)}
				switch rng.IntN(4) {
				case 0:
					r.Deadline = time.Now().Add(time.Duration(rng.IntN(1000)) * time.Microsecond)
				case 1:
					time.AfterFunc(time.Duration(rng.IntN(500))*time.Microsecond, cancel)
				case 2:
					if i == 0 {
						if err := p.Update(cfg); err != nil {
							t.Error(err)
						}
					}
				}
				pass, refusal := p.Enter(ctx, r)
				if refusal != nil {
					refusals.Add(1)
					cancel()
					continue
				}
				n := running.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				began := time.Now()
				for range rng.IntN(2000) {
					rng.Uint64()
				}
				running.Add(-1)
				served.Add(1)
				p.Leave(pass, shed.Outcome{Latency: time.Since(began), Dropped: rng.IntN(9) == 0, Ignored: rng.IntN(9) == 0})
				cancel()
			}
		})
	}
	all.Wait()
	if most.Load() > limit {
		t.Errorf("%d ran at once, the limit is %d", most.Load(), limit)
	}
	idle(t, p)
	s := p.Stats()
	var admitted, refused uint64
	for _, c := range s.Counts {
		admitted += c.Admitted
		refused += c.Refused()
	}
	if admitted != uint64(served.Load()) || refused != uint64(refusals.Load()) || admitted+refused != crowd*rounds {
		t.Errorf("the pool counts %d and %d, it was %d and %d", admitted, refused, served.Load(), refusals.Load())
	}
	for range limit {
		enter(t, p, overload.Request{})
	}
	if _, r := p.Enter(t.Context(), overload.Request{}); r == nil {
		t.Error("a slot too many")
	}
}
