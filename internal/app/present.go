package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/bezoar-dev/bezoar/internal/control/config"
)

// present is what an App serves now: one generation of its settings, and the objects made from it. It does not change; a
// reload makes the next one.
type present struct {
	cfg    config.Config
	units  []*unit // in the order of their names
	byName map[string]*unit

	outboxes map[string]*outboxRun
	routes   []boundRoute
	files    files // that came with cfg

	guarding []guardChange // until this generation serves
}

func (p *present) add(u *unit) {
	p.units = append(p.units, u)
	p.byName[u.name] = u
}

// start runs the parts of the fleet. failed gets the error of a part.
func (u *unit) start(base context.Context, failed func(string, error) error) {
	u.inner.start(base)
	u.workers.start(base)
	u.inner.run("ledger "+u.name, u.ledger.Run, failed)
	u.inner.run("lane "+u.name, u.doer.Run, failed)
	u.workers.run("fleet "+u.name, u.keeper.Run, failed)
	if u.watchdog != nil {
		u.workers.run("watchdog "+u.name, u.watchdog.run, failed)
	}
}

// openUnits makes the fleets of the first generation.
func (a *App) openUnits() error {
	p := a.now.Load()
	for _, name := range slices.Sorted(maps.Keys(p.cfg.Fleets)) {
		u, err := a.newUnit(name, p.cfg.Fleets[name], rulesOf(&p.cfg, name))
		if u != nil {
			p.add(u) // so that close finds it
		}
		if err != nil {
			return err
		}
	}
	return a.checkFleets(nil, p.units)
}

// follows reports whether other processes may share the store.
func (a *App) follows() bool { return strings.HasPrefix(a.cfg.Store, "postgres") }
