package overload_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// step is one thing that happens to a pool.
type step struct {
	what     int // 0..3 somebody asks, 4, 5 somebody leaves, 6 gives up, 7 the limit changes
	priority shed.Priority
	caller   uint64
	left     time.Duration // until the deadline; 0: none
	pick     int
	after    time.Duration
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			what:     rapid.IntRange(0, 7).Draw(t, "what"),
			priority: rapid.SampledFrom([]shed.Priority{shed.CriticalPlus, shed.Critical, shed.SheddablePlus, shed.Sheddable}).Draw(t, "priority"),
			caller:   rapid.Uint64Range(0, 3).Draw(t, "caller"),
			left:     rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Millisecond, 200 * time.Millisecond, time.Hour}).Draw(t, "left"),
			pick:     rapid.IntRange(0, 1000).Draw(t, "pick"),
			after:    rapid.SampledFrom([]time.Duration{0, time.Millisecond, 40 * time.Millisecond, 150 * time.Millisecond}).Draw(t, "after"),
		}
	}), 10, 120)
}

// play is a pool in the middle of a script.
type play struct {
	t       *rapid.T
	test    *testing.T
	pool    *overload.Pool
	limit   int
	asks    []*asked // not yet known to be over
	running []*asked
}

type asked struct {
	*ask
	step
	deadline time.Time
}

func (p *play) do(s step) {
	time.Sleep(s.after)
	synctest.Wait()
	p.settle(nil)
	switch {
	case s.what <= 3:
		a := &asked{step: s}
		r := overload.Request{Priority: s.priority, Caller: s.caller}
		if s.left > 0 {
			a.deadline = time.Now().Add(s.left)
			r.Deadline = a.deadline
		}
		a.ask = start(p.test, p.pool, r)
		p.asks = append(p.asks, a)
		p.settle(a)
	case s.what <= 5 && len(p.running) > 0:
		i := s.pick % len(p.running)
		a := p.running[i]
		p.running = append(p.running[:i], p.running[i+1:]...)
		p.pool.Leave(a.pass, shed.Outcome{Latency: time.Duration(s.pick) * 100 * time.Microsecond})
		synctest.Wait()
		p.settle(nil)
	case s.what == 6 && len(p.asks) > 0:
		p.asks[s.pick%len(p.asks)].cancel()
		synctest.Wait()
		p.settle(nil)
	case s.what == 7:
		p.limit = 1 + s.pick%4
		if err := p.pool.Update(config(p.limit)); err != nil {
			p.t.Fatal(err)
		}
		synctest.Wait()
		p.settle(nil)
	}
}

func config(limit int) overload.Config {
	return overload.Config{Limit: shed.Config{Fixed: limit}, Queue: 5, Wait: 300 * time.Millisecond, PerCaller: 4}
}

// settle sorts who runs and who was refused from who waits, and wants the laws
// kept; came is who has just come.
func (p *play) settle(came *asked) {
	var waiting, let []*asked
	for _, a := range p.asks {
		switch {
		case !a.done.Load():
			waiting = append(waiting, a)
		case a.refusal == nil:
			let = append(let, a)
		default:
			a.cancel()
		}
	}
	p.asks = waiting
	p.running = append(p.running, let...)
	if len(let) > 0 && len(p.running) > p.limit {
		p.t.Fatalf("%d run, the limit is %d", len(p.running), p.limit)
	}
	if len(waiting) > 0 && len(p.running) < p.limit {
		p.t.Fatalf("%d wait while %d of %d slots are taken", len(waiting), len(p.running), p.limit)
	}
	for _, a := range let {
		if !a.deadline.IsZero() && !time.Now().Before(a.deadline) {
			p.t.Fatalf("started %v after its deadline", time.Since(a.deadline))
		}
		for _, w := range waiting {
			if w != came && w.priority > a.priority {
				p.t.Fatalf("%v runs, and %v was waiting", a.priority, w.priority)
			}
		}
	}
	by := map[uint64]int{}
	for _, a := range append(waiting, p.running...) {
		if by[a.caller]++; a.caller != 0 && by[a.caller] > 4 {
			p.t.Fatalf("caller %d has %d here", a.caller, by[a.caller])
		}
	}
	s := p.pool.Stats()
	if s.InFlight != len(p.running) || s.Queued != len(waiting) || len(waiting) > 5 {
		p.t.Fatalf("the pool counts %d and %d, but %d run and %d wait", s.InFlight, s.Queued, len(p.running), len(waiting))
	}
}

// Never more than the limit; no slot lost or idle while somebody waits; no
// priority passed over by a lower one; nothing started after its deadline; no
// caller above its cap: whatever the script.
func TestTheLawsOfThePool(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := steps().Draw(r, "script")
		failed := true
		synctest.Test(t, func(t *testing.T) {
			p := &play{t: r, test: t, limit: 2, pool: newPool(t, config(2))}
			defer func() { // also of a script that failed, or the bubble never ends
				for _, a := range append(p.asks, p.running...) {
					a.cancel()
				}
			}()
			for _, s := range script {
				p.do(s)
			}
			for len(p.running) > 0 {
				p.do(step{what: 4})
			}
			idle(t, p.pool)
			failed = t.Failed()
		})
		if failed {
			r.Fatal("a pool that nobody uses is not idle")
		}
	})
}
