package dispatch_test

import (
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// What is sent half a second after a worker has begun to hang is not lost with it.
func TestAWorkerThatHangsGetsNothingNew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 3, dispatch.Config{}, blame.Config{})
		var wg sync.WaitGroup
		began := time.Now()
		wg.Go(func() { r.do(1, hang, unsafeWork) })
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := range 180 {
			<-tick.C
			sent := time.Since(began)
			wg.Go(func() {
				a := r.do(byte(10+i), slow, unsafeWork)
				if a.Kind != dispatch.Answered && sent >= 500*time.Millisecond {
					t.Errorf("work sent %v after the hang: %+v", sent, a)
				}
			})
		}
		wg.Wait()
		if n := r.dead(); n != 1 {
			t.Errorf("%d workers died, want the one that hangs", n)
		}
	})
}

// While nothing is in flight nobody listens. The first work ends that: a worker that hangs with it is noticed as soon as ever.
func TestAWorkerThatHangsAfterALongQuiet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 2, dispatch.Config{}, blame.Config{})
		<-time.After(time.Hour)
		if !r.fleet.Quiet() {
			t.Fatal("an hour without work, and it is not quiet")
		}
		var wg sync.WaitGroup
		wg.Go(func() { r.do(1, hang, unsafeWork) })
		<-time.After(450 * time.Millisecond)
		if len(r.fleet.Stirred()) > 0 {
			t.Error("nobody slept until the first work")
		}
		for i := range 10 {
			if a := r.do(byte(10+i), good, unsafeWork); a.Kind != dispatch.Answered {
				t.Errorf("work sent after the hang: %+v", a)
			}
		}
		wg.Wait()
	})
}

// When a suspect hangs the lane's worker, and another process has taken its place, what has to run alone runs there.
func TestWhatWaitsForTheLaneRunsInThePlaceOfAWorkerThatHangs(t *testing.T) {
	for _, workers := range []int{1, 3} {
		bubble(t, func(t *testing.T) {
			r := newRig(t, workers, dispatch.Config{}, blame.Config{})
			r.spares = true
			long := func(w *dispatch.Work) { w.Timeout = 20 * time.Second }
			var wg sync.WaitGroup
			wg.Go(func() { r.do(1, hang, long) })
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for r.delivered(1) < 2 { // until its worker has been killed, and it runs alone
				<-tick.C
			}
			began := time.Now()
			w := dispatch.Work{Fingerprint: bezoar.Fingerprint{0: 2}, Replayable: true, Timeout: 20 * time.Second}
			if a := r.d.Redrive(t.Context(), w, &job{r: r, id: 2, what: good}); a.Kind != dispatch.Answered || time.Since(began) > 6*time.Second {
				t.Errorf("%d workers: what has to run alone, too: %+v after %v", workers, a, time.Since(began))
			}
			if n := r.dead(); n != 1 {
				t.Errorf("%d of %d workers have died, want the first on which it hung", n, workers)
			}
			wg.Wait()
		})
	}
}
