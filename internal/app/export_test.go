package app

import "github.com/bezoar-dev/bezoar/internal/live"

// Live returns what follows the settings.
func (a *App) Live() *live.Live { return a.live }

// SameSecret compares the secret with the one that a store knows.
var SameSecret = sameSecret

// Kept counts what outlives reloads. Call it between them.
func (a *App) Kept() (quotas, breakers, budgets, pools int) {
	p := &a.protect
	return len(p.limiter.Quotas()), len(p.circuits.List()), len(p.budgets), len(p.pools)
}
