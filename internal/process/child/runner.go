package child

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Errors of starting a job.
var (
	ErrStopped = errors.New("the runner has stopped")
	errTwice   = errors.New("child: Run was called before")
)

// Runner runs any number of jobs at once. Create it with [New]. Its methods may be called from several goroutines.
type Runner struct {
	cfg    Config
	id     identity
	env    []string // variables of every job
	user   *proc.User
	means  means // that enforce limits
	polls  bool  // one thread does everything for a job of Do
	seq    atomic.Uint64
	paths  paths
	tasks  taskCount
	chunks chunks
	ran    atomic.Bool   // Run has been called
	begun  chan struct{} // closed when jobs may start
	closed chan struct{} // closed when no more jobs may start

	mu      sync.Mutex // guards the fields below
	stopped bool
	idle    []*slot // the most recently used one is the last
	live    map[*Process]struct{}
	jobs    sync.WaitGroup // jobs that hold a slot
}

// New returns a Runner that has started nothing yet. It finds out which limits the system can enforce.
func New(cfg Config) (*Runner, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	cfg = cfg.withDefaults()
	r := &Runner{
		cfg: cfg, id: newIdentity(cfg.Mark), live: map[*Process]struct{}{},
		begun: make(chan struct{}), closed: make(chan struct{}),
	}
	user, err := proc.FindUser(cfg.User)
	if err != nil {
		return nil, fmt.Errorf("child: user: %w", err)
	}
	r.user, r.env = user, proc.Override(proc.Override(cfg.Inherit.Of(cfg.Environ), user.Env()...),
		append(append([]string(nil), cfg.Env...), EnvMark+"="+cfg.Mark, envReport)...)
	r.means, r.polls = r.findMeans(), canPoll()
	return r, nil
}

// reapEvery is the time between reaps of dead processes that belong to no known job.
const reapEvery = 30 * time.Second

// Run owns the threads that fork jobs and the groups in which jobs run. When ctx ends it starts no more jobs, stops the
// running ones as if their own context had ended, and returns when no process of any job is left. It makes this process the
// parent of its descendants' orphans. It can be called once.
func (r *Runner) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return errTwice
	}
	if err := proc.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		r.cfg.Log.Warn("orphans of jobs are not reparented to this process, so some may survive", "why", err)
	}
	r.cfg.Log.Debug("jobs are isolated", "limits", r.Limits())
	close(r.begun)
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	var dead proc.Reaper
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
			dead.Round(r.knows)
		}
	}
	r.mu.Lock()
	r.stopped = true
	close(r.closed)
	running := slices.Collect(maps.Keys(r.live))
	r.mu.Unlock()
	for _, p := range running {
		p.Kill(bezoar.Interrupted, "drained")
	}
	r.jobs.Wait()
	var errs []error
	for _, s := range r.idle { // no job takes a slot any more
		errs = append(errs, s.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// knows reports whether the runner waits for this process itself.
func (r *Runner) knows(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.live {
		if p.Pid == pid {
			return true
		}
	}
	return false
}

// take returns a slot for one job with a memory limit in bytes. It waits until Run has begun.
func (r *Runner) take(ctx context.Context, memory int64) (*slot, error) {
	select {
	case <-r.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.mu.Lock()
	if r.stopped {
		r.mu.Unlock()
		return nil, ErrStopped
	}
	r.jobs.Add(1)
	var s, other *slot
	for i := len(r.idle) - 1; i >= 0 && s == nil; i-- {
		if r.idle[i].memory == memory {
			s = r.idle[i]
			r.idle = slices.Delete(r.idle, i, i+1)
		}
	}
	if s == nil && len(r.idle) > 0 { // no slot has this limit: take the least recently used one
		other = r.idle[0]
		r.idle = slices.Delete(r.idle, 0, 1)
	}
	r.mu.Unlock()
	if other != nil {
		r.close(other)
	}
	if s == nil {
		s = r.newSlot(memory)
	}
	return s, nil
}

// give returns a slot once no process of its job is left.
func (r *Runner) give(s *slot) {
	defer r.jobs.Done()
	s.stdout.Reset()
	s.stderr.Reset()
	if s.spoilt {
		r.close(s)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, s)
}

func (r *Runner) close(s *slot) {
	if err := s.close(); err != nil {
		r.cfg.Log.Warn("cannot remove a job's group", "why", err)
	}
}

// Do runs one job and returns when no process of it is left. The end of ctx is a drain: SIGTERM, grace, SIGKILL. The class
// is then [bezoar.Interrupted], unless the job finished by itself within the grace.
func (r *Runner) Do(ctx context.Context, j Job) Result {
	if r.polls {
		return r.doPolled(ctx, &j)
	}
	p, err := r.start(ctx, &j, false)
	if err != nil {
		return notStarted(err)
	}
	p.attend(ctx)
	return p.result
}

// Start starts a job whose stdin and stdout belong to the caller. When ctx ends, the job is stopped as by Kill with
// [bezoar.Interrupted]. Job.Stdin and Job.Stdout are ignored; Job.Stderr is used. The job holds its slot until its end; see
// [Process.Wait].
func (r *Runner) Start(ctx context.Context, j Job) (*Process, error) {
	p, err := r.start(ctx, &j, true)
	if err != nil {
		return nil, err
	}
	go p.attend(ctx)
	return p, nil
}

// notStarted returns the result of a job that never ran.
func notStarted(err error) Result {
	res := Result{Class: bezoar.SpawnFailed, ExitCode: -1, Detail: err.Error(), Err: err}
	if errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		res.Class = bezoar.Interrupted
	}
	return res
}

// identity distinguishes the jobs of one owner from all others.
type identity struct {
	mark    string
	pid     int
	born    uint64 // start time of this process; distinguishes it from earlier ones with its id
	procTag proc.Tag
}

func newIdentity(mark string) identity {
	id := identity{mark: mark, pid: os.Getpid(), procTag: proc.NewTag(mark, 0)}
	id.born, _ = proc.Born(id.pid)
	return id
}
