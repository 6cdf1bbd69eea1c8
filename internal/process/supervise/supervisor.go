package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Errors of Run, Restart and Replace.
var (
	ErrNotRunning = errors.New("the supervisor is not running")
	ErrRestarting = errors.New("a rolling restart is under way")
	ErrReplacing  = errors.New("another worker is being replaced")
	ErrNoWorker   = errors.New("there is no such worker")
)

// Supervisor keeps the replicas of one command running. Create it with [New]. Its methods may be called from several
// goroutines.
type Supervisor struct {
	name   string
	reg    Registry
	output func(worker string, stream Stream, line []byte)
	known  *redact.Values
	log    *slog.Logger

	cfg     atomic.Pointer[Config] // settings of new lives; see Update
	good    atomic.Pointer[Config] // the newest with which a worker became ready; nil: none
	doubted atomic.Pointer[Config] // settings with which a worker could not start and none has yet; or nil

	mu      sync.Mutex // guards the fields below
	slots   []*slot    // by number
	byName  map[string]*slot
	begin   func(*slot)   // set while Run runs
	changed chan struct{} // closed and replaced when cfg changes

	forker     *proc.Thread // set while Run runs
	memory     memory
	ports      ports
	lives      sync.WaitGroup // those not buried
	proven     atomic.Bool    // the command could be started at least once
	started    atomic.Bool    // Run has been called
	rolling    atomic.Bool
	roll       atomic.Pointer[rollout] // the newest; nil before the first
	rollouts   atomic.Int64            // number of restarts so far
	distrusted atomic.Bool             // the last rolling restart stopped because new processes did not prove themselves
	turn       chan struct{}           // held by the goroutine that replaces workers
	running    chan struct{}           // closed when Run has begun
	over       chan struct{}           // closed when Run begins to stop
}

// New returns a Supervisor that has started nothing yet.
func New(cfg Config) (*Supervisor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", cfg.Name, err)
	}
	cfg = cfg.withDefaults()
	s := &Supervisor{
		name: cfg.Name, reg: cfg.Registry, output: cfg.Output, known: cfg.Known,
		log:     cfg.Log.With("fleet", cfg.Name),
		byName:  make(map[string]*slot, cfg.Replicas),
		changed: make(chan struct{}),
		running: make(chan struct{}),
		turn:    make(chan struct{}, 1),
		over:    make(chan struct{}),
	}
	s.memory.create, s.memory.log = cgroup.Create, s.log
	s.cfg.Store(&cfg)
	for i := range cfg.Replicas {
		s.place(i + 1)
	}
	return s, nil
}

// Run starts the workers and keeps them running until ctx ends. Then it stops each: no new work, the work in flight
// finishes (within Drain), TERM, Grace, KILL. It returns when every process has been reaped. A command that cannot be
// executed is an error at once. Run can be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	if !s.started.CompareAndSwap(false, true) {
		return fmt.Errorf("fleet %s: Run was called before", s.name)
	}
	s.memory.open()
	s.forker = proc.NewThread()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	s.mu.Lock()
	s.begin = func(w *slot) {
		w.Begin(ctx)
		wg.Go(func() { w.run(ctx, cancel) })
	}
	for _, w := range s.slots {
		s.reg.Add(w.name)
	}
	for _, w := range s.slots {
		s.begin(w)
	}
	s.mu.Unlock()
	close(s.running)
	<-ctx.Done()
	s.mu.Lock()
	close(s.over) // no worker is added any more
	s.mu.Unlock()
	wg.Wait()
	s.lives.Wait()
	s.forker.Close()
	if cause := context.Cause(ctx); errors.Is(cause, errCommand) {
		return cause
	}
	return nil
}

// errCommand marks an error that prevents every start.
var errCommand = errors.New("the command cannot be run")

func (s *Supervisor) Status() []WorkerStatus {
	slots := s.places()
	out := make([]WorkerStatus, 0, len(slots))
	for _, w := range slots {
		st := w.snapshot()
		st.Outdated = w.outdated()
		out = append(out, st)
	}
	return out
}
