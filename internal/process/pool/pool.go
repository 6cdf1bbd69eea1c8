package pool

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bezoar-dev/bezoar/internal/process/child"
)

// Pool runs messages in children that live longer than one message. Create it with [New]. It accepts messages while Run
// runs, from several goroutines.
type Pool struct {
	cfg    Config
	runner *child.Runner

	idle     chan *life    // free children
	closed   chan struct{} // closed when there will be no more free children
	failed   error         // why, after a failure; valid once closed is closed
	ran      atomic.Bool
	failures atomic.Int32  // failed starts in a row
	serial   atomic.Uint64 // creates ids for messages that have none
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

// Limits describes in words which limits are enforced, and how.
func (p *Pool) Limits() string { return p.runner.Limits() }

// Sweep kills the processes that a dead predecessor with the same mark left.
func (p *Pool) Sweep(ctx context.Context) (int, error) { return p.runner.Sweep(ctx) }

var errTwice = errors.New("pool: Run was called before")

// Run keeps the children running until ctx ends, or until they cannot be started, which is a [StartError]. Then it starts
// no new message, lets running ones continue under their own contexts, and closes the stdin of idle children so that they
// end. It returns when no child is left. It can be called once.
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
