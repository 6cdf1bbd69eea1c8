package dispatch_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// struckRig is a fleet of four of which two have just died.
func struckRig(t *testing.T) *rig {
	r := newRig(t, 4, dispatch.Config{}, blame.Config{})
	r.do(1, pill, unsafeWork)
	r.do(2, pill, unsafeWork)
	if _, ok := r.ledger.Recovery(); !ok || r.dead() != 2 {
		t.Fatalf("%d workers died, recovery %v", r.dead(), ok)
	}
	return r
}

// After the death of half of the workers unproven work goes back in the order in which it
// came, one at first, and all of it is answered. Without a line the first of two workers
// would have had all of it at the same moment.
func TestUnprovenWorkWaitsInALineForAFleetThatHasJustDied(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := struckRig(t)
		began := time.Now()
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				if a := r.do(byte(10+i), slow); a.Kind != dispatch.Answered {
					t.Errorf("work %d: %+v", i, a)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
			synctest.Wait()
		}
		if st := r.d.Stats(); st.HeldBack != 24 || st.Holding != 24 || st.Attempts != 2 {
			t.Errorf("%+v; want all 24 held back", st)
		}
		wg.Wait()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if order[0] != 0 || order[1] > 2 || order[2] > 2 {
			t.Errorf("answered in the order %v; want the first alone, and then two", order)
		}
		if st := r.d.Stats(); st.Holding != 0 || st.Attempts != 26 {
			t.Errorf("%+v", st)
		}
	})
}

// Nothing is refused for that: however many pills go on killing in front of it, work runs
// after ten seconds.
func TestWhatIsHeldBackRunsInTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := struckRig(t)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { r.do(byte(10+i), pill, unsafeWork) })
		}
		time.Sleep(time.Second)
		began := time.Now()
		a := r.do(200, good)
		if took := time.Since(began); a.Kind != dispatch.Answered || took < 9*time.Second || took > 11*time.Second {
			t.Errorf("after %v: %+v", took, a)
		}
		wg.Wait()
	})
}

// Who hangs up leaves the line, and at a stop nobody waits in it.
func TestTheLineEndsWithItsCallers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := struckRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		said := make(chan dispatch.Kind, 3)
		work := func(id byte) dispatch.Work {
			return dispatch.Work{Fingerprint: bezoar.Fingerprint{0: id, 1: 1}, Replayable: true}
		}
		for id := byte(10); id < 12; id++ {
			go func() { said <- r.d.Do(ctx, work(id), &job{r: r, id: id}).Kind }()
			synctest.Wait()
		}
		cancel()
		for range 2 {
			if k := <-said; k != dispatch.Aborted {
				t.Errorf("kind %v", k)
			}
		}
		began := time.Now()
		go func() { said <- r.do(12, good).Kind }()
		synctest.Wait()
		r.d.Hurry()
		if k := <-said; k != dispatch.Answered || time.Since(began) > 50*time.Millisecond {
			t.Errorf("kind %v after %v", k, time.Since(began))
		}
		if st := r.d.Stats(); st.HeldBack != 3 || st.Holding != 0 || r.sends[10]+r.sends[11] != 0 {
			t.Errorf("%+v", st)
		}
	})
}
