package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/demo/plain"
	"github.com/bezoar-dev/bezoar/internal/demo/sample"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
)

// An unguarded stage is the same kind of fleet, kept by the same supervisor,
// behind a plain balancer with readiness and liveness checks.
type unguarded struct {
	*fleet.Fleet // the workers' lives; nothing is sent through it

	keeper   *supervise.Supervisor
	balancer *plain.Balancer
	hub      admin.Hub
	listener net.Listener

	wg     sync.WaitGroup  // the liveness checks
	ctx    context.Context //nolint:containedctx // of the liveness checks, which begin when a worker says so
	cancel context.CancelFunc
	mu     sync.Mutex                    // guards lives
	lives  map[string]context.CancelFunc // ends the liveness check of a worker
}

func newUnguarded(ctx context.Context, c Config) (*unguarded, error) {
	u := &unguarded{balancer: plain.NewBalancer(), lives: make(map[string]context.CancelFunc)}
	u.ctx, u.cancel = context.WithCancel(context.WithoutCancel(ctx))
	var err error
	if u.Fleet, err = fleet.New(fleet.Config{Name: fleetName, Ended: u.ended}); err != nil {
		return nil, err
	}
	u.keeper, err = supervise.New(supervise.Config{
		Name: fleetName, Command: c.Command, Replicas: c.Workers, Env: []string{sample.EnvBoot + "=" + c.boot.String()},
		Health: supervise.Health{Path: healthPath, Interval: healthEvery},
		Grace:  time.Second, Drain: time.Second, Memory: memory, Registry: u,
	})
	if err != nil {
		return nil, err
	}
	u.Fleet.Keep(u.keeper)
	u.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the balancer: %w", err)
	}
	return u, nil
}

// Run implements stage.
func (u *unguarded) Run(ctx context.Context, ready func(url string)) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	var kept, served error
	wg.Go(func() { kept = u.keeper.Run(running); stop() })
	srv := &http.Server{Handler: u.balancer, ReadHeaderTimeout: 10 * time.Second}
	wg.Go(func() {
		if served = srv.Serve(u.listener); errors.Is(served, http.ErrServerClosed) {
			served = nil
		}
		stop()
	})
	if whole(running, u) {
		ready("http://" + u.listener.Addr().String())
	}
	<-running.Done()
	_ = srv.Close() // nobody waits for an answer any more
	u.cancel()
	wg.Wait()
	u.wg.Wait()
	u.balancer.Close()
	return errors.Join(kept, served)
}

// Serving implements stage.
func (u *unguarded) Serving() (n, all int) {
	workers := u.Fleet.Snapshot()
	for _, w := range workers {
		if w.State == fleet.Serving && w.Sick == "" {
			n++
		}
	}
	return n, len(workers)
}

// Events implements stage.
func (u *unguarded) Events() *admin.Hub { return &u.hub }

// The methods below are what the supervisor tells of its workers, where that is not
// the fleet's concern alone. Nothing is sent through the fleet, so there is never
// anything to wait for.

// Up puts a new life into rotation and begins to check that it lives.
func (u *unguarded) Up(worker, addr string) uint64 {
	epoch := u.Fleet.Up(worker, addr)
	u.balancer.Up(worker, addr)
	ctx, cancel := context.WithCancel(u.ctx)
	u.mu.Lock()
	u.lives[worker] = cancel
	u.mu.Unlock()
	u.wg.Go(func() {
		if plain.Watch(ctx, "http://"+addr+healthPath) {
			u.keeper.Kill(worker, epoch, "it failed its liveness checks")
		}
	})
	return epoch
}

// Sick takes a worker out of rotation that says it is not ready.
func (u *unguarded) Sick(worker string, epoch uint64, why string) (out bool) {
	if out = u.Fleet.Sick(worker, epoch, why); out {
		u.balancer.Down(worker)
	}
	return out
}

// Well puts it back.
func (u *unguarded) Well(worker string, epoch uint64) {
	u.Fleet.Well(worker, epoch)
	if w := u.Fleet.Worker(worker, epoch); w != nil {
		u.balancer.Up(worker, w.Addr())
	}
}

// Drain takes a worker out of rotation that is about to be stopped.
func (u *unguarded) Drain(worker string) {
	u.balancer.Down(worker)
	u.Fleet.Drain(worker)
}

// Resume puts it back.
func (u *unguarded) Resume(worker string) {
	u.Fleet.Resume(worker)
	for _, s := range u.Fleet.Snapshot() {
		if s.Name == worker && s.Addr != "" {
			u.balancer.Up(worker, s.Addr)
		}
	}
}

// Retire takes a worker out of rotation in whose place another begins. Nothing
// replaces workers here.
func (u *unguarded) Retire(worker string, epoch uint64) bool {
	u.balancer.Down(worker)
	return u.Fleet.Retire(worker, epoch)
}

// Down ends a life.
func (u *unguarded) Down(worker string, epoch uint64, end fleet.End) {
	u.balancer.Down(worker)
	u.Fleet.Down(worker, epoch, end)
}

// ended is told of every end once.
func (u *unguarded) ended(epoch uint64, worker string, end fleet.End) {
	u.mu.Lock()
	cancel := u.lives[worker]
	delete(u.lives, worker)
	u.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	class, what := end.Class, worker+" died: "
	if end.Planned {
		class, what = bezoar.Interrupted, worker+" was stopped: "
	}
	u.hub.Publish(adminapi.Event{
		At: end.At, Kind: kindDown, Fleet: fleetName, Worker: worker, Epoch: epoch,
		Class: &class, Text: what + end.Detail,
	})
}
