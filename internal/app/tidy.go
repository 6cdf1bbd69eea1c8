package app

import (
	"context"
	"maps"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/overload"
)

// tidy forgets the breakers, pools and budgets of routes and fleets that cfg does
// not have: settings may change for years. Requests in flight still have theirs.
func (p *protection) tidy(cfg *config.Config) {
	circuits, budgets := map[string]bool{}, map[string]bool{}
	for i := range cfg.Routes {
		r := &cfg.Routes[i]
		if name := routeName(i, *r); r.Works() {
			circuits[circuitName(r.Fleet, name)] = r.Breaker != nil && !r.Breaker.Off
			budgets[budgetName(name, r.Retry.PerCaller)] = true
		}
	}
	for _, c := range p.circuits.List() {
		if !circuits[c.Name] {
			p.circuits.Remove(c.Name)
		}
	}
	for key := range p.budgets {
		if !budgets[key] {
			delete(p.budgets, key)
		}
	}
	maps.DeleteFunc(p.retries, func(fleet string, _ fleetRetry) bool {
		_, ok := cfg.Fleets[fleet]
		return !ok
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.pools, func(fleet string, _ *overload.Pool) bool {
		_, ok := cfg.Fleets[fleet]
		return !ok
	})
}

// mostUnused bounds the quotas that are kept for requests of former settings: an
// upgraded connection may be open for ever.
const mostUnused = 4096

// quotasInUse are the quotas that a request in flight may know, by name; nil
// means that it may be any.
func (a *App) quotasInUse() map[string]bool {
	now, cancel := context.WithCancel(context.Background())
	cancel() // only look
	if a.gateway == nil || a.gateway.Settled(now) != nil && len(a.protect.limiter.Quotas()) < mostUnused {
		return nil
	}
	use := map[string]bool{}
	for _, q := range quotasIn(&a.now.Load().cfg) {
		use[q.Name] = true
	}
	return use
}
