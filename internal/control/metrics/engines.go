package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/internal/process/watchdog"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/quota"
)

// Engines holds functions that read the engines' own numbers on demand, so that the metrics
// cost nothing while work is handled. A nil function means that there is no such engine.
// All functions are called concurrently, and must not block for long.
type Engines struct {
	Version string // of the program

	Fleets    func() []Fleet
	Pools     func() []overload.Stats // named after their fleets
	Circuits  func() ([]circuit.Status, circuit.Stats)
	Quotas    func() quota.Stats
	Verdicts  func() []bezoar.Verdict
	Budgets   func() []Budget
	Watchdogs func() []watchdog.Status // named after their fleets
	Stale     func() stale.Stats
	Settings  func() (live.Status, bool) // false: the settings are fixed
	Health    func() Health
	Spans     func() (Spans, bool) // false: no tracing
	Outboxes  func() []Outbox      // named as in the settings
}

// Fleet holds the numbers of one fleet.
type Fleet struct {
	Name    string
	Stats   fleet.Stats
	HeldOut int // running workers without work
}

// Budget is the share of its retry budget that a route used in the last ten seconds.
type Budget struct {
	Route Route
	Used  float64 // 1: all
}

// Health is the health of this process, in total and per check: 0 healthy, 1 degraded, 2
// failing.
type Health struct {
	State  int
	Checks map[string]int
}

// Spans counts the spans of traces by outcome.
type Spans struct {
	Sent, Dropped, Failed uint64
}

type enginesCollector struct {
	of    Engines
	parts []part
}

// part holds the metrics of one engine.
type part struct {
	descs   []*prometheus.Desc
	collect func(out chan<- prometheus.Metric)
}

func (e Engines) Collector() prometheus.Collector {
	return &enginesCollector{e, []part{
		e.build(), e.fleets(), e.pools(), e.poolCounts(), e.circuits(), e.quotas(), e.verdicts(),
		e.budgets(), e.watchdogs(), e.answerCaches(), e.settings(), e.health(), e.spans(), e.outboxes(),
	}}
}

// Describe implements [prometheus.Collector]. It describes all metrics, including those of
// missing engines.
func (c *enginesCollector) Describe(out chan<- *prometheus.Desc) {
	for _, p := range c.parts {
		for _, d := range p.descs {
			out <- d
		}
	}
}

// Collect implements [prometheus.Collector].
func (c *enginesCollector) Collect(out chan<- prometheus.Metric) {
	for _, p := range c.parts {
		p.collect(out)
	}
}

func (e Engines) build() part {
	info := desc("build_info", "1; the label is the version of Bezoar.", "version")
	return part{[]*prometheus.Desc{info}, func(out chan<- prometheus.Metric) {
		out <- gauge(info, 1, e.Version)
	}}
}

func (e Engines) fleets() part {
	places := desc("fleet_places", "Workers that the fleet should have.", "fleet")
	up := desc("fleet_up", "Workers that serve or are the lane.", "fleet")
	well := desc("fleet_healthy", "Workers that are up, healthy and not ejected.", "fleet")
	heldOut := desc("fleet_held_out", "Workers that are up but get no work, because they are unhealthy or ejected.", "fleet")
	panicking := desc("fleet_panic", "1 while so few workers are healthy that health checks are ignored (panic mode).", "fleet")
	panics := desc("fleet_panics_total", "Entries of the fleet into panic mode.", "fleet")
	ejections := desc("fleet_ejections_total", "Workers ejected because of their results.", "fleet")
	overflowed := desc("fleet_overflowed_total", "Requests that left their caller's shard of workers.", "fleet")
	waiting := desc("fleet_waiting", "Requests that wait for any worker.", "fleet")
	return part{[]*prometheus.Desc{places, up, well, heldOut, panicking, panics, ejections, overflowed, waiting}, func(out chan<- prometheus.Metric) {
		for _, f := range call(e.Fleets) {
			s := f.Stats
			out <- gauge(places, float64(s.Places), f.Name)
			out <- gauge(up, float64(s.Up), f.Name)
			out <- gauge(well, float64(s.Well), f.Name)
			out <- gauge(heldOut, float64(f.HeldOut), f.Name)
			out <- gauge(panicking, yes(s.Panic), f.Name)
			out <- gauge(waiting, float64(s.Waiting), f.Name)
			out <- counter(panics, s.Panics, f.Name)
			out <- counter(ejections, s.Ejections, f.Name)
			out <- counter(overflowed, s.Overflowed, f.Name)
		}
	}}
}

func (e Engines) verdicts() part {
	verdicts := desc("verdicts", "Verdicts on work, by state.", "fleet", "state")
	return part{[]*prometheus.Desc{verdicts}, func(out chan<- prometheus.Metric) {
		if e.Verdicts == nil {
			return
		}
		type key struct{ fleet, state string }
		n := map[key]int{}
		for _, f := range call(e.Fleets) {
			for _, s := range []bezoar.State{bezoar.Suspected, bezoar.Laned, bezoar.Quarantined, bezoar.Probing, bezoar.Conditional} {
				n[key{f.Name, string(s)}] = 0
			}
		}
		for _, v := range e.Verdicts() {
			n[key{v.Fleet, string(v.State)}]++
		}
		for k, n := range n {
			out <- gauge(verdicts, float64(n), k.fleet, k.state)
		}
	}}
}

func (e Engines) budgets() part {
	used := desc("retry_budget_used_ratio", "Used share of the current retry budget; at 1 no more retries are made.", "route", "fleet")
	return part{[]*prometheus.Desc{used}, func(out chan<- prometheus.Metric) {
		for _, b := range call(e.Budgets) {
			out <- gauge(used, b.Used, b.Route.Name, b.Route.Fleet)
		}
	}}
}

func (e Engines) answerCaches() part {
	entries := desc("stale_answers", "Stored answers for the fallback stale.")
	bytes := desc("stale_bytes", "Memory of the stored answers for the fallback stale.")
	asked := desc("stale_lookups_total", "Lookups of stored answers for the fallback stale, by result.", "result")
	evicted := desc("stale_evicted_total", "Stored answers evicted to make room for others.")
	return part{[]*prometheus.Desc{entries, bytes, asked, evicted}, func(out chan<- prometheus.Metric) {
		if e.Stale == nil {
			return
		}
		s := e.Stale()
		out <- gauge(entries, float64(s.Entries))
		out <- gauge(bytes, float64(s.Bytes))
		out <- counter(asked, s.Hits, "hit")
		out <- counter(asked, s.Misses, "miss")
		out <- counter(evicted, s.Evicted)
	}}
}

func (e Engines) spans() part {
	spans := desc("trace_spans_total", "Spans of traces, by outcome.", "outcome")
	return part{[]*prometheus.Desc{spans}, func(out chan<- prometheus.Metric) {
		if e.Spans == nil {
			return
		}
		s, ok := e.Spans()
		if !ok {
			return
		}
		out <- counter(spans, s.Sent, "sent")
		out <- counter(spans, s.Dropped, "dropped")
		out <- counter(spans, s.Failed, "failed")
	}}
}

// call calls f if it is not nil.
func call[T any](f func() []T) []T {
	if f == nil {
		return nil
	}
	return f()
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(d time.Duration) float64 { return d.Seconds() }

// timestamp returns t in seconds since 1970, or 0 for a zero time.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}

// parts splits the name of a breaker into its fleet and route.
func parts(name string) (fleet, route string) {
	fleet, route, _ = strings.Cut(name, " ")
	return fleet, route
}
