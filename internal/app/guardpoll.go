package app

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// pollPrefix begins the names of the services that poll for hints.
const pollPrefix = "hints of "

// pollOf returns the configuration of a guard's poller.
func (a *App) pollOf(g *routeGuard) (hints.Config, error) {
	p := g.cfg.Poll
	c := hints.Config{
		URL: p.URL, Store: g.hints, Interval: p.Every, Indices: p.Indices, Log: a.log.With("route", g.route),
	}
	if p.AuthEnv == "" {
		return c, nil
	}
	word := os.Getenv(p.AuthEnv)
	if word == "" {
		return c, fmt.Errorf("poll.authorization_env: the environment has no %s", p.AuthEnv)
	}
	c.Header = http.Header{"Authorization": {word}}
	return c, nil
}

func (a *App) pollerOf(g *routeGuard) (*hints.Poller, error) {
	c, err := a.pollOf(g)
	if err != nil {
		return nil, err
	}
	return hints.New(c)
}

// replacePolls starts and stops pollers to match the guards.
func (a *App) replacePolls() error {
	wanted := map[string]bool{}
	for _, g := range a.guards.list() {
		service := pollPrefix + g.route
		if g.cfg.Poll == nil {
			continue
		}
		wanted[service] = true
		if a.outer.same(service, *g.cfg.Poll) {
			continue
		}
		poller, err := a.pollerOf(&g)
		if err != nil {
			return fmt.Errorf("route %s: %w", g.route, err)
		}
		a.outer.run(service, *g.cfg.Poll, poller.Run)
		a.polls(g.route, poller)
	}
	for _, service := range a.outer.names() {
		route, ok := strings.CutPrefix(service, pollPrefix)
		if !ok || wanted[service] {
			continue
		}
		a.outer.end(service)
		a.polls(route, nil)
	}
	a.replaceRecords()
	return nil
}

// polls sets the poller of a route. Without one, hints from earlier polls are removed.
func (a *App) polls(route string, p *hints.Poller) {
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	g := a.guards.all[route]
	if g == nil {
		return
	}
	g.poller = p
	if p != nil {
		return
	}
	if err := g.hints.Set(guard.Polled, nil, time.Time{}); err != nil { // removing hints never exceeds the limit
		a.log.Error("old hints could not be removed", "route", route, "err", err)
	}
}

// polled returns the state of polling for hints; nil if nobody polls.
func (g *routeGuard) polled() *adminapi.GuardPoll {
	if g.poller == nil {
		return nil
	}
	s := g.poller.Status()
	return &adminapi.GuardPoll{Polled: s.Polled, Indices: s.Indices, Fields: s.Fields, Failures: s.Failures, Error: s.Error}
}
