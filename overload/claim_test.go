package overload_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

func newPool(t testing.TB, cfg overload.Config) *overload.Pool {
	t.Helper()
	p, err := overload.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A server behind a pool does at least 95 % of what it can at ten times that,
// and CriticalPlus notices nothing; without the pool next to nothing is of use
// to anybody. The pool is not told what the server can do.
func TestTenTimesTheCapacity(t *testing.T) {
	const warm, length = 5 * time.Second, 25 * time.Second
	loads := []float64{0.5, 1.2, 3, 10}
	if pace.Watched {
		loads = loads[2:3] // the same goroutines meet at each
	}
	for _, load := range loads {
		for _, defended := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				w := &world{workers: 16, service: 100 * time.Millisecond, patience: time.Second, callers: 1000}
				if !defended {
					w.warm = warm // it takes a while to collapse
				} else {
					w.pool = newPool(t, overload.Config{})
				}
				w.run(t, load, length)
				goodput := w.goodput(length - w.warm)
				t.Logf("load %4.1f, defended %-5v: goodput %5.3f of the capacity, served %.4f of each priority", load, defended, goodput, w.shares())
				switch {
				case load < 1:
					if goodput < 0.97*load {
						t.Errorf("goodput is %.3f at load %g", goodput, load)
					}
				case defended && goodput < 0.95:
					t.Errorf("goodput is %.3f at load %g, want 0.95", goodput, load)
				case !defended && load >= 3 && goodput > 0.1:
					t.Errorf("goodput is %.3f at load %g without a pool: this server does not collapse", goodput, load)
				}
				if got := w.servedOf(shed.CriticalPlus); defended && got < 0.999 {
					t.Errorf("%.4f of CriticalPlus was served at load %g, want 0.999", got, load)
				}
				if defended {
					idle(t, w.pool)
				}
			})
		}
	}
}

// idle wants a pool that nobody uses and that has lost nothing.
func idle(t *testing.T, p *overload.Pool) {
	t.Helper()
	s := p.Stats()
	if s.InFlight != 0 || s.Queued != 0 || s.Callers != 0 || s.Streams != 0 {
		t.Errorf("nobody is there, but %d in flight, %d queued, %d callers, %d streams", s.InFlight, s.Queued, s.Callers, s.Streams)
	}
}

// At twice the capacity half of the callers of one priority get everything, and
// the others nothing, rather than everybody a half. In a whole turn of the order
// everybody had a half.
func TestTheSameOnesAreShedUntilTheOrderTurns(t *testing.T) {
	for _, tc := range []struct {
		turn      time.Duration
		ends, mid int // callers that got more than 3/4 or less than 1/4, and between, at least
	}{{0, 140, 0}, {20 * time.Second, 0, 180}} {
		synctest.Test(t, func(t *testing.T) {
			const warm, length = 10 * time.Second, 70 * time.Second
			w := &world{workers: 16, service: 100 * time.Millisecond, patience: time.Second, callers: 200, warm: warm, even: true}
			w.pool = newPool(t, overload.Config{Limit: shed.Config{Turn: tc.turn}})
			w.run(t, 2, length)
			most, some, few := 0, 0, 0
			for _, c := range w.by {
				switch share := float64(c.served) / float64(c.sent); {
				case share > 0.75:
					most++
				case share < 0.25:
					few++
				default:
					some++
				}
			}
			t.Logf("turn %v: %d callers got most of what they asked for, %d some, %d little", tc.turn, most, some, few)
			if min(most, few) < tc.ends/2 || some < tc.mid {
				t.Errorf("of 200 callers %d got most, %d some, %d little; want at least %d at either end, %d between", most, some, few, tc.ends/2, tc.mid)
			}
			if got := w.goodput(length - warm); got < 0.95 {
				t.Errorf("goodput is %.3f", got)
			}
		})
	}
}

// A caller who asks for all gets no more than the cap, and the others all they
// need.
func TestAGreedyCallerHarmsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{workers: 16, service: 100 * time.Millisecond, patience: time.Second, callers: 40, even: true, greedy: 0.9}
		w.pool = newPool(t, overload.Config{Limit: shed.Config{Fixed: 16}, PerCaller: 4})
		w.run(t, 5, 20*time.Second) // of which half a load is not the greedy one's
		greedy := w.by[1]
		delete(w.by, 1)
		var rest tally
		for _, c := range w.by {
			rest.sent += c.sent
			rest.served += c.served
		}
		if share := float64(rest.served) / float64(rest.sent); share < 0.999 {
			t.Errorf("%.4f of the others' work was served, want 0.999", share)
		}
		if most := int(4 * 20 / 0.08); greedy.served > most || greedy.served < 500 {
			t.Errorf("the greedy caller got %d, want 500 to %d", greedy.served, most)
		}
		if got := w.pool.Stats().Of(shed.Critical).PerCaller; got == 0 {
			t.Error("no refusal by the cap was counted")
		}
		idle(t, w.pool)
	})
}
