package fleet_test

import (
	"testing"
	"testing/synctest"

	"github.com/bezoar-dev/bezoar/internal/fleet"
)

// Streams leave their worker's places to work, and those who wait for one get them.
// Before, as many idle streams as MaxInFlight kept everybody else out.
func TestStreamsAreNoWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, err := fleet.New(fleet.Config{Name: "test", MaxInFlight: 2})
		if err != nil {
			t.Fatal(err)
		}
		f.Up("w", "127.0.0.1:1")
		first, second := f.TryAcquire(fleet.Want{}), f.TryAcquire(fleet.Want{})
		if first == nil || second == nil || f.TryAcquire(fleet.Want{}) != nil {
			t.Fatal("there are not two places")
		}
		got := make(chan *fleet.Worker, 1)
		go func() {
			w, _ := f.Acquire(t.Context(), fleet.Want{})
			got <- w
		}()
		synctest.Wait()
		if !f.Stream(first) {
			t.Fatal("there may be no stream")
		}
		w := <-got
		if w == nil || f.TryAcquire(fleet.Want{}) != nil {
			t.Errorf("beside a stream: got %v", w)
		}
		f.EndStream(first)
		f.Release(first)
		if f.TryAcquire(fleet.Want{}) != nil {
			t.Error("an ended stream leaves a place that it did not have")
		}
		f.Release(w)
		if n := f.Snapshot()[0].InFlight; n != 1 {
			t.Errorf("%d in flight", n)
		}
		f.Release(second)
	})
}
