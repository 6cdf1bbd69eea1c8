package blame_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Behind one address somebody sends unique pills, and others ask for what nobody has asked
// for before: they do not wait for the turns of the pills, and cost the fleet nothing.
func TestNewShapesAtAnAttackersAddressHaveAPaceOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		pill func(n int) string
		most int // deaths
		good int // of 120, at least
	}{
		{"pills of one shape", func(n int) string { return fmt.Sprint("/search?q=", n) }, 10, 70},
		{"pills of a shape each", func(n int) string { return fmt.Sprint("/nowhere", n) }, 14, 0},
		{"pills of both kinds", func(n int) string { return []string{"/search?q=", "/nowhere"}[n%2] + fmt.Sprint(n) }, 14, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newState(t, blame.Config{Window: time.Second})
			b.served("/page", 500)
			deaths, good := 0, 0
			for n := range 600 { // in a minute
				if tk, d := b.Admit(b.now, ask(c.pill(n), "office")); d.Action == blame.ToFleet || d.Action == blame.ToCanary || d.Action == blame.ToLane {
					e := b.servedLife()
					b.Begin(b.now, tk, e, time.Time{}, d.Action == blame.ToLane)
					b.Crash(b.now, e, false, bezoar.Evidence{Worker: "w", Class: bezoar.Crash})
					b.Close(tk)
					deaths++
				}
				if n%5 == 4 {
					// Who does not get a turn does not wait.
					if tk, d := b.Admit(b.now, ask(fmt.Sprint("/ledger?month=", n), "office")); d.Action != blame.Pace {
						b.Begin(b.now, tk, b.life(), time.Time{}, d.Action == blame.ToLane)
						b.End(b.now, tk, blame.Survived)
						b.Close(tk)
						good++
					}
				}
				b.runs(ask("/page", fmt.Sprint("good", n%5)))
				b.pass(100 * time.Millisecond)
			}
			if deaths > c.most {
				t.Errorf("it cost %d workers in a minute, want at most %d", deaths, c.most)
			}
			if good < c.good {
				t.Errorf("of 120 innocent requests %d ran, want at least %d", good, c.good)
			}
			t.Logf("%d deaths, %d of 120 innocent requests ran", deaths, good)
		})
	}
}

// An escalated caller's second pace and how it kills outlive a restart.
func TestBothPacesOutliveARestart(t *testing.T) {
	for side, want := range map[float64]float64{0.125: 0.125, 0: 0.5} { // an older version stored none
		b := newState(t, blame.Config{})
		stored := bezoar.Verdict{
			ID: "q-00000000000a", Scope: bezoar.ScopeClient, State: bezoar.Laned, Fingerprint: fp(9), Killers: 3, Since: b.now,
			Pace: 0.25, SidePace: side, Late: true,
		}
		b.Restore(b.now, stored, nil)
		vs := b.Verdicts(b.now)
		if len(vs) != 1 || vs[0].Pace != 0.25 || vs[0].SidePace != want || !vs[0].Late || vs[0].Killers != 3 {
			t.Errorf("restored from %+v: %+v", stored, vs)
		}
	}
}
