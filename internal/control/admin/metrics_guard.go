package admin

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// guardCollector shows the statistics of the routes' guards. Labels contain routes and
// classes of the settings, predictors, actions, and at most [guard.MaxLabels] callers per
// route. They never contain shapes.
type guardCollector struct {
	guards                               func(limit int) []adminapi.Guard
	queries, findings, units, judging    *prometheus.Desc
	classQueries, classUnits             *prometheus.Desc
	callerQueries, callerUnits           *prometheus.Desc
	version, report, dial, load, broken  *prometheus.Desc
	slow, suppressed                     *prometheus.Desc
	age, indices, fields, polled, failed *prometheus.Desc
	recorded, unrecorded                 *prometheus.Desc
}

func newGuardCollector(guards func(limit int) []adminapi.Guard) *guardCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_guard_"+name, help, append([]string{"route"}, labels...), nil)
	}
	return &guardCollector{
		guards:        guards,
		queries:       desc("queries_total", "Queries judged.", "verdict"),
		findings:      desc("findings_total", "Findings (values above a limit), by predictor and action.", "predictor", "action"),
		units:         desc("cost_units_total", "Predicted cost, in units."),
		judging:       desc("judging_seconds", "Time to judge a query."),
		classQueries:  desc("class_queries_total", "Queries by class of the caller; empty for callers without a class.", "class", "verdict"),
		classUnits:    desc("class_cost_units_total", "Predicted cost by class of the caller, in units.", "class"),
		callerQueries: desc("caller_queries_total", "Queries of the most expensive callers; (others) stands for all other callers.", "caller", "verdict"),
		callerUnits:   desc("caller_cost_units_total", "Predicted cost of the most expensive callers, in units.", "caller"),
		version:       desc("limits_version", "Version of the limits in this process."),
		report:        desc("report_only", "1 while nothing is rejected or lowered."),
		dial:          desc("dial", "Factor by which operators multiply the limits."),
		load:          desc("load_ratio", "Pressure on the backend, by which limits with load_floor shrink."),
		broken:        desc("broken_files", "Files of limits or hints that are invalid or missing; their last valid content stays in force."),
		slow:          desc("slow_queries_total", "Queries that took longer than the setting slow, or killed a worker."),
		suppressed:    desc("log_lines_suppressed_total", "Log lines about queries that the rate limit suppressed."),
		age:           desc("hints_age_seconds", "Age of the hints of a source; absent without hints.", "source"),
		indices:       desc("polled_indices", "Indices for which the poller has hints."),
		fields:        desc("polled_fields", "Fields for which the poller has hints."),
		polled:        desc("polled_timestamp_seconds", "Time of the last successful poll of the backend."),
		failed:        desc("poll_failures", "Consecutive failed polls of the backend."),
		recorded:      desc("recorded_queries_total", "Queries written to the route's record file, which several routes may share."),
		unrecorded:    desc("unrecorded_queries_total", "Queries not written to the record file, because they were too long, not text, or too many for the disk."),
	}
}

// Describe implements [prometheus.Collector].
func (c *guardCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, c.queries, c.findings, c.units, c.judging, c.classQueries, c.classUnits, c.callerQueries, c.callerUnits,
		c.version, c.report, c.dial, c.load, c.broken, c.slow, c.suppressed,
		c.age, c.indices, c.fields, c.polled, c.failed, c.recorded, c.unrecorded)
}

// Collect implements [prometheus.Collector].
func (c *guardCollector) Collect(out chan<- prometheus.Metric) {
	if c.guards == nil {
		return
	}
	for _, g := range c.guards(0) {
		c.counts(out, &g)
		c.state(out, &g)
		c.hints(out, &g)
	}
}

func (c *guardCollector) counts(out chan<- prometheus.Metric, g *adminapi.Guard) {
	verdicts(out, c.queries, &g.Total, g.Route)
	for _, f := range g.Findings {
		out <- counter(c.findings, float64(f.Count), g.Route, f.Predictor, string(f.Action))
	}
	out <- counter(c.units, g.Total.Cost, g.Route)
	for _, n := range g.Classes {
		verdicts(out, c.classQueries, &n.Tally, g.Route, n.Name)
		out <- counter(c.classUnits, n.Cost, g.Route, n.Name)
	}
	for _, n := range g.Named {
		name := strings.ToValidUTF8(n.Name, "\ufffd") // callers choose their names
		verdicts(out, c.callerQueries, &n.Tally, g.Route, name)
		out <- counter(c.callerUnits, n.Cost, g.Route, name)
	}
	within, sum := map[float64]uint64{}, uint64(0)
	for i, most := range g.Judging.Buckets() {
		sum += uint64(g.Judging.Within[i])
		within[most.Seconds()] = sum
	}
	out <- prometheus.MustNewConstHistogram(c.judging, uint64(g.Judging.Queries), g.Judging.Took.Seconds(), within, g.Route)
	out <- counter(c.slow, float64(g.Slow), g.Route)
	out <- counter(c.suppressed, float64(g.Suppressed), g.Route)
}

func verdicts(out chan<- prometheus.Metric, d *prometheus.Desc, t *guard.Tally, labels ...string) {
	for verdict, n := range map[guard.Outcome]int64{guard.Accepted: t.Accepted, guard.Reported: t.Reported, guard.Capped: t.Capped, guard.Rejected: t.Rejected} {
		out <- counter(d, float64(n), append(slices.Clip(labels), string(verdict))...)
	}
}

func (c *guardCollector) state(out chan<- prometheus.Metric, g *adminapi.Guard) {
	out <- gauge(c.version, float64(g.Version), g.Route)
	out <- gauge(c.report, yes(g.ReportOnly), g.Route)
	out <- gauge(c.dial, g.Dial, g.Route)
	out <- gauge(c.load, g.Load, g.Route)
	out <- gauge(c.broken, float64(len(g.Faults)), g.Route)
}

func (c *guardCollector) hints(out chan<- prometheus.Metric, g *adminapi.Guard) {
	for _, h := range g.Hints {
		if !h.At.IsZero() {
			out <- gauge(c.age, max(time.Since(h.At).Seconds(), 0), g.Route, h.Source)
		}
	}
	if p := g.Poll; p != nil {
		out <- gauge(c.indices, float64(p.Indices), g.Route)
		out <- gauge(c.fields, float64(p.Fields), g.Route)
		if !p.Polled.IsZero() {
			out <- gauge(c.polled, float64(p.Polled.UnixNano())/float64(time.Second), g.Route)
		}
		out <- gauge(c.failed, float64(p.Failures), g.Route)
	}
	if r := g.Record; r != nil {
		out <- counter(c.recorded, float64(r.Recorded), g.Route)
		out <- counter(c.unrecorded, float64(r.Dropped), g.Route)
	}
}
