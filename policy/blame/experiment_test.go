package blame_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// known lets callers have a record of running well.
func known(b *clock) {
	b.served("/home", 400)
	for i := range 600 {
		b.runs(ask(fmt.Sprint("/old/", i), []string{"heavy", fmt.Sprint("good", i%5)}[i%2]))
	}
	b.pass(2 * time.Second)
}

// wearsOut lets a worker die idle after it has answered new work: so much of the caller
// "heavy", unless it has to wait, and two pieces of each of some others.
func wearsOut(b *clock, n *int, heavy int) {
	e := b.life()
	say := func(caller string) {
		*n++
		w := ask(fmt.Sprint("/page/", *n), caller)
		if t, d := b.Admit(b.now, w); d.Action == blame.ToFleet {
			b.Begin(b.now, t, e, time.Time{}, false)
			b.End(b.now, t, blame.Survived)
			b.Close(t)
		} else if d.Action == blame.ToLane {
			b.Close(t)
		}
	}
	for range heavy {
		say("heavy")
	}
	for i := range 10 {
		say(fmt.Sprint("good", i%5))
	}
	b.pass(5 * time.Millisecond)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
	b.pass(3 * time.Second)
}

// slowed reports whether new work of the caller does not go to the fleet at once.
func slowed(b *clock, n *int, caller string) bool {
	*n++
	a := b.action(ask(fmt.Sprint("/page/", *n), caller))
	return a == blame.ToLane || a == blame.Pace
}

// While workers die one after the other and nothing explains it, who brings far more new work
// than others is slowed, refused by nobody, and let go when the deaths go on without its work.
func TestWhoBringsMostBeforeUnexplainedDeathsIsSlowedForAnExperiment(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	known(b)
	n := 0
	for i := 0; !slowed(b, &n, "heavy"); i++ {
		if i == 12 {
			t.Fatalf("after %d deaths nobody is slowed", i)
		}
		wearsOut(b, &n, 12)
	}
	if slowed(b, &n, "good1") {
		t.Error("others are slowed, too")
	}
	told := false
	for _, v := range b.Verdicts(b.now) {
		if v.State == bezoar.Quarantined {
			t.Errorf("an experiment convicted %s: %s", v.Scope, v.Reason)
		}
		told = told || v.Scope == bezoar.ScopeClient && strings.Contains(v.Reason, "to see whether they end")
	}
	if !told {
		t.Error("no verdict says why it is slowed")
	}
	for i := 0; slowed(b, &n, "heavy"); i++ {
		if i == 12 {
			t.Fatalf("it is still slowed after %d deaths that went on without it", i)
		}
		wearsOut(b, &n, 0)
	}
	for range 12 {
		wearsOut(b, &n, 12)
	}
	if slowed(b, &n, "heavy") {
		t.Error("it is tried again at once")
	}
}

// An experiment goes on while it helps: the deaths are far apart then.
func TestAnExperimentThatHelpsGoesOn(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	known(b)
	n := 0
	for i := 0; i < 12 && !slowed(b, &n, "heavy"); i++ {
		wearsOut(b, &n, 12)
	}
	for range 5 {
		b.pass(time.Minute)
		wearsOut(b, &n, 0)
		if !slowed(b, &n, "heavy") {
			t.Fatal("it is free again")
		}
	}
}

// Nobody is tried when nobody stands out, or when the deaths are far apart.
func TestNobodyIsTriedWithoutReason(t *testing.T) {
	for name, c := range map[string]struct {
		heavy int
		apart time.Duration
	}{"like all others": {4, 0}, "seldom": {12, 20 * time.Second}} {
		b := newState(t, blame.Config{Window: time.Second})
		known(b)
		n := 0
		for range 20 {
			wearsOut(b, &n, c.heavy)
			b.pass(c.apart)
			for _, v := range b.Verdicts(b.now) {
				if v.Scope == bezoar.ScopeClient && strings.Contains(v.Reason, "to see whether they end") {
					t.Fatalf("%s: %s", name, v.Reason)
				}
			}
		}
	}
}

// falls lets a worker die in the middle of new work of the caller "at", 0.7 s after the last death, when it has answered
// new work: so much of the caller "heavy", and two pieces each of some others.
func falls(b *clock, n *int, heavy int, at string) {
	e := b.life()
	say := func(caller string) {
		*n++
		if b.action(ask(fmt.Sprint("/page/", *n), caller)) == blame.ToFleet {
			b.runsOn(e, ask(fmt.Sprint("/page/", *n), caller))
		}
	}
	for i := range 10 {
		say(fmt.Sprint("good", i%5))
	}
	for range heavy {
		say("heavy")
	}
	*n++
	t, d := b.admit(ask(fmt.Sprint("/page/", *n), at))
	b.Begin(b.now, t, e, time.Time{}, d.Action == blame.ToLane)
	b.pass(700 * time.Millisecond)
	b.Crash(b.now, e, false, bezoar.Evidence{Worker: fmt.Sprint("w", *n), Class: bezoar.Crash})
	b.Close(t)
}

// An experiment begins before what was in flight has run again.
func TestAnExperimentDoesNotWaitForWhatWasInFlight(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	n := 0
	for i := range 8 {
		falls(b, &n, 12, fmt.Sprint("good", i%5))
	}
	if !slowed(b, &n, "heavy") {
		t.Error("after eight deaths within six seconds nobody is slowed")
	}
}

// A conviction explains the deaths at which the convict was in flight: they are no reason for an experiment.
func TestDeathsThatAConvictionExplainsStartNoExperiment(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	known(b)
	n := 0
	for range 4 {
		wearsOut(b, &n, 12)
		e, pill := b.life(), ask(fmt.Sprint("/rare/", n), "evil", "X-Theme: neon")
		for range 12 {
			n++
			b.runsOn(e, ask(fmt.Sprint("/page/", n), "heavy"))
		}
		_, f := b.killsOn(e, pill)
		if !f.Convicted {
			_, f = b.kills(pill)
		}
		if !f.Convicted {
			t.Fatalf("the premise: a pill left %+v", f)
		}
	}
	if slowed(b, &n, "heavy") {
		t.Error("four deaths of eight are explained, and somebody is slowed")
	}
}

// What a few of the deaths had spoken against is let go when an experiment explains them all.
func TestAnExperimentLetsGoWhomChanceEscalated(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	known(b)
	for i := range 100 {
		b.runs(ask(fmt.Sprint("/own/", i), "unlucky"))
	}
	b.pass(2 * time.Second)
	n := 0
	for range 3 {
		falls(b, &n, 12, "unlucky")
	}
	if !slowed(b, &n, "unlucky") {
		t.Fatal("the premise: at three deaths of three it is slowed")
	}
	for i := range 8 {
		falls(b, &n, 12, fmt.Sprint("good", i%5))
	}
	if slowed(b, &n, "unlucky") || !slowed(b, &n, "heavy") {
		t.Error("it is still slowed, or who brought most is not")
	}
}
