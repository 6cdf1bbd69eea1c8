package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// tuned returns the fleet's configuration from the settings.
func tuned(cfg *config.Fleet) fleet.Config {
	return fleet.Config{
		MaxInFlight: cfg.MaxInFlight,
		LaneShare:   float64(cfg.LaneShare),
		SlowStart:   cfg.Balance.SlowStart,
		Eject:       ejectOf(cfg.Balance.Eject),
		PanicBelow:  float64(cfg.Health.PanicBelow),
	}
}

// fits returns why the fleet could not change to cfg.
func (u *unit) fits(a *App, cfg *config.Fleet) error {
	var err error
	if u.super == nil {
		_, bad := workerTrust(u.name, cfg.TLS, a.log)
		if err = u.remote(cfg, a.log).Validate(); bad != nil {
			return bad
		}
	} else {
		err = errors.Join(u.local(cfg, a.opt, a.log).Validate(), watchdogFits(cfg))
	}
	fc := tuned(cfg)
	fc.Name = u.name
	if err = errors.Join(err, fc.Validate()); err != nil {
		return fmt.Errorf("fleets.%s: %w", u.name, err)
	}
	return nil
}

// reshape changes the fleet's workers to its settings. Slow changes go on in the background, such as workers that finish
// their work, and the rolling restart that new settings of processes need.
func (u *unit) reshape(a *App) error {
	cfg := u.cfg.Load()
	err := u.fleet.Tune(tuned(cfg))
	if u.super == nil {
		return errors.Join(err, u.trustWorkers(cfg, a.log), u.prober.Update(u.remote(cfg, a.log)))
	}
	restart, failed := u.super.Update(u.local(cfg, a.opt, a.log))
	if restart {
		a.renew(u)
	}
	return errors.Join(err, failed, u.watchdog.set(cfg))
}

// renew begins a rolling restart of u's workers. If one is under way, another one follows it.
func (a *App) renew(u *unit) {
	u.due.Store(true)
	if u.restarting.CompareAndSwap(false, true) && !a.inBackground(func() { a.restarting(u) }) {
		u.restarting.Store(false)
	}
}

// inBackground runs f in a goroutine. It returns false, and does not run f, if Bezoar is about to stop.
func (a *App) inBackground(f func()) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life == nil || a.life.Err() != nil {
		return false
	}
	a.background.Go(f)
	return true
}

// retireLater stops removed fleets once the requests that may still reach them have ended. Their names are taken until
// then.
func (a *App) retireLater(units []*unit) {
	if len(units) == 0 {
		return
	}
	if a.leaving == nil {
		a.leaving = map[string]chan struct{}{}
	}
	stopped := make(chan struct{})
	for _, u := range units {
		a.leaving[u.name] = stopped
	}
	retire := func() {
		defer close(stopped)
		a.retire(units, a.drained)
	}
	if !a.inBackground(retire) {
		retire()
	}
}

// left waits until a removed fleet of that name, if there is one, has stopped.
func (a *App) left(ctx context.Context, name string) error {
	gone := a.leaving[name]
	if gone == nil {
		return nil
	}
	select {
	case <-gone:
		delete(a.leaving, name)
		return nil
	case <-ctx.Done():
		return fmt.Errorf("fleets.%s: the previous fleet of that name has not stopped yet: %w", name, ctx.Err())
	}
}
