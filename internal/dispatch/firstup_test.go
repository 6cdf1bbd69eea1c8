package dispatch_test

import (
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/policy/blame"
)

// Nobody waits long for a fleet that has never been up, and everybody waits for one
// that has been.
func TestNobodyWaitsLongForAFleetThatWasNeverUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 0, dispatch.Config{}, blame.Config{})
		r.fleet.Add("w0")
		began := time.Now()
		a := r.do(1, good)
		if took := time.Since(began); a.Kind != dispatch.Unavailable || a.Rule != dispatch.RuleUnavailable || a.RetryAfter < time.Second || took > time.Second {
			t.Errorf("after %v: %+v", took, a)
		}
		if a.Reason != "no worker of the fleet has been up yet" {
			t.Errorf("reason %q", a.Reason)
		}
		time.AfterFunc(500*time.Millisecond, func() { r.up("w0") })
		if a := r.do(1, good); a.Kind != dispatch.Answered {
			t.Errorf("a worker that comes up within the second is not waited for: %+v", a)
		}
		r.mu.Lock()
		l := r.lives["w0"]
		r.mu.Unlock()
		r.restart = 5 * time.Second
		r.Kill("w0", l.epoch, "test")
		began = time.Now()
		if a := r.do(2, good); a.Kind != dispatch.Answered || time.Since(began) < 4*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), a)
		}
	})
}

// Who leaves while no worker is up waits no longer, and holds nobody up who stops.
func TestAWaitForAWorkerEndsWithItsCaller(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, 1, dispatch.Config{}, blame.Config{})
		if a := r.do(1, good); a.Kind != dispatch.Answered {
			t.Fatalf("with a worker that is up: %+v", a)
		}
		r.mu.Lock()
		l := r.lives["w0"]
		r.mu.Unlock()
		r.restart = 30 * time.Second
		r.Kill("w0", l.epoch, "test")
		j := &job{r: r, id: 2, what: good}
		time.AfterFunc(300*time.Millisecond, func() { j.left.Store(true) })
		began := time.Now()
		w := dispatch.Work{Fingerprint: bezoar.Fingerprint{0: 2, 1: 1}, Replayable: true, Timeout: time.Minute}
		if a := r.d.Do(t.Context(), w, j); a.Kind != dispatch.Aborted || a.Result.Fault != dispatch.CallerGone || time.Since(began) > 2*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), a)
		}
	})
}
