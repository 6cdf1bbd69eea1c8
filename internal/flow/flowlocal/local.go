package flowlocal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/flow/flowpage"
	"github.com/bezoar-dev/bezoar/internal/flow/taskrun"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/internal/store/sqlite"
	"github.com/bezoar-dev/bezoar/internal/triage/tell"
)

// Default is the state directory of the current folder.
const Default = ".bezoar/flow"

// node is the name of the only node of a state directory.
const node = "local"

// ErrInUse says that another process runs the state directory.
var ErrInUse = errors.New("another bezoar runs this state directory")

// Config says what to run and how. Dir is required.
type Config struct {
	Dir     string      // the state directory; made if it is not there
	Slots   int         // attempts at once; 0: the engine's default
	Labels  []string    // that this node has
	Environ []string    // what commands inherit, and where secrets are looked for
	Secrets []string    // names of variables that commands do not get
	Mail    tell.Server // of pages by mail
	Secret  tell.Secret // signs pages by webhook
	Log     *slog.Logger
}

// Local is an open state directory.
type Local struct {
	c      Config
	db     *sqlite.DB
	runner *taskrun.Runner
	engine *flow.Engine
	api    *flowapi.Service
}

// Open takes a state directory.
func Open(ctx context.Context, c Config) (_ *Local, err error) {
	if c.Dir == "" {
		return nil, errors.New("open a state directory: Dir: is missing")
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	l := &Local{c: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.db, err = sqlite.Open(ctx, sqlite.Config{Path: file(c.Dir)}); err != nil {
		if errors.Is(err, sqlite.ErrInUse) {
			return nil, fmt.Errorf("%w: %s", ErrInUse, c.Dir)
		}
		return nil, err
	}
	l.runner, err = taskrun.Open(ctx, taskrun.Config{
		Dir: filepath.Join(c.Dir, "attempts"), Environ: c.Environ, Inherit: proc.Inherit{Secrets: c.Secrets}, Query: store.Probe, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	pager, err := flowpage.New(flowpage.Config{
		Teller: tell.New(tell.Config{Environ: c.Environ, Secrets: c.Secrets, Mail: c.Mail}), Secret: c.Secret, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	l.engine, err = flow.New(flow.Config{
		Store: l.db.Flow(), Executor: l.runner, Node: node, Labels: c.Labels, Slots: c.Slots,
		Pager: pager, Log: c.Log,
	})
	if err != nil {
		return nil, err
	}
	l.api, err = flowapi.New(flowapi.Config{
		Store: l.db.Flow(), Rows: l.db.Flow(), Logs: l.runner, Node: node, Ordered: func(flow.Order) { l.engine.Wake() },
	})
	return l, err
}

func file(dir string) string { return filepath.Join(dir, "flow.db") }

// Exists reports whether dir is a state directory.
func Exists(dir string) bool {
	_, err := os.Stat(file(dir))
	return err == nil
}

// Engine returns the engine, for starts and backfills.
func (l *Local) Engine() *flow.Engine { return l.engine }

// Flows is what people see and do.
func (l *Local) Flows() flowapi.Flows { return l.api }

// Settled reports whether every order about a run has been carried out.
func (l *Local) Settled(ctx context.Context, run string) (bool, error) {
	r, err := l.db.Flow().Run(ctx, run)
	if err != nil || r.Owner != node {
		return false, err // the engine has not taken the run yet
	}
	orders, err := l.db.Flow().Orders(ctx, node)
	return !slices.ContainsFunc(orders, func(o flow.Order) bool { return o.Run == run }), err
}

// Run plans, runs attempts and answers on the socket until ctx is over. Then it
// ends attempts, which go on when the directory is run again.
func (l *Local) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, unlisten, err := listen(l.c.Dir)
	if err != nil {
		return err
	}
	defer unlisten()
	srv := &http.Server{
		Handler:           flowapi.NewServer(l.api, l.c.Log),
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          slog.NewLogLogger(l.c.Log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	// The runner goes last: the engine stops its attempts by it.
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var parts sync.WaitGroup
	var mu sync.Mutex
	var faults []error
	part := func(over func(), run func() error) {
		parts.Go(func() {
			defer over()
			err := run()
			mu.Lock()
			defer mu.Unlock()
			faults = append(faults, err)
		})
	}
	part(cancel, func() error { return l.runner.Run(running) })
	part(func() { cancel(); stop(); _ = srv.Close() }, func() error { return l.engine.Run(ctx) })
	part(cancel, func() error {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	parts.Wait()
	if err := errors.Join(faults...); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run flows in %s: %w", l.c.Dir, err)
	}
	return nil
}

// Close releases the directory.
func (l *Local) Close() error {
	var faults []error
	if l.runner != nil {
		faults = append(faults, l.runner.Close())
	}
	if l.db != nil {
		faults = append(faults, l.db.Close())
	}
	return errors.Join(faults...)
}

// Dial returns a client for the process that runs dir; nil when nobody does.
func Dial(ctx context.Context, dir, actor string) (*flowapi.Client, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	path, done, err := socket(dir)
	if err != nil {
		return nil, nil //nolint:nilerr // there is no such directory, so nobody runs it
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		done()
		return nil, nil //nolint:nilerr // nobody listens
	}
	_ = conn.Close() // it answers
	api, err := adminapi.New(adminapi.Config{Socket: path, Actor: actor})
	if err != nil {
		done()
		return nil, err
	}
	return flowapi.NewClient(api), nil
}
