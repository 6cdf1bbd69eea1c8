package admin

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics returns the handler of /metrics over a registry of its own.
func (s *Server) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		newFleetCollector(s.backend),
		newQueueCollector(s.cfg.Queues, s.cfg.Triage),
		newAlarmCollector(s.cfg.Alarms),
	)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            nil, // the errors are in the answer
		MaxRequestsInFlight: 4,
	})
}

// A fleetCollector reads the fleets' own counters when it is asked, so that
// counting costs the path of work nothing more. Fleets are as many as the
// configuration names; nothing else becomes a label.
type fleetCollector struct {
	backend                              Backend
	workers, inFlight, restarts, waiting *prometheus.Desc
}

func newFleetCollector(b Backend) *fleetCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_"+name, help, append([]string{"fleet"}, labels...), nil)
	}
	return &fleetCollector{
		backend:  b,
		workers:  desc("workers", "Workers by state; lane is the one set aside for suspects.", "state"),
		inFlight: desc("in_flight", "Attempts in flight on workers."),
		restarts: desc("worker_restarts_total", "Epochs that followed an earlier one."),
		waiting:  desc("lane_waiting", "Suspected work that waits for the lane."),
	}
}

// Describe says nothing: which counters a fleet has is the fleet's affair.
func (c *fleetCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *fleetCollector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.backend.Fleets() {
		states := map[string]float64{"starting": 0, "ready": 0, "draining": 0, "down": 0, "lane": 0}
		var inFlight, restarts float64
		for _, w := range f.Workers {
			state := w.State
			if w.Lane && state == "ready" {
				state = "lane"
			}
			states[state]++
			inFlight += float64(w.InFlight)
			restarts += float64(w.Restarts)
		}
		for state, n := range states {
			out <- prometheus.MustNewConstMetric(c.workers, prometheus.GaugeValue, n, f.Name, state)
		}
		out <- prometheus.MustNewConstMetric(c.inFlight, prometheus.GaugeValue, inFlight, f.Name)
		out <- prometheus.MustNewConstMetric(c.restarts, prometheus.CounterValue, restarts, f.Name)
		out <- prometheus.MustNewConstMetric(c.waiting, prometheus.GaugeValue, float64(f.Lane.Waiting), f.Name)
		for key, n := range f.Counters {
			name := "bezoar_" + metricName(key) + "_total"
			d := prometheus.NewDesc(name, "How often: "+strings.ReplaceAll(key, "_", " ")+".", []string{"fleet"}, nil)
			out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), f.Name)
		}
	}
}

// metricName replaces what a metric's name may not hold.
func metricName(key string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(key))
}
