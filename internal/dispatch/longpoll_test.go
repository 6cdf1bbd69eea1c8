package dispatch_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Callers of a long poll that has never been answered do not wait for each other's answers.
func TestCallersOfOneLongPollAllReachAWorker(t *testing.T) {
	for _, busy := range []bool{false, true} {
		name := map[bool]string{false: "alone", true: "beside other work"}[busy]
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, 4, dispatch.Config{}, blame.Config{})
				stop := make(chan struct{})
				var others sync.WaitGroup
				if busy {
					others.Go(func() {
						for id := byte(100); ; id = 100 + (id+1)%100 {
							r.do(id, good)
							select {
							case <-stop:
								return
							case <-time.After(10 * time.Millisecond):
							}
						}
					})
				}
				start := time.Now()
				took := r.crowd(50, longPoll)
				close(stop)
				others.Wait()
				r.mu.Lock()
				sends := slices.Clone(r.times[7])
				r.mu.Unlock()
				most := 10 * time.Second
				if len(sends) != 50 || sends[49].Sub(start) > most {
					t.Errorf("%d of 50 were sent, and the last after %v; want all within %v", len(sends), sends[len(sends)-1].Sub(start), most)
				}
				if last := slices.Max(took); last > pollFor+most {
					t.Errorf("the last answer came after %v", last)
				}
				if r.dead() != 0 {
					t.Errorf("%d workers died", r.dead())
				}
			})
		})
	}
}

// What kills after a while, with as many copies as may run beside it, costs one worker of the
// fleet and one of the lane.
func TestLaw3CopiesOfWorkThatKillsLateDieWithOneWorker(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		r.crowd(50, killsLate)
		if r.dead() != 2 {
			t.Errorf("%d workers died, want 2", r.dead())
		}
		if a := r.do(7, killsLate); a.Kind != dispatch.Refused {
			t.Errorf("the next copy got %+v", a)
		}
	})
}

// What hangs its worker gets no company there.
func TestNoCopyRunsOnAWorkerThatHangs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 4, dispatch.Config{}, blame.Config{})
		r.crowd(50, hang)
		if n := r.sends[7]; n > 3 || r.dead() > 2 {
			t.Errorf("%d copies were sent, and %d workers died", n, r.dead())
		}
	})
}

// crowd sends n copies at once, and returns after which times they ended.
func (r *rig) crowd(n int, what behaviour) (took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	start := time.Now()
	for range n {
		all.Go(func() {
			r.do(7, what, func(w *dispatch.Work) { w.Timeout = 30 * time.Second })
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(start))
		})
	}
	all.Wait()
	return took
}
