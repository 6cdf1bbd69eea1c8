package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// Bake is the test of each new process in a rolling restart before the next worker is replaced: the process must answer
// Requests, which takes at least one second, or be up for Time, whichever comes first. It must neither end nor look
// unhealthy.
type Bake struct {
	Requests int           // 0: only Time counts
	Time     time.Duration // 0: a process that is ready has passed
}

func (b Bake) on() bool { return b.Time > 0 }

const (
	// bakeLeast is the least duration of a bake: a process often dies shortly after the answer to the request that kills
	// it.
	bakeLeast = time.Second
	// bakeLook is the time between two checks of a process in its bake.
	bakeLook = 20 * time.Millisecond
	// doubtfulPause is how long a worker waits when the only settings to start with are those that stopped a restart.
	doubtfulPause = time.Minute
)

// enough reports whether a bake of this duration and with this number of answers is over.
func (b Bake) enough(took time.Duration, answered uint64) bool {
	return took >= b.Time || b.Requests > 0 && answered >= uint64(b.Requests) && took >= bakeLeast
}

// failure is the failed bake of a new process.
type failure struct {
	worker   string
	why      string
	answered uint64
	took     time.Duration
}

func (f *failure) Error() string {
	return fmt.Sprintf("the new process of %s did not prove itself: %s, after %v and %d answers",
		f.worker, f.why, f.took.Round(10*time.Millisecond), f.answered)
}

// errSuperseded means that the settings are newer than those that the process tests.
var errSuperseded = errors.New("the settings changed before the new process had proven itself")

// prove watches l, which is up, until it has passed the bake of r. It returns a *failure if l did not pass, and another
// error if the restart must not continue.
func (w *slot) prove(active context.Context, l *life, r *rollout) error {
	bake := w.s.cfg.Load().Bake
	if r == nil || !bake.on() {
		return nil
	}
	reg, epoch := w.s.reg, l.epoch()
	reg.Bake(w.name, epoch, true)
	defer reg.Bake(w.name, epoch, false)
	v := &healthLoop{w: w, l: l}
	stop := v.watch()
	defer stop()
	began, before := time.Now(), r.credit()
	fail := func(why string) error {
		answered, _ := reg.Proof(w.name, epoch)
		l.failed = true
		return &failure{worker: w.name, why: why, answered: answered, took: time.Since(began)}
	}
	tick := time.NewTicker(bakeLook)
	defer tick.Stop()
	for {
		select {
		case <-l.gone:
			return fail(l.end.Detail + saying(l.end.Stderr))
		case <-active.Done():
			return active.Err()
		case <-tick.C:
		}
		if !sameProcess(l.cfg.Load(), w.s.cfg.Load()) {
			return errSuperseded
		}
		answered, out := reg.Proof(w.name, epoch)
		if out != "" {
			return fail(out)
		}
		if why := r.condemned(); why != "" {
			return fail(why)
		}
		if bake.enough(before.took+time.Since(began), before.answered+answered) {
			if stop(); v.told { // at the last moment
				return fail("its health checks fail")
			}
			return nil
		}
	}
}

// handOver replaces l by next. l finishes its work in parallel. While next is in its bake, l waits without new work, and
// takes its place back if next does not pass. handOver returns the life that has the place.
func (w *slot) handOver(active context.Context, l, next *life, o order) *life {
	finish := w.retireBeside(active, l, o.of != nil)
	w.open(next)
	if o.of != nil {
		w.keepFromLane(next)
	}
	err := w.prove(active, next, o.roll)
	var f *failure
	if (errors.As(err, &f) || errors.Is(err, errSuperseded)) && w.takeBack(l, next) {
		w.note(func(st *WorkerStatus) { st.LastError = err.Error() })
		o.done <- w.excuse(err)
		return l
	}
	w.ending.Go(func() {
		w.stopBeside(l, o.why, "replaced", finish)
		o.done <- w.excuse(err)
	})
	return next
}

// takeBack puts l, which waits, in its place again. It reports false if l has died; next, if it lives, then keeps the
// place.
func (w *slot) takeBack(l, next *life) bool {
	if l.dead() {
		return false
	}
	finish := w.retireBeside(context.Background(), next, false)
	w.s.reg.Down(w.name, l.epoch(), planned("the old process takes its place back"))
	w.begins(l.cfg.Load())
	up := w.open(l)
	w.mu.Lock()
	w.beside = slices.DeleteFunc(w.beside, func(o *life) bool { return o == l })
	w.mu.Unlock()
	w.ending.Go(func() { w.stopBeside(next, "it did not prove itself", "it did not prove itself", finish) })
	return up
}

// planned returns the end of a life that is replaced.
func planned(why string) fleet.End {
	return fleet.End{Planned: true, Class: bezoar.Interrupted, At: time.Now(), ExitCode: -1, Detail: why}
}
