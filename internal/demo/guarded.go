package demo

import (
	"context"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/demo/sample"
)

// The demonstration's fleet, in both halves.
const (
	memory      = 192 << 20 // of one worker
	healthPath  = "/healthz"
	healthEvery = 500 * time.Millisecond
)

// A guarded stage is Bezoar as `bezoar serve` runs it.
type guarded struct {
	app *app.App
}

// newGuarded opens a stage.
func newGuarded(ctx context.Context, c Config) (*guarded, error) {
	cfg := config.Default()
	cfg.Listen, cfg.Admin = "127.0.0.1:0", ""
	cfg.Store, cfg.StateDir = config.MemoryStore, ""

	fleet := config.DefaultFleet()
	fleet.Command, fleet.Replicas, fleet.Memory = c.Command, c.Workers, memory
	fleet.Env = map[string]string{sample.EnvBoot: c.boot.String()}
	fleet.Health.Path, fleet.Health.Interval = healthPath, healthEvery
	if c.slowest > defaultSlowest {
		fleet.Health.Timeout = c.slowest
	}
	fleet.Grace, fleet.Drain = time.Second, time.Second
	cfg.Fleets = map[string]config.Fleet{fleetName: fleet}

	route := config.DefaultRoute()
	route.Match.Path, route.Fleet, route.Timeout = "/*", fleetName, c.slowest
	cfg.Routes = []config.Route{route}

	a, err := app.New(ctx, cfg, app.Options{})
	if err != nil {
		return nil, err
	}
	return &guarded{a}, nil
}

// Run implements stage.
func (g *guarded) Run(ctx context.Context, ready func(url string)) error {
	running, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if whole(running, g) {
			ready("http://" + g.app.Addr())
		}
	})
	err := g.app.Run(running)
	stop()
	wg.Wait()
	return err
}

// Serving implements stage.
func (g *guarded) Serving() (n, all int) {
	workers := g.app.Backend().Fleets()[0].Workers
	for _, w := range workers {
		if w.State == "ready" {
			n++
		}
	}
	return n, len(workers)
}

// Events implements stage.
func (g *guarded) Events() *admin.Hub { return g.app.Events() }

// whole waits until every worker of st serves, or ctx ends.
func whole(ctx context.Context, st stage) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if up, all := st.Serving(); up > 0 && up == all {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}
