package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/regular"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
	"github.com/bezoar-dev/bezoar/internal/sorted"
)

// guards are the guards of the routes. They survive a reload, and so do their counters.
type guards struct {
	mu  sync.Mutex // guards all below
	all map[string]*routeGuard

	records map[string]*queryFile // by name
	turns   chan struct{}         // for queries that take much memory to judge

	said sync.Map // by route: what was logged last about its hints
}

type routeGuard struct {
	route  string
	fleet  string
	guard  *guard.Guard
	hints  *guard.HintStore
	poller *hints.Poller // nil: none
	cfg    config.Guard

	versioned bool                  // its limits came with the settings, so the file is followed with the settings
	files     [2]stamp              // of limits and hints, as they were read
	faults    []adminapi.GuardFault // of these files; replaced as a whole
}

// guardChange is how a new generation of settings changes a guard, once it serves.
type guardChange struct {
	routeGuard

	limits guard.Limits
	static guard.HintSet
}

// stamp is what reveals a change of a file.
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

func readGuardFile(path string) ([]byte, error) { return regular.Read(path, maxGuardFile) }

// limitsOf reads the limits that the settings name or contain. It reads them from f if f has the file.
func limitsOf(c *config.Guard, f files) (guard.Limits, error) {
	var l guard.Limits
	var err error
	switch {
	case c.Limits != "":
		text, ok := f[c.Limits]
		if !ok {
			text, err = readGuardFile(c.Limits)
		}
		if err == nil {
			l, err = guard.ParseLimits(c.Limits, text)
		}
	case c.Rules != "":
		l, err = guard.ParseLimits("rules", []byte(c.Rules))
	}
	l.ReportOnly = l.ReportOnly || c.ReportOnly
	return l, err
}

// hintsOf reads the hints that the settings name.
func (a *App) hintsOf(route string, c *config.Guard) (guard.HintSet, error) {
	if c.Hints == "" {
		return nil, nil
	}
	text, err := readGuardFile(c.Hints)
	if err != nil {
		return nil, err
	}
	set, warnings, err := guard.ParseHints(c.Hints, text)
	if err != nil {
		return nil, err
	}
	about := placesOf(warnings)
	if was, _ := a.guards.said.Swap(route, about); about != "" && was != about { // each generation of settings reads them
		a.log.Warn("some hints have no effect; bezoar guard check --hints FILE, run where the file is, says which", "route", route, "at", about)
	}
	return set, new(guard.HintStore).Set(guard.Static, set, time.Time{}) // checks that they are not too many
}

// placesOf returns the places of the first warnings, without the quoted content: somebody else may have named the file.
func placesOf(warnings []string) string {
	const most = 5
	var places []string
	for _, w := range warnings[:min(len(warnings), most)] {
		at, _, _ := strings.Cut(w, ": ")
		places = append(places, at)
	}
	if n := len(warnings) - most; n > 0 {
		places = append(places, fmt.Sprintf("%d more", n))
	}
	return strings.Join(places, ", ")
}

// guardOf makes the guard of a route for next, or finds the existing one. An existing guard does not change before next
// serves, so settings that cannot serve change nothing.
func (a *App) guardOf(next *present, route string, r *config.Route, prints *fingerprint.Printer) (*guardfront.Guard, error) {
	c := r.Guard
	change := guardChange{routeGuard: routeGuard{route: route, fleet: r.Fleet, cfg: *c, files: [2]stamp{stampOf(c.Limits), stampOf(c.Hints)}}}
	var err error
	if change.limits, err = limitsOf(c, next.files); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	if change.static, err = a.hintsOf(route, c); err != nil && a.gateway != nil { // the caller who applied the settings gets the error
		err = hidden(err, []string{c.Hints})
	}
	if err != nil {
		return nil, fmt.Errorf("guard: hints: %w", err)
	}
	_, change.versioned = next.files[c.Limits]
	kind, err := guard.ParseKind(c.Query)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	dialect, err := kind.ParseDialect(c.Dialect)
	if err != nil {
		return nil, fmt.Errorf("guard: dialect: %w", err)
	}
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	if g := a.guards.all[route]; g != nil {
		change.guard, change.hints = g.guard, g.hints
		err = change.limits.Validate()
	} else {
		change.hints = new(guard.HintStore)
		change.guard, err = guard.New(guard.Config{
			Limits: change.limits, Hints: change.hints, Log: a.log, SlowAfter: c.Slow, SlowText: int(c.SlowText),
			Print: prints.Shape, Scope: route, Turns: a.guards.turns, ShowQueries: true,
		})
	}
	if err == nil && c.Poll != nil {
		_, err = a.pollerOf(&change.routeGuard)
	}
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	record, err := a.recordOf(c.Record)
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	next.guarding = append(next.guarding, change)
	return &guardfront.Guard{
		Guard: change.guard, Kind: kind, Dialect: dialect, Prefix: c.Prefix,
		Expressions: config.Places(c.Regex), Statement: config.Places(c.Statement), Record: record, Name: a.observability.naming(&next.cfg, r),
	}, nil
}

