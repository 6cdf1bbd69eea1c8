package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

func (e Engines) pools() part {
	limit := desc("pool_limit", "Current limit of concurrent requests of the fleet.", "fleet")
	inFlight := desc("pool_in_flight", "Requests in flight in the fleet's pool.", "fleet")
	queued := desc("pool_queued", "Requests that wait in the fleet's pool.", "fleet")
	streams := desc("pool_streams", "Open streams of the fleet, which do not count as requests.", "fleet")
	pressure := desc("pool_pressure", "Load of the pool: 0 idle, 1 at its limit, above 1 refusing.", "fleet")
	latency := desc("pool_latency_seconds", "Latency of the last window, which the limit follows; 0: unknown.", "fleet")
	normal := desc("pool_normal_latency_seconds", "Latency that counts as normal; 0: unknown.", "fleet")
	return part{[]*prometheus.Desc{limit, inFlight, queued, streams, pressure, latency, normal}, func(out chan<- prometheus.Metric) {
		for _, p := range call(e.Pools) {
			out <- gauge(limit, float64(p.Limit), p.Name)
			out <- gauge(inFlight, float64(p.InFlight), p.Name)
			out <- gauge(queued, float64(p.Queued), p.Name)
			out <- gauge(streams, float64(p.Streams), p.Name)
			out <- gauge(pressure, p.Pressure, p.Name)
			out <- gauge(latency, seconds(p.Latency), p.Name)
			out <- gauge(normal, seconds(p.Baseline), p.Name)
		}
	}}
}

func (e Engines) poolCounts() part {
	admitted := desc("pool_admitted_total", "Requests admitted, by priority, including those that waited.", "fleet", "priority")
	waited := desc("pool_waited_total", "Requests admitted after a wait, by priority.", "fleet", "priority")
	refused := desc("pool_refused_total", "Requests refused, by priority and rule.", "fleet", "priority", "rule")
	return part{[]*prometheus.Desc{admitted, waited, refused}, func(out chan<- prometheus.Metric) {
		for _, pool := range call(e.Pools) {
			for _, p := range shed.Priorities() {
				n, name := pool.Of(p), p.String()
				out <- counter(admitted, n.Admitted, pool.Name, name)
				out <- counter(waited, n.Waited, pool.Name, name)
				out <- counter(refused, n.Concurrency, pool.Name, name, overload.RuleConcurrency)
				out <- counter(refused, n.Queue, pool.Name, name, overload.RuleQueue)
				out <- counter(refused, n.Deadline, pool.Name, name, overload.RuleDeadline)
				out <- counter(refused, n.PerCaller, pool.Name, name, overload.RulePerCaller)
				out <- counter(refused, n.Streams, pool.Name, name, overload.RuleStreams)
			}
		}
	}}
}

func (e Engines) circuits() part {
	state := desc("breaker_state", "1 for the current state of the circuit breaker.", "fleet", "route", "state")
	forced := desc("breaker_forced", "1 while an operator forces the circuit breaker.", "fleet", "route")
	level := desc("breaker_trips", "Consecutive trips of the circuit breaker; 0 after it has closed.", "fleet", "route")
	pending := desc("breaker_changes_pending", "Changes of circuit breakers that are not yet in the store.")
	storeErrors := desc("breaker_store_errors_total", "Failed store calls about circuit breakers.")
	return part{[]*prometheus.Desc{state, forced, level, pending, storeErrors}, func(out chan<- prometheus.Metric) {
		if e.Circuits == nil {
			return
		}
		list, stats := e.Circuits()
		for i := range list {
			b := &list[i]
			fleet, route := parts(b.Name)
			for _, s := range []breaker.State{breaker.Closed, breaker.Open, breaker.HalfOpen} {
				out <- gauge(state, yes(b.State == s), fleet, route, s.String())
			}
			out <- gauge(forced, yes(b.Forced != nil), fleet, route)
			out <- gauge(level, float64(b.Level), fleet, route)
		}
		out <- gauge(pending, float64(stats.Pending))
		out <- counter(storeErrors, stats.StoreErrors)
	}}
}

