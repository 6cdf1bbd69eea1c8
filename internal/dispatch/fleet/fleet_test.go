package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// open returns a fleet of n workers that draws the same numbers each time.
func open(t *testing.T, n int, cfg fleet.Config) *fleet.Fleet {
	t.Helper()
	cfg.Name = "test"
	f, err := fleet.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Seed(1)
	for i := range n {
		f.Up(fmt.Sprintf("w%d", i), fmt.Sprintf("127.0.0.1:%d", 9000+i))
	}
	return f
}

func acquire(t *testing.T, f *fleet.Fleet, want fleet.Want) *fleet.Worker {
	t.Helper()
	w, err := f.Acquire(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestConfigIsChecked(t *testing.T) {
	if _, err := fleet.New(fleet.Config{}); err == nil {
		t.Error("a fleet without a name was accepted")
	}
	if _, err := fleet.New(fleet.Config{Name: "x", MaxInFlight: -1}); err == nil {
		t.Error("a negative MaxInFlight was accepted")
	}
}

func TestAcquireTakesTheLeastLoaded(t *testing.T) {
	f := open(t, 4, fleet.Config{})
	count := map[string]int{}
	for range 12 {
		count[acquire(t, f, fleet.Want{}).Name()]++
	}
	for w, n := range count {
		if n != 3 {
			t.Errorf("%s got %d of 12, want 3: %v", w, n, count)
		}
	}
}

func TestTwoChoicesSpreadALargeFleet(t *testing.T) {
	f := open(t, 100, fleet.Config{})
	count := map[string]int{}
	for range 1000 {
		count[acquire(t, f, fleet.Want{}).Name()]++
	}
	for w, n := range count {
		if n > 15 { // one choice gives somebody about twenty
			t.Errorf("%s got %d of 1,000 over 100 workers", w, n)
		}
	}
	if len(count) != 100 {
		t.Errorf("%d of 100 workers got work", len(count))
	}
}

func TestAcquireAvoids(t *testing.T) {
	for _, n := range []int{2, 40} {
		f := open(t, n, fleet.Config{})
		for range 200 {
			if w := acquire(t, f, fleet.Want{Avoid: "w0"}); w.Name() == "w0" {
				t.Fatalf("got the worker to avoid among %d", n)
			}
		}
	}
	f := open(t, 1, fleet.Config{})
	if w := acquire(t, f, fleet.Want{Avoid: "w0"}); w.Name() != "w0" {
		t.Error("the only worker must do")
	}
}

func TestCanariesAreTheFirstEighth(t *testing.T) {
	f := open(t, 16, fleet.Config{})
	for range 40 {
		if w := acquire(t, f, fleet.Want{Canary: true}); w.Name() != "w0" && w.Name() != "w1" {
			t.Fatalf("got %s", w.Name())
		}
	}
	f.Drain("w0")
	f.Drain("w1")
	acquire(t, f, fleet.Want{Canary: true}) // anybody else
}

func TestAcquireWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1, fleet.Config{MaxInFlight: 1})
		w := acquire(t, f, fleet.Want{})
		var order []int
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				got, err := f.Acquire(t.Context(), fleet.Want{})
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				f.Release(got)
			})
			synctest.Wait()
		}
		f.Release(w)
		wg.Wait()
		if fmt.Sprint(order) != "[0 1 2]" {
			t.Errorf("served in order %v", order)
		}
	})
}

func TestAcquireGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 0, fleet.Config{MaxWaiting: 1})
		f.Add("w0")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := f.Acquire(ctx, fleet.Want{}); !errors.Is(err, fleet.ErrNoWorker) {
				t.Errorf("got %v, want ErrNoWorker", err)
			}
		})
		synctest.Wait()
		if _, err := f.Acquire(ctx, fleet.Want{}); !errors.Is(err, fleet.ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		wg.Wait()
		f.Up("w0", "127.0.0.1:1")
		f.Release(acquire(t, f, fleet.Want{})) // nobody stale was served
	})
}

