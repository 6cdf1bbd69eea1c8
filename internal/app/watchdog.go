package app

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
	"github.com/bezoar-dev/bezoar/internal/process/watchdog"
)

// replacePatience is time for the replacement of a worker beyond what the settings say, such as for the start of the
// successor.
const replacePatience = time.Minute

// fleetWatchdog runs a fleet's watchdog, if its settings want one. It is also the watchdog's view of the fleet.
type fleetWatchdog struct {
	a *App
	u *unit

	mu      sync.Mutex // guards what follows
	running *watchdog.Watchdog
	changed chan struct{} // closed when running is replaced
}

// openWatchdog makes the watchdog of a fleet whose workers Bezoar starts.
func (u *unit) openWatchdog(a *App) error {
	if u.super == nil {
		return nil
	}
	u.watchdog = &fleetWatchdog{a: a, u: u, changed: make(chan struct{})}
	return u.watchdog.set(u.cfg.Load())
}

// watchdogOf returns the watchdog's settings; false if it has nothing to watch.
func watchdogOf(f *config.Fleet) (watchdog.Config, bool) {
	w := f.Watchdog
	if w == nil {
		return watchdog.Config{}, false
	}
	cfg := watchdog.Config{
		Rules: watchdog.Rules{
			Limits: watchdog.Limits{Memory: int64(w.Memory), Growth: int64(w.Growth), Descriptors: float64(w.Descriptors), Threads: w.Threads},
			For:    w.For, Share: float64(w.Share), MinUptime: w.MinUptime, PerHour: w.PerHour,
		},
		Patience: replacePatience + f.Drain + f.Grace,
	}
	cfg.MinUptime = cmp.Or(cfg.MinUptime, watchdog.Off)
	return cfg, cfg.Limits != (watchdog.Limits{})
}

// watchdogFits returns why the watchdog cannot do what the settings want.
func watchdogFits(f *config.Fleet) error {
	cfg, wanted := watchdogOf(f)
	if !wanted {
		return nil
	}
	if err := cfg.Validate(); err != nil {
		return fmt.Errorf("watchdog: %w", err)
	}
	return nil
}

// set changes the watchdog's settings to f's.
func (fw *fleetWatchdog) set(f *config.Fleet) error {
	cfg, wanted := watchdogOf(f)
	fw.mu.Lock()
	defer fw.mu.Unlock()
	if fw.running != nil && wanted {
		return fw.running.Update(cfg)
	}
	if fw.running == nil && !wanted {
		return nil
	}
	var wd *watchdog.Watchdog
	if wanted {
		cfg.Name, cfg.Target, cfg.Held = fw.u.name, fw, fw.held
		cfg.Observe, cfg.Log = fw.observe, fw.a.log
		var err error
		if wd, err = watchdog.New(cfg); err != nil {
			return err
		}
	}
	fw.running = wd
	close(fw.changed)
	fw.changed = make(chan struct{})
	return nil
}

func (fw *fleetWatchdog) current() (*watchdog.Watchdog, <-chan struct{}) {
	fw.mu.Lock()
	defer fw.mu.Unlock()
	return fw.running, fw.changed
}

// run runs the current watchdog until ctx ends.
func (fw *fleetWatchdog) run(ctx context.Context) error {
	for ctx.Err() == nil {
		wd, changed := fw.current()
		dctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		if wd != nil {
			wg.Go(func() { _ = wd.Run(dctx) }) // fails only if it runs already
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
		cancel()
		wg.Wait()
	}
	return nil
}

// clear makes the watchdog watch again what it gave up on. It reports whether there was any.
func (fw *fleetWatchdog) clear(worker string) bool {
	wd, _ := fw.current()
	return wd != nil && wd.Clear(worker)
}

// Workers implements [watchdog.Target].
func (fw *fleetWatchdog) Workers() []watchdog.Worker {
	serving := map[string]bool{}
	for _, s := range fw.u.fleet.Snapshot() {
		serving[s.Name] = s.State == fleet.Lane || s.State == fleet.Serving && !s.HeldOut
	}
	all := fw.u.super.Status()
	out := make([]watchdog.Worker, 0, len(all))
	for _, s := range all {
		w := watchdog.Worker{Name: s.Name, Life: s.Epoch, Serving: serving[s.Name]}
		if s.State == supervise.Ready || s.State == supervise.Draining {
			w.PID, w.Up = s.PID, s.Up
		}
		out = append(out, w)
	}
	return out
}

// Restart implements [watchdog.Target].
func (fw *fleetWatchdog) Restart(ctx context.Context, worker, why string) error {
	return fw.u.super.Replace(ctx, worker, why)
}

// held returns why no worker may be restarted now.
func (fw *fleetWatchdog) held() string {
	switch {
	case fw.u.restarting.Load():
		return "a rolling restart is under way"
	case fw.u.ledger.GateClosed():
		return "the fleet gate is closed: many workers died, or there was a rollout a moment ago"
	case fw.u.fleet.Stats().Panic:
		return "most workers look unhealthy, so the workers are probably not the cause"
	}
	return ""
}

// observe passes on what the watchdog did.
func (fw *fleetWatchdog) observe(e watchdog.Event) {
	fw.a.hub.Publish(adminapi.Event{At: e.At, Kind: "watchdog", Fleet: e.Fleet, Worker: e.Worker, Text: e.Text})
}

// Watchdog returns the state of a fleet's watchdog; false if it has none.
func (a *App) Watchdog(fleet string) (watchdog.Status, bool) {
	u := a.now.Load().byName[fleet]
	if u == nil || u.watchdog == nil {
		return watchdog.Status{}, false
	}
	wd, _ := u.watchdog.current()
	if wd == nil {
		return watchdog.Status{}, false
	}
	return wd.Status(), true
}

// ClearWatchdog makes the watchdog watch a worker again that it gave up on, or for "" all workers and the fleet. It reports
// whether there was any.
func (a *App) ClearWatchdog(fleet, worker string) (bool, error) {
	u := a.now.Load().byName[fleet]
	if u == nil {
		return false, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, fmt.Sprintf("there is no fleet %.60q", fleet))
	}
	if u.watchdog == nil {
		return false, nil
	}
	return u.watchdog.clear(worker), nil
}