func (e Engines) quotas() part {
	keys := desc("quota_keys", "Keys (such as callers or addresses) that a quota currently counts.", "quota")
	refused := desc("quota_refused_total", "Requests that a quota refused.", "quota")
	evicted := desc("quota_evicted_total", "Keys evicted to make room for others.")
	expired := desc("quota_expired_total", "Keys dropped because their window was over.")
	overflowed := desc("quota_overflowed_total", "Charges of new keys counted in one shared counter, because there was no room.")
	storeErrors := desc("quota_store_errors_total", "Failed store calls about quotas.")
	storeUp := desc("quota_store_up", "1 while the store of shared counts answers; always 1 without a store.")
	storeAge := desc("quota_store_age_seconds", "Age of the counts of other nodes; 0 without a store.")
	return part{[]*prometheus.Desc{keys, refused, evicted, expired, overflowed, storeErrors, storeUp, storeAge}, func(out chan<- prometheus.Metric) {
		if e.Quotas == nil {
			return
		}
		s := e.Quotas()
		for _, q := range s.Quotas {
			out <- gauge(keys, float64(q.Keys), q.Name)
			out <- counter(refused, q.Refused, q.Name)
		}
		out <- counter(evicted, s.Evicted)
		out <- counter(expired, s.Expired)
		out <- counter(overflowed, s.Overflowed)
		out <- counter(storeErrors, s.StoreErrors)
		out <- gauge(storeUp, yes(!s.StoreDown))
		out <- gauge(storeAge, seconds(s.StoreAge))
	}}
}

func (e Engines) watchdogs() part {
	restarts := desc("watchdog_restarts_total", "Restarts started by the watchdog.", "fleet")
	failed := desc("watchdog_restarts_failed_total", "Restarts by the watchdog after which the worker did not come back.", "fleet")
	useless := desc("watchdog_restarts_useless_total", "Restarts by the watchdog that did not help.", "fleet")
	recent := desc("watchdog_restarts_last_hour", "Restarts by the watchdog in the last hour.", "fleet")
	limit := desc("watchdog_restarts_per_hour_limit", "Maximum number of restarts per hour.", "fleet")
	alarm := desc("watchdog_alarm", "1 while the watchdog needs an operator's attention.", "fleet")
	return part{[]*prometheus.Desc{restarts, failed, useless, recent, limit, alarm}, func(out chan<- prometheus.Metric) {
		for _, w := range call(e.Watchdogs) {
			out <- counter(restarts, w.Restarts, w.Name)
			out <- counter(failed, w.Failed, w.Name)
			out <- counter(useless, w.Useless, w.Name)
			out <- gauge(recent, float64(w.Recent), w.Name)
			out <- gauge(limit, float64(w.PerHour), w.Name)
			out <- gauge(alarm, yes(w.Alarm != ""), w.Name)
		}
	}}
}

func (e Engines) settings() part {
	version := desc("settings_version", "Running version of the settings.")
	wanted := desc("settings_wanted_version", "Wanted version of the settings.")
	since := desc("settings_changed_timestamp_seconds", "Time at which the running version of the settings was applied.")
	failing := desc("settings_error", "1 while the wanted settings cannot run and the old ones stay in force.")
	storeUp := desc("settings_store_up", "1 while the store of settings answers.")
	overrides := desc("overrides", "Overrides in force.")
	return part{[]*prometheus.Desc{version, wanted, since, failing, storeUp, overrides}, func(out chan<- prometheus.Metric) {
		if e.Settings == nil {
			return
		}
		s, ok := e.Settings()
		if !ok {
			return
		}
		out <- gauge(version, float64(s.Running.Number))
		out <- gauge(wanted, float64(s.Wanted.Number))
		out <- gauge(since, timestamp(s.Since))
		out <- gauge(failing, yes(s.Error != ""))
		out <- gauge(storeUp, yes(s.Store.Error == ""))
		out <- gauge(overrides, float64(len(s.Overrides)))
	}}
}

func (e Engines) health() part {
	state := desc("health_state", "Health of this process: 0 healthy, 1 degraded, 2 failing.")
	check := desc("health_check_state", "Result of the check: 0 healthy, 1 degraded, 2 failing.", "check")
	return part{[]*prometheus.Desc{state, check}, func(out chan<- prometheus.Metric) {
		if e.Health == nil {
			return
		}
		h := e.Health()
		out <- gauge(state, float64(h.State))
		for name, s := range h.Checks {
			out <- gauge(check, float64(s), name)
		}
	}}
}
