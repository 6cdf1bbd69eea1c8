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

// Runner runs jobs, as many at once as it is asked for. Create it with [New].
type Runner struct {
	cfg    Config
	id     identity
	env    []string // what every job gets
	user   *proc.User
	means  means // by which limits are kept
	polls  bool  // one thread does everything for a job of Do
	seq    atomic.Uint64
	paths  paths
	tasks  taskCount
	chunks chunks
	ran    atomic.Bool   // Run has been called
	begun  chan struct{} // closed when jobs may start
	closed chan struct{} // closed when no more may

	mu      sync.Mutex // guards what follows
	stopped bool
	idle    []*slot // the one used last is the last
	live    map[*Process]struct{}
	jobs    sync.WaitGroup // those that hold a slot
}

// New returns a Runner that has started nothing yet. It finds out which limits
// can be had.
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

// reapEvery is how often the dead that nobody can name are collected.
const reapEvery = 30 * time.Second

// Run owns the threads that jobs are forked from and the groups that they run
// in. When ctx ends it starts no more jobs, stops those that run as if their own
// context had ended, and returns when nothing is left of any. It makes this
// process the parent of its descendants' orphans. It can be called once.
func (r *Runner) Run(ctx context.Context) error {
	if !r.ran.CompareAndSwap(false, true) {
		return errTwice
	}
	if err := proc.BecomeSubreaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		r.cfg.Log.Warn("orphans of jobs do not come to us, so that some may survive", "why", err)
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
	for _, s := range r.idle { // nobody takes from it any more
		errs = append(errs, s.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// knows reports whether a process is one that we wait for.
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

// take returns a slot for one job that may use so much memory. It waits for Run to
// begin.
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
	if s == nil && len(r.idle) > 0 { // of those for other jobs the one that was not used for the longest time
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

// give takes a slot back, as soon as nothing of its job is left.
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
		r.cfg.Log.Warn("a job's group stays", "why", err)
	}
}

// Do runs one job to its end, when nothing of it is left. The end of ctx is a
// drain: SIGTERM, grace, SIGKILL, and the class is [bezoar.Interrupted] unless
// the job reached another by itself within the grace.
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

// Start starts a job whose stdin and stdout belong to the caller. When ctx ends
// it is stopped as by Kill with [bezoar.Interrupted]. Job.Stdin and Job.Stdout
// are not used; Job.Stderr is. It holds its place until its end, which [Process.Wait] tells.
func (r *Runner) Start(ctx context.Context, j Job) (*Process, error) {
	p, err := r.start(ctx, &j, true)
	if err != nil {
		return nil, err
	}
	go p.attend(ctx)
	return p, nil
}

// notStarted is the result of a job that never ran.
func notStarted(err error) Result {
	res := Result{Class: bezoar.SpawnFailed, ExitCode: -1, Detail: err.Error(), Err: err}
	if errors.Is(err, ErrStopped) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		res.Class = bezoar.Interrupted
	}
	return res
}

// identity is how an owner's jobs are told from all others.
type identity struct {
	mark    string
	pid     int
	born    uint64 // when we were started; tells us from who had our id before
	procTag proc.Tag
}

func newIdentity(mark string) identity {
	id := identity{mark: mark, pid: os.Getpid(), procTag: proc.NewTag(mark, 0)}
	id.born, _ = proc.Born(id.pid)
	return id
}
