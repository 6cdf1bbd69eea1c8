package blame_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// well makes the state one of a fleet that answers all the time.
func (b *clock) well() {
	for i := range 50 {
		b.runs(work(uint64(1<<20+i%10), 1<<20))
	}
}

// convict convicts w with N = 2: after one crash if it begins in the lane.
func (b *clock) convict(w blame.Work) bezoar.Verdict {
	b.t.Helper()
	if _, f := b.kills(w); !f.Convicted {
		b.kills(w)
	}
	v, ok := b.Lookup(&w)
	if !ok || v.State != bezoar.Quarantined {
		b.t.Fatalf("two crashes left %+v", v)
	}
	return v
}

func (b *clock) state(w blame.Work) bezoar.State {
	v, _ := b.Lookup(&w)
	return v.State
}

// count drains the events and counts those of a kind.
func (b *clock) count(k blame.EventKind) (n int) {
	for _, e := range b.Drain(nil) {
		if e.Kind == k {
			n++
		}
	}
	return n
}

func TestOneProbeAtATimeWhenAQuarantineHasRunOut(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	v := b.convict(w)
	b.pass(v.Until.Sub(b.now) - time.Millisecond)
	if _, d := b.Admit(b.now, w); d.Action != blame.Refuse || !d.Until.After(b.now) {
		t.Fatalf("a moment before its end a copy got %+v", d)
	}
	b.pass(time.Millisecond)
	b.count(blame.Probed)
	probe, d := b.admit(w)
	if d.Action != blame.ToLane || d.Cause != blame.ByProbe || b.state(w) != bezoar.Probing {
		t.Fatalf("the first copy got %+v, verdict %s", d, b.state(w))
	}
	for range 3 {
		if _, d := b.Admit(b.now, w); d.Action != blame.Refuse || d.Cause != blame.ByVerdict {
			t.Fatalf("beside the probe a copy got %+v", d)
		}
	}
	if b.Overtaken(b.now, probe) {
		t.Error("a probe is not overtaken by its own verdict")
	}
	b.Close(probe) // its caller left before its turn
	if d := b.runs(w); d.Cause != blame.ByProbe {
		t.Fatalf("the next copy got %+v", d)
	}
	if n := b.count(blame.Probed); n != 2 {
		t.Errorf("%d probes were told of, want 2", n)
	}
	if d := b.runs(w); d.Action != blame.ToFleet || b.state(w) != "" {
		t.Errorf("after a clean probe a copy goes to %v, verdict %s", d.Action, b.state(w))
	}
}

func TestEachConvictionDoublesTheTimeWithJitter(t *testing.T) {
	rule := blame.Rule{For: time.Minute, Max: 10 * time.Minute, Within: 24 * time.Hour}.WithDefaults()
	b := newState(t, blame.Config{Rule: rule})
	b.well()
	w := work(1, 1)
	v := b.convict(w)
	seen := map[time.Duration]bool{}
	for level, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		term := v.Until.Sub(b.now)
		if least := want * time.Minute; term < least || term > least*12/10 {
			t.Errorf("quarantine %d lasts %v, want %v and at most 20 %% more", level+1, term, least)
		}
		if v.Level != level+1 {
			t.Errorf("level %d, want %d", v.Level, level+1)
		}
		seen[term%time.Minute] = true
		b.pass(term)
		if d, f := b.kills(w); d.Cause != blame.ByProbe || !f.Convicted {
			t.Fatalf("the probe got %+v and left %+v", d, f)
		}
		v, _ = b.Lookup(&w)
	}
	if len(seen) < 3 {
		t.Errorf("the terms are hardly jittered: %v", seen)
	}
}

func TestACleanRunAlonePardons(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.kills(w)
	if s := b.state(w); s != bezoar.Suspected {
		t.Fatalf("after a crash it is %q", s)
	}
	b.Drain(nil)
	if d := b.runs(w); d.Action != blame.ToLane || d.Cause != blame.BySuspicion || d.Score != 1 {
		t.Fatalf("the suspect got %+v", d)
	}
	if n := b.count(blame.Pardoned); n != 1 || b.state(w) != "" {
		t.Errorf("%d pardons, verdict %q", n, b.state(w))
	}
	if d := b.runs(w); d.Action != blame.ToFleet {
		t.Errorf("pardoned work goes to %v", d.Action)
	}
}