func TestDownEndsOneEpochOnce(t *testing.T) {
	var ended []uint64
	f := open(t, 1, fleet.Config{Ended: func(epoch uint64, _ string, _ fleet.End) { ended = append(ended, epoch) }})
	w := acquire(t, f, fleet.Want{})
	f.Down("w0", w.Epoch()+7, fleet.End{})
	if _, over := w.End(); over {
		t.Fatal("another epoch's end ended this one")
	}
	f.Down("w0", w.Epoch(), fleet.End{Class: bezoar.Crash, Detail: "boom"})
	f.Down("w0", w.Epoch(), fleet.End{})
	if end, over := w.End(); !over || end.Detail != "boom" {
		t.Errorf("End is %+v, %v", end, over)
	}
	f.Up("w0", "127.0.0.1:2")
	f.Down("w0", w.Epoch(), fleet.End{})
	if len(ended) != 1 || f.Serving() != 1 {
		t.Errorf("ended %v, %d serve", ended, f.Serving())
	}
	if st := f.Snapshot(); st[0].Lives != 2 || st[0].Deaths != 1 || st[0].LastEnd.Detail != "boom" {
		t.Errorf("snapshot %+v", st)
	}
}

func TestReserveWaitsForTheLeastBusyToRunEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		a, b := acquire(t, f, fleet.Want{}), acquire(t, f, fleet.Want{})
		c := acquire(t, f, fleet.Want{}) // on one of them
		lone := a
		if c == a {
			lone = b
		}
		got := make(chan *fleet.Worker, 1)
		go func() {
			w, err := f.Reserve(t.Context(), fleet.LaneWant{})
			if err != nil {
				t.Error(err)
			}
			got <- w
		}()
		synctest.Wait()
		if w := acquire(t, f, fleet.Want{}); w == lone {
			t.Error("the lane got other work")
		}
		f.Release(lone)
		if w := <-got; w != lone {
			t.Errorf("reserved %s, want %s", w.Name(), lone.Name())
		}
		if _, err := reserveFor(f, time.Second); !errors.Is(err, fleet.ErrNoWorker) {
			t.Errorf("a second lane: %v", err)
		}
		f.Unreserve(lone)
		seen := map[*fleet.Worker]bool{}
		for range 4 {
			seen[acquire(t, f, fleet.Want{})] = true
		}
		if !seen[lone] {
			t.Error("the lane's worker did not come back")
		}
	})
}

func reserveFor(f *fleet.Fleet, d time.Duration) (*fleet.Worker, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return f.Reserve(ctx, fleet.LaneWant{})
}

func TestReserveNeedsTwoUnlessThereIsOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1, fleet.Config{})
		if _, err := reserveFor(f, time.Second); err != nil {
			t.Errorf("the only worker was not reserved: %v", err)
		}
		f = open(t, 1, fleet.Config{})
		f.Add("w1")
		if _, err := reserveFor(f, time.Second); !errors.Is(err, fleet.ErrNoWorker) {
			t.Errorf("the last healthy worker was reserved: %v", err)
		}
		if w := acquire(t, f, fleet.Want{}); w.Name() != "w0" {
			t.Error("it does not serve")
		}
	})
}

func TestReserveTurnsToALessBusyWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		acquire(t, f, fleet.Want{})
		w := acquire(t, f, fleet.Want{})
		got := make(chan *fleet.Worker, 1)
		go func() {
			r, _ := f.Reserve(t.Context(), fleet.LaneWant{})
			got <- r
		}()
		synctest.Wait()
		// Whichever was marked, the other one runs empty now and then.
		time.Sleep(100 * time.Millisecond)
		f.Release(w)
		if r := <-got; r != w {
			t.Errorf("reserved %s, which is busy", r.Name())
		}
	})
}

// serve makes w survive n deliveries.
func serve(f *fleet.Fleet, w *fleet.Worker, n int) {
	for range n {
		f.Enter(w)
		f.Release(w)
	}
}

