package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
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

// While every worker has a stream, none will be idle: the lane gets one that has
// nothing else, as soon as there is one. Before, it waited for 250 ms first.
func TestTheLaneDoesNotWaitForStreamsToEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		busy  int  // workers with other work, which ends after 30 ms
		down  bool // a fourth place is empty
		least time.Duration
		most  time.Duration
	}{
		"streams alone":    {most: 20 * time.Millisecond},
		"and other work":   {busy: 3, least: 30 * time.Millisecond, most: 60 * time.Millisecond},
		"on some of them":  {busy: 2, most: 20 * time.Millisecond},
		"a life may begin": {down: true, least: 200 * time.Millisecond, most: 400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 3, fleet.Config{})
				streams := map[uint64]int{}
				var more []*fleet.Worker
				for range 3 {
					w := acquire(t, f, fleet.Want{})
					f.Stream(w)
					streams[w.Epoch()] = 1
				}
				for range tc.busy {
					more = append(more, acquire(t, f, fleet.Want{}))
				}
				if tc.down {
					f.Add("w3")
				}
				time.AfterFunc(30*time.Millisecond, func() {
					for _, w := range more {
						f.Release(w)
					}
				})
				from := time.Now()
				w, err := f.Reserve(t.Context(), fleet.LaneWant{Streams: func() map[uint64]int { return streams }})
				if took := time.Since(from); err != nil || took < tc.least || took > tc.most {
					t.Errorf("%v after %v, want it within %v to %v", err, took, tc.least, tc.most)
				}
				if err == nil {
					f.Unreserve(w)
				}
			})
		})
	}
}
