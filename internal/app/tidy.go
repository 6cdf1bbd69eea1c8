package app

import (
	"context"
	"maps"

	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/overload"
)

// tidy drops the breakers, pools and budgets of routes and fleets that cfg does not have, because settings may change for
// years. Requests in flight keep theirs.
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

// mostUnused bounds the quotas that are kept for requests with former settings: an upgraded connection may stay open for
// ever.
const mostUnused = 4096

// quotasInUse returns the names of quotas that requests in flight may refer to; nil means that it may be any.
func (a *App) quotasInUse() map[string]bool {
	now, cancel := context.WithCancel(context.Background())
	cancel() // check without waiting
	if a.gateway == nil || a.gateway.Settled(now) != nil && len(a.protect.limiter.Quotas()) < mostUnused {
		return nil
	}
	use := map[string]bool{}
	for _, q := range quotasIn(&a.now.Load().cfg) {
		use[q.Name] = true
	}
	return use
}
