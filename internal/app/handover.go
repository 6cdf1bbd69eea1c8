package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/bezoar-dev/bezoar/internal/certs"
	"github.com/bezoar-dev/bezoar/internal/handover"
)

// lastCallFor is how long idle connections may still be used when this process
// ends and its listening sockets do not.
const lastCallFor = 500 * time.Millisecond

// openSockets has the sockets that were given, and when it is to follow a running
// process, takes its sockets and waits until it has let go of everything else.
func (a *App) openSockets(ctx context.Context) error {
	if a.sockets = a.opt.Sockets; a.sockets == nil {
		a.sockets = new(handover.Sockets)
	}
	a.succeeds = a.sockets.Outlive()
	if !a.opt.TakeOver {
		return nil
	}
	switch {
	case a.cfg.StateDir == "":
		return errors.New("there is nothing to take over without a state directory (state_dir)")
	case a.succeeds:
		return errors.New("a service manager has given the listening sockets: there is nothing to take over")
	}
	if err := a.checkFiles(); err != nil {
		return err
	}
	s, before, err := handover.Take(ctx, a.cfg.StateDir)
	if err != nil {
		return fmt.Errorf("take over: %w", err)
	}
	a.sockets = s
	if before == nil {
		a.log.Info("nothing runs here that could be taken over")
		return nil
	}
	a.succeeds = true
	a.log.Info("taking over: callers wait until the process before has finished", "pid", before.PID)
	if err := before.Wait(ctx); err != nil {
		return fmt.Errorf("take over from process %d: %w", before.PID, err)
	}
	return nil
}

// checkFiles reads what the settings name, so that what is wrong with it is known
// while somebody else still serves.
func (a *App) checkFiles() error {
	_, err := a.cfg.AdminToken()
	_, badKeys := accessKeys(a.cfg.AccessKeys)
	err = errors.Join(err, badKeys)
	if a.cfg.TLS != nil {
		_, bad := certs.Load(pairsOf(a.cfg.TLS))
		err = errors.Join(err, bad)
	}
	return err
}

// listen returns how the listener of a name is opened.
func (a *App) listen(name string) func(addr string) (net.Listener, error) {
	return func(addr string) (net.Listener, error) { return a.sockets.Listen(name, addr) }
}

// lastCall says whether idle connections stay for a moment when this process ends,
// because who comes anew waits for the next one.
func (a *App) lastCall(outlive bool) {
	d := time.Duration(0)
	if outlive {
		d = lastCallFor
	}
	if a.front != nil {
		a.front.LastCall(d)
	}
	for _, s := range a.more {
		s.LastCall(d)
	}
	if a.sqs != nil {
		a.sqs.LastCall(d)
	}
}

// offer waits until another process has taken the listening sockets, and has this
// one end then.
func (a *App) offer(ctx context.Context, end func()) error {
	if a.cfg.StateDir == "" || a.sockets.Outlive() {
		return nil
	}
	o, err := a.sockets.Offer(a.cfg.StateDir)
	if err != nil {
		a.log.Info("no other process can take over the listening sockets", "err", err)
		return nil
	}
	next, err := o.Await(ctx)
	if err != nil {
		a.log.Warn("no other process can take over the listening sockets any more", "err", err)
	}
	if next == nil {
		return nil
	}
	a.successor = next
	a.lastCall(true)
	a.log.Info("another process has taken over the listening sockets: finishing what is in flight")
	end()
	return nil
}

// workersPatience is how long callers are left waiting for the first worker of each
// fleet: a fleet that has none holds up the others.
const workersPatience = 10 * time.Second

// awaitWorkers waits until every fleet has a worker, when sockets were open before,
// on which callers wait meanwhile. It reports false when ctx ended before.
func (a *App) awaitWorkers(ctx context.Context) bool {
	if !a.succeeds {
		return true
	}
	late := time.NewTimer(workersPatience)
	defer late.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, u := range a.now.Load().units {
		for u.fleet.Serving() == 0 && u.hopeless() == nil {
			select {
			case <-tick.C:
			case <-late.C:
				return true
			case <-ctx.Done():
				return false
			}
		}
	}
	return true
}
