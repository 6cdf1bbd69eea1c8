package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// accompanied lets a worker die twice of nothing in flight, after it had answered pill and
// good: both are suspect then. between runs before the second death.
func accompanied(t *testing.T, b *clock, pill, good blame.Work, between func()) {
	t.Helper()
	for i := range 2 {
		e := b.life()
		b.runsOn(e, pill)
		b.runsOn(e, good)
		b.pass(5 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		if i == 0 {
			b.pass(3 * time.Second) // nothing explains it
			between()
		}
	}
	for _, w := range []*blame.Work{&pill, &good} {
		if v, _ := b.Lookup(w); v.State != bezoar.Suspected {
			t.Fatalf("the premise: both are suspect, and one is %q", v.State)
		}
	}
}

// What is suspect only because it was answered before deaths need not run alone once a
// worker has outlived an answer to it.
func TestAWorkerThatOutlivesAnAnswerSpeaksForIt(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill, good := ask("/late", "evil"), ask("/rare", "good1")
	accompanied(t, b, pill, good, func() { b.runsOn(b.life(), good) })
	if a := b.action(good); a != blame.ToLane {
		t.Errorf("before its worker has outlived the window it goes to %v", a)
	}
	b.pass(11 * time.Second)
	if a := b.action(good); a != blame.ToFleet {
		t.Errorf("after that it goes to %v", a)
	}
	if a := b.action(pill); a != blame.ToLane {
		t.Errorf("what no worker has outlived goes to %v", a)
	}
}

// A conviction for deaths after an answer clears what is suspect for the same deaths only.
func TestAConvictionExplainsTheDeathsAfterAnAnswer(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	pill, good := ask("/late", "evil"), ask("/rare", "good1")
	accompanied(t, b, pill, good, func() {})
	for range 3 {
		if b.action(pill) == blame.Refuse {
			break
		}
		tk, d := b.admit(pill)
		e := b.life()
		b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
		b.pass(time.Second)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	}
	if a := b.action(pill); a != blame.Refuse {
		t.Fatalf("the premise: the killer stands convicted, and goes to %v", a)
	}
	if v, held := b.Lookup(&good); held {
		t.Errorf("what was answered beside it is still %s: %s", v.State, v.Reason)
	}
}

// A death alone in the lane convicts work that was there for its looks only when others of
// its kind stand convicted: its worker may have been about to die.
func TestOneDeathInTheLaneConvictsOnlyWithConvicts(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	b.kills(ask("/rare", "a", "X-Theme: dark"))
	other := ask("/rare", "b", "X-Theme: blue")
	d, f := b.kills(other)
	if d.Cause != blame.ByFingerprint || f.Convicted {
		t.Fatalf("for %v its first death, alone in the lane, left %+v", d.Cause, f)
	}
	if _, f := b.kills(other); !f.Convicted {
		t.Errorf("its second left %+v", f)
	}
	if d, f := b.kills(ask("/rare", "c", "X-Theme: red")); !f.Convicted {
		t.Errorf("the first of another, when one stands convicted, left %+v after %v", f, d.Cause)
	}
}

// What ran clean alone is not convicted by the next death that it is at alone.
func TestACleanRunSpeaksAgainstOneDeathAlone(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	w := ask("/rare", "good1")
	b.kills(w)
	b.runs(w)
	b.pass(2 * time.Second)
	if v, held := b.Lookup(&w); held {
		t.Fatalf("the premise: it has been pardoned, and is %s", v.State)
	}
	tk, ok := b.Redrive(w)
	if !ok {
		t.Fatal("it is in the lane already")
	}
	e := b.servedLife()
	b.Begin(b.now, tk, e, time.Time{}, true)
	b.pass(2 * time.Second)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if f, _ := b.Finding(tk); f.Convicted || f.Share < 0.99 {
		t.Errorf("it left %+v", f)
	}
	b.Close(tk)
	if _, f := b.kills(w); !f.Convicted {
		t.Errorf("a second death in a row left %+v", f)
	}
}

// A caller whose work was in flight at the first deaths by chance is let go when they go on without its work, and one whose
// work has killed alone is not.
func TestDeathsThatGoOnLetGoWhomChanceEscalated(t *testing.T) {
	for _, guilty := range []bool{false, true} {
		b := newState(t, blame.Config{Window: time.Second})
		known(b)
		for i := range 100 {
			b.runs(ask(fmt.Sprint("/own/", i), "unlucky"))
		}
		b.pass(2 * time.Second)
		n := 0
		for range 3 {
			falls(b, &n, 0, "unlucky")
		}
		if !slowed(b, &n, "unlucky") {
			t.Fatal("the premise: at three deaths of three it is slowed")
		}
		if guilty {
			b.pass(15 * time.Second) // until the gate is open
			pill := ask("/rare", "unlucky", "X-Theme: neon")
			if _, f := b.kills(pill); !f.Convicted {
				t.Fatalf("the premise: its pill left %+v", f)
			}
		}
		for i := range 12 {
			b.pass(5 * time.Second)
			falls(b, &n, 0, fmt.Sprint("good", i%5))
		}
		if slowed(b, &n, "unlucky") != guilty {
			t.Errorf("guilty %v: after twelve deaths without its work it is slowed: %v", guilty, !guilty)
		}
	}
}
