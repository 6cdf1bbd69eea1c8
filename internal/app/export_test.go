package app

import (
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
)

// Live returns what follows the settings.
func (a *App) Live() *live.Live { return a.live }

// SameSecret compares the secret with the one that a store knows.
var SameSecret = sameSecret

// Kept counts what outlives reloads. Call it between them.
func (a *App) Kept() (quotas, breakers, budgets, pools int) {
	p := &a.protect
	return len(p.limiter.Quotas()), len(p.circuits.List()), len(p.budgets), len(p.pools)
}

// OnStacks are the functions that are looked for on the stack of a crash.
func OnStacks() []string { return []string{delivers, serves, answers, answers2} }

// OverOther reports whether a crash was over a request that was not in flight.
var OverOther = overOther

// Whole rounds successes for the journal.
var Whole = whole

// LastRuns is what fleets are told of the last run, whose journals held flights.
func LastRuns(last lastrun.Report, flights ...[]ledger.Record) (runs []*ledger.LastRun, total int) {
	a := &App{last: last}
	var units []*unit
	for _, f := range flights {
		units = append(units, &unit{flight: f, wrote: last.ID})
	}
	return a.lastRuns(units)
}
