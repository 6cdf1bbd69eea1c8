package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// diesLate answers works on a new worker, which dies some time after that while other is in flight.
func (b *clock) diesLate(after time.Duration, other blame.Work, works ...blame.Work) {
	b.t.Helper()
	e := b.life()
	for _, w := range works {
		b.answersOn(e, w)
	}
	b.pass(after)
	tk, d := b.Admit(b.now, other)
	if d.Action == blame.ToFleet || d.Action == blame.ToCanary {
		b.Begin(b.now, tk, e, time.Time{}, false)
		defer b.Close(tk)
	}
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
}

// answersOn has a worker of the fleet answer w, wherever it should go.
func (b *clock) answersOn(e uint64, w blame.Work) {
	b.t.Helper()
	tk := b.Open(w)
	b.Begin(b.now, tk, e, time.Time{}, false)
	b.End(b.now, tk, blame.Survived)
	b.Close(tk)
}

// Deaths that the work in flight may explain yet count as evidence against what was answered before each of them: it does
// not wait until all of that has run clean.
func TestOpenDeathsAreEvidenceAgainstLateKillers(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill := ask("/late", "evil")
	b.diesLate(2*time.Second, ask("/home", "good"), pill) // nothing unproven is in flight: nothing explains it
	for i := range 2 {
		b.diesLate(2*time.Second, ask(fmt.Sprint("/item/", i), "good"), pill)
	}
	b.pass(time.Second)
	v, _ := b.Lookup(&pill)
	if v.State != bezoar.Suspected {
		t.Fatalf("after three deaths it is %q", v.State)
	}
	tk, d := b.admit(pill)
	if d.Action != blame.ToLane || !d.Clean || d.Window < 5*time.Second {
		t.Errorf("it goes to %+v, want a decisive run in the lane, with time behind it", d)
	}
	b.Close(tk)
}

// A worker that outlived its first answer to recurrent work speaks for that work when deaths begin, also when it has died
// itself.
func TestWhatAWorkerOutlivedIsNoLateKiller(t *testing.T) {
	for name, dies := range map[string]bool{"it lives": false, "it has died": true} {
		t.Run(name, func(t *testing.T) {
			b := newState(t, blame.Config{Window: time.Second})
			b.served("/home", 400)
			pill, good := ask("/late", "evil"), ask("/rare", "good1")
			b.runsOn(b.life(), good)
			b.pass(2 * time.Second) // it counts: from now on it is recurrent
			old := b.life()
			b.answersOn(old, good)
			b.pass(12 * time.Second)
			if dies {
				b.Crash(b.now, old, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
			}
			for range 4 {
				b.diesLate(2*time.Second, ask("/home", "good"), pill, good)
				b.pass(time.Second)
			}
			if v, _ := b.Lookup(&pill); v.State != bezoar.Suspected {
				t.Errorf("the killer is %q", v.State)
			}
			if v, held := b.Lookup(&good); held {
				t.Errorf("what a worker has outlived is %s: %s", v.State, v.Reason)
			}
		})
	}
}

// lateConvict returns a state in which pill stands convicted for deaths after its answers, and a worker of the lane that
// answered it before that and lives.
func lateConvict(t *testing.T) (b *clock, pill blame.Work, lane uint64) {
	t.Helper()
	b = newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill = ask("/late", "evil")
	for range 3 {
		b.diesLate(2*time.Second, ask("/home", "good"), pill)
	}
	b.pass(time.Second)
	other, ok := b.Redrive(pill)
	if !ok {
		t.Fatal("it is in the lane already")
	}
	lane = b.life()
	b.Begin(b.now, other, lane, time.Time{}, true)
	b.End(b.now, other, blame.Survived)
	b.Close(other)
	b.pass(time.Second)
	for range 4 {
		if b.action(pill) == blame.Refuse {
			return b, pill, lane
		}
		tk, d := b.admit(pill)
		e := b.life()
		b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
		b.pass(2 * time.Second / 3)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	}
	t.Fatal("it was not convicted")
	return nil, pill, 0
}

// An answer from before a conviction does not end it, even if its worker outlives it.
func TestAnAnswerBeforeAConvictionDoesNotLiftIt(t *testing.T) {
	b, pill, lane := lateConvict(t)
	b.pass(12 * time.Second)
	b.runsOn(lane, ask("/home", "good")) // which counts what the worker has outlived
	if a := b.action(pill); a != blame.Refuse {
		t.Errorf("it goes to %v", a)
	}
}

// What waits for the lane learns that nothing is held against it any more.
func TestWhatWaitsForTheLaneIsLifted(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill, good := ask("/late", "evil"), ask("/rare", "good1")
	accompanied(t, b, pill, good, func() {})
	waiting, d := b.admit(good)
	if d.Action != blame.ToLane || b.Lifted(b.now, waiting) || b.Overtaken(b.now, waiting) {
		t.Fatalf("the premise: it waits for the lane, and goes to %v", d.Action)
	}
	e := b.life()
	b.answersOn(e, good)
	b.pass(12 * time.Second)
	if !b.Lifted(b.now, waiting) || !b.Overtaken(b.now, waiting) {
		t.Error("a worker has outlived it, and it still waits")
	}
	b.Close(waiting)
	if a := b.action(good); a != blame.ToFleet {
		t.Errorf("then it goes to %v", a)
	}
}

// While a copy runs because its whole fingerprint is suspect, others of its variant wait for it, although the variant has
// come under suspicion itself since.
func TestOneCopyAtATimeRunsForItsFingerprintAndItsVariant(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill := ask("/late", "evil", "X-Theme: neon")
	for range 3 {
		b.diesLate(2*time.Second, ask("/home", "good"), pill)
	}
	b.pass(time.Second)
	first, d := b.admit(pill)
	if d.Action != blame.ToLane {
		t.Fatalf("the premise: it is suspect, and goes to %v", d.Action)
	}
	e, known := b.life(), pill
	known.Variant = pill.Traits.Variant()
	b.answersOn(e, known)
	b.pass(time.Second)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if v, _ := b.Lookup(&known); v.State != bezoar.Suspected || v.Scope != bezoar.ScopeVariant {
		t.Fatalf("the premise: the variant is suspect as well, and is %s %s", v.Scope, v.State)
	}
	if a := b.action(pill); a != blame.Duplicate {
		t.Errorf("beside a copy that waits for the lane another goes to %v", a)
	}
	b.Close(first)
	if a := b.action(pill); a == blame.Duplicate {
		t.Error("when that is gone it still waits")
	}
}
