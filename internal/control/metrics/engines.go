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

// Engines are where the engines' own numbers are read when somebody asks, so
// that counting costs the path of work nothing more. A nil function is an engine
// that is not there. All are called concurrently, and none may block for long.
type Engines struct {
	Version string // of the program

	Fleets    func() []Fleet
	Pools     func() []overload.Stats // their names are their fleets'
	Circuits  func() ([]circuit.Status, circuit.Stats)
	Quotas    func() quota.Stats
	Verdicts  func() []bezoar.Verdict
	Budgets   func() []Budget
	Watchdogs func() []watchdog.Status // their names are their fleets'
	Stale     func() stale.Stats
	Settings  func() (live.Status, bool) // false: they do not change
	Health    func() Health
	Spans     func() (Spans, bool) // false: there is no tracing
	Outboxes  func() []Outbox      // their names are the settings'
}

// Fleet is one fleet's numbers.
type Fleet struct {
	Name    string
	Stats   fleet.Stats
	HeldOut int // workers that are up and get no work
}

// Budget is how much of its retries a route has used in the last ten seconds.
type Budget struct {
	Route Route
	Used  float64 // 1: all
}

// Health is how this process is, and each check of it: 0 well, 1 degraded, 2
// failing.
type Health struct {
	State  int
	Checks map[string]int
}

// Spans are what became of the spans of traces.
type Spans struct {
	Sent, Dropped, Failed uint64
}

// enginesCollector shows Engines.
type enginesCollector struct {
	of    Engines
	parts []part
}

// part is one engine's metrics.
type part struct {
	descs   []*prometheus.Desc
	collect func(out chan<- prometheus.Metric)
}

// Collector shows the numbers of engines.
func (e Engines) Collector() prometheus.Collector {
	return &enginesCollector{e, []part{
		e.build(), e.fleets(), e.pools(), e.poolCounts(), e.circuits(), e.quotas(), e.verdicts(),
		e.budgets(), e.watchdogs(), e.answerCaches(), e.settings(), e.health(), e.spans(), e.outboxes(),
	}}
}

// Describe implements [prometheus.Collector]. Everything is described, also what
// is not there.
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
	info := desc("build_info", "1; the label says which version of Bezoar this is.", "version")
	return part{[]*prometheus.Desc{info}, func(out chan<- prometheus.Metric) {
		out <- gauge(info, 1, e.Version)
	}}
}

func (e Engines) fleets() part {
	places := desc("fleet_places", "Workers that the fleet is to have.", "fleet")
	up := desc("fleet_up", "Workers that serve or are the lane.", "fleet")
	well := desc("fleet_well", "Workers that are up and neither sick nor ejected.", "fleet")
	heldOut := desc("fleet_held_out", "Workers that are up and get no work, because they look sick or are ejected.", "fleet")
	panicking := desc("fleet_panic", "1 while so few workers look well that health is not believed.", "fleet")
	panics := desc("fleet_panics_total", "How often the fleet has come into panic mode.", "fleet")
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
	used := desc("retry_budget_used_ratio", "Share of the retries that the budget allows now which are used; 1: no more are made.", "route", "fleet")
	return part{[]*prometheus.Desc{used}, func(out chan<- prometheus.Metric) {
		for _, b := range call(e.Budgets) {
			out <- gauge(used, b.Used, b.Route.Name, b.Route.Fleet)
		}
	}}
}

func (e Engines) answerCaches() part {
	entries := desc("stale_answers", "Last good answers that are kept for when there is nothing better.")
	bytes := desc("stale_bytes", "Memory that they take.")
	asked := desc("stale_lookups_total", "Lookups of such answers, by result.", "result")
	evicted := desc("stale_evicted_total", "Answers that made room for others.")
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
	spans := desc("trace_spans_total", "Spans of traces, by what became of them.", "outcome")
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

// call calls f if it is there.
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

// timestamp is t in seconds since 1970, 0 for never.
func timestamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / float64(time.Second)
}

// parts splits the name of a breaker, which is its fleet and its route.
func parts(name string) (fleet, route string) {
	fleet, route, _ = strings.Cut(name, " ")
	return fleet, route
}
