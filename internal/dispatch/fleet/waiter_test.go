package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// Who waits for its shard neither gets another worker nor keeps others waiting.
func TestWaitersHonourTheirShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 8, fleet.Config{MaxInFlight: 1})
		want := fleet.Want{Caller: 7, Shard: 2}
		members := f.Shard(want)
		a, b := f.TryAcquire(want), f.TryAcquire(want)
		var order []string
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				w, err := f.Acquire(t.Context(), want)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, fmt.Sprint(i, w.Name()))
			})
			synctest.Wait()
		}
		all := try(f, fleet.Want{}, 8)
		if len(all) != 6 {
			t.Errorf("others got %v, want the 6 workers outside %v", all, members)
		}
		for name := range all {
			f.Release(f.Worker(name, epoch(f, name)))
		}
		synctest.Wait()
		if err := f.Check(); err != nil || len(order) != 0 {
			t.Errorf("waiters got %v: %v", order, err)
		}
		f.Release(b)
		synctest.Wait()
		f.Release(a)
		synctest.Wait()
		if wantOrder := []string{"0" + b.Name(), "1" + a.Name()}; !slices.Equal(order, wantOrder) {
			t.Errorf("served %v, want %v", order, wantOrder)
		}
		f.Release(a)
		wg.Wait()
	})
}

// Who waits and may overflow is served when the last of its shard becomes the lane.
func TestWaiterOverflowsWhenItsShardBecomesTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{MaxInFlight: 2})
		want := fleet.Want{Caller: 1, Shard: 1, Overflow: fleet.OverflowDown}
		for f.Shard(want)[0] != "w1" {
			want.Caller++
		}
		w := f.Worker("w1", epoch(f, "w1"))
		serve(f, w, 8) // the younger one that is known to work: it becomes the lane
		try(f, want, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var got *fleet.Worker
		wg.Go(func() { got, _ = f.Acquire(ctx, want) })
		synctest.Wait()
		if got != nil {
			t.Fatalf("it got %s while its worker only was busy", got.Name())
		}
		wg.Go(func() { _, _ = f.Reserve(ctx, fleet.LaneWant{}) })
		synctest.Wait()
		if got == nil || got.Name() != "w0" {
			t.Errorf("it got %v", got)
		}
		cancel()
		wg.Wait()
	})
}

// Who waits and may overflow is served when the last of its shard goes down.
func TestWaiterOverflowsWhenItsShardGoesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 4, fleet.Config{MaxInFlight: 1})
		want := fleet.Want{Caller: 7, Shard: 1, Overflow: fleet.OverflowDown}
		w := f.TryAcquire(want)
		var got *fleet.Worker
		var wg sync.WaitGroup
		wg.Go(func() { got, _ = f.Acquire(t.Context(), want) })
		synctest.Wait()
		if got != nil {
			t.Fatalf("it got %s while its worker only was busy", got.Name())
		}
		down(f, w.Name())
		wg.Wait()
		if got == nil || got.Name() == w.Name() {
			t.Errorf("it got %v", got)
		}
	})
}

// Whoever waits for a shard takes no more of the waiting room than the shard is of
// the fleet.
func TestOneCallerDoesNotFillTheWaitingRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 8, fleet.Config{MaxInFlight: 1, MaxWaiting: 16})
		want := fleet.Want{Caller: 7, Shard: 2}
		try(f, want, 2)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		busy, waited := 0, 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := f.Acquire(ctx, want)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, fleet.ErrBusy):
					busy++
				case errors.Is(err, fleet.ErrNoWorker):
					waited++
				}
			})
		}
		wg.Wait()
		if waited != 4 || busy != 6 {
			t.Errorf("%d waited and %d were sent away, want 4 of 16 places for a quarter of the fleet", waited, busy)
		}
		if err := f.Check(); err != nil {
			t.Error(err)
		}
	})
}
