package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// fixed returns the settings that cannot change while the process runs.
func fixed(c *config.Config) map[string]any {
	return map[string]any{
		"listen": c.Listen, "listeners": c.Listeners, "connections": c.Connections, "admin": c.Admin, "admin_token_file": c.AdminTokenFile, "admin_token_env": c.AdminTokenEnv,
		"store": c.Store, "state_dir": c.StateDir, "tls (with or without)": c.TLS != nil, "tls.redirect": redirectFrom(c), "sqs": c.SQS, "sqs_hosts": c.SQSHosts, "sqs_tls": c.SQSTLS,
		"access_keys": c.AccessKeys, "node": c.Node, "live": c.Live, "tracing": c.Tracing, "flows": c.Flows,
		"store_wait": c.StoreWait, "shutdown_delay": c.ShutdownDelay,
	}
}

// NeedsRestart names settings that differ from those at the start of this process and cannot change while it runs.
func (a *App) NeedsRestart(cfg config.Config) []string {
	was, is := fixed(&a.cfg), fixed(&cfg)
	var out []string
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if !reflect.DeepEqual(was[key], is[key]) {
			out = append(out, key)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		if cfg.Fleets[name].Drain > longestDrain(&a.cfg) {
			out = append(out, "fleets."+name+".drain (beyond what the listener waits for)")
		}
	}
	return out
}

// errStopping means that settings cannot change because Bezoar does not serve.
var errStopping = errors.New("the settings cannot change: Bezoar is not serving")

// Reload serves cfg from now on. Requests in flight end with the settings that they began with. Either all of cfg is in
// force when it returns, or it returns an error and the old settings stay in force. Settings that cannot change while
// Bezoar runs stay as they are. One call waits for another. Once Run has begun to stop, Reload returns an error.
func (a *App) Reload(ctx context.Context, cfg config.Config) error { return a.reload(ctx, cfg, nil) }

// reload is Reload with the content of files that cfg names.
func (a *App) reload(ctx context.Context, cfg config.Config, f files) error {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	if a.life == nil || a.life.Err() != nil {
		return errStopping
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.life, cancel)()
	if err := errors.Join(cfg.Validate(), a.checkOuter(&cfg)); err != nil {
		return err
	}
	now := a.now.Load()
	next, added, err := a.nextUnits(ctx, now, cfg)
	if err == nil {
		next.outboxes, err = a.outboxesOf(now, &next.cfg)
	}
	if err == nil {
		next.files = f
		err = a.await(ctx, added)
	}
	if err == nil {
		err = a.ensureQueues(ctx, &next.cfg, true)
	}
	pairs, bad := a.loadCerts(&cfg)
	err = cmp.Or(err, bad)
	if err == nil {
		err = a.swap(next)
	}
	if err != nil {
		a.retire(added, func(*unit) {})
		return err
	}
	a.now.Store(next)
	if pairs != nil {
		a.certs.Use(pairs)
	}
	a.protect.tidy(&next.cfg)
	a.adoptGuards(next)
	old := gone(now, next)
	err = a.see(next, nil, nil)
	a.retireLater(old)
	err = errors.Join(err, a.checkFleets(old, added), a.reshape(next), a.triage.SetSources(a.sources(next)), a.replaceAlarms(next), a.replacePushes(next), a.replacePolls(), a.replaceOutboxes(next))
	return err
}

// nextUnits makes the next generation of existing fleets, and the new fleets, which do not serve yet.
func (a *App) nextUnits(ctx context.Context, now *present, cfg config.Config) (next *present, added []*unit, err error) {
	next = &present{cfg: cfg, byName: map[string]*unit{}}
	for _, name := range slices.Sorted(maps.Keys(cfg.Fleets)) {
		f := cfg.Fleets[name]
		if u := now.byName[name]; u != nil {
			if (u.super == nil) != (len(f.Workers) > 0) {
				return nil, added, fmt.Errorf("fleets.%s: a running fleet cannot change between command and workers: give the new fleet another name", name)
			}
			if u.cfg.Load().HTTP2 != f.HTTP2 {
				return nil, added, fmt.Errorf("fleets.%s.http2: it cannot change while the fleet runs: give the fleet another name", name)
			}
			if err := u.fits(a, &f); err != nil {
				return nil, added, err
			}
			next.add(u)
			continue
		}
		if err := a.left(ctx, name); err != nil {
			return nil, added, err
		}
		u, err := a.newUnit(name, f, rulesOf(&cfg, name))
		if u != nil {
			added = append(added, u)
			next.add(u)
		}
		if err != nil {
			return nil, added, err
		}
	}
	return next, added, nil
}

// swap makes the gateway serve next.
func (a *App) swap(next *present) error {
	if a.gateway == nil {
		if len(next.cfg.Routes) > 0 && a.cfg.Listen != "" {
			return errors.New("routes: Bezoar was started without routes, so nothing listens: start it again")
		}
		return nil
	}
	if len(next.cfg.Routes) == 0 {
		return errors.New("routes: none is left; to serve no callers, stop Bezoar")
	}
	cfg, err := a.gatewayConfig(next)
	if err != nil {
		return err
	}
	return a.gateway.Swap(cfg)
}

// reshape changes existing fleets as next says.
func (a *App) reshape(next *present) error {
	var errs []error
	for _, u := range next.units {
		f := next.cfg.Fleets[u.name]
		rules := rulesOf(&next.cfg, u.name)
		u.rules.Store(&rules)
		was := u.cfg.Swap(&f)
		if !reflect.DeepEqual(*was, f) {
			errs = append(errs, u.reshape(a))
		}
		u.ledger.SetFleet(u.size())
	}
	return errors.Join(errs...)
}

// gone returns the fleets that next does not have.
func gone(now, next *present) []*unit {
	var out []*unit
	for _, u := range now.units {
		if next.byName[u.name] != u {
			out = append(out, u)
		}
	}
	return out
}

// retire stops fleets, each after wait.
func (a *App) retire(units []*unit, wait func(*unit)) {
	err := errors.Join(
		stopAll(units, func(u *unit) error { wait(u); return u.workers.stop() }),
		stopAll(units, func(u *unit) error { return u.inner.stop() }),
	)
	for _, u := range units {
		if u.closer != nil {
			err = errors.Join(err, u.closer.Close())
		}
	}
	if err != nil {
		a.log.Warn("fleets were stopped with errors", "err", err)
	}
}

// drained waits until no request can reach the fleet any more and nothing is in flight, at most for the fleet's drain time.
func (a *App) drained(u *unit) {
	ctx, cancel := context.WithTimeout(a.base, u.cfg.Load().Drain)
	defer cancel()
	if a.gateway != nil {
		_ = a.gateway.Settled(ctx) // the rest is cut off
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for u.busy() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (u *unit) busy() bool {
	return slices.ContainsFunc(u.fleet.Snapshot(), func(s fleet.Status) bool { return s.InFlight > 0 }) || u.doer.Stats().Waiting > 0
}
