package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/internal/adminapi"
)

// A guardCollector shows what the guards of routes have counted. Routes are the
// settings', predictors and actions the guard's; callers, classes and shapes
// never become labels.
type guardCollector struct {
	guards                               func(limit int) []adminapi.Guard
	queries, findings, units             *prometheus.Desc
	version, report, dial, load          *prometheus.Desc
	age, indices, fields, polled, failed *prometheus.Desc
}

func newGuardCollector(guards func(limit int) []adminapi.Guard) *guardCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_guard_"+name, help, append([]string{"route"}, labels...), nil)
	}
	return &guardCollector{
		guards:   guards,
		queries:  desc("queries_total", "Queries that were judged.", "verdict"),
		findings: desc("findings_total", "Values beyond a limit, and what was done about them.", "predictor", "action"),
		units:    desc("cost_units_total", "Units of cost that were predicted."),
		version:  desc("limits_version", "Version of the limits in this process."),
		report:   desc("report_only", "1 while nothing is rejected or lowered."),
		dial:     desc("dial", "What operators multiply the limits by."),
		load:     desc("load_ratio", "Pressure on the backend, by which limits with load_floor shrink."),
		age:      desc("hints_age_seconds", "Age of the oldest source of hints; not there without hints."),
		indices:  desc("polled_indices", "Indices that the backend was asked about."),
		fields:   desc("polled_fields", "Fields of them."),
		polled:   desc("polled_timestamp_seconds", "When asking the backend last went well."),
		failed:   desc("poll_failures", "Failures to ask the backend, in a row."),
	}
}

// Describe implements [prometheus.Collector].
func (c *guardCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, c.queries, c.findings, c.units, c.version, c.report, c.dial, c.load, c.age, c.indices, c.fields, c.polled, c.failed)
}

// Collect implements [prometheus.Collector].
func (c *guardCollector) Collect(out chan<- prometheus.Metric) {
	if c.guards == nil {
		return
	}
	for _, g := range c.guards(0) {
		for verdict, n := range map[string]int64{"accept": g.Total.Accepted, "report": g.Total.Reported, "cap": g.Total.Capped, "reject": g.Total.Rejected} {
			out <- counter(c.queries, float64(n), g.Route, verdict)
		}
		for _, f := range g.Findings {
			out <- counter(c.findings, float64(f.Count), g.Route, f.Predictor, string(f.Action))
		}
		out <- counter(c.units, g.Total.Cost, g.Route)
		out <- gauge(c.version, float64(g.Version), g.Route)
		report := 0.0
		if g.ReportOnly {
			report = 1
		}
		out <- gauge(c.report, report, g.Route)
		out <- gauge(c.dial, g.Dial, g.Route)
		out <- gauge(c.load, g.Load, g.Route)
		if g.HintsAge > 0 {
			out <- gauge(c.age, time.Duration(g.HintsAge).Seconds(), g.Route)
		}
		if p := g.Poll; p != nil {
			out <- gauge(c.indices, float64(p.Indices), g.Route)
			out <- gauge(c.fields, float64(p.Fields), g.Route)
			if !p.Polled.IsZero() {
				out <- gauge(c.polled, float64(p.Polled.UnixNano())/float64(time.Second), g.Route)
			}
			out <- gauge(c.failed, float64(p.Failures), g.Route)
		}
	}
}
