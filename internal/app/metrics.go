package app

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/control/metrics"
	"github.com/bezoar-dev/bezoar/internal/each"
	"github.com/bezoar-dev/bezoar/internal/process/watchdog"
	"github.com/bezoar-dev/bezoar/overload"
)

// metrics returns the collectors of /metrics for engines that the admin API does not know.
func (a *App) metrics() []prometheus.Collector {
	return []prometheus.Collector{a.observability.counts.Collector(), a.engines().Collector()}
}

// engines returns where to read the engines' numbers.
func (a *App) engines() metrics.Engines {
	return metrics.Engines{
		Version: version(),
		Fleets:  a.fleetNumbers, Pools: a.protect.stats, Quotas: a.protect.limiter.Stats, Stale: a.protect.stale.Stats,
		Circuits:  func() ([]circuit.Status, circuit.Stats) { return a.protect.circuits.List(), a.protect.circuits.Stats() },
		Verdicts:  a.verdicts,
		Budgets:   a.observability.budgets,
		Watchdogs: a.watchdogs,
		Settings: func() (live.Status, bool) {
			if a.live == nil {
				return live.Status{}, false
			}
			return a.live.Status(), true
		},
		Health:   a.healthNumbers,
		Spans:    a.observability.spans,
		Outboxes: a.outboxNumbers,
	}
}

func (a *App) fleetNumbers() []metrics.Fleet {
	units := a.now.Load().units
	out := make([]metrics.Fleet, 0, len(units))
	for _, u := range units {
		f := metrics.Fleet{Name: u.name, Stats: u.fleet.Stats()}
		for _, s := range u.fleet.Snapshot() {
			if s.HeldOut {
				f.HeldOut++
			}
		}
		out = append(out, f)
	}
	return out
}

func (a *App) verdicts() []bezoar.Verdict {
	var out []bezoar.Verdict
	for _, u := range a.now.Load().units {
		out = append(out, u.ledger.Verdicts()...)
	}
	return out
}

func (a *App) watchdogs() []watchdog.Status {
	var out []watchdog.Status
	for _, u := range a.now.Load().units {
		if u.watchdog == nil {
			continue
		}
		if wd, _ := u.watchdog.current(); wd != nil {
			out = append(out, wd.Status())
		}
	}
	return out
}

func (a *App) healthNumbers() metrics.Health {
	r := a.health.Report()
	out := metrics.Health{State: int(r.State), Checks: make(map[string]int, len(r.Checks))}
	for _, c := range r.Checks {
		if c.Skipped == "" {
			out.Checks[c.Name] = int(c.State)
		}
	}
	return out
}

// stats returns the pools' numbers, by fleet.
func (p *protection) stats() []overload.Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]overload.Stats, 0, len(p.pools))
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		out = append(out, p.pools[name].Stats())
	}
	return out
}

func (s *observability) budgets() []metrics.Budget {
	list := s.retries.Load()
	if list == nil {
		return nil
	}
	now := time.Now()
	return each.Of(*list, func(r retries) metrics.Budget { return metrics.Budget{Route: r.route, Used: r.budget.Used(now)} })
}

func (s *observability) spans() (metrics.Spans, bool) {
	if s.tracing == nil {
		return metrics.Spans{}, false
	}
	st := s.tracing.Stats()
	return metrics.Spans{Sent: st.Sent, Dropped: st.Dropped, Failed: st.Failed}, true
}
