package supervise

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// RolloutState is where a rolling restart stands.
type RolloutState string

// The states.
const (
	RolloutRunning  RolloutState = "running"
	RolloutStopped  RolloutState = "stopped"
	RolloutDone     RolloutState = "done"
	RolloutReverted RolloutState = "reverted" // it stopped, and the settings are again what the processes have
)

// Rollout is how the newest rolling restart stands, for people.
type Rollout struct {
	Number   int          `json:"number"` // of this Supervisor's restarts, from 1
	State    RolloutState `json:"state"`
	Began    time.Time    `json:"began"`
	Ended    time.Time    `json:"ended,omitzero"`
	Workers  int          `json:"workers"`          // to be replaced
	Replaced int          `json:"replaced"`         // that have proven themselves
	Worker   string       `json:"worker,omitempty"` // that is being replaced, or at which it stopped
	Tries    int          `json:"tries,omitempty"`  // new processes that did not prove themselves, at Worker
	Why      string       `json:"why,omitempty"`    // it stopped
}

const (
	// maxTries bounds the new processes that are tried in one place when workers of
	// the old version die as well.
	maxTries = 4
	// maxUnexplained is how many ends of new processes that nothing explains stop a
	// restart.
	maxUnexplained = 2
	// explanation is how long a restart waits before it stops for a worker of the
	// old version to die as well: work whose worker has died runs there next.
	explanation = 2 * time.Second
)

// proof is what a new process has shown.
type proof struct {
	took     time.Duration
	answered uint64
}

// attempt is a new process that ended or looked sick while a place was being
// replaced.
type attempt struct {
	olds int // workers of the old version that had died when it began
	at   time.Time
	proof
}

// rollout is one rolling restart. The package comment has its rule.
type rollout struct {
	mu     sync.Mutex // guards what follows
	st     Rollout
	target *Config   // that it gives to all
	olds   int       // workers of the old version that have died in work since it began
	fails  []attempt // in the present place
	from   int       // olds when the present try began
	kept   []func()  // end what suspect began
}

func newRollout(number, workers int, target *Config) *rollout {
	return &rollout{
		target: target,
		st:     Rollout{Number: number, State: RolloutRunning, Began: time.Now(), Workers: workers},
	}
}

func (r *rollout) snapshot() Rollout {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st
}

// place begins to replace a worker.
func (r *rollout) place(worker string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Worker, r.st.Tries, r.fails, r.from = worker, 0, nil, r.olds
}

// replaced counts a worker whose new process has proven itself.
func (r *rollout) replaced() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Replaced++
	r.release()
}

// release makes the processes that suspect has kept from the lane fit for it. mu is
// held.
func (r *rollout) release() {
	for _, free := range r.kept {
		free()
	}
	r.kept = nil
}

// suspect keeps a life from the lane that has started by itself, as long as no new
// process has proven itself: what dies in the lane tells whose fault it is only on a
// worker of the old version. free ends that.
func (r *rollout) suspect(l *life, keep, free func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.State == RolloutRunning && r.st.Replaced == 0 && r.isNew(l) {
		keep()
		r.kept = append(r.kept, free)
	}
}

// isNew reports whether l is of the new version. mu is held.
func (r *rollout) isNew(l *life) bool {
	return !l.began.Before(r.st.Began) && sameProcess(l.cfg.Load(), r.target)
}

// again says that so many of those that were replaced must be once more.
func (r *rollout) again(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Replaced = max(0, r.st.Replaced-n)
}

// aim begins the present place anew, with other settings.
func (r *rollout) aim(target *Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target, r.st.Tries, r.fails = target, 0, nil
}

// begin begins a try.
func (r *rollout) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = r.olds
}

// fail counts a try that failed.
func (r *rollout) fail(f *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Tries++
	r.fails = append(r.fails, attempt{r.from, time.Now(), proof{f.took, f.answered}})
}

// died counts a worker that has died in work.
func (r *rollout) died(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isNew(l) {
		r.olds++
		return
	}
	r.fails = append(r.fails, attempt{olds: r.olds, at: time.Now()})
}

// unexplained counts the ends of new processes in the present place after whose
// beginning no worker of the old version has died, and says when the newest was.
// mu is held.
func (r *rollout) unexplained() (n int, newest time.Time) {
	for _, f := range r.fails {
		if f.olds == r.olds {
			n, newest = n+1, f.at
		}
	}
	return n, newest
}

// credit is what the tries before in this place, of which the ends are explained,
// have shown: it counts, else no build could be deployed while work is about that
// kills every build.
func (r *rollout) credit() (sum proof) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.fails {
		if f.olds != r.olds {
			sum.took += f.took
			sum.answered += f.answered
		}
	}
	return sum
}

// condemned says why the restart is to stop, "" when it is not.
func (r *rollout) condemned() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, newest := r.unexplained()
	switch {
	case n >= maxUnexplained && time.Since(newest) >= explanation:
		return fmt.Sprintf("%d new processes ended or looked sick, and no worker of the old version died meanwhile", n)
	case r.st.Tries >= maxTries:
		return fmt.Sprintf("%d new processes ended, though workers of the old version died as well: whose fault it is cannot be told now", r.st.Tries)
	}
	return ""
}

// doubted reports whether it would stop if nothing explained what it saw.
func (r *rollout) doubted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := r.unexplained()
	return n >= maxUnexplained
}

// verdict is condemned once it is known whether something explains the last try.
func (r *rollout) verdict(ctx context.Context) string {
	tick := time.NewTicker(bakeLook)
	defer tick.Stop()
	for {
		if why := r.condemned(); why != "" || !r.doubted() {
			return why
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err().Error()
		}
	}
}

// end ends it; nil means that all are replaced.
func (r *rollout) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Ended = time.Now()
	r.release()
	if err != nil {
		r.st.State, r.st.Why = RolloutStopped, err.Error()
		return
	}
	r.st.State, r.st.Worker, r.st.Tries = RolloutDone, "", 0
}

// revert says that the settings are again what the processes have.
func (r *rollout) revert() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.State == RolloutStopped {
		r.st.State = RolloutReverted
	}
}

// Rollout returns how the newest rolling restart stands; false when there was
// none.
func (s *Supervisor) Rollout() (Rollout, bool) {
	r := s.roll.Load()
	if r == nil {
		return Rollout{}, false
	}
	return r.snapshot(), true
}

// lost takes a life into account that has ended in its place.
func (s *Supervisor) lost(l *life) {
	if r := s.roll.Load(); r != nil && s.rolling.Load() && !l.failed && !l.end.Planned {
		r.died(l)
	}
}

// doubtful reports whether w has nothing to start with but what the last restart
// stopped for, and the fleet can do without it: half of the others serve.
func (s *Supervisor) doubtful(w *slot) bool {
	if !s.distrusted.Load() {
		return false
	}
	if good := s.good.Load(); good != nil && !sameProcess(good, s.cfg.Load()) {
		return false
	}
	ready, others := 0, 0
	for _, o := range s.places() {
		if o != w {
			others++
			if o.snapshot().State == Ready {
				ready++
			}
		}
	}
	return ready > 0 && 2*ready >= others
}
