package admin

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// Collectors returns the collectors of /metrics, except those of the process and its
// runtime. They describe all metrics, including those without values now.
func Collectors(cfg Config, b Backend) []prometheus.Collector {
	return append([]prometheus.Collector{
		newFleetCollector(b), newQueueCollector(cfg.Queues, cfg.Triage), newAlarmCollector(cfg.Alarms), newGuardCollector(cfg.Guards),
	}, cfg.Metrics...)
}

// metrics returns the handler of /metrics, with its own registry.
func (s *Server) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	reg.MustRegister(Collectors(s.cfg, s.backend)...)
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            nil, // the response contains the errors
		MaxRequestsInFlight: 4,
	})
}

// describe sends descs.
func describe(out chan<- *prometheus.Desc, descs ...*prometheus.Desc) {
	for _, d := range descs {
		out <- d
	}
}

// fleetCollector reads the fleets' own counters on demand, so that the metrics cost nothing
// while work is handled. Labels contain only fleets, whose number the settings determine.
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
		workers:    desc("workers", "Workers by state; lane is the worker reserved for suspects.", "state"),
		inFlight:   desc("in_flight", "Attempts in flight on workers."),
		restarts:   desc("worker_restarts_total", "Starts of workers after an earlier epoch."),
		waiting:    desc("lane_waiting", "Suspected work that waits for the lane."),
		recovering: desc("recovering", "1 while the fleet gets unproven work back in small numbers, after half of its workers died."),
		stopped:    desc("rollout_stopped", "1 if the newest rolling restart stopped before its end."),
		stops:      desc("rollouts_stopped_total", "Rolling restarts that stopped before all workers were replaced."),
		counters:   map[string]*prometheus.Desc{},
	}
	for key, help := range map[string]string{
		"answered":      "Work that a worker answered.",
		"refused":       "Work refused because of a verdict.",
		"unavailable":   "Work for which no worker was available, or the lane was full.",
		"failed":        "Work that failed and could not be sent again.",
		"timed_out":     "Work that exceeded its deadline.",
		"aborted":       "Work whose caller disconnected.",
		"cut":           "Work whose answer broke off after its start.",
		"attempts":      "Deliveries of work to workers.",
		"lane_runs":     "Deliveries in the lane.",
		"retries":       "Deliveries after the first.",
		"would_refuse":  "Work on report-only routes that would have been refused.",
		"would_isolate": "Work on report-only routes that would have run alone or waited for a copy.",
		"held_back":     "Unproven work that waited after half of the workers had died.",
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

// rollouts sends the metrics of a fleet's rolling restarts.
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