// adoptGuards changes the guards as p says, which now serves, and drops the guards of removed routes.
func (a *App) adoptGuards(p *present) {
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	all := make(map[string]*routeGuard, len(p.guarding))
	for i := range p.guarding {
		change := &p.guarding[i]
		g := &change.routeGuard
		if was := a.guards.all[g.route]; was != nil {
			g.poller = was.poller
		}
		err := errors.Join(a.relimit(g, change.limits), g.guard.SetSlow(g.cfg.Slow, int(g.cfg.SlowText)), g.hints.Set(guard.Static, change.static, g.files[1].at))
		if err != nil {
			a.log.Error("limits or hints of queries were not changed; the old ones stay in force", "route", g.route, "err", err)
		}
		all[g.route] = g
	}
	a.guards.all, p.guarding = all, nil
}

// relimit gives a guard other limits, if they differ.
func (a *App) relimit(g *routeGuard, limits guard.Limits) error {
	if now, _ := g.guard.Limits(); reflect.DeepEqual(now, limits) {
		return nil
	}
	version, err := g.guard.Update(limits)
	if err == nil {
		a.log.Info("the limits of queries were changed", "route", g.route, "file", g.cfg.Limits, "version", version)
	}
	return err
}

// list returns a copy of the guards, ordered by route.
func (gs *guards) list() []routeGuard {
	gs.mu.Lock()
	defer gs.mu.Unlock()
	out := make([]routeGuard, 0, len(gs.all))
	for _, g := range gs.all {
		out = append(out, *g)
	}
	sorted.Func(out, func(x, y routeGuard) int { return strings.Compare(x.route, y.route) })
	return out
}

// tendEvery is how often files of limits and hints, and the pressure, are checked.
const tendEvery = time.Second

// tendGuards updates the guards from their files and from the load of their fleets, until ctx ends.
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
			g.guard.SetLoad(a.pressure(&g))
		}
		a.refreshGuards(false)
	}
}

// pressure is the load on the fleet behind a guard, 0 to 1: the used share of its pool, or 1 while one of its breakers
// refuses requests.
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

// refreshGuards reads changed files, or all of them. An invalid file changes nothing.
func (a *App) refreshGuards(all bool) {
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	for _, g := range a.guards.all {
		a.refreshGuard(g, all)
	}
}

func (a *App) refreshGuard(g *routeGuard, all bool) {
	is := [2]stamp{stampOf(g.cfg.Limits), stampOf(g.cfg.Hints)}
	if g.cfg.Limits != "" && !g.versioned && (all || is[0] != g.files[0]) {
		limits, err := limitsOf(&g.cfg, nil)
		if err == nil {
			err = a.relimit(g, limits)
		}
		a.note(g, g.cfg.Limits, err)
	}
	if g.cfg.Hints != "" && (all || is[1] != g.files[1]) {
		set, err := a.hintsOf(g.route, &g.cfg)
		if err == nil {
			err = g.hints.Set(guard.Static, set, is[1].at)
		}
		a.note(g, g.cfg.Hints, err)
	}
	g.files = is
}

// note keeps the fault of a guard's file, until it has none.
func (a *App) note(g *routeGuard, file string, err error) {
	fault := adminapi.GuardFault{File: file, Since: time.Now()}
	var others []adminapi.GuardFault
	for _, f := range g.faults {
		if f.File == file {
			fault.Since = f.Since
			continue
		}
		others = append(others, f)
	}
	if g.faults = others; err == nil {
		return
	}
	fault.Error = err.Error()
	g.faults = append(others, fault)
	if errors.Is(err, fs.ErrNotExist) {
		a.log.Warn("a file of limits or hints is gone; its old content stays in force", "route", g.route, "err", err)
		return
	}
	a.log.Error("limits or hints of queries were not changed; the old ones stay in force", "route", g.route, "err", err)
}

// guardList returns the counters of the guards, with at most limit rows of callers and of shapes.
func (a *App) guardList(limit int) []adminapi.Guard {
	var out []adminapi.Guard
	for _, g := range a.guards.list() {
		limits, version := g.guard.Limits()
		dial, load := g.guard.Dial()
		is := adminapi.Guard{
			Route: g.route, Fleet: g.fleet, Kind: guard.Kind(g.cfg.Query), Version: version, ReportOnly: limits.ReportOnly,
			Dial: dial, Load: load, HintsAge: adminapi.Duration(g.hints.Age()), Poll: g.polled(), Record: a.recorded(&g), Faults: a.faultsOf(&g),
			Limits: g.cfg.Limits, Hints: g.hints.Sources(), HintsFile: g.cfg.Hints,
			Total: g.guard.Total(), Findings: g.guard.Findings(), Minutes: g.guard.Minutes(),
			Classes: g.guard.Classes(), Named: g.guard.Labelled(), Judging: g.guard.Judging(),
		}
		is.Slow, is.Suppressed = g.guard.Slow()
		if limit > 0 {
			is.Callers, is.Shapes = g.guard.Callers(limit), a.guardShapes(&g, limit)
		}
		out = append(out, is)
	}
	return out
}
