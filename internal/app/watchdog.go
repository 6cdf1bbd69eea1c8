package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/fleet"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/probe"
	"github.com/bezoar-dev/bezoar/internal/supervise"
	"github.com/bezoar-dev/bezoar/watchdog"
)

// replacePatience is how long the start of a successor, and what is not said in
// the settings, may take of a worker's replacement.
const replacePatience = time.Minute

// kennel keeps a fleet's watchdog, if its settings want one. It is the watchdog's
// view of the fleet, too.
type kennel struct {
	a *App
	u *unit

	mu      sync.Mutex // guards what follows
	dog     *watchdog.Watchdog
	changed chan struct{}                     // closed when dog is another
	last    map[string]supervise.WorkerStatus // as the watchdog saw them
}

// openWatchdog makes the watchdog of a fleet whose workers Bezoar starts.
func (u *unit) openWatchdog(a *App) error {
	if u.super == nil {
		return nil
	}
	u.dog = &kennel{a: a, u: u, changed: make(chan struct{})}
	return u.dog.set(u.cfg.Load())
}

// watchdogOf says what the settings want watched; false for nothing.
func watchdogOf(f *config.Fleet) (watchdog.Config, bool) {
	w := f.Watchdog
	if w == nil {
		return watchdog.Config{}, false
	}
	cfg := watchdog.Config{
		Limits: watchdog.Limits{
			Memory: int64(w.Memory), Growth: int64(w.Growth), Descriptors: float64(w.Descriptors),
			Threads: w.Threads, Latency: w.Latency, Pressure: float64(w.Pressure),
		},
		For: w.For, Share: float64(w.Share), MinUptime: w.MinUptime, PerHour: w.PerHour,
		Patience: replacePatience + f.Drain + f.Grace,
	}
	if cfg.MinUptime == 0 {
		cfg.MinUptime = watchdog.Off
	}
	return cfg, cfg.Limits != (watchdog.Limits{})
}

// watchdogFits says why the watchdog could not do what the settings want.
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

// set has the fleet watched as f says from now on.
func (k *kennel) set(f *config.Fleet) error {
	cfg, wanted := watchdogOf(f)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dog != nil && wanted {
		return k.dog.Update(cfg)
	}
	if k.dog == nil && !wanted {
		return nil
	}
	var dog *watchdog.Watchdog
	if wanted {
		cfg.Name, cfg.Target, cfg.Held, cfg.Look = k.u.name, k, k.held, k.look
		cfg.Observe, cfg.Log = k.observe, k.a.log
		var err error
		if dog, err = watchdog.New(cfg); err != nil {
			return err
		}
	}
	k.dog = dog
	close(k.changed)
	k.changed = make(chan struct{})
	return nil
}

func (k *kennel) current() (*watchdog.Watchdog, <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dog, k.changed
}

// run has the watchdog of the moment watch until ctx ends.
func (k *kennel) run(ctx context.Context) error {
	for ctx.Err() == nil {
		dog, changed := k.current()
		dctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		if dog != nil {
			wg.Go(func() { _ = dog.Run(dctx) }) // fails only when it runs already
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

// clear has what was given up watched again. It reports whether there was any.
func (k *kennel) clear(worker string) bool {
	dog, _ := k.current()
	return dog != nil && dog.Clear(worker)
}

// Workers implements [watchdog.Target].
func (k *kennel) Workers() []watchdog.Worker {
	serving := map[string]bool{}
	for _, s := range k.u.fleet.Snapshot() {
		serving[s.Name] = s.State == fleet.Lane || s.State == fleet.Serving && !s.HeldOut
	}
	all := k.u.super.Status()
	last := make(map[string]supervise.WorkerStatus, len(all))
	out := make([]watchdog.Worker, 0, len(all))
	for _, s := range all {
		w := watchdog.Worker{Name: s.Name, Life: s.Epoch, Serving: serving[s.Name]}
		if s.State == supervise.Ready || s.State == supervise.Draining {
			w.PID, w.Up = s.PID, s.Up
		}
		out = append(out, w)
		last[s.Name] = s
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last = last
	return out
}

// Restart implements [watchdog.Target].
func (k *kennel) Restart(ctx context.Context, worker, why string) error {
	return k.u.super.Replace(ctx, worker, why)
}

// held says why no worker may be restarted now.
func (k *kennel) held() string {
	switch {
	case k.u.restarting.Load():
		return "a rolling restart is under way"
	case k.u.ledger.GateClosed():
		return "the fleet gate is closed: many workers died, or there was a rollout a moment ago"
	case k.u.fleet.Stats().Panic:
		return "most workers look sick, which is more likely not their fault"
	}
	return ""
}

var errSilent = errors.New("it did not answer")

// look returns how long the newest health check of a worker took. Without a
// health path, the worker is asked for HEAD / now.
func (k *kennel) look(ctx context.Context, w watchdog.Worker) (time.Duration, error) {
	k.mu.Lock()
	s := k.last[w.Name]
	k.mu.Unlock()
	health := &k.u.cfg.Load().Health
	if health.Path != "" {
		if s.Silent {
			return s.Look, errSilent
		}
		return s.Look, nil
	}
	began := time.Now()
	res := probe.Probe{Timeout: health.Timeout}.Do(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)))
	if res.Outcome != probe.Answered {
		return time.Since(began), errSilent
	}
	return time.Since(began), nil
}

// observe passes on what the watchdog did.
func (k *kennel) observe(e watchdog.Event) {
	k.a.hub.Publish(adminapi.Event{At: e.At, Kind: "watchdog", Fleet: e.Fleet, Worker: e.Worker, Text: e.Text})
}

// Watchdog returns how the watch over a fleet stands; false when it has none.
func (a *App) Watchdog(fleet string) (watchdog.Status, bool) {
	u := a.now.Load().byName[fleet]
	if u == nil || u.dog == nil {
		return watchdog.Status{}, false
	}
	dog, _ := u.dog.current()
	if dog == nil {
		return watchdog.Status{}, false
	}
	return dog.Status(), true
}

// ClearWatchdog has a worker that its watchdog gave up on watched again, or for ""
// all workers and the fleet. It reports whether there was any.
func (a *App) ClearWatchdog(fleet, worker string) (bool, error) {
	u := a.now.Load().byName[fleet]
	if u == nil {
		return false, adminapi.NewProblem(http.StatusNotFound, adminapi.CodeNotFound, fmt.Sprintf("there is no fleet %.60q", fleet))
	}
	if u.dog == nil {
		return false, nil
	}
	return u.dog.clear(worker), nil
}
