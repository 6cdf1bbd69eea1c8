package blame_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// reporting is w on a route that only reports.
func reporting(w blame.Work) blame.Work {
	r := blame.Rule{ReportOnly: true}.WithDefaults()
	w.Rule = &r
	return w
}

// A route that only reports decides the same, and lets everything run in the fleet.
func TestAReportingRouteRefusesAndIsolatesNothing(t *testing.T) {
	b := newState(t, blame.Config{Window: time.Second})
	b.served("/home", 200)
	pill := reporting(ask("/rare", "evil", "X-Theme: neon"))
	d, f := b.kills(pill)
	if d.Action == blame.ToLane || f.Convicted || b.state(pill) != bezoar.Suspected {
		t.Fatalf("the first death was %+v and left %+v, %q", d, f, b.state(pill))
	}
	if d, f = b.kills(pill); d.Action != blame.ToFleet || d.Would != blame.ToLane || !f.Convicted {
		t.Fatalf("the second death was %+v and left %+v", d, f)
	}
	v, _ := b.Lookup(&pill)
	if v.State != bezoar.Quarantined || v.Scope != bezoar.ScopeVariant || !v.ReportOnly {
		t.Errorf("the verdict is %+v", v)
	}
	tk, d := b.Admit(b.now, pill)
	if d.Action != blame.ToFleet || d.Would != blame.Refuse || d.Manual {
		t.Errorf("a copy of it gets %+v", d)
	}
	if b.Overtaken(b.now, tk) {
		t.Error("a copy that waited is to be admitted again")
	}
	again, d := b.Admit(b.now, pill) // beside the other
	if d.Action != blame.ToFleet {
		t.Errorf("a second copy gets %+v", d)
	}
	b.Close(tk)
	b.Close(again)
	if v, _ = b.Lookup(&pill); v.Refused != 2 {
		t.Errorf("%d copies would have been refused, want 2", v.Refused)
	}
	// On another route the same is refused: two routes may ask for one work.
	other := ask("/rare", "evil", "X-Theme: neon")
	if a := b.action(other); a != blame.Refuse {
		t.Errorf("by the usual rule it gets %v", a)
	}
}

// A success is as good as a clean run in the lane there.
func TestASuccessEndsAReportedVerdict(t *testing.T) {
	b := newState(t, blame.Config{})
	w := reporting(work(1, 1))
	b.well()
	b.kills(w)
	b.kills(w)
	if b.state(w) != bezoar.Quarantined {
		t.Fatalf("it is %q", b.state(w))
	}
	b.runs(w)
	if s := b.state(w); s != "" {
		t.Errorf("after a success it is %q", s)
	}
}

// A worker that dies with more in flight proves nothing there.
func TestAReportingRouteConvictsNobodyInCompany(t *testing.T) {
	b := newState(t, blame.Config{})
	b.well()
	w, other := reporting(work(1, 1)), reporting(work(2, 2))
	for range 6 {
		for _, f := range b.dies("w", w, other) {
			if f.Convicted {
				t.Fatal("it was convicted in company")
			}
		}
		b.pass(20 * time.Second)
	}
}

// What an operator orders is refused, whatever the route.
func TestAnOrderHoldsOnAReportingRoute(t *testing.T) {
	b := newState(t, blame.Config{})
	w := reporting(work(1, 1))
	v, err := b.Quarantine(b.now, b.now.Add(time.Hour), w, "ordered", "GET /")
	if err != nil || v.ReportOnly {
		t.Fatalf("the order is %+v, %v", v, err)
	}
	if a := b.action(w); a != blame.Refuse {
		t.Errorf("it gets %v", a)
	}
}
