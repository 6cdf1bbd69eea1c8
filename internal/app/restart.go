package app

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
)

// rolloutGrace is how long convictions stay suspended after a rollout: a bad build fails soon.
const rolloutGrace = 10 * time.Second

// restart begins a rolling restart of u in the background and returns its number. One runs at a time.
func (a *App) restart(u *unit) (number int, err error) {
	if !u.restarting.CompareAndSwap(false, true) {
		return 0, adminapi.NewProblem(http.StatusConflict, adminapi.CodeConflict, "fleet "+u.name+" is being restarted already")
	}
	last, _ := u.super.Rollout()
	if !a.inBackground(func() { a.restarting(u) }) {
		u.restarting.Store(false)
		return 0, adminapi.NewProblem(http.StatusServiceUnavailable, adminapi.CodeUnavailable, "Bezoar is not serving")
	}
	return last.Number + 1, nil
}

// restarting restarts u, and again if new settings came meanwhile that some of its processes do not have.
func (a *App) restarting(u *unit) {
	for again := true; again; {
		u.due.Store(false)
		u.rollout(a.life, a)
		u.restarting.Store(false)
		again = u.due.Load() && u.super.Outdated() && a.life.Err() == nil && u.restarting.CompareAndSwap(false, true)
	}
}

// rollout replaces u's workers one after another, at first with convictions suspended. Then every convict gets an early
// probe on the new build.
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
		u.stopped.Add(1)
		a.log.Error("rolling restart stopped", "fleet", u.name, "err", err, "next", nextStep)
		a.hub.Publish(adminapi.Event{At: time.Now(), Kind: "rollout", Fleet: u.name, Text: err.Error() + ". " + nextStep})
		return
	}
	u.ledger.NewBuild()
	u.watchdog.clear("")
}

// nextStep is advice for a rolling restart that has stopped.
const nextStep = "The workers that were not replaced still run the old version. Repair the new version and restart the fleet again, " +
	"or go back to the previous version (bezoar config rollback, or the old files and bezoar fleet restart)."

// rolloutView returns the state of u's newest rolling restart; nil if there was none.
func (u *unit) rolloutView() *adminapi.Rollout {
	if u.super == nil {
		return nil
	}
	r, ok := u.super.Rollout()
	if !ok {
		return nil
	}
	out := &adminapi.Rollout{
		Number: r.Number, State: string(r.State), Began: r.Began, Ended: r.Ended, Workers: r.Workers, Replaced: r.Replaced,
		Worker: r.Worker, Tries: r.Tries, Why: r.Why, Stopped: int(u.stopped.Load()),
	}
	if r.State == supervise.RolloutStopped {
		out.Next = nextStep
	}
	return out
}

// suspend keeps the fleet gate closed until ctx ends or one new process has proven itself: from then on a death says
// something about the work again.
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
		if r, ok := u.super.Rollout(); ok && r.Replaced > 0 && u.cfg.Load().Bake.Time > 0 {
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
		if _, err := a.restart(u); err != nil {
			a.log.Warn("a rolling restart could not begin", "fleet", u.name, "err", err)
		}
	}
}
