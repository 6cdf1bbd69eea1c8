package blame_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// laned returns the verdict about features that work of any fingerprint has.
func (b *clock) laned() (v bezoar.Verdict, found bool) {
	for _, v := range b.Verdicts(b.now) {
		if v.Scope == bezoar.ScopeFeature && v.State == bezoar.Laned {
			return v, true
		}
	}
	return v, false
}

// familiar lets a worker answer the home page for so long that its features are known to be harmless.
func familiar(t *testing.T) *clock {
	t.Helper()
	b := newState(t, blame.Config{Window: time.Second})
	e := b.life()
	for i := range 1000 {
		b.runsOn(e, ask("/home", fmt.Sprint("user", i%5), "X-Theme: dark", fmt.Sprint("Cookie: ", i%5)))
		b.pass(100 * time.Millisecond)
	}
	return b
}

// neon is a request for the home page that kills seconds after its answer, of the i-th caller.
func neon(i int) blame.Work {
	return ask("/home", fmt.Sprint("user", i%5), "X-Theme: neon", fmt.Sprint("Cookie: ", i%5))
}

// lateNeon lets workers die after they have answered such requests of several callers, and returns the state in which
// what these have in common is held.
func lateNeon(t *testing.T) *clock {
	t.Helper()
	b := familiar(t)
	for i := range 4 {
		e := b.life()
		for j := range 5 { // popular work was answered before each death, too
			b.runsOn(e, ask("/home", fmt.Sprint("user", j), "X-Theme: dark"))
		}
		b.runsOn(e, neon(i))
		b.pass(2 * time.Second)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	}
	if _, ok := b.laned(); !ok {
		t.Fatal("nothing that they have in common is held")
	}
	return b
}

// What no worker is known to have outlived, and was answered before several unexplained deaths, runs in the lane, whoever
// sends it. What workers have outlived goes on.
func TestAFeatureThatNoWorkerOutlivedRunsInTheLane(t *testing.T) {
	b := lateNeon(t)
	b.pass(2 * time.Second) // its turn has come
	tk, d := b.Admit(b.now, neon(4))
	if d.Action != blame.ToLane || d.Cause != blame.ByFeature || d.Window < 10*time.Second {
		t.Errorf("a request that has it goes to %+v, want the lane, and time behind it", d)
	}
	b.Close(tk)
	if a := b.action(ask("/home", "user4", "X-Theme: dark")); a != blame.ToFleet {
		t.Errorf("a request without it goes to %v", a)
	}
	if a := b.action(neon(3)); a != blame.Pace {
		t.Errorf("the next goes to %v, want it to wait for its turn", a)
	}
	v, _ := b.laned()
	if len(v.Features) == 0 || !strings.Contains(strings.Join(v.Features, " "), "header X-Theme: neon") || len(v.Why) == 0 || v.Pace == 0 || !v.Late {
		t.Errorf("the verdict says %+v", v)
	}
}

// A worker that outlives a request ends what is held against all that has its features.
func TestAWorkerThatOutlivesAFeatureFreesIt(t *testing.T) {
	b := lateNeon(t)
	tk, d := b.admit(neon(4))
	if d.Action != blame.ToLane {
		t.Fatalf("the premise: it runs in the lane, and goes to %v", d.Action)
	}
	b.Begin(b.now, tk, b.life(), time.Time{}, true)
	b.End(b.now, tk, blame.Survived)
	b.Close(tk)
	b.pass(5 * time.Second)
	if _, ok := b.laned(); !ok {
		t.Error("it is free before its worker has outlived it for long enough")
	}
	b.pass(7 * time.Second)
	if v, ok := b.laned(); ok {
		t.Errorf("it is still held: %+v", v)
	}
}

// What is convicted alone on a watched worker needs one death there: the others before it were its doing.
func TestOneDeathInTheLaneConvictsWhatHasASuspectFeature(t *testing.T) {
	b := lateNeon(t)
	tk, d := b.admit(neon(4))
	e := b.life()
	b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
	b.End(b.now, tk, blame.Survived)
	b.Close(tk)
	b.pass(2 * time.Second)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	if a := b.action(neon(4)); a != blame.Refuse {
		t.Errorf("it goes to %v, want refused", a)
	}
	if a := b.action(neon(3)); a == blame.Refuse {
		t.Error("another caller's request is refused, and has not killed alone")
	}
}

// Before enough is known of what runs well, nothing is held for being new.
func TestNothingIsNewWhileLittleIsKnown(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	for i := range 5 {
		e := b.life()
		b.runsOn(e, neon(i))
		b.pass(2 * time.Second)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	}
	if v, ok := b.laned(); ok {
		t.Errorf("held: %+v", v)
	}
}

// The verdict outlives a restart, and its release frees the requests.
func TestASuspectFeatureIsRestoredAndReleased(t *testing.T) {
	b := lateNeon(t)
	b.action(neon(4)) // which tells what it is called
	v, _ := b.laned()
	again := newState(t, blame.Config{Window: time.Second})
	again.now = b.now
	for range 5 { // another node may store it again
		again.Restore(again.now, v, nil)
	}
	if a := again.action(neon(4)); a != blame.ToLane {
		t.Errorf("after a restart it goes to %v", a)
	}
	got, ok := again.laned()
	if !ok || got.ID != v.ID || strings.Join(got.Features, " ") != strings.Join(v.Features, " ") {
		t.Errorf("after a restart the verdict is %+v, was %+v", got, v)
	}
	if _, ok := again.Release(again.now, v.ID); !ok {
		t.Fatal("it cannot be released")
	}
	if a := again.action(neon(4)); a == blame.ToLane || a == blame.Pace {
		t.Errorf("after its release it goes to %v", a)
	}
}

// Killers that differ from each other and come from callers who are not told apart are found by what they have in common.
func TestWhatDiffersAndKillsAfterItsAnswerIsFoundByWhatItShares(t *testing.T) {
	b := familiar(t)
	pill := func(i int) blame.Work { return ask(fmt.Sprint("/thumb?id=", i), "everybody", "X-Kind: neon") }
	n := 0
	for i := range 8 {
		if _, ok := b.laned(); ok {
			break
		}
		e := b.life()
		for range 20 {
			b.answersOn(e, ask(fmt.Sprint("/thumb?id=", 1000+n), "everybody", "X-Kind: small"))
			n++
			b.pass(100 * time.Millisecond)
		}
		b.runsOn(e, pill(i))
		b.pass(5 * time.Millisecond)
		b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	}
	v, ok := b.laned()
	if !ok {
		t.Fatal("8 deaths do not show what they have in common")
	}
	b.pass(2 * time.Second)
	if a := b.action(pill(100)); a != blame.ToLane {
		t.Errorf("the next goes to %v; held is %+v", a, v)
	}
	if a := b.action(ask("/thumb?id=2000", "everybody", "X-Kind: small")); a == blame.ToLane {
		t.Error("what has something else there runs in the lane, too")
	}
}