func TestASuccessInTheFleetHalvesTheScore(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.runs(w) // once, so that two copies may run
	slow, _ := b.admit(w)
	b.Begin(b.now, slow, b.life(), time.Time{}, false)
	b.kills(w)
	v, _ := b.Lookup(&w)
	b.End(b.now, slow, blame.Survived)
	b.Close(slow)
	if half, _ := b.Lookup(&w); v.Score != 1 || half.Score != 0.5 {
		t.Errorf("a score of %v became %v", v.Score, half.Score)
	}
}

// conditional makes w known to kill only in company.
func (b *clock) conditional(w blame.Work) {
	b.t.Helper()
	b.kills(w)
	b.runs(w) // clean alone
	for range 2 {
		b.kills(w)
		if b.state(w) == bezoar.Suspected {
			b.runs(w)
		}
	}
	if s := b.state(w); s != bezoar.Conditional {
		b.t.Fatalf("after a pardon and two more suspicions it is %q", s)
	}
}

func TestConditionalPoisonIsPinnedToTheLaneAndNeverRefused(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.conditional(w)
	first, d := b.admit(w)
	if d.Action != blame.ToLane || d.Cause != blame.ByCondition || d.Proven || d.Overflow || d.Score != 0 {
		t.Errorf("it got %+v", d)
	}
	if a := b.action(w); a != blame.Duplicate {
		t.Errorf("beside it a copy goes to %v", a)
	}
	if !b.Close(first) {
		t.Error("copies that waited are not woken")
	}
	for range 6 { // deaths in which it had a part, but was not alone
		mine, _ := b.admit(w)
		other, _ := b.admit(work(uint64(b.ids)+1000, 9))
		e := b.life()
		b.Begin(b.now, mine, e, time.Time{}, false)
		b.Begin(b.now, other, e, time.Time{}, false)
		b.pass(time.Second)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		if f, _ := b.Finding(mine); f.Convicted {
			t.Fatal("convicted for what it did in company")
		}
		b.Close(mine)
		b.Close(other)
		if a := b.action(w); a != blame.ToLane {
			t.Fatalf("it goes to %v", a)
		}
		b.runs(work(1<<20, 1<<20))
	}
	if _, f := b.kills(w); !f.Convicted {
		t.Error("a crash alone in the lane convicts even that")
	}
}

func TestEightCleanRunsFreeConditionalPoisonAndThenSixteen(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.conditional(w)
	for _, need := range []int{8, 16} {
		for i := range need {
			if d := b.runs(w); d.Cause != blame.ByCondition {
				t.Fatalf("clean run %d of %d was by %v", i, need, d.Cause)
			}
		}
		if d := b.runs(w); d.Action != blame.ToFleet {
			t.Fatalf("after %d clean runs it goes to %v", need, d.Action)
		}
		b.kills(w) // and it is known again at once
		if s := b.state(w); s != bezoar.Conditional {
			t.Fatalf("when it kills again it is %q", s)
		}
	}
}

func TestWhatWaitedWhileItsCopyWasConvictedIsOvertaken(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.runs(w)
	waiting, _ := b.admit(w)
	if b.Overtaken(b.now, waiting) {
		t.Fatal("nothing has happened yet")
	}
	b.kills(w)
	if !b.Overtaken(b.now, waiting) {
		t.Error("its work has come under suspicion")
	}
	b.Close(waiting)
	// A suspect that streams its answer passes its claim on, and kills then.
	first, _ := b.admit(w)
	e := b.life()
	b.Begin(b.now, first, e, time.Time{}, true)
	b.Begun(b.now, first)
	b.pass(2 * time.Second)
	second, d := b.admit(w)
	if d.Action != blame.ToLane || b.Overtaken(b.now, second) {
		t.Fatalf("beside a stream a suspect got %+v", d)
	}
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if f, _ := b.Finding(first); !f.Convicted || !b.Overtaken(b.now, second) {
		t.Errorf("finding %+v, overtaken %v", f, b.Overtaken(b.now, second))
	}
}

