package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

const prefix = "bezoar_"

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func counter[N uint64 | int | int64](d *prometheus.Desc, v N, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
}

// requestCollector shows the counts of a Requests.
type requestCollector struct {
	s *Requests

	requests, fallbacks, bytes, attempts, lane, cut, units *prometheus.Desc
	duration, firstByte, wait                              *prometheus.Desc
	callersEvicted                                         *prometheus.Desc
}

func (s *Requests) Collector() prometheus.Collector {
	of := func(name, help string, more ...string) *prometheus.Desc {
		return desc("request"+name, help, append([]string{"route", "fleet"}, more...)...)
	}
	return &requestCollector{
		s:              s,
		requests:       of("s_total", "Finished requests, by the first digit of their status and the rule that refused them.", "class", "rule"),
		fallbacks:      of("_fallbacks_total", "Requests answered by a fallback instead of a worker.", "kind"),
		bytes:          of("_bytes_total", "Bytes of bodies.", "direction"),
		attempts:       of("_attempts_total", "Deliveries to workers."),
		lane:           of("_lane_total", "Requests whose last delivery was in the lane."),
		cut:            of("_cut_total", "Requests whose answer did not reach the caller completely."),
		units:          of("_cost_units_total", "Cost of requests as predicted by the guard, in units."),
		duration:       of("_duration_seconds", "Time to the end of the answer, for requests sent to a worker."),
		firstByte:      of("_first_byte_seconds", "Time to the head of the answer, for requests sent to a worker."),
		wait:           of("_wait_seconds", "Time in the fleet's pool, for requests that had to wait."),
		callersEvicted: desc("top_callers_evicted_total", "Callers that lost their counter to another caller in the lists of top callers."),
	}
}

// Describe implements [prometheus.Collector].
func (c *requestCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.requests, c.fallbacks, c.bytes, c.attempts, c.lane, c.cut, c.units, c.duration, c.firstByte, c.wait, c.callersEvicted,
	} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *requestCollector) Collect(out chan<- prometheus.Metric) {
	routes, all := c.s.sum()
	for at := range all {
		r, n := routes[at], &all[at]
		if r.Name == "" && (at > 0 || n.empty()) {
			continue // a free place
		}
		c.collect(out, r, n)
	}
	c.s.top.mu.Lock()
	evicted := c.s.top.lost()
	c.s.top.mu.Unlock()
	out <- counter(c.callersEvicted, evicted)
}

func (c *requestCollector) collect(out chan<- prometheus.Metric, r Route, n *counts) {
	ruleNames := rules()
	for class, className := range classes() {
		for rule, count := range n.requests[class] {
			// Most pairs never occur. Successful requests always have a series, so that the
			// first one is an increase.
			if count > 0 || rule == 0 {
				out <- counter(c.requests, count, r.Name, r.Fleet, className, ruleNames[rule])
			}
		}
	}
	for i, kind := range fallbacks() {
		if n.fallbacks[i] > 0 {
			out <- counter(c.fallbacks, n.fallbacks[i], r.Name, r.Fleet, kind)
		}
	}
	out <- counter(c.bytes, n.in, r.Name, r.Fleet, "in")
	out <- counter(c.bytes, n.out, r.Name, r.Fleet, "out")
	out <- counter(c.attempts, n.attempts, r.Name, r.Fleet)
	out <- counter(c.lane, n.lane, r.Name, r.Fleet)
	out <- counter(c.cut, n.cut, r.Name, r.Fleet)
	out <- counter(c.units, n.units, r.Name, r.Fleet)
	for d, h := range map[*prometheus.Desc]*histogram{c.duration: &n.duration, c.firstByte: &n.firstByte, c.wait: &n.waited} {
		buckets, count := h.cumulative()
		out <- prometheus.MustNewConstHistogram(d, count, h.sum.Seconds(), buckets, r.Name, r.Fleet)
	}
}
