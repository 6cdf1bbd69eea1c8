package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// A shard changes by the worker that has left it, and by no other.
func TestRemoveMovesOnlyWhatItMust(t *testing.T) {
	const callers = 2000
	f := open(t, 9, fleet.Config{})
	shards := func() [][]string {
		var out [][]string
		for c := uint64(1); c <= callers; c++ {
			h := f.Shard(fleet.Want{Caller: c, Shard: 3})
			slices.Sort(h)
			out = append(out, h)
		}
		return out
	}
	before := shards()
	if err := f.Remove("w4"); err == nil {
		t.Fatal("a worker that serves was removed")
	}
	f.Down("w4", epoch(f, "w4"), fleet.End{Planned: true})
	if err := f.Remove("w4"); err != nil {
		t.Fatal(err)
	}
	for i, h := range shards() {
		kept := slices.DeleteFunc(slices.Clone(before[i]), func(s string) bool { return s == "w4" })
		left := 0
		for _, w := range kept {
			if slices.Contains(h, w) {
				left++
			}
		}
		if left != len(kept) || len(h) != 3 || slices.Contains(h, "w4") {
			t.Fatalf("caller %d had %v and has %v", i+1, before[i], h)
		}
	}
	// What was computed before must not be cached after as many come as went.
	f.Up("w4", "127.0.0.1:1")
	if got := shards(); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Error("with the worker back, shards are not what they were")
	}
	if err := f.Remove("nobody"); err != nil {
		t.Errorf("removing what is not there: %v", err)
	}
}

// Who waits for a shard gets the worker that takes the place of the one removed.
func TestRemoveServesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3, fleet.Config{MaxInFlight: 1})
		want := fleet.Want{Caller: 7, Shard: 1}
		mine := f.Shard(want)[0]
		f.Down(mine, epoch(f, mine), fleet.End{Planned: true})
		got := make(chan *fleet.Worker, 1)
		go func() {
			w, err := f.Acquire(context.Background(), want)
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		synctest.Wait()
		if len(got) > 0 {
			t.Fatal("a worker outside the shard was given")
		}
		if err := f.Remove(mine); err != nil {
			t.Fatal(err)
		}
		if w := <-got; w.Name() != f.Shard(want)[0] {
			t.Errorf("%s was given, the shard is %v", w.Name(), f.Shard(want))
		}
	})
}

func TestRemoveTheLast(t *testing.T) {
	f := open(t, 1, fleet.Config{})
	f.Down("w0", epoch(f, "w0"), fleet.End{Planned: true})
	if err := f.Remove("w0"); err != nil || f.Size() != 0 {
		t.Fatalf("%d places are left: %v", f.Size(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, want := range []fleet.Want{{}, {Caller: 1, Shard: 2}, {Caller: 1, Cells: 2}} {
		if _, err := f.Acquire(ctx, want); err == nil {
			t.Errorf("nobody is there, and somebody was given for %+v", want)
		}
	}
}

func TestTuneMaxInFlight(t *testing.T) {
	f := open(t, 1, fleet.Config{MaxInFlight: 1})
	take := func(want bool) *fleet.Worker {
		t.Helper()
		w := f.TryAcquire(fleet.Want{})
		if (w != nil) != want {
			t.Fatalf("a worker was given: %v, want %v", w != nil, want)
		}
		return w
	}
	tune := func(most int) {
		t.Helper()
		if err := f.Tune(fleet.Config{MaxInFlight: most}); err != nil {
			t.Fatal(err)
		}
	}
	w := take(true)
	take(false)
	tune(2)
	take(true)
	take(false)
	tune(1)
	f.Release(w)
	take(false) // one is still in flight
	f.Release(w)
	take(true)
	tune(0)
	for range 9 {
		take(true)
	}
	if err := f.Tune(fleet.Config{MaxInFlight: -1}); err == nil {
		t.Error("it was tuned to the impossible")
	}
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}
