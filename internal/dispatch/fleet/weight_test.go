package fleet_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// What is in flight is in proportion to the weights, in small fleets and large ones,
// and so is who gets the single requests of an idle fleet.
func TestWeights(t *testing.T) {
	for _, n := range []int{2, 4, 40} {
		f := open(t, n, fleet.Config{SlowStart: time.Nanosecond})
		f.SetWeight("w0", 5)
		f.SetWeight("w1", 0)
		f.SetWeight("nobody", 7) // is ignored
		all := 5 + n - 2
		for w, got := range try(f, fleet.Want{}, 20*all) {
			want, slack := 20, 0
			if w == "w0" {
				want = 100
			}
			if n > 16 {
				slack = want / 4 // two are compared, not all
			}
			if got < want-slack || got > want+slack {
				t.Errorf("of %d workers %s has %d in flight, want %d", n, w, got, want)
			}
		}
		if got := f.Snapshot()[1]; got.InFlight != 0 || got.Weight != 0 {
			t.Errorf("of %d workers the one of weight 0 is %+v", n, got)
		}
	}
	for _, n := range []int{3, 40} {
		f := open(t, n, fleet.Config{})
		f.SetWeight("w0", 4*(n-1))
		first := 0
		const many = 3000
		for range many {
			w := f.TryAcquire(fleet.Want{})
			if w.Name() == "w0" {
				first++
			}
			f.Release(w)
		}
		if first < many*70/100 || first > many*95/100 {
			t.Errorf("idle, the one worker of %d that has four fifths of the weight got %d of %d", n, first, many)
		}
	}
}

// Weight 0 holds for a new life and for who waits, says nothing about the others'
// health, and is taken back by any other.
func TestWeightZeroIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3, fleet.Config{MaxInFlight: 1})
		if held := try(f, fleet.Want{}, 3); len(held) != 3 {
			t.Fatalf("got %v", held)
		}
		got := make(chan *fleet.Worker)
		go func() {
			w, err := f.Acquire(t.Context(), fleet.Want{})
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		synctest.Wait()
		f.SetWeight("w1", 0)
		f.Up("w1", "127.0.0.1:1") // a new life, and idle
		if f.TryAcquire(fleet.Want{}) != nil || f.Stats().Waiting != 1 {
			t.Error("a new life of the worker of weight 0 takes work")
		}
		if st := f.Stats(); st.Up != 2 || st.Well != 2 || f.Serving() != 2 {
			t.Errorf("it counts: %+v, %d serve", st, f.Serving())
		}
		f.SetWeight("w1", 1)
		if w := <-got; w == nil || w.Name() != "w1" {
			t.Errorf("who waited got %v", w)
		}
	})
}

// A worker of weight 0 is not the lane, and in no shard.
func TestWeightZero(t *testing.T) {
	f := open(t, 3, fleet.Config{})
	f.SetWeight("w0", 0)
	f.SetWeight("w1", 0)
	if w, err := reserveFor(f, 50*time.Millisecond); err == nil {
		t.Errorf("the lane is %s, and nobody works beside it", w.Name())
	}
	f.SetWeight("w1", 3)
	w, err := reserveFor(f, time.Minute)
	if err != nil || w.Name() == "w0" {
		t.Fatalf("the lane: %v, %v", w, err)
	}
	f.Unreserve(w)
	f.SetWeight("w1", 0)
	for caller := uint64(1); caller < 30; caller++ { // as sticky requests choose
		for _, o := range []fleet.Overflow{fleet.OverflowDown, fleet.OverflowBusy, fleet.OverflowNever} {
			w := f.TryAcquire(fleet.Want{Caller: caller, Shard: 1, Overflow: o})
			if w != nil && w.Name() != "w2" || w == nil && o != fleet.OverflowNever {
				t.Errorf("caller %d by %v got %v", caller, o, w)
			}
			if w != nil {
				f.Release(w)
			}
		}
	}
}

func BenchmarkAcquireWeighted(b *testing.B) {
	for _, n := range []int{8, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, err := fleet.New(fleet.Config{Name: "b"})
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				f.Up(fmt.Sprint("w", i), "127.0.0.1:1")
			}
			f.SetWeight("w0", 3)
			b.ReportAllocs()
			for b.Loop() {
				f.Release(f.TryAcquire(fleet.Want{}))
			}
		})
	}
}
