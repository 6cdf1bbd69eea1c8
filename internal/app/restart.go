package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

// rolloutGrace is how long after a rollout convictions stay suspended: a bad
// build shows itself soon.
const rolloutGrace = 10 * time.Second

// restart begins a rolling restart of u in the background; one at a time.
func (a *App) restart(u *unit) error {
	if !u.restarting.CompareAndSwap(false, true) {
		return adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, "fleet "+u.name+" is being restarted already")
	}
	ctx := a.life
	if ctx == nil || ctx.Err() != nil {
		u.restarting.Store(false)
		return adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "Bezoar is not serving")
	}
	a.background.Go(func() {
		defer u.restarting.Store(false)
		u.rollout(ctx, a)
	})
	return nil
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
	if err != nil {
		a.log.Error("rolling restart stopped", "fleet", u.name, "err", err)
		return
	}
	u.ledger.NewBuild()
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
