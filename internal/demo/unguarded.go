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
	fleet    *fleet.Fleet // the workers' lives; nothing is sent through it
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
	if u.fleet, err = fleet.New(fleet.Config{Name: fleetName, Ended: u.ended}); err != nil {
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
	u.fleet.Keep(u.keeper)
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
	workers := u.fleet.Snapshot()
	for _, w := range workers {
		if w.State == fleet.Serving && w.Sick == "" {
			n++
		}
	}
	return n, len(workers)
}

// Events implements stage.
func (u *unguarded) Events() *admin.Hub { return &u.hub }

// The methods below are what the supervisor tells of its workers.

// Add makes a place for a worker.
func (u *unguarded) Add(worker string) { u.fleet.Add(worker) }

// Remove takes a worker's place away.
func (u *unguarded) Remove(worker string) error { return u.fleet.Remove(worker) }

// Up puts a new life into rotation and begins to check that it lives.
func (u *unguarded) Up(worker, addr string) uint64 {
	epoch := u.fleet.Up(worker, addr)
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
	if out = u.fleet.Sick(worker, epoch, why); out {
		u.balancer.Down(worker)
	}
	return out
}

// Well puts it back.
func (u *unguarded) Well(worker string, epoch uint64) {
	u.fleet.Well(worker, epoch)
	if w := u.fleet.Worker(worker, epoch); w != nil {
		u.balancer.Up(worker, w.Addr())
	}
}

// Drain takes a worker out of rotation that is about to be stopped.
func (u *unguarded) Drain(worker string) {
	u.balancer.Down(worker)
	u.fleet.Drain(worker)
}

// Resume puts it back.
func (u *unguarded) Resume(worker string) {
	u.fleet.Resume(worker)
	for _, s := range u.fleet.Snapshot() {
		if s.Name == worker && s.Addr != "" {
			u.balancer.Up(worker, s.Addr)
		}
	}
}

// Idle waits for what is in flight: with nothing sent through the fleet there is
// nothing to wait for.
func (u *unguarded) Idle(ctx context.Context, worker string) error { return u.fleet.Idle(ctx, worker) }

// Retire takes a worker out of rotation in whose place another begins. Nothing
// replaces workers here.
func (u *unguarded) Retire(worker string, epoch uint64) bool {
	u.balancer.Down(worker)
	return u.fleet.Retire(worker, epoch)
}

// Retired waits as Idle does.
func (u *unguarded) Retired(ctx context.Context, worker string, epoch uint64) error {
	return u.fleet.Retired(ctx, worker, epoch)
}

// Down ends a life.
func (u *unguarded) Down(worker string, epoch uint64, end fleet.End) {
	u.balancer.Down(worker)
	u.fleet.Down(worker, epoch, end)
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

// Bake and Proof are asked in rolling restarts only, of which there are none here.
func (u *unguarded) Bake(worker string, epoch uint64, on bool) { u.fleet.Bake(worker, epoch, on) }

// Proof returns what a life has shown.
func (u *unguarded) Proof(worker string, epoch uint64) (answered uint64, out string) {
	return u.fleet.Proof(worker, epoch)
}