// Copies wait until an answer that has begun has been streaming for a second, and
// then go all at once: the worker has outlived what it might have done.
func TestCopiesFollowAStreamAllAtOnce(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	first, _ := b.admit(w)
	b.Begin(b.now, first, b.life(), time.Time{}, false)
	b.Begun(b.now, first)
	_, d := b.Admit(b.now, w)
	if d.Action != blame.Duplicate || d.Until.Sub(b.now) != time.Second {
		t.Fatalf("a copy of a young stream got %+v", d)
	}
	b.pass(time.Second)
	running := []blame.Ticket{first}
	for range 20 {
		tk, d := b.Admit(b.now, w)
		if d.Action != blame.ToFleet {
			t.Fatalf("copy %d of an old stream got %+v", len(running), d)
		}
		b.Begin(b.now, tk, b.life(), time.Time{}, false)
		running = append(running, tk)
	}
	for _, tk := range running {
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
	}
	if z := b.Sizes(); z.Leaders != 0 || z.Tickets != 0 {
		t.Errorf("left %+v", z)
	}
}

// After the first answer copies follow in numbers that double every 50 ms: what
// kills just after its answer must not take all workers with it.
func TestCopiesFollowAnAnswerInNumbersThatDouble(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	w := work(1, 1)
	first, _ := b.admit(w)
	b.Begin(b.now, first, b.life(), time.Time{}, false)
	b.action(w) // somebody waits
	b.End(b.now, first, blame.Survived)
	b.Close(first)
	running := 0
	for _, want := range []int{1, 2, 4, 8, 16} {
		for range 40 {
			tk, d := b.Admit(b.now, w)
			if d.Action != blame.ToFleet {
				break
			}
			b.Begin(b.now, tk, b.life(), time.Time{}, false)
			running++
		}
		if running != want {
			t.Errorf("%d copies run, want %d", running, want)
		}
		b.now = b.now.Add(50 * time.Millisecond)
	}
}

func TestAnAbandonedAttemptMayStillBeTheKiller(t *testing.T) {
	for _, tc := range []struct {
		name    string
		after   time.Duration // from the caller's leaving to the death
		class   bezoar.Class
		suspect bool
	}{
		{"a moment later", 10 * time.Millisecond, bezoar.Crash, true},
		{"long after", 6 * time.Second, bezoar.Crash, false},
		{"a hang, long after", time.Minute, bezoar.Timeout, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newState(t, blame.Config{})
			w, e := work(1, 1), b.life()
			tk, _ := b.admit(w)
			b.Begin(b.now, tk, e, time.Time{}, false)
			b.End(b.now, tk, blame.Abandoned)
			b.Close(tk)
			b.pass(tc.after)
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: tc.class})
			v, held := b.Lookup(&w)
			if held != tc.suspect || held && (v.State != bezoar.Suspected || v.Score <= 0 || v.Score >= 1) {
				t.Errorf("held %v: %+v", held, v)
			}
		})
	}
}

func TestAbandonedAttemptsFade(t *testing.T) {
	last := 1.0
	for _, after := range []time.Duration{0, 2 * time.Second, 4900 * time.Millisecond} {
		b := newState(t, blame.Config{})
		e := b.life()
		left, _ := b.admit(work(2, 2))
		b.Begin(b.now, left, e, time.Time{}, false)
		b.pass(time.Second)
		b.End(b.now, left, blame.Abandoned)
		b.Close(left)
		b.pass(after)
		mine, _ := b.admit(work(1, 1))
		b.Begin(b.now, mine, e, time.Time{}, false)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		f, _ := b.Finding(mine)
		rest := 1 - f.Share
		if rest <= 0 || rest > 0.34 || rest >= last {
			t.Errorf("%v after the caller left the abandoned attempt's share is %v", after, rest)
		}
		last = rest
	}
}

