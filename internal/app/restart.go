package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/supervise"
)

// rolloutGrace is how long after a rollout convictions stay suspended: a bad
// build shows itself soon.
const rolloutGrace = 10 * time.Second

// restart begins a rolling restart of u in the background; one at a time.
func (a *App) restart(u *unit) error {
	if !u.restarting.CompareAndSwap(false, true) {
		return adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, "fleet "+u.name+" is being restarted already")
	}
	if !a.inBackground(func() { a.restarting(u) }) {
		u.restarting.Store(false)
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "Bezoar is not serving")
	}
	return nil
}

// restarting restarts u, and again while there were new settings meanwhile that
// some of its processes do not have.
func (a *App) restarting(u *unit) {
	for again := true; again; {
		u.due.Store(false)
		u.rollout(a.life, a)
		u.restarting.Store(false)
		again = u.due.Load() && u.super.Outdated() && a.life.Err() == nil && u.restarting.CompareAndSwap(false, true)
	}
}

// rollout replaces u's workers one after another with convictions suspended,
// then gives every convict an early probe on the new build.
func (u *unit) rollout(ctx context.Context, a *App) {
	rctx, stop := context.WithCancel(ctx)
	var suspend sync.WaitGroup
	defer suspend.Wait()
	defer stop()
	suspend.Go(func() { u.suspend(rctx) })
	err := u.super.Restart(ctx)
	if errors.Is(err, supervise.ErrNotRunning) || ctx.Err() != nil {
		a.log.Info("rolling restart ended with the fleet", "fleet", u.name)
		return
	}
	if err != nil {
		a.log.Error("rolling restart stopped", "fleet", u.name, "err", err)
		return
	}
	u.ledger.NewBuild()
	u.watchdog.clear("")
}

// suspend keeps the fleet gate closed until ctx ends.
func (u *unit) suspend(ctx context.Context) {
	tick := time.NewTicker(rolloutGrace / 2)
	defer tick.Stop()
	for {
		u.ledger.Suspend(rolloutGrace)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// restarts begins a rolling restart for each value of Options.Restart.
func (a *App) restarts(ctx context.Context) error {
	for {
		select {
		case <-a.opt.Restart:
			a.hangUp(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}

// restartAll begins a rolling restart of every fleet that Bezoar started.
func (a *App) restartAll() {
	for _, u := range a.now.Load().units {
		if u.super == nil {
			continue
		}
		if err := a.restart(u); err != nil {
			a.log.Warn("rolling restart not begun", "fleet", u.name, "err", err)
		}
	}
}
