package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/gateway"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/live"
)

// guards are those of the routes. They outlive a reload, so that what they have
// counted does.
type guards struct {
	mu  sync.Mutex // guards all below
	all map[string]*routeGuard
}

// routeGuard is the guard of one route.
type routeGuard struct {
	route string
	fleet string
	guard *guard.Guard
	hints *guard.HintStore
	cfg   config.Guard
	files [2]stamp // of limits and hints, as they were read
}

// stamp is by what a change of a file is noticed.
type stamp struct {
	size int64
	at   time.Time
}

func stampOf(path string) stamp {
	if path == "" {
		return stamp{}
	}
	i, err := os.Stat(path)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{i.Size(), i.ModTime()}
}

// maxGuardFile bounds a file of limits or hints.
const maxGuardFile = 16 << 20

func readGuardFile(path string) ([]byte, error) {
	i, err := os.Stat(path)
	if err == nil && i.Size() > maxGuardFile {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, i.Size(), maxGuardFile)
	}
	return os.ReadFile(path)
}

// limitsOf reads the limits that the settings name or hold.
func limitsOf(c *config.Guard) (guard.Limits, error) {
	var l guard.Limits
	var err error
	switch {
	case c.Limits != "":
		var text []byte
		if text, err = readGuardFile(c.Limits); err == nil {
			l, err = guard.ParseLimits(c.Limits, text)
		}
	case c.Rules != "":
		l, err = guard.ParseLimits("rules", []byte(c.Rules))
	}
	l.ReportOnly = l.ReportOnly || c.ReportOnly
	return l, err
}

// readHints reads the hints that the settings name.
func (g *routeGuard) readHints(log func(warning string)) error {
	if g.cfg.Hints == "" {
		return g.hints.Set(guard.Static, nil, time.Time{})
	}
	text, err := readGuardFile(g.cfg.Hints)
	if err != nil {
		return err
	}
	set, warnings, err := guard.ParseHints(g.cfg.Hints, text)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		log(w)
	}
	return g.hints.Set(guard.Static, set, stampOf(g.cfg.Hints).at)
}

// guardOf makes the guard of a route, or changes the one that it has.
func (a *App) guardOf(route, fleet string, c *config.Guard) (*gateway.Guard, error) {
	limits, err := limitsOf(c)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	g := a.guards.all[route]
	if g == nil {
		g = &routeGuard{route: route, hints: new(guard.HintStore)}
		if g.guard, err = guard.New(guard.Config{Limits: limits, Hints: g.hints, Log: a.log}); err != nil {
			return nil, err
		}
	} else if _, err := g.guard.Update(limits); err != nil {
		return nil, err
	}
	g.cfg, g.fleet = *c, fleet
	if err := g.readHints(func(w string) { a.log.Warn("hints", "route", route, "about", w) }); err != nil {
		return nil, fmt.Errorf("guard: hints: %w", err)
	}
	g.files = [2]stamp{stampOf(c.Limits), stampOf(c.Hints)}
	if a.guards.all == nil {
		a.guards.all = map[string]*routeGuard{}
	}
	a.guards.all[route] = g
	kind, err := guard.ParseKind(c.Query)
	return &gateway.Guard{
		Guard: g.guard, Kind: kind, Dialect: c.Dialect,
		Expressions: config.Places(c.Regex), Statement: config.Places(c.Statement),
	}, err
}

// list returns the guards by their routes.
func (gs *guards) list() []*routeGuard {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	out := make([]*routeGuard, 0, len(gs.all))
	for _, g := range gs.all {
		out = append(out, g)
	}
	slices.SortFunc(out, func(x, y *routeGuard) int { return strings.Compare(x.route, y.route) })
	return out
}

// tidy forgets the guards of routes that are gone.
func (gs *guards) tidy(p *present) {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	for route := range gs.all {
		if !p.guards(route) {
			delete(gs.all, route)
		}
	}
}

// guards reports whether the route has a guard.
func (p *present) guards(route string) bool {
	for i, r := range p.cfg.Routes {
		if routeName(i, r) == route {
			return r.Guard != nil
		}
	}
	return false
}

// tendEvery is how often files of limits and hints, and the pressure, are looked
// at.
const tendEvery = time.Second

// tendGuards keeps the guards up to date with their files and with how their
// fleets fare, until ctx ends.
func (a *App) tendGuards(ctx context.Context) error {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, g := range a.guards.list() {
			g.guard.SetLoad(a.pressure(g))
			a.refreshGuard(g)
		}
	}
}

// pressure is how hard the fleet behind a guard is pressed, 0 to 1: as full as
// its pool is, and 1 while a breaker of its keeps requests away.
func (a *App) pressure(g *routeGuard) float64 {
	p := 0.0
	if pool := a.protect.pool(g.fleet); pool != nil {
		p = pool.Pressure()
	}
	for _, c := range a.protect.circuits.List() {
		if c.Name == circuitName(g.fleet, g.route) && c.State.String() != "closed" {
			p = 1
		}
	}
	return min(p, 1)
}

// refreshGuard reads files that have changed. What is invalid changes nothing.
func (a *App) refreshGuard(g *routeGuard) {
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	is := [2]stamp{stampOf(g.cfg.Limits), stampOf(g.cfg.Hints)}
	if is == g.files {
		return
	}
	var errs []error
	if is[0] != g.files[0] {
		limits, err := limitsOf(&g.cfg)
		if err == nil {
			var version int64
			if version, err = g.guard.Update(limits); err == nil {
				a.log.Info("the limits of queries were changed", "route", g.route, "file", g.cfg.Limits, "version", version)
			}
		}
		errs = append(errs, err)
	}
	if is[1] != g.files[1] {
		errs = append(errs, g.readHints(func(w string) { a.log.Warn("hints", "route", g.route, "about", w) }))
	}
	g.files = is
	if err := errors.Join(errs...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.log.Error("limits or hints of queries were not changed; what held, holds", "route", g.route, "err", err)
	} else if err != nil {
		a.log.Warn("a file of limits or hints is gone; what held, holds", "route", g.route, "err", err)
	}
}

// dialGuards multiplies the limits of queries as operators want it for a while.
func (a *App) dialGuards(overrides []live.Override) {
	for _, g := range a.guards.list() {
		dial := 1.0
		for _, o := range overrides {
			if o.What == live.Guard && (o.Route == "" || o.Route == g.route) {
				dial *= o.Factor
			}
		}
		if err := g.guard.SetDial(min(max(dial, 1e-6), guard.MaxDial)); err != nil {
			a.log.Error("the limits of queries were not multiplied", "route", g.route, "err", err)
		}
	}
}

// guardList says what the guards have counted.
func (a *App) guardList(limit int) []adminapi.Guard {
	var out []adminapi.Guard
	for _, g := range a.guards.list() {
		limits, version := g.guard.Limits()
		dial, load := g.guard.Dial()
		out = append(out, adminapi.Guard{
			Route: g.route, Fleet: g.fleet, Kind: guard.Kind(g.cfg.Query), Version: version, ReportOnly: limits.ReportOnly,
			Dial: dial, Load: load, HintsAge: adminapi.Duration(g.hints.Age()),
			Total: g.guard.Total(), Callers: g.guard.Callers(limit), Shapes: g.guard.Shapes(limit),
		})
	}
	return out
}