func TestReservePrefersTheYoungestThatIsKnownToWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3, fleet.Config{})
		reserved := func() string {
			w, err := f.Reserve(t.Context(), fleet.LaneWant{})
			if err != nil {
				t.Fatal(err)
			}
			f.Unreserve(w)
			return w.Name()
		}
		if got := reserved(); got != "w0" {
			t.Errorf("of workers that have shown nothing %s is taken, want the oldest", got)
		}
		f.Up("w1", "127.0.0.1:2") // a deploy has replaced it
		young := f.Worker("w1", f.Snapshot()[1].Epoch)
		serve(f, young, 1)
		if got := reserved(); got != "w0" {
			t.Errorf("%s is taken, want the oldest while the new build has shown nothing", got)
		}
		serve(f, young, 32)
		if got := reserved(); got != "w1" {
			t.Errorf("%s is taken, want the one that the deploy has replaced", got)
		}
		f.Enter(young) // and it never finishes
		began := time.Now()
		if got := reserved(); got != "w0" || time.Since(began) > time.Second {
			t.Errorf("%s is taken after %v, want an idle one soon", got, time.Since(began))
		}
	})
}

type keeper struct {
	mu     sync.Mutex
	checks int
	gate   chan struct{}
	health fleet.Health
}

func (k *keeper) Check(context.Context, string, uint64, fleet.Doubt) fleet.Health {
	k.mu.Lock()
	k.checks++
	k.mu.Unlock()
	<-k.gate
	return k.health
}

func (k *keeper) Kill(string, uint64, string) {}

func (k *keeper) Substitute(string, uint64, string) {}

func TestSettleSharesOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{gate: make(chan struct{}), health: fleet.Alive}
		f := open(t, 1, fleet.Config{})
		f.Keep(k)
		w := acquire(t, f, fleet.Want{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if h := f.Settle(t.Context(), w, fleet.Broken); h != fleet.Alive {
					t.Errorf("got %v", h)
				}
			})
		}
		synctest.Wait()
		close(k.gate)
		wg.Wait()
		if k.checks != 1 {
			t.Errorf("%d looks for 20 doubts at once, want 1", k.checks)
		}
	})
}

func TestDrainAndIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2, fleet.Config{})
		w := acquire(t, f, fleet.Want{})
		f.Drain(w.Name())
		if other := acquire(t, f, fleet.Want{}); other == w {
			t.Error("a draining worker got work")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := f.Idle(ctx, w.Name()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Idle with work in flight: %v", err)
		}
		done := make(chan error, 1)
		go func() { done <- f.Idle(t.Context(), w.Name()) }()
		synctest.Wait()
		f.Release(w)
		if err := <-done; err != nil {
			t.Error(err)
		}
		f.Resume(w.Name())
		if f.Serving() != 2 {
			t.Error("it did not come back")
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	f := open(t, 4, fleet.Config{MaxInFlight: 2})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 300 {
				w, err := f.Acquire(t.Context(), fleet.Want{})
				if err != nil {
					t.Error(err)
					return
				}
				f.Release(w)
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			w, err := f.Reserve(t.Context(), fleet.LaneWant{})
			if err != nil {
				t.Error(err)
				return
			}
			f.Unreserve(w)
		}
	})
	wg.Go(func() {
		for i := range 100 {
			name := fmt.Sprintf("w%d", i%3)
			for _, st := range f.Snapshot() {
				if st.Name == name && st.Epoch != 0 {
					f.Down(name, st.Epoch, fleet.End{})
				}
			}
			f.Up(name, "127.0.0.1:1")
		}
	})
	wg.Wait()
	for _, st := range f.Snapshot() {
		if st.InFlight != 0 {
			t.Errorf("%s has %d in flight", st.Name, st.InFlight)
		}
	}
}

func ExampleFleet() {
	f, _ := fleet.New(fleet.Config{Name: "search"})
	f.Up("search-1", "127.0.0.1:9101")
	w, _ := f.Acquire(context.Background(), fleet.Want{})
	fmt.Println(w.Name(), w.Addr())
	f.Release(w)
	// Output: search-1 127.0.0.1:9101
}
