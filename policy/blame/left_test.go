package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// A lane worker that dies idle, shortly after a suspect was answered there or its
// caller hung up, may have been killed by anything: that convicts nobody the first
// time.
func TestAnIdleDeathInTheLaneConvictsNobodyAtOnce(t *testing.T) {
	for _, end := range []blame.Result{blame.Survived, blame.Abandoned} {
		b := newState(t, blame.Config{Window: time.Second})
		b.served("/home", 200)
		w := ask("/suspect", "good1")
		b.kills(w)
		leave := func() blame.Decision {
			tk, d := b.admit(w)
			if d.Action != blame.ToLane {
				t.Fatalf("a suspect goes to %v", d.Action)
			}
			e := b.life()
			b.Begin(b.now, tk, e, time.Time{}, true)
			b.now = b.now.Add(10 * time.Millisecond)
			b.End(b.now, tk, end)
			b.Close(tk)
			b.now = b.now.Add(100 * time.Millisecond)
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
			return d
		}
		deaths := 0
		for v := (bezoar.Verdict{}); v.State != bezoar.Quarantined && deaths < 5; deaths++ {
			if d := leave(); deaths == 2 && d.Window == 0 {
				t.Errorf("after %v its next run got %+v, want time kept free behind it", end, d)
			}
			v, _ = b.Lookup(&w)
			b.pass(10 * time.Second)
		}
		if deaths < 2 || deaths > 3 {
			t.Errorf("after %v it took %d idle deaths to convict it", end, deaths)
		}
	}
}

// Callers that hang up do not have copies of a suspect kill one lane worker after
// the other: the worker that one was left on is watched first.
func TestCopiesWaitForTheWorkerThatASuspectWasLeftOn(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	w := ask("/suspect", "evil")
	b.kills(w)
	tk, d := b.admit(w)
	b.Begin(b.now, tk, b.life(), time.Time{}, d.Action == blame.ToLane)
	b.End(b.now, tk, blame.Abandoned)
	b.Close(tk)
	_, d = b.Admit(b.now, w)
	if d.Action != blame.Duplicate || !d.Until.After(b.now) {
		t.Fatalf("a copy gets %+v", d)
	}
	b.pass(d.Until.Sub(b.now))
	if a := b.action(w); a != blame.ToLane {
		t.Errorf("then it goes to %v", a)
	}
}

// Of much that was answered before a death that nothing explains, the latest is looked
// at first, however much there is.
func TestTheLatestAnswerIsSuspectedFirst(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	pill := ask("/late", "evil")
	suspect := func() bool {
		v, held := b.Lookup(&pill)
		return held && v.State != ""
	}
	rounds := 0
	for n := 0; !suspect() && rounds < 6; rounds++ {
		e := b.life()
		for range 20 {
			b.runsOn(e, ask(fmt.Sprint("/thumb?id=", n), fmt.Sprint("good", n%5)))
			n++
		}
		tk, _ := b.admit(pill)
		b.Begin(b.now, tk, e, time.Time{}, false)
		b.End(b.now, tk, blame.Survived)
		b.Close(tk)
		b.now = b.now.Add(5 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
		b.pass(3 * time.Second)
	}
	if rounds > 2 {
		t.Errorf("it took %d deaths, 5 ms after its answer each, to suspect it", rounds)
	}
}
