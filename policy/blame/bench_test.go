package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// crowded is a state that holds as many convicts as it can, or none.
func crowded(t testing.TB, convicts bool) (*blame.State, uint64) {
	b := newState(t, blame.Config{})
	if convicts {
		for i := range uint64(1 << 16) {
			if _, err := b.Quarantine(b.now, b.now.Add(time.Hour), work(1<<40+i, 1<<40+i), "by order", ""); err != nil {
				t.Fatal(err)
			}
		}
		b.Drain(nil)
	}
	return b.State, b.life()
}

func attempt(state *blame.State, now time.Time, epoch uint64, w blame.Work) {
	t, _ := state.Admit(now, w)
	state.Begin(now, t, epoch, now.Add(time.Second), false)
	state.Begun(now, t)
	state.End(now, t, blame.Survived)
	state.Close(t)
}

// DESIGN's bar: what every piece of work costs the judge allocates nothing.
func TestAnAttemptAllocatesNothing(t *testing.T) {
	for _, convicts := range []bool{false, true} {
		state, e := crowded(t, convicts)
		now, n := start.Add(2*time.Minute), uint64(0)
		for range 100_000 { // tables reach their size
			n++
			attempt(state, now, e, work(n, n%100))
		}
		for name, next := range map[string]func() uint64{
			"proven":   func() uint64 { return 1 },
			"unproven": func() uint64 { n++; return n },
		} {
			if allocs := testing.AllocsPerRun(10_000, func() { i := next(); attempt(state, now, e, work(i, i%100)) }); allocs != 0 {
				t.Errorf("%s work with convicts %v: %v allocations", name, convicts, allocs)
			}
		}
	}
}

func BenchmarkAttempt(bb *testing.B) {
	for _, convicts := range []bool{false, true} {
		for _, unproven := range []bool{false, true} {
			bb.Run(fmt.Sprintf("unproven=%v/convicts=%v", unproven, convicts), func(bb *testing.B) {
				state, e := crowded(bb, convicts)
				now, n := start.Add(2*time.Minute), uint64(0)
				bb.ReportAllocs()
				for bb.Loop() {
					if unproven {
						n++
					}
					attempt(state, now, e, work(n, n%100))
				}
			})
		}
	}
}

func BenchmarkRefuse(bb *testing.B) {
	state, _ := crowded(bb, true)
	bb.ReportAllocs()
	for n := uint64(0); bb.Loop(); n++ {
		if _, d := state.Admit(start, work(1<<40+n%(1<<16), 0)); d.Action != blame.Refuse {
			bb.Fatal(d)
		}
	}
}

// One death with k pieces of work in flight.
func BenchmarkCrash(bb *testing.B) {
	for _, k := range []int{1, 8, 1000} {
		bb.Run(fmt.Sprint(k), func(bb *testing.B) {
			b := newState(bb, blame.Config{})
			bb.ReportAllocs()
			for bb.Loop() {
				b.pass(time.Second)
				e := b.life()
				tickets := make([]blame.Ticket, k)
				for i := range tickets {
					tickets[i] = b.Open(work(uint64(i), uint64(i)))
					b.Begin(b.now, tickets[i], e, time.Time{}, false)
				}
				b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
				for _, t := range tickets {
					b.Close(t)
				}
				b.Drain(nil)
			}
		})
	}
}
