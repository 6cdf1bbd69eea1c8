package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// dies ends the life of a worker with w in flight, in the fleet.
func (b *clock) dies(worker string, w ...blame.Work) []blame.Finding {
	b.t.Helper()
	e := b.life()
	var tickets []blame.Ticket
	for _, w := range w {
		tk := b.Open(w)
		b.Begin(b.now, tk, e, time.Time{}, false)
		tickets = append(tickets, tk)
	}
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: worker, Class: bezoar.Crash})
	var found []blame.Finding
	for _, tk := range tickets {
		f, _ := b.Finding(tk)
		found = append(found, f)
		b.Close(tk)
	}
	return found
}

func TestWhatClosesTheGate(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fleet  int
		deaths func(b *clock)
		want   bool
	}{
		{"nothing", 8, func(*clock) {}, false},
		{"many workers with different work, at once", 10, func(b *clock) {
			for i := range uint64(4) {
				b.dies(fmt.Sprint(i), work(i, i))
				b.well()
			}
		}, true},
		{"too few of many", 100, func(b *clock) {
			for i := range uint64(20) {
				b.dies(fmt.Sprint(i), work(i, i))
				b.well()
			}
		}, false},
		{"many of very many", 10_000, func(b *clock) {
			for i := range uint64(600) {
				b.dies(fmt.Sprint(i), work(i, i))
				b.runs(work(1<<20, 1<<20))
			}
		}, true},
		{"the same, slowly", 10, func(b *clock) {
			for i := range uint64(10) {
				b.dies(fmt.Sprint(i), work(i, i))
				for range 20 {
					b.well()
				}
				b.pass(time.Second)
			}
		}, false},
		{"one pill on many workers", 10, func(b *clock) {
			for i := range uint64(10) {
				b.dies(fmt.Sprint(i), work(1, 1), work(100+i, 100+i))
				b.well()
			}
		}, false},
		{"unique pills of one shape that never ran", 10, func(b *clock) {
			for i := range uint64(10) {
				b.dies(fmt.Sprint(i), work(i, 1))
				b.well()
			}
		}, false},
		{"one worker over and over", 10, func(b *clock) {
			for i := range uint64(10) {
				b.dies("w", work(i, i))
				b.well()
			}
		}, false},
		{"idle workers at once", 10, func(b *clock) {
			for i := range 4 {
				b.dies(fmt.Sprint(i))
				b.well()
			}
		}, true},
		{"three different deaths without an answer in between", 1000, func(b *clock) {
			for i := range uint64(3) {
				b.pass(5 * time.Second)
				b.dies(fmt.Sprint(i), work(i, i))
			}
		}, true},
		{"the same with answers", 1000, func(b *clock) {
			for i := range uint64(3) {
				b.pass(5 * time.Second)
				b.dies(fmt.Sprint(i), work(i, i))
				b.runs(work(1<<20, 1<<20))
			}
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newState(t, blame.Config{})
			b.SetFleet(tc.fleet)
			b.well()
			tc.deaths(b)
			if got := b.GateClosed(b.now); got != tc.want {
				t.Errorf("closed is %v, want %v", got, tc.want)
			}
		})
	}
}

// Work that the gate was closed over weighs nothing afterwards.
func TestAMassCrashLeavesNoWeight(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	innocent := work(1, 1)
	b.runs(innocent)
	b.pass(20 * time.Second)
	for i := range uint64(5) {
		b.dies(fmt.Sprint(i), work(10+i, 10+i))
	}
	if f := b.dies("5", innocent); !f[0].Gated || f[0].Convicted {
		t.Fatalf("finding %+v", f[0])
	}
	for _, v := range b.Verdicts(b.now) {
		if v.Score != 0 || v.State != bezoar.Suspected {
			t.Errorf("verdict %+v", v)
		}
	}
	b.pass(11 * time.Second)
	if b.GateClosed(b.now) {
		t.Error("the gate stays closed")
	}
	if d := b.runs(innocent); d.Action != blame.ToLane || b.state(innocent) != "" {
		t.Errorf("it got %+v and is %q", d, b.state(innocent))
	}
}

// While many workers die of everything, work with a record is not isolated.
func TestPopularWorkFlowsWhileTheGateIsClosed(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	for i := range uint64(4) {
		b.dies(fmt.Sprint(i), work(10+i, 10+i))
	}
	popular := work(1<<20, 1<<20)
	b.dies("x", popular)
	if a := b.action(popular); a != blame.ToFleet {
		t.Errorf("it goes to %v", a)
	}
	unknown := work(1, 1)
	b.dies("y", unknown)
	if a := b.action(unknown); a != blame.ToLane {
		t.Errorf("unproven work goes to %v", a)
	}
}

