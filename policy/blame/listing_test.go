package blame_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

func TestAnOperatorsOrderHoldsUntilItsTime(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	for range 10 {
		b.runs(w)
	}
	v, err := b.Quarantine(b.now, b.now.Add(time.Hour), w, "costs too much", "GET /x")
	if err != nil || !v.Manual || v.State != bezoar.Quarantined || v.Reason != "costs too much" || v.Sample != "GET /x" {
		t.Fatalf("verdict %+v, %v", v, err)
	}
	if a := b.action(w); a != blame.Refuse {
		t.Errorf("work goes to %v", a)
	}
	tk, ok := b.Redrive(w)
	if !ok {
		t.Fatal("an operator cannot redrive it")
	}
	if _, ok := b.Redrive(w); ok {
		t.Error("two copies in the lane at once")
	}
	b.Begin(b.now, tk, b.life(), time.Time{}, true)
	b.End(b.now, tk, blame.Survived)
	b.Close(tk)
	if a := b.action(w); a != blame.Refuse {
		t.Errorf("after a clean redrive work goes to %v", a)
	}
	b.pass(time.Hour)
	if d := b.runs(w); d.Cause != blame.ByProbe {
		t.Errorf("when its time is over work got %+v", d)
	}
	if s := b.state(w); s != "" {
		t.Errorf("after a clean probe it is %q", s)
	}
}

// An order against a shape holds for all of it, proven or not.
func TestAnOrderAgainstAShape(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 5)
	for range 10 {
		b.runs(w)
	}
	v, err := b.Quarantine(b.now, b.now.Add(time.Hour), blame.Work{Shape: w.Shape}, "blocked", "")
	if err != nil || v.Scope != bezoar.ScopeShape {
		t.Fatalf("verdict %+v, %v", v, err)
	}
	for _, w := range []blame.Work{w, work(2, 5)} {
		if _, d := b.Admit(b.now, w); d.Action != blame.Refuse || d.Cause != blame.ByShapeVerdict {
			t.Errorf("work got %+v", d)
		}
	}
	b.pass(time.Hour)
	if d := b.runs(work(3, 5)); d.Cause != blame.ByProbe || b.shape(5) != "" {
		t.Errorf("when its time is over work got %+v, the shape is %q", d, b.shape(5))
	}
}

func TestReleaseForgetsHowOftenItWasConvicted(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	v := b.convict(w)
	b.pass(v.Until.Sub(b.now))
	b.kills(w)
	if _, ok := b.Release(b.now, v.ID); !ok {
		t.Fatal("not released")
	}
	if a := b.action(w); a != blame.ToFleet && a != blame.ToCanary {
		t.Errorf("released work goes to %v", a)
	}
	if _, ok := b.Release(b.now, v.ID); ok {
		t.Error("released twice")
	}
	b.well()
	if v := b.convict(w); v.Level != 1 {
		t.Errorf("convicted at level %d", v.Level)
	}
}

// What comes back after a restart decides as before it.
func TestRestore(t *testing.T) {
	suspect := func(b *clock) blame.Work {
		w := work(1, 1)
		b.SelfCrash(b.now, []blame.InFlight{{Work: w}}, blame.SelfDeath{Proof: blame.OutOfMemory})
		return w
	}
	for _, tc := range []struct {
		name string
		make func(b *clock) blame.Work
	}{
		{"suspect", suspect},
		{"quarantined", func(b *clock) blame.Work { b.convict(work(1, 1)); return work(1, 1) }},
		{"quarantined over time", func(b *clock) blame.Work {
			v := b.convict(work(1, 1))
			b.pass(v.Until.Sub(b.now) + time.Second)
			return work(1, 1)
		}},
		{"probing", func(b *clock) blame.Work {
			v := b.convict(work(1, 1))
			b.pass(v.Until.Sub(b.now) + time.Second)
			b.admit(work(1, 1))
			b.pass(-time.Second) // the probe dies with the process
			return work(1, 1)
		}},
		{"conditional", func(b *clock) blame.Work { b.conditional(work(1, 1)); return work(1, 1) }},
		{"struck", func(b *clock) blame.Work {
			for range 3 {
				b.strikes(work(1, 1), blame.TimedOut)
			}
			return work(1, 1)
		}},
		{"by order", func(b *clock) blame.Work {
			_, _ = b.Quarantine(b.now, b.now.Add(time.Hour), work(1, 1), "by order", "GET /")
			return work(1, 1)
		}},
		{"laned shape", func(b *clock) blame.Work { b.convicts(5, 3); return work(100, 5) }},
		{"shape by order", func(b *clock) blame.Work {
			_, _ = b.Quarantine(b.now, b.now.Add(time.Hour), blame.Work{Shape: work(0, 5).Shape}, "by order", "")
			return work(100, 5)
		}},
		{"laned client", func(b *clock) blame.Work {
			w := work(100, 5)
			w.Client = fp(1 << 41)
			for i := range uint64(3) {
				p := work(1000+i, 1000+i)
				p.Client = w.Client
				b.convict(p)
				b.well()
			}
			return w
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newState(t, blame.Config{})
			b.well()
			w := tc.make(b)
			stored := b.Verdicts(b.now)
			again := &clock{State: blame.New(blame.Config{Window: -1, Rand: rand.New(rand.NewPCG(7, 7))}, b.now), t: t, now: b.now, ids: 1 << 20}
			again.SetFleet(8)
			for _, v := range stored {
				again.Restore(again.now, v, nil)
			}
			if n := len(again.Drain(nil)); n != 0 {
				t.Errorf("%d events of what was known before", n)
			}
			byID := func(a, b bezoar.Verdict) int { return strings.Compare(a.ID, b.ID) }
			got := again.Verdicts(again.now)
			slices.SortFunc(got, byID)
			slices.SortFunc(stored, byID)
			for i := range stored {
				if stored[i].State == bezoar.Probing {
					stored[i].State = bezoar.Quarantined
				}
			}
			if diff := cmp.Diff(stored, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				t.Errorf("verdicts (-stored +restored):\n%s", diff)
			}
			if err := again.Check(); err != nil {
				t.Error(err)
			}
			if tc.name == "probing" {
				b = nil // one process has a probe in flight, the other not
				if a := again.action(w); a != blame.ToLane {
					t.Errorf("after a restart the next probe goes to %v", a)
				}
				return
			}
			for i := range 3 {
				_, before := b.Admit(b.now, w)
				_, after := again.Admit(again.now, w)
				if before.Action == blame.Pace {
					return // whose turn it is, a restart forgets
				}
				if before.Action != after.Action || before.Cause != after.Cause || before.Until.Sub(after.Until).Abs() > time.Second {
					t.Errorf("decision %d was %+v and is %+v", i, before, after)
				}
			}
		})
	}
}

