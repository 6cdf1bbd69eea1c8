package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Collectors are what /metrics shows, but for the process and its runtime. All
// are described, also what is not there now.
func Collectors(cfg Config, b Backend) []prometheus.Collector {
	return append([]prometheus.Collector{
		newFleetCollector(b), newQueueCollector(cfg.Queues, cfg.Triage), newAlarmCollector(cfg.Alarms), newGuardCollector(cfg.Guards),
	}, cfg.Metrics...)
}

// metrics returns the handler of /metrics over a registry of its own.
func (s *Server) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(Collectors(s.cfg, s.backend)...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            nil, // the errors are in the answer
		MaxRequestsInFlight: 4,
	})
}

// describe sends descs.
func describe(out chan<- *prometheus.Desc, descs ...*prometheus.Desc) {
	for _, d := range descs {
		out <- d
	}
}

// A fleetCollector reads the fleets' own counters when it is asked, so that
// counting costs the path of work nothing more. Fleets are as many as the
// configuration names; nothing else becomes a label.
type fleetCollector struct {
	backend                              Backend
	workers, inFlight, restarts, waiting *prometheus.Desc
	stopped, stops, recovering           *prometheus.Desc
	counters                             map[string]*prometheus.Desc // by their names in [adminapi.Fleet]
}

func newFleetCollector(b Backend) *fleetCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("bezoar_"+name, help, append([]string{"fleet"}, labels...), nil)
	}
	c := &fleetCollector{
		backend:    b,
		workers:    desc("workers", "Workers by state; lane is the one set aside for suspects.", "state"),
		inFlight:   desc("in_flight", "Attempts in flight on workers."),
		restarts:   desc("worker_restarts_total", "Epochs that followed an earlier one."),
		waiting:    desc("lane_waiting", "Suspected work that waits for the lane."),
		recovering: desc("recovering", "1 while unproven work goes back by few at a time to a fleet of which half has died."),
		stopped:    desc("rollout_stopped", "1 while the newest rolling restart is one that stopped."),
		stops:      desc("rollouts_stopped_total", "Rolling restarts that stopped before all workers were replaced."),
		counters:   map[string]*prometheus.Desc{},
	}
	for key, help := range map[string]string{
		"answered":      "Work that a worker answered.",
		"refused":       "Work refused because of what is held against it.",
		"unavailable":   "Work that found no worker, or a full lane.",
		"failed":        "Work that broke and could not run again.",
		"timed_out":     "Work that was overdue.",
		"aborted":       "Work whose caller went away.",
		"cut":           "Work whose answer broke after it had begun.",
		"attempts":      "Deliveries of work to workers.",
		"lane_runs":     "Deliveries to the lane.",
		"retries":       "Deliveries after the first.",
		"would_refuse":  "Work of routes that only report, which others would have refused.",
		"would_isolate": "Work of routes that only report, which others would have run alone or after a copy of it.",
		"held_back":     "Unproven work that waited because half of the workers had just died.",
		"deaths":        "Ends of workers that were not planned.",
	} {
		c.counters[key] = desc(key+"_total", help)
	}
	return c
}

// Describe implements [prometheus.Collector].
func (c *fleetCollector) Describe(out chan<- *prometheus.Desc) {
	describe(out, c.workers, c.inFlight, c.restarts, c.waiting, c.recovering, c.stopped, c.stops)
	for _, d := range c.counters {
		out <- d
	}
}

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
			out <- gauge(c.workers, n, f.Name, state)
		}
		out <- gauge(c.inFlight, inFlight, f.Name)
		out <- counter(c.restarts, restarts, f.Name)
		out <- gauge(c.waiting, float64(f.Lane.Waiting), f.Name)
		out <- gauge(c.recovering, yes(f.Recovery != nil), f.Name)
		c.rollouts(out, &f)
		for key, d := range c.counters {
			if n, ok := f.Counters[key]; ok {
				out <- counter(d, float64(n), f.Name)
			}
		}
	}
}

// rollouts sends what is known of a fleet's rolling restarts.
func (c *fleetCollector) rollouts(out chan<- prometheus.Metric, f *adminapi.Fleet) {
	if !f.Managed {
		return
	}
	stopped, stops := false, 0.0
	if r := f.Rollout; r != nil {
		stopped, stops = r.State == "stopped", float64(r.Stopped)
	}
	out <- gauge(c.stopped, yes(stopped), f.Name)
	out <- counter(c.stops, stops, f.Name)
}
