package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/health"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/store"
	"github.com/bezoar-dev/bezoar/quota"
)

// lookEvery is how often Bezoar checks itself.
const lookEvery = 2 * time.Second

// openHealth makes the checks of Bezoar's own health.
func (a *App) openHealth() error {
	c := a.cfg.Health
	cfg := health.Config{
		Interval: lookEvery, Log: a.log, Memory: above(c.Memory), FDs: above(c.Descriptors), Disks: disks(&a.cfg),
	}
	cfg.CPU = health.Never()
	if c.CPU > 0 {
		cfg.CPU = health.Limits{
			Degraded: health.Band{Upper: float64(c.CPU), Lower: float64(c.CPU) * 0.7}, Failing: health.Never().Failing,
			For: 15 * time.Second, Calm: 15 * time.Second,
		}
	}
	var err error
	a.health, err = health.New(cfg)
	return err
}

// above returns limits for a share: degraded from r on, failing halfway between r and 1.
func above(r config.Ratio) health.Limits {
	if r == 0 {
		return health.Never()
	}
	up, bad := float64(r), (float64(r)+1)/2
	return health.Limits{Degraded: health.Band{Upper: up, Lower: up * 0.95}, Failing: health.Band{Upper: bad, Lower: up}}
}

// disks returns the disks that Bezoar writes to. A full disk degrades: stored messages can still be received and deleted,
// and requests are answered.
func disks(c *config.Config) []health.Disk {
	out := []health.Disk{}
	if c.Health.Disk == 0 {
		return out
	}
	limits := above(c.Health.Disk)
	limits.Failing = health.Never().Failing
	if c.StateDir != "" {
		out = append(out, health.Disk{Name: "disk:state_dir", Path: c.StateDir, Limits: limits})
	}
	if path, ok := strings.CutPrefix(c.Store, "sqlite:"); ok {
		out = append(out, health.Disk{Name: "disk:store", Path: filepath.Dir(path), Limits: limits})
	}
	return out
}

// checkFleets adds checks for new fleets and removes those of removed fleets.
func (a *App) checkFleets(gone, here []*unit) error {
	for _, u := range gone {
		a.health.Remove("fleet:" + u.name)
	}
	var errs []error
	for _, u := range here {
		errs = append(errs, a.health.Check("fleet:"+u.name, health.CheckConfig{
			Func: u.look, Optional: u.cfg.Load().Optional, Times: 1, Interval: time.Second,
		}))
	}
	return errors.Join(errs...)
}

// look checks the fleet's health.
func (u *unit) look(context.Context) error {
	if !slices.ContainsFunc(u.fleet.Snapshot(), func(s fleet.Status) bool { return s.Lives > 0 }) {
		return nil // the workers are starting: readiness has its own check for that
	}
	switch s := u.fleet.Stats(); {
	case u.fleet.Serving() == 0:
		return fmt.Errorf("no worker of %d serves", s.Places)
	case s.Panic:
		return fmt.Errorf("%w: only %d of %d workers look healthy, so health checks are ignored", health.ErrDegraded, s.Well, s.Up)
	case s.Well < s.Places:
		return fmt.Errorf("%w: %d of %d workers are healthy", health.ErrDegraded, s.Well, s.Places)
	}
	return nil
}

// judged reports a judgement of the fleet on a worker or on itself.
func (a *App) judged(fleetName string, j fleet.Judgement) {
	e := adminapi.Event{At: time.Now(), Kind: "worker." + string(j.Opinion), Fleet: fleetName, Worker: j.Worker, Epoch: j.Epoch}
	switch j.Opinion {
	case fleet.Sick:
		e.Text = j.Worker + " gets no work: " + j.Detail
	case fleet.Well:
		e.Text = j.Worker + " is healthy again"
	case fleet.Ejected:
		e.Text = fmt.Sprintf("%s is ejected until %s: %s", j.Worker, j.Until.UTC().Format(time.TimeOnly), j.Detail)
	case fleet.Returned:
		e.Text = j.Worker + " is back from its ejection"
	case fleet.Panic:
		e.Kind, e.Text = "panic", "so few workers look healthy that health checks are ignored: all workers that are up get work ("+j.Detail+")"
	case fleet.Calm:
		e.Kind, e.Text = "panic", "health checks count again: "+j.Detail
	}
	if j.Opinion == fleet.Panic {
		a.log.Warn("panic mode: health checks are ignored", "fleet", fleetName, "detail", j.Detail)
	} else {
		a.log.Info("fleet judged", "fleet", fleetName, "worker", j.Worker, "opinion", string(j.Opinion), "detail", j.Detail)
	}
	a.hub.Publish(e)
}

// measuredLive measures calls of the settings' store.
type measuredLive struct {
	live.Store
	store *health.Dependency
}

func (m measuredLive) Revision(ctx context.Context) (int64, error) {
	began := time.Now()
	r, err := m.Store.Revision(ctx)
	m.store.Observe(time.Since(began), health.Classify(err))
	return r, err
}

// measuredQuota measures calls of the quotas' store.
type measuredQuota struct {
	quota.Store
	store *health.Dependency
}

func (m measuredQuota) AddCounts(ctx context.Context, b quota.Batch) (quota.Totals, error) {
	began := time.Now()
	t, err := m.Store.AddCounts(ctx, b)
	m.store.Observe(time.Since(began), health.Classify(err))
	return t, err
}

// checkStore checks the file of the store, if there is one. What is written to a deleted file is lost, so Bezoar must not
// go on as it does without a store.
func (a *App) checkStore() error {
	if err := a.adviseStore(); err != nil || a.stores.Check == nil {
		return err
	}
	look := func(ctx context.Context) error {
		err := a.stores.Check(ctx)
		if errors.Is(err, store.ErrFull) {
			return fmt.Errorf("%w: %w", health.ErrDegraded, err)
		}
		return err
	}
	return a.health.Check("store:file", health.CheckConfig{Func: look, Times: 1, Interval: time.Second})
}

// adviseStore looks for causes of a slow store. It degrades and never fails: traffic goes on, and another node would have
// the same store.
func (a *App) adviseStore() error {
	const every = 15 * time.Second
	var errs []error
	for _, advice := range a.stores.Advice {
		look := func(ctx context.Context) error {
			if err := advice.Look(ctx); err != nil {
				return fmt.Errorf("%w: %w", health.ErrDegraded, err)
			}
			return nil
		}
		errs = append(errs, a.health.Check(advice.Name, health.CheckConfig{Func: look, Interval: every, Times: advice.Times, Optional: true}))
	}
	return errors.Join(errs...)
}

// lost returns an error if nothing can be written to the store any more. A full disk is no such error.
func (a *App) lost(ctx context.Context) error {
	if a.stores.Check == nil {
		return nil
	}
	if err := a.stores.Check(ctx); !errors.Is(err, store.ErrFull) {
		return err
	}
	return nil
}

// storeHealth measures calls of the store. Bezoar goes on without the store, so a failing store only degrades.
func (a *App) storeHealth() *health.Dependency {
	return a.health.Dependency("store", health.DependencyConfig{Optional: true})
}
