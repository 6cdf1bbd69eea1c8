package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Pool runs messages in children that live longer than one. Create it with
// [New]; messages can be run while Run runs.
type Pool struct {
	cfg    Config
	runner *child.Runner

	idle     chan *life    // children are offered here
	closed   chan struct{} // closed when none will be any more
	failed   error         // why, if it is a failure; valid once closed is closed
	ran      atomic.Bool
	failures atomic.Int32  // starts that failed, since the last that did not
	serial   atomic.Uint64 // names messages that have no id
}

// New returns a Pool that has started nothing yet.
func New(cfg Config) (*Pool, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	cfg = cfg.withDefaults()
	runner, err := child.New(cfg.runner())
	if err != nil {
		return nil, fmt.Errorf("pool: %w", err)
	}
	return &Pool{cfg: cfg, runner: runner, idle: make(chan *life), closed: make(chan struct{})}, nil
}

// Limits says for people which limits hold and by which means.
func (p *Pool) Limits() string { return p.runner.Limits() }

// Sweep kills what a dead predecessor of the same mark left.
func (p *Pool) Sweep(ctx context.Context) (int, error) { return p.runner.Sweep(ctx) }

var errTwice = errors.New("pool: Run was called before")

// Run keeps the children until ctx ends or they cannot be started, which is a
// [StartError]. Then no new message begins, those that run go on under their own
// contexts, idle children are asked to end by the end of their stdin, and Run
// returns when none is left. It can be called once.
func (p *Pool) Run(ctx context.Context) error {
	if !p.ran.CompareAndSwap(false, true) {
		return errTwice
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- p.runner.Run(running) }()

	serving, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var slots sync.WaitGroup
	for i := range p.cfg.Size {
		slots.Go(func() {
			if err := p.tend(serving, i); err != nil {
				fail(err)
			}
		})
	}
	<-serving.Done()
	if cause := context.Cause(serving); ctx.Err() == nil {
		p.failed = cause
	}
	close(p.closed)
	slots.Wait()
	stop()
	return errors.Join(p.failed, <-ran)
}
