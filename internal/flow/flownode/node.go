package flownode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/taskrun"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// Config configures a Node. Store, Node and Dir are required.
type Config struct {
	flow.Config        // without Executor and Renewed, which are the node's own
	Dir         string // for logs and the journal of attempts; created if missing

	Inherit proc.Inherit // which variables commands inherit
	User    string       // user of the commands; "": the user of this process
	// Query runs the queries of SQL sensors; nil: SQL sensors fail.
	Query func(ctx context.Context, dsn, query string) (bool, error)
	// Watch starts the guardian that kills this node's jobs if it does not renew its lease; nil: none. A store that only
	// one process uses needs none.
	Watch func(log *slog.Logger, jobs guardian.Jobs) (*guardian.Watch, error)
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error {
	err := c.Config.Validate()
	if c.Dir == "" {
		err = errors.Join(err, errors.New("Dir: missing"))
	}
	return err
}

// Node plans flows and runs their attempts. Create it with [Open].
type Node struct {
	runner *taskrun.Runner
	engine *flow.Engine
	watch  *guardian.Watch // nil: none
}

// Open opens the directory. The caller must call Run and Close.
func Open(ctx context.Context, c Config) (*Node, error) {
	c.Config = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open a node of flows: %w", err)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	n := new(Node)
	n.runner, err = taskrun.Open(ctx, taskrun.Config{
		Dir: dir, Inherit: c.Inherit, User: c.User, Query: c.Query, Log: c.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open a node of flows: %w", err)
	}
	c.Executor = n.runner
	if c.Renewed, err = n.guarded(c); err == nil {
		n.engine, err = flow.New(c.Config)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// guarded starts the guardian of this node's jobs. The returned function passes each renewed lease to it.
func (n *Node) guarded(c Config) (renewed func(time.Time), err error) {
	if c.Watch == nil {
		return nil, nil
	}
	n.watch, err = c.Watch(c.Log, n.runner.Jobs())
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		n.watch = nil
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("start the guardian of this node's jobs: %w", err)
	}
	return func(until time.Time) {
		if err := n.watch.Beat(until); err != nil {
			c.Log.Warn("this node's jobs have no guardian: if this process is suspended for longer than its lease, its jobs keep running", "err", err)
		}
	}, nil
}

// Engine returns the engine, for starts and orders.
func (n *Node) Engine() *flow.Engine { return n.engine }

// Logs returns the executor, which has the logs of this node's attempts.
func (n *Node) Logs() *taskrun.Runner { return n.runner }

// Run works until ctx ends or a part fails.
func (n *Node) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	base, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	ran := make(chan error, 1)
	go func() {
		defer stop() // without it, no attempt can run
		ran <- n.runner.Run(base)
	}()
	err := n.engine.Run(ctx)
	quit() // only now: the engine needs the executor to stop its attempts
	err = errors.Join(err, <-ran)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Close releases the directory. Run must have returned.
func (n *Node) Close() error {
	if n.watch != nil {
		n.watch.Stop()
	}
	return n.runner.Close()
}
