package app

import (
	"errors"
	"strings"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

// learnPrefix begins the names of the services that read answers.
const learnPrefix = "answers of "

// learn makes who reads the answers of a guard's queries, if its settings want
// it. One that is there already stays, with what it knows.
func (g *routeGuard) learn(kind guard.Kind) error {
	if !g.cfg.Learn || kind != guard.Elasticsearch && kind != guard.OpenSearch {
		g.learns = nil
		return nil
	}
	if g.learns != nil {
		return nil
	}
	var err error
	g.learns, err = hints.NewLearner(hints.LearnConfig{Store: g.hints, Tell: g.guard.Observe})
	return err
}

// replaceHinters has the backends asked for hints, and their answers read, as the
// guards say now.
func (a *App) replaceHinters() error {
	err := a.replacePolls()
	wanted := map[string]bool{}
	for _, g := range a.guards.list() {
		if g.learns == nil {
			continue
		}
		service := learnPrefix + g.route
		wanted[service] = true
		if !a.outer.same(service, learnPrefix) {
			a.outer.run(service, learnPrefix, g.learns.Run)
		}
	}
	for _, service := range a.outer.names() {
		route, ok := strings.CutPrefix(service, learnPrefix)
		if !ok || wanted[service] {
			continue
		}
		a.outer.end(service)
		err = errors.Join(err, a.unlearn(route))
	}
	return err
}

// unlearn forgets what answers have taught: nothing renews it any more.
func (a *App) unlearn(route string) error {
	a.guards.mu.Lock()
	defer a.guards.mu.Unlock()
	if g := a.guards.all[route]; g != nil {
		return g.hints.Set(guard.Learned, nil, time.Time{})
	}
	return nil
}

// learning is how reading answers goes; nil: nobody does.
func (g *routeGuard) learning() *adminapi.GuardLearn {
	if g.learns == nil {
		return nil
	}
	s := g.learns.Status()
	return &adminapi.GuardLearn{Read: s.Read, Missed: s.Missed, Fields: s.Fields, Learned: s.Told}
}
