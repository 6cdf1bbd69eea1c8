package supervise

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// RolloutState is the state of a rolling restart.
type RolloutState string

// The states.
const (
	RolloutRunning  RolloutState = "running"
	RolloutStopped  RolloutState = "stopped"
	RolloutDone     RolloutState = "done"
	RolloutReverted RolloutState = "reverted" // it stopped, and the settings are again what the processes have
)

// Rollout is the state of the newest rolling restart, for display.
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
	// maxTries is the most new processes tried in one place while workers of the old version die as well.
	maxTries = 4
	// maxUnexplained is how many unexplained ends of new processes stop a restart.
	maxUnexplained = 2
	// explanation is how long a restart waits for a worker of the old version to die as well, before it stops: work whose
	// worker has died runs there next.
	explanation = 2 * time.Second
)

// proof is the progress of a new process in its bake.
type proof struct {
	took     time.Duration
	answered uint64
}

// attempt is a new process that ended or looked unhealthy while it replaced another.
type attempt struct {
	olds int // workers of the old version that had died when it began
	at   time.Time
	proof
}

// rollout is one rolling restart. The package comment describes its rule.
type rollout struct {
	mu     sync.Mutex // guards the fields below
	st     Rollout
	target *Config   // the settings that it gives to all
	olds   int       // workers of the old version that have died at work since it began
	fails  []attempt // failed tries in the present place
	from   int       // olds when the present try began
	kept   []func()  // undo suspect
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

// place begins the replacement of a worker.
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

// release lets the processes held back by suspect take work from the lane again. The caller holds mu.
func (r *rollout) release() {
	for _, free := range r.kept {
		free()
	}
	r.kept = nil
}

// suspect keeps an automatically started life away from the lane until a new process has passed: a death in the lane shows
// the cause only on a worker of the old version. free undoes that.
func (r *rollout) suspect(l *life, keep, free func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.State == RolloutRunning && r.st.Replaced == 0 && r.isNew(l) {
		keep()
		r.kept = append(r.kept, free)
	}
}

// isNew reports whether l is of the new version. The caller holds mu.
func (r *rollout) isNew(l *life) bool {
	return !l.began.Before(r.st.Began) && sameProcess(l.cfg.Load(), r.target)
}

// again records that n replaced workers must be replaced once more.
func (r *rollout) again(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Replaced = max(0, r.st.Replaced-n)
}

// aim restarts the present place with other settings.
func (r *rollout) aim(target *Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target, r.st.Tries, r.fails = target, 0, nil
}

func (r *rollout) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.from = r.olds
}

// fail records a failed try.
func (r *rollout) fail(f *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.st.Tries++
	r.fails = append(r.fails, attempt{r.from, time.Now(), proof{f.took, f.answered}})
}

// died records a worker that has died at work.
func (r *rollout) died(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isNew(l) {
		r.olds++
		return
	}
	r.fails = append(r.fails, attempt{olds: r.olds, at: time.Now()})
}

// unexplained counts the ends of new processes in the present place after whose start no worker of the old version has
// died. It returns the time of the newest. The caller holds mu.
func (r *rollout) unexplained() (n int, newest time.Time) {
	for _, f := range r.fails {
		if f.olds == r.olds {
			n, newest = n+1, f.at
		}
	}
	return n, newest
}

// credit returns the progress of earlier tries in this place whose ends are explained. It counts: otherwise no build could
// be deployed while there is work that kills every build.
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

// condemned returns why the restart must stop, or "".
func (r *rollout) condemned() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, newest := r.unexplained()
	switch {
	case n >= maxUnexplained && time.Since(newest) >= explanation:
		return fmt.Sprintf("%d new processes ended or looked unhealthy, and no worker of the old version died meanwhile", n)
	case r.st.Tries >= maxTries:
		return fmt.Sprintf("%d new processes ended, but workers of the old version died as well: the new version may not be the cause", r.st.Tries)
	}
	return ""
}

// doubted reports whether the restart would stop if nothing explained the deaths.
func (r *rollout) doubted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, _ := r.unexplained()
	return n >= maxUnexplained
}

// verdict returns condemned once it is known whether the last try is explained.
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

// end ends the restart; nil means that all workers are replaced.
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

// revert records that the processes have the current settings again.
func (r *rollout) revert() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.State == RolloutStopped {
		r.st.State = RolloutReverted
	}
}

// Rollout returns the state of the newest rolling restart; false if there was none.
func (s *Supervisor) Rollout() (Rollout, bool) {
	r := s.roll.Load()
	if r == nil {
		return Rollout{}, false
	}
	return r.snapshot(), true
}

// lost records a life that has ended in its place.
func (s *Supervisor) lost(l *life) {
	if r := s.roll.Load(); r != nil && s.rolling.Load() && !l.failed && !l.end.Planned {
		r.died(l)
	}
}

// doubtful reports whether w could only start with settings that stopped the last restart, and at least half of the other
// workers serve, so that the fleet can do without it.
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