// A convict whose failed probe is taken back is still a convict.
func TestARefundUndoesTheLastConvictionOnly(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	v := b.convict(w)
	b.pass(v.Until.Sub(b.now))
	b.kills(w) // a probe
	for i := range uint64(4) {
		b.dies(fmt.Sprint(i), work(10+i, 10+i))
	}
	if v, _ := b.Lookup(&w); v.State != bezoar.Quarantined || v.Level != 1 || !v.Until.After(b.now) {
		t.Errorf("verdict %+v", v)
	}
}

func TestAnAnnouncedRolloutSuspendsConvictions(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	b.Suspend(b.now, b.now.Add(10*time.Second))
	if n := b.count(blame.GateClosed); n != 1 {
		t.Errorf("the gate was closed %d times", n)
	}
	w := work(1, 1)
	b.kills(w)
	if _, f := b.kills(w); f.Convicted || !f.Gated {
		t.Errorf("a crash in the lane during a rollout left %+v", f)
	}
	b.pass(11 * time.Second)
	if n := b.count(blame.GateOpened); n != 1 {
		t.Errorf("the gate was opened %d times", n)
	}
}

// A closed gate lets through what the lane tells apart from the fleet.
func TestAPillIsConvictedWhileOthersAreAnswered(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	b.Suspend(b.now, b.now.Add(time.Minute))
	w := work(1, 1)
	b.kills(w)
	b.well()
	b.pass(time.Second)
	if _, f := b.kills(w); !f.Convicted {
		b.well()
		if _, f = b.kills(w); !f.Convicted {
			t.Errorf("finding %+v", f)
		}
	}
}

// A worker that has never answered is no evidence while others like it die of
// other work.
func TestABuildThatDiesOfEverythingConvictsNobody(t *testing.T) {
	b := newState(t, blame.Config{})
	b.SetFleet(100)
	b.well()
	for i := range uint64(5) {
		w := work(10+i, 10+i)
		_, first := b.killsOn(b.life(), w)
		_, second := b.killsOn(b.life(), w)
		b.well()
		if second.Convicted != (i == 0) || first.Convicted {
			t.Errorf("work %d: %+v, then %+v", i, first, second)
		}
	}
	if _, f := b.killsOn(b.servedLife(), work(11, 11)); !f.Convicted {
		t.Errorf("the death of a worker that had answered left %+v", f)
	}
}

// Two such workers are enough: a pill must not live on the doubt.
func TestTheDoubtIsGivenOnce(t *testing.T) {
	b := newState(t, blame.Config{})
	b.SetFleet(100)
	b.well()
	b.killsOn(b.life(), work(1, 1))
	b.well()
	w := work(2, 2)
	for death, want := range []bool{false, false, true} {
		if _, f := b.killsOn(b.life(), w); f.Convicted != want {
			t.Errorf("death %d: %+v", death+1, f)
		}
		b.well()
	}
}

// While the gate is closed only the lane tells work and fleet apart.
func TestNobodyIsConvictedInTheFleetWhileTheGateIsClosed(t *testing.T) {
	b := newState(t, blame.Config{Rule: blame.Rule{After: 1}.WithDefaults()})
	b.well()
	b.Suspend(b.now, b.now.Add(time.Minute))
	b.well()
	if d, f := b.kills(work(1, 1)); d.Action != blame.ToFleet || f.Convicted || f.Gated {
		t.Errorf("in the fleet: %+v, %+v", d, f)
	}
	b.pass(time.Second)
	if d, f := b.kills(work(1, 1)); d.Action != blame.ToLane || !f.Convicted {
		t.Errorf("in the lane: %+v, %+v", d, f)
	}
}

func TestNewBuildLetsConvictsProbeAtOnce(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w, ordered := work(1, 1), work(2, 2)
	b.convict(w)
	if _, err := b.Quarantine(b.now, b.now.Add(time.Hour), ordered, "by order", ""); err != nil {
		t.Fatal(err)
	}
	b.NewBuild(b.now)
	if d := b.runs(w); d.Cause != blame.ByProbe || b.state(w) != "" {
		t.Errorf("a convict got %+v and is %q", d, b.state(w))
	}
	if a := b.action(ordered); a != blame.Refuse {
		t.Errorf("what an operator holds goes to %v", a)
	}
}
