package blame_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// strikes lets w end in r on a worker that lives, wherever it is sent.
func (b *clock) strikes(w blame.Work, r blame.Result) blame.Decision {
	b.t.Helper()
	t, d := b.admit(w)
	b.Begin(b.now, t, b.life(), time.Time{}, d.Action == blame.ToLane)
	b.pass(2 * time.Second)
	b.End(b.now, t, r)
	b.Close(t)
	return d
}

func TestThreeStrikesConvict(t *testing.T) {
	for _, tc := range []struct {
		result blame.Result
		cause  bezoar.Class
		reason string
	}{
		{blame.TimedOut, bezoar.Timeout, "kept a worker busy past the deadline 3 times"},
		{blame.Faulted, bezoar.Bug, "broke its connection to a living worker 3 times"},
	} {
		b := newState(t, blame.Config{})
		b.well()
		w := work(1, 1)
		for i := range 3 {
			if s := b.state(w); s != "" {
				t.Errorf("after %d strikes it is %q", i, s)
			}
			b.strikes(w, tc.result)
		}
		v, _ := b.Lookup(&w)
		if v.State != bezoar.Quarantined || v.Cause != tc.cause || !strings.Contains(v.Reason, tc.reason) || len(v.Evidence) != 1 {
			t.Errorf("three strikes left %+v", v)
		}
	}
}

func TestASuccessTakesTheStrikesBack(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	for range 5 {
		b.strikes(w, blame.TimedOut)
		b.strikes(w, blame.TimedOut)
		b.runs(w)
	}
	if s := b.state(w); s != "" {
		t.Errorf("two strikes and a success, again and again, left it %q", s)
	}
}

func TestStrikesLeaveTheWindow(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	for range 6 {
		b.strikes(w, blame.TimedOut)
		b.pass(6 * time.Minute)
	}
	if s := b.state(w); s != "" {
		t.Errorf("one strike in six minutes left it %q", s)
	}
}

func TestConnectionsThatBreakTogetherAreOneStrike(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w, e := work(1, 1), b.life()
	b.runs(w)
	var tickets []blame.Ticket
	for range 10 {
		tk, _ := b.admit(w)
		b.Begin(b.now, tk, e, time.Time{}, false)
		tickets = append(tickets, tk)
	}
	for _, tk := range tickets {
		b.End(b.now, tk, blame.Faulted)
		b.Close(tk)
	}
	if s := b.state(w); s != "" {
		t.Errorf("one burst of ten faults left it %q", s)
	}
}

// Popular work that hangs is tried alone before it is refused.
func TestStrikesOfWorkWithARecordAreTriedInTheLane(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	for range 10 {
		b.runs(w)
	}
	for range 3 {
		b.strikes(w, blame.TimedOut)
	}
	if s := b.state(w); s != bezoar.Suspected {
		t.Fatalf("after three strikes it is %q", s)
	}
	if d := b.runs(w); d.Action != blame.ToLane || b.state(w) != "" {
		t.Fatalf("the suspect got %+v and is %q", d, b.state(w))
	}
	for range 3 {
		b.strikes(w, blame.TimedOut)
	}
	if d := b.strikes(w, blame.TimedOut); d.Action != blame.ToLane || b.state(w) != bezoar.Quarantined {
		t.Errorf("overdue alone, it got %+v and is %q", d, b.state(w))
	}
}

func TestAStrikeOfAProbeConvictsAgain(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w := work(1, 1)
	for range 3 {
		b.strikes(w, blame.TimedOut)
	}
	v, _ := b.Lookup(&w)
	b.pass(v.Until.Sub(b.now))
	if d := b.strikes(w, blame.TimedOut); d.Cause != blame.ByProbe {
		t.Fatalf("the probe got %+v", d)
	}
	if again, _ := b.Lookup(&w); again.Level != 2 || again.Until.Sub(b.now) < time.Minute {
		t.Errorf("it left %+v", again)
	}
}

// When much work is overdue and little is answered, it is an outage.
func TestAnOutageConvictsNobodyAndLeavesNoStrikes(t *testing.T) {
	b := newState(t, blame.Config{})
	for round := range 5 {
		for i := range 10 {
			w := work(uint64(i), 1)
			tk, d := b.Admit(b.now, w)
			if d.Action != blame.ToFleet {
				t.Fatalf("in round %d of the outage work goes to %v", round, d.Action)
			}
			b.Begin(b.now, tk, b.life(), time.Time{}, false)
			b.End(b.now, tk, blame.TimedOut)
			b.Close(tk)
		}
		b.pass(2 * time.Second)
	}
	if !b.GateClosed(b.now) {
		t.Error("the gate is open")
	}
	for _, e := range b.Drain(nil) {
		if e.Kind == blame.GateClosed && !e.Strikes {
			t.Error("the gate says that workers died, and none did")
		}
	}
	if vs := b.Verdicts(b.now); len(vs) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
	b.pass(time.Minute)
	b.well()
	for range 2 {
		b.strikes(work(1, 1), blame.TimedOut)
	}
	if s := b.state(work(1, 1)); s != "" {
		t.Errorf("two strikes after the outage left it %q", s)
	}
}

func TestExemptWorkIsNeverHeld(t *testing.T) {
	b := newState(t, blame.Config{})
	w := work(1, 1)
	w.Exempt = true
	for range 5 {
		tk, e := b.Open(w), b.life()
		b.Begin(b.now, tk, e, time.Time{}, false)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		if f, ok := b.Finding(tk); !ok || f.Share != 1 || f.Convicted {
			t.Errorf("finding %+v, %v", f, ok)
		}
		b.Close(tk)
		tk = b.Open(w)
		b.Begin(b.now, tk, b.life(), time.Time{}, false)
		b.End(b.now, tk, blame.TimedOut)
		b.Close(tk)
	}
	if vs := b.Verdicts(b.now); len(vs) != 0 {
		t.Errorf("verdicts %+v", vs)
	}
}

// No worker died, so the explanation names no death.
func TestAStrikeIsExplainedAsNoDeath(t *testing.T) {
	ev := bezoar.Evidence{Class: bezoar.Bug, Detail: "broke its connection to a living worker", InFlight: 1}
	if got := blame.Explain(&ev); !strings.HasSuffix(got, "it broke its connection to a living worker, as before. No worker died.") {
		t.Error(got)
	}
}
