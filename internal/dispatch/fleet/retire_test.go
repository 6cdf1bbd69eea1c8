package fleet_test

import (
	"context"
	"errors"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// A retired life finishes beside its successor, in an epoch of its own that ends as
// any other does.
func TestRetire(t *testing.T) {
	ends := map[uint64]fleet.End{}
	f, err := fleet.New(fleet.Config{Name: "test", Ended: func(epoch uint64, _ string, end fleet.End) { ends[epoch] = end }})
	if err != nil {
		t.Fatal(err)
	}
	first := f.Up("w", "127.0.0.1:1")
	old := f.TryAcquire(fleet.Want{})
	if f.Retire("w", first+1) || !f.Retire("w", first) || f.Retire("w", first) {
		t.Error("a life retires once, and nobody else's")
	}
	if f.TryAcquire(fleet.Want{}) != nil {
		t.Error("a retired life gets work")
	}
	second := f.Up("w", "127.0.0.1:2")
	w := f.TryAcquire(fleet.Want{})
	if w == nil || w.Epoch() != second {
		t.Fatalf("the successor gets no work: %v", w)
	}
	f.Release(w)
	if len(ends) != 0 || f.Worker("w", first) != old {
		t.Errorf("ended: %v", ends)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Retired(ctx, "w", first); !errors.Is(err, context.Canceled) {
		t.Errorf("with work in flight: %v", err)
	}
	if err := f.Retired(ctx, "w", second); err != nil {
		t.Errorf("the successor has nothing: %v", err)
	}
	f.Release(old)
	if err := f.Retired(ctx, "w", first); err != nil {
		t.Errorf("with nothing in flight: %v", err)
	}
	f.Down("w", second, fleet.End{Planned: true})
	if err := f.Remove("w"); err == nil {
		t.Error("a place was removed with a life that drains")
	}
	f.Down("w", first, fleet.End{Class: bezoar.Crash})
	if _, ended := old.End(); !ended || ends[first].Class != bezoar.Crash || f.Snapshot()[0].Deaths != 1 {
		t.Errorf("ended %v: %v, %+v", ended, ends, f.Snapshot())
	}
	if err := f.Remove("w"); err != nil {
		t.Error(err)
	}
}

// A lane's worker can retire; it is no longer the lane once it is given back.
func TestRetireTheLane(t *testing.T) {
	f, err := fleet.New(fleet.Config{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	first := f.Up("w", "127.0.0.1:1")
	w, err := f.Reserve(t.Context(), fleet.LaneWant{})
	if err != nil {
		t.Fatal(err)
	}
	if !f.Retire("w", first) || !f.Leaving(w) {
		t.Error("the lane is not told that its worker leaves")
	}
	f.Up("w", "127.0.0.1:2")
	f.Unreserve(w)
	if got := f.TryAcquire(fleet.Want{}); got == nil || got == w {
		t.Errorf("got %v", got)
	} else {
		f.Release(got)
	}
	if lane, err := f.Reserve(t.Context(), fleet.LaneWant{}); err != nil || lane == w {
		t.Errorf("the lane is %v, %v", lane, err)
	}
	f.Down("w", first, fleet.End{Planned: true})
}