func TestAbandonedAttemptsOfProvenWorkDoNotHideAPillInTheLane(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.kills(w)
	e := b.life()
	popular, _ := b.admit(work(1<<20, 1<<20))
	b.Begin(b.now, popular, e, time.Time{}, false)
	b.End(b.now, popular, blame.Abandoned)
	b.Close(popular)
	b.pass(time.Second)
	mine, d := b.admit(w)
	b.Begin(b.now, mine, e, time.Time{}, d.Action == blame.ToLane)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if f, _ := b.Finding(mine); !f.Convicted || f.Share >= 1 {
		t.Errorf("finding %+v", f)
	}
}

func TestAPillWhoseCallersHangUpIsConvictedAllTheSame(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	for deaths := 1; ; deaths++ {
		tk, d := b.Admit(b.now, w)
		if d.Action == blame.Refuse {
			break
		}
		if deaths > 4 {
			t.Fatalf("after %d deaths a copy still goes to %v", deaths-1, d.Action)
		}
		e := b.life()
		b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
		b.End(b.now, tk, blame.Abandoned)
		b.Close(tk)
		b.pass(50 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		b.runs(work(1<<20, 1<<20))
	}
}

// Copies in flight together on one worker that dies are one suspect.
func TestCopiesThatDieTogetherCountOnce(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	b.runs(w)
	e := b.life()
	var tickets []blame.Ticket
	for range 5 {
		tk, _ := b.admit(w)
		b.Begin(b.now, tk, e, time.Time{}, false)
		tickets = append(tickets, tk)
	}
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	for _, tk := range tickets {
		if f, ok := b.Finding(tk); !ok || f.Share != 1 || f.Convicted {
			t.Errorf("finding %+v, %v", f, ok)
		}
		b.Close(tk)
	}
	if v, _ := b.Lookup(&w); len(v.Evidence) != 1 || v.Score != 1 || v.Evidence[0].InFlight != 5 {
		t.Errorf("verdict %+v", v)
	}
}

func TestWhatWasSentToADeadWorkerIsNotBlamed(t *testing.T) {
	b := newState(t, blame.Config{})
	e := b.life()
	tk, _ := b.admit(work(1, 1))
	died := b.now
	b.pass(time.Millisecond)
	b.Begin(b.now, tk, e, time.Time{}, false)
	b.Crash(died, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if f, ok := b.Finding(tk); !ok || !f.Planned || f.Share != 0 {
		t.Errorf("finding %+v, %v", f, ok)
	}
	if vs := b.Verdicts(b.now); len(vs) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
}

// What has just begun and what is overdue is more likely the killer.
func TestHazard(t *testing.T) {
	for _, tc := range []struct {
		name       string
		class      bezoar.Class
		age        time.Duration
		overdue    bool
		wantShares float64
	}{
		{"both old", bezoar.Crash, time.Second, false, 1. / 2},
		{"one young", bezoar.Crash, 100 * time.Millisecond, false, 2. / 3},
		{"young means nothing in a hang", bezoar.Timeout, 100 * time.Millisecond, false, 1. / 2},
		{"one overdue", bezoar.Crash, 2 * time.Second, true, 4. / 5},
		{"one overdue in a hang", bezoar.Timeout, 2 * time.Second, true, 16. / 17},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newState(t, blame.Config{})
			e := b.life()
			other, _ := b.admit(work(2, 2))
			mine, _ := b.admit(work(1, 1))
			b.Begin(b.now, other, e, time.Time{}, false)
			end := b.now.Add(time.Hour)
			var overdue time.Time
			if tc.overdue {
				overdue = end
			}
			b.Begin(end.Add(-tc.age), mine, e, overdue, false)
			b.Crash(end, e, false, bezoar.Evidence{Worker: "w", Class: tc.class})
			if f, _ := b.Finding(mine); f.Share < tc.wantShares-1e-9 || f.Share > tc.wantShares+1e-9 {
				t.Errorf("share %v, want %v", f.Share, tc.wantShares)
			}
		})
	}
}
