package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/cgroup"
	"github.com/bezoar-dev/bezoar/internal/probe"
	"github.com/bezoar-dev/bezoar/internal/proc"
)

// Errors of Run and Restart.
var (
	ErrNotRunning = errors.New("the supervisor is not running")
	ErrRestarting = errors.New("a rolling restart is under way")
)

// Supervisor keeps the replicas of one command running. Create it with [New].
type Supervisor struct {
	cfg    Config
	log    *slog.Logger
	probe  probe.Probe
	slots  []*slot
	byName map[string]*slot

	forker  *proc.Thread // while Run runs
	memory  memory
	ports   ports
	lives   sync.WaitGroup // those not buried
	proven  atomic.Bool    // the command could be started at least once
	started atomic.Bool    // Run has been called
	rolling atomic.Bool
	running chan struct{} // closed when Run has begun
	over    chan struct{} // closed when Run begins to stop
}

// New returns a Supervisor that has started nothing yet.
func New(cfg Config) (*Supervisor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fleet %s: %w", cfg.Name, err)
	}
	cfg = cfg.withDefaults()
	s := &Supervisor{
		cfg:     cfg,
		log:     cfg.Log.With("fleet", cfg.Name),
		probe:   probe.Probe{Path: cfg.Health.Path, Timeout: cfg.Health.Timeout},
		byName:  make(map[string]*slot, cfg.Replicas),
		running: make(chan struct{}),
		over:    make(chan struct{}),
	}
	s.memory.limit, s.memory.create, s.memory.log = cfg.Memory, cgroup.Create, s.log
	for i := range cfg.Replicas {
		w := newSlot(s, cfg.Name+"-"+strconv.Itoa(i+1))
		s.slots = append(s.slots, w)
		s.byName[w.name] = w
	}
	return s, nil
}

// Run starts the workers and keeps them running until ctx ends. Then it stops
// them in order: no new work, what is in flight finishes (within Drain), TERM,
// Grace, KILL. It returns when every process has been reaped. A command that
// cannot be executed at all is an error at once; Run can be called once.
func (s *Supervisor) Run(ctx context.Context) error {
	if !s.started.CompareAndSwap(false, true) {
		return fmt.Errorf("fleet %s: Run was called before", s.cfg.Name)
	}
	s.memory.open()
	s.forker = proc.NewThread()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, w := range s.slots {
		s.cfg.Registry.Add(w.name)
	}
	var wg sync.WaitGroup
	for _, w := range s.slots {
		wg.Go(func() { w.run(ctx, cancel) })
	}
	close(s.running)
	<-ctx.Done()
	close(s.over)
	wg.Wait()
	s.lives.Wait()
	s.forker.Close()
	if cause := context.Cause(ctx); errors.Is(cause, errCommand) {
		return cause
	}
	return nil
}

// errCommand marks an error by which no worker can ever start.
var errCommand = errors.New("the command cannot be run")

// Restart replaces the workers one at a time: the successor starts, and when it
// is ready the old process gets no new work, finishes what it has, and is
// stopped. A successor that does not get ready ends the restart; its worker and
// all that follow keep the process that they have.
func (s *Supervisor) Restart(ctx context.Context) error {
	select {
	case <-s.running:
	default:
		return fmt.Errorf("restart fleet %s: %w", s.cfg.Name, ErrNotRunning)
	}
	if !s.rolling.CompareAndSwap(false, true) {
		return fmt.Errorf("restart fleet %s: %w", s.cfg.Name, ErrRestarting)
	}
	defer s.rolling.Store(false)
	s.log.Info("rolling restart", "workers", len(s.slots))
	for i, w := range s.slots {
		if err := w.replaceBy(ctx); err != nil {
			return fmt.Errorf("restart fleet %s: stopped at worker %s, %d of %d replaced: %w",
				s.cfg.Name, w.name, i, len(s.slots), err)
		}
	}
	s.log.Info("rolling restart done", "workers", len(s.slots))
	return nil
}

// Status returns how every worker stands.
func (s *Supervisor) Status() []WorkerStatus {
	out := make([]WorkerStatus, 0, len(s.slots))
	for _, w := range s.slots {
		out = append(out, w.snapshot())
	}
	return out
}