// What successes have taken off the score before the restart does not come back.
func TestRestoreKeepsTheScore(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.SelfCrash(b.now, []blame.InFlight{{Work: w}}, blame.SelfDeath{Proof: blame.OutOfMemory})
	tk, _ := b.admit(w)
	b.Begin(b.now, tk, b.life(), time.Time{}, false)
	b.End(b.now, tk, blame.Survived)
	b.Close(tk)
	v, _ := b.Lookup(&w)
	again := newState(t, blame.Config{})
	again.Restore(again.now, v, nil)
	if got, _ := again.Lookup(&w); v.Score != 0.5 || got.Score != 0.5 {
		t.Errorf("a score of %v came back as %v", v.Score, got.Score)
	}
}

func TestRestoreIgnoresWhatItCannotRead(t *testing.T) {
	b := newState(t, blame.Config{})
	for _, id := range []string{"", "q-", "q-nonsense0000", "dl-0123456789ab", "q-0123456789abc"} {
		b.Restore(b.now, bezoar.Verdict{ID: id, Scope: bezoar.ScopeWork, State: bezoar.Quarantined, Fingerprint: fp(1)}, nil)
	}
	if vs := b.Verdicts(b.now); len(vs) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
}

func TestOldEvidenceLeavesTheWindow(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.kills(w)
	b.pass(10*time.Minute + 2*time.Second)
	b.Drain(nil)
	if d := b.runs(w); d.Action == blame.ToLane {
		t.Errorf("ten minutes later work goes to %v", d.Action)
	}
	if n := b.count(blame.Dropped); n != 1 {
		t.Errorf("%d verdicts were dropped", n)
	}
}

// Details are for some thousand cases; the verdicts of all others stand.
func TestVerdictsOutliveTheirDetails(t *testing.T) {
	b := newState(t, blame.Config{MaxGroups: 16})
	for i := range uint64(5000) {
		if _, err := b.Quarantine(b.now, b.now.Add(time.Hour), work(i, i), fmt.Sprint("order ", i), ""); err != nil {
			t.Fatal(err)
		}
	}
	if z := b.Sizes(); z.Cases != 5000 || z.Details != 4096 {
		t.Errorf("the state holds %+v", z)
	}
	for _, i := range []uint64{0, 4999} {
		w := work(i, i)
		v, _ := b.Lookup(&w)
		if v.State != bezoar.Quarantined || (v.Reason != "") != (i == 4999) {
			t.Errorf("verdict %+v", v)
		}
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

func TestEventsAreBounded(t *testing.T) {
	b := newState(t, blame.Config{})
	for range 70_000 {
		b.Crash(b.now, b.life(), true, bezoar.Evidence{})
	}
	evs := b.Drain(nil)
	if len(evs) != 1<<16 || evs[len(evs)-1].Evidence.Epoch != 70_000 || b.Pending() {
		t.Errorf("%d events, the last of epoch %d", len(evs), evs[len(evs)-1].Evidence.Epoch)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	for _, tc := range []struct {
		cfg  blame.Config
		want []string
	}{
		{blame.Config{}, nil},
		{blame.Config{Rule: blame.Rule{After: 9, Within: 1, For: 1, Max: -1, Strikes: 9}}, []string{
			"after is 9, want 1 to 8", "within is 1ns", "for is 1ns", "max is -1ns", "strikes is 9, want 1 to 8",
		}},
		{blame.Config{MaxCases: 1, MaxProven: -1, MaxGroups: 1 << 30, GateShare: 2, CanaryMax: -1}, []string{
			"MaxCases is 1", "MaxProven is -1", "MaxGroups is 1073741824", "GateShare is 2", "CanaryMax is -1",
		}},
	} {
		err := tc.cfg.Validate()
		if (err == nil) != (tc.want == nil) {
			t.Errorf("%+v: %v", tc.cfg, err)
		}
		for _, want := range tc.want {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	}
}
