package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// While a worker is mute with unproven work of a caller of whom little is known, more of it
// runs apart. Everybody else's goes where it always does, and so does that caller's when the
// worker speaks again or is dead.
func TestWorkOfWhoSilencedAWorkerRunsApart(t *testing.T) {
	for _, end := range []string{"speaks", "dies"} {
		b := newState(t, blame.Config{Window: time.Second})
		b.served("/home", 400)
		e := b.life()
		for range 20 { // how often it answers usually
			b.runsOn(e, ask("/home", "good1"))
			b.now = b.now.Add(20 * time.Millisecond)
		}
		tk, _ := b.admit(ask("/hang?n=1", "evil"))
		b.Begin(b.now, tk, e, b.now.Add(2*time.Second), false)
		b.now = b.now.Add(time.Second)
		late, _ := b.admit(ask("/slow?n=1", "late"))
		b.Begin(b.now, late, e, b.now.Add(2*time.Second), false)
		more := ask("/hang?n=2", "evil")
		if a := b.action(more); a != blame.ToFleet {
			t.Fatalf("before it is known to be mute it goes to %v", a)
		}
		b.Silent(b.now, e, true)
		if tk, d := b.Admit(b.now, more); d.Action != blame.ToLane || d.Cause != blame.BySilence {
			t.Errorf("more of the same goes to %v by %v", d.Action, d.Cause)
		} else {
			b.Close(tk)
		}
		// So does what runs well, while nobody knows whether just this does. It may leave a long queue.
		if tk, d := b.Admit(b.now, ask("/home", "evil")); d.Action != blame.ToLane || d.Cause != blame.BySilence || !d.Overflow {
			t.Errorf("a page that runs well goes to %v by %v, overflow %v", d.Action, d.Cause, d.Overflow)
		} else {
			b.Close(tk)
		}
		b.served("/home", 4)
		b.pass(1100 * time.Millisecond)
		for _, w := range []blame.Work{ask("/home", "evil"), ask("/new", "good1"), ask("/new", "stranger"), ask("/new", "late")} {
			if a := b.action(w); a != blame.ToFleet {
				t.Errorf("%s of %s goes to %v", w.Traits.(*traits).target, w.Traits.(*traits).caller, a)
			}
		}
		if end == "speaks" {
			b.Silent(b.now, e, false)
		} else {
			b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Timeout})
		}
		if a := b.action(ask("/other", "evil")); a != blame.ToFleet {
			t.Errorf("when the worker %s, more goes to %v", end, a)
		}
	}
}

// Copies of what hangs a worker run apart whoever sends them, also on a page that runs well.
func TestCopiesOfWhatSilencedAWorkerRunApart(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	e := b.life()
	for range 20 {
		b.runsOn(e, ask("/home", "good1"))
		b.now = b.now.Add(20 * time.Millisecond)
	}
	tk, _ := b.admit(ask("/home", "good1", "X-Theme: neon"))
	b.Begin(b.now, tk, e, b.now.Add(30*time.Second), false)
	b.pass(time.Second)
	b.Silent(b.now, e, true)
	b.served("/home", 4)
	b.pass(3 * time.Second)
	if _, d := b.Admit(b.now, ask("/home", "stranger", "X-Theme: neon")); d.Action != blame.ToLane || d.Cause != blame.BySilence || d.Overflow {
		t.Errorf("a copy goes to %v by %v, overflow %v", d.Action, d.Cause, d.Overflow)
	}
	for _, w := range []blame.Work{ask("/home", "stranger"), ask("/home", "stranger", "X-Theme: dark")} {
		if a := b.action(w); a != blame.ToFleet {
			t.Errorf("other variants go to %v", a)
		}
	}
}

// Other variants of a page that nobody has used do not wait for one that hangs its worker, and
// its copies do.
func TestOtherVariantsDoNotWaitForWhatHangs(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	e := b.life()
	for range 20 {
		b.runsOn(e, ask("/home", "good1"))
		b.now = b.now.Add(20 * time.Millisecond)
	}
	pill := ask("/rare", "evil", "X-Theme: neon")
	tk, _ := b.admit(pill)
	b.Begin(b.now, tk, e, b.now.Add(30*time.Second), false)
	good := ask("/rare", "good1")
	if a := b.action(good); a != blame.Duplicate {
		t.Fatalf("while the worker may yet answer, another variant goes to %v", a)
	}
	b.pass(time.Second)
	b.Silent(b.now, e, true)
	if a := b.action(pill); a != blame.Duplicate {
		t.Errorf("a copy goes to %v", a)
	}
	first, d := b.Admit(b.now, good)
	if d.Action != blame.ToLane || d.Cause != blame.BySilence {
		t.Fatalf("another variant goes to %v by %v", d.Action, d.Cause)
	}
	if a := b.action(good); a != blame.Duplicate {
		t.Errorf("while it runs, its copy goes to %v", a)
	}
	b.Close(first)
}

// A caller who is known to be good has no less of the fleet for a slow request.
func TestAGoodCallersWorkDoesNotRunApartForASilence(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 400)
	for i := range 40 {
		b.runs(ask(fmt.Sprint("/page/", i), "known"))
	}
	b.pass(2 * time.Second)
	e := b.life()
	tk, _ := b.admit(ask("/report?n=1", "known"))
	b.Begin(b.now, tk, e, time.Time{}, false)
	b.pass(time.Second)
	b.Silent(b.now, e, true)
	if a := b.action(ask("/report?n=2", "known")); a != blame.ToFleet {
		t.Errorf("its next goes to %v", a)
	}
}

// Where callers are not told apart, new variants of a page run apart when one of them is on a worker that is silent. What
// has nothing that was never answered goes on.
func TestNewVariantsRunApartWhereCallersAreNotToldApart(t *testing.T) {
	for _, caller := range []string{"everybody", ""} {
		from := func(target string, fields ...string) blame.Work {
			w := ask(target, "everybody", fields...)
			if caller == "" {
				w.Client = bezoar.Fingerprint{}
			}
			return w
		}
		b := newState(t, blame.Config{Window: time.Second})
		e, other := b.life(), b.life()
		for i := range 200 {
			b.runsOn([]uint64{e, other}[i%2], from("/home", []string{"X-Theme: dark", "X-Theme: light"}[i/2%2]))
			b.pass(20 * time.Millisecond)
		}
		tk, d := b.admit(from("/home", "X-Theme: neon 1"))
		if d.Action != blame.ToFleet {
			t.Fatalf("the premise: before anything is silent it goes to %v", d.Action)
		}
		b.Begin(b.now, tk, e, b.now.Add(30*time.Second), false)
		b.pass(500 * time.Millisecond)
		b.Silent(b.now, e, true)
		if tk, d := b.Admit(b.now, from("/home", "X-Theme: neon 2")); d.Action != blame.ToLane || d.Cause != blame.BySilence {
			t.Errorf("caller %q: another new variant goes to %v by %v", caller, d.Action, d.Cause)
		} else {
			b.Close(tk)
		}
		for _, w := range []blame.Work{from("/home", "X-Theme: dark"), from("/home", "X-Theme: light"), from("/other", "X-Theme: neon 3")} {
			if a := b.action(w); a != blame.ToFleet {
				t.Errorf("caller %q: %v goes to %v", caller, w.Traits.(*traits), a)
			}
		}
	}
}
