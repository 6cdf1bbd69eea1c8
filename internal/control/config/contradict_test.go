package config

import (
	"strings"
	"testing"
)

func TestSettingsThatDefeatEachOtherAreNamed(t *testing.T) {
	for name, tt := range map[string]struct{ fleet, route, rest, want string }{
		"the usual": {
			"replicas: 8, memory: 2GiB, watchdog: {memory: 1GiB}, shard: auto, concurrency: {limit: 100, per_caller: 10}",
			"client: ip, breaker: on, retry: {per_caller: 10%}, plans: [pro], limits: [{key: ip, rate: 100/s}, {rate: 20/s}], " +
				"fallback: [{stale: 1m}, {static: {status: 200}, on: [open]}, {fleet: other}]",
			"plans: {pro: {callers: [a], limits: [{rate: 10/s}, {rate: 5/m}, {rate: 50/s, burst: 90}]}}", "",
		},
		"watchdog above the limit": {"memory: 1GiB, watchdog: {memory: 1GiB}", "", "", "fleets.app.watchdog.memory: 1GiB is not below memory, 1GiB"},
		"a shard of all":           {"replicas: 2, shard: auto", "client: ip", "", "fleets.app.shard: every caller may reach all 2 workers"},
		"one cell":                 {"replicas: 8, shard: {cells: 1}", "client: ip", "", "fleets.app.shard: every caller may reach all 8 workers"},
		"one caller takes all":     {"concurrency: {limit: 10, per_caller: 10}", "client: ip", "", "concurrency.per_caller: 10 is not below the fleet's limit, 10"},
		"of an adaptive limit":     {"concurrency: {max: 10, per_caller: 11}", "client: ip", "", "concurrency.per_caller: 11 is not below the fleet's limit, 10"},
		"callers without names":    {"concurrency: {limit: 10, per_caller: 2}", "", "", "routes[0]: the route does not identify callers, so fleets.app.concurrency.per_caller"},
		"budgets without names":    {"", "retry: {per_caller: 10%}", "", "routes[0].retry.per_caller: the route does not identify callers"},
		"a breaker without rules":  {"", "breaker: {failure_ratio: 0%, consecutive: 0}", "", "routes[0].breaker: the breaker never opens"},
		"one with slow calls":      {"", "breaker: {failure_ratio: 0%, consecutive: 0, slow: 1s}", "", ""},
		"open without a breaker":   {"", "fallback: [{fleet: other, on: [open]}]", "", "routes[0].fallback[0]: never used: the route has no breaker"},
		"shed without a pool":      {"", "breaker: on, fallback: [{fleet: other, on: [shed]}]", "", "routes[0].fallback[0]: never used: the route has no breaker"},
		"behind a static answer":   {"", "fallback: [{static: {status: 200}}, {fleet: other}]", "", "routes[0].fallback[1]: never used: an earlier fallback"},
		"copies of POST":           {"", "match: {path: /*, methods: [POST]}, fallback: [{stale: 1m}]", "", "routes[0].fallback[0].stale: only answers to GET are kept"},
		"a plan that never bites": {
			"", "client: ip, plans: [pro], limits: [{rate: 10/s}]", "plans: {pro: {callers: [a], limits: [{rate: 100/s}]}}",
			"plans.pro.limits[0]: 100/s is never reached: routes[0].limits[0] limits the same callers to 10/s",
		},
	} {
		if !strings.Contains(tt.route, "match:") {
			tt.route = strings.TrimSuffix("match: {path: /*}, "+tt.route, ", ")
		}
		text := "fleets:\n  app: {" + strings.TrimSuffix("command: [./x], "+tt.fleet, ", ") + "}\n  other: {command: [./y]}\n" +
			"routes:\n  - {fleet: app, " + tt.route + "}\n  - {match: {path: /o, host: o.example}, fleet: other}\n" + tt.rest + "\n"
		c, err := Parse("t", []byte(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		got := strings.Join(c.Warnings(), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: warns\n%s\nwant one warning: %q", name, got, tt.want)
		}
	}
}
