package flownode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/flow/taskrun"
	"github.com/bezoar-dev/bezoar/internal/judge"
	"github.com/bezoar-dev/bezoar/internal/process/guardian"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// DefaultSlots is how many attempts a node runs at once unless it is told.
const DefaultSlots = 8

// Config says what to run and how. Store, Dir and Name are required.
type Config struct {
	Store  flow.Store
	Dir    string // for logs and the journal of attempts; made if it is not there
	Name   string // of the node, the same in its next life
	Labels []string
	Slots  int // attempts at once; 0: DefaultSlots
	Works  bool
	Pools  map[string]int // sizes of pools that definitions do not tell
	Flows  []flow.Definition
	Lease  time.Duration // 0: the engine's default
	Pager  flow.Pager
	Judge  *judge.Judge // knows the downstreams; nil: the node's own

	Inherit proc.Inherit // what commands get of it
	User    string       // whom commands run as; "": as we do
	// Query answers SQL sensors; nil: there are none.
	Query func(ctx context.Context, dsn, query string) (bool, error)
	// Watch starts what kills this node's jobs when it does not renew its lease; nil:
	// nothing does. A store that one process has for itself needs none.
	Watch func(log *slog.Logger, jobs guardian.Jobs) (*guardian.Watch, error)
	Log   *slog.Logger // nil discards
}

// engine returns the settings of the engine.
func (c Config) engine(e flow.Executor) flow.Config {
	return flow.Config{
		Store: c.Store, Executor: e, Node: c.Name, Labels: c.Labels, Slots: c.Slots, Works: c.Works,
		Pools: c.Pools, Flows: c.Flows, Pager: c.Pager, Judge: c.Judge, Lease: c.Lease, Log: c.Log,
	}
}

// Validate reports every field that is at fault.
func (c Config) Validate() error {
	err := c.engine(nil).Validate()
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

// Open takes the directory. The caller owes the node a Run and a Close.
func Open(ctx context.Context, c Config) (*Node, error) {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Slots = cmp.Or(c.Slots, DefaultSlots)
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
	settings := c.engine(n.runner)
	if settings.Renewed, err = n.guarded(c); err == nil {
		n.engine, err = flow.New(settings)
	}
	if err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// guarded starts the guardian of this node's jobs. What it returns tells the guardian
// of each lease.
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
			c.Log.Warn("should this process be stopped beyond its lease, its jobs go on", "err", err)
		}
	}, nil
}

// Engine returns the engine, for starts and orders.
func (n *Node) Engine() *flow.Engine { return n.engine }

// Logs returns the executor, which has the logs of this node's attempts.
func (n *Node) Logs() *taskrun.Runner { return n.runner }

// Run works until ctx is over or a part fails.
func (n *Node) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	base, quit := context.WithCancel(context.WithoutCancel(ctx))
	defer quit()
	ran := make(chan error, 1)
	go func() {
		defer stop() // without it no attempt runs
		ran <- n.runner.Run(base)
	}()
	err := n.engine.Run(ctx)
	quit() // the engine has stopped its attempts: it needs the executor for that
	err = errors.Join(err, <-ran)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Close gives the directory up. Run must have returned.
func (n *Node) Close() error {
	if n.watch != nil {
		n.watch.Stop()
	}
	return n.runner.Close()
}
