package fleet_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/policy/balance"
)

// A life that must still prove itself gets work, but is not the lane unless it is
// all that the fleet has.
func TestALifeThatBakesIsNotTheLane(t *testing.T) {
	f := open(t, 2, fleet.Config{})
	busy := []*fleet.Worker{f.TryAcquire(fleet.Want{Avoid: "w0"}), f.TryAcquire(fleet.Want{Avoid: "w0"})}
	for _, w := range busy {
		if w.Name() != "w1" {
			t.Fatalf("got %s", w.Name())
		}
	}
	f.Bake("w0", 1, true)
	if w := acquire(t, f, fleet.Want{}); w.Name() != "w0" {
		t.Errorf("work goes to %s", w.Name())
	} else {
		f.Release(w)
	}
	for range 20 { // enough to be known to work
		f.Release(acquire(t, f, fleet.Want{Avoid: "w1"}))
	}
	for _, w := range busy {
		f.Release(w)
	}
	w, err := f.Reserve(t.Context(), fleet.LaneWant{})
	if err != nil || w.Name() != "w1" {
		t.Fatalf("the lane is %v, %v", w, err)
	}
	f.Unreserve(w)
	f.Bake("w0", 1, false)
	f.Bake("w1", 2, true)
	if w, err = f.Reserve(t.Context(), fleet.LaneWant{}); err != nil || w.Name() != "w0" {
		t.Errorf("the lane is %v, %v", w, err)
	}

	one := open(t, 1, fleet.Config{})
	one.Bake("w0", 1, true)
	if _, err := one.Reserve(t.Context(), fleet.LaneWant{}); err != nil {
		t.Error(err)
	}
}

func TestProof(t *testing.T) {
	f := open(t, 1, fleet.Config{})
	w := acquire(t, f, fleet.Want{})
	for _, o := range []balance.Outcome{{Status: 200}, {Status: 404}, {Status: 500}, {Failed: true}, {Status: 200, Failed: true}} {
		f.Observe(time.Now(), w, o)
	}
	f.Release(w)
	if n, out := f.Proof("w0", 1); n != 2 || out != "" {
		t.Errorf("%d answered, %q", n, out)
	}
	f.Sick("w0", 1, "it says 503")
	if _, out := f.Proof("w0", 1); !f.Panic() || !strings.Contains(out, "it says 503") {
		t.Errorf("in panic %v: %q", f.Panic(), out)
	}
	f.Down("w0", 1, fleet.End{At: time.Now()})
	if n, _ := f.Proof("w0", 1); n != 2 {
		t.Errorf("after its end %d answered", n)
	}
	f.Up("w0", "127.0.0.1:1")
	for _, epoch := range []uint64{2, 3} {
		if n, out := f.Proof("w0", epoch); n != 0 || out != "" {
			t.Errorf("epoch %d: %d answered, %q", epoch, n, out)
		}
	}
	if n, _ := f.Proof("nobody", 1); n != 0 {
		t.Error("nobody has answered")
	}
}
