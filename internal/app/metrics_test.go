package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads /metrics as Prometheus does.
func (n *node) scrape() map[string]*dto.MetricFamily {
	n.t.Helper()
	res, err := n.http.Get("http://" + n.adminAt + "/metrics")
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		n.t.Fatalf("/metrics: %s %v", res.Status, err)
	}
	return families
}

// value is the sum of the series that have all of the labels.
func value(f *dto.MetricFamily, labels ...string) (sum float64) {
next:
	for _, m := range f.GetMetric() {
		for i := 0; i+1 < len(labels); i += 2 {
			if !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == labels[i] && l.GetValue() == labels[i+1] }) {
				continue next
			}
		}
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	return sum
}

// What requests do is seen at /metrics, of which every type is the page's.
func TestRequestsAreSeen(t *testing.T) {
	n := serve(t, observed(t, ""))
	n.until("a worker serves", func() bool { s, _ := n.getAs("/search/a", "alice"); return s == http.StatusOK })
	for range 30 {
		n.getAs("/search/a", "greedy")
	}
	n.until("everything is counted", func() bool {
		f := n.scrape()
		return value(f["bezoar_requests_total"], "rule", "rate") > 0 && value(f["bezoar_requests_total"], "rule", "none", "class", "2xx") >= 11
	})
	n.getAs("/nothing/here", "alice")
	families := n.scrape()
	for _, tc := range []struct {
		name   string
		labels []string
		least  float64
	}{
		{"bezoar_requests_total", []string{"route", "/search/*", "fleet", "app", "class", "4xx", "rule", "rate"}, 15},
		{"bezoar_request_duration_seconds", []string{"route", "/search/*"}, 11},
		{"bezoar_request_bytes_total", []string{"direction", "out"}, 11},
		{"bezoar_request_attempts_total", []string{"fleet", "app"}, 11},
		{"bezoar_quota_refused_total", []string{"quota", "/search/* few"}, 15},
		{"bezoar_quota_keys", []string{"quota", "/search/* few"}, 2},
		{"bezoar_pool_admitted_total", []string{"fleet", "app", "priority", "critical"}, 11},
		{"bezoar_pool_limit", []string{"fleet", "app"}, 50},
		{"bezoar_breaker_state", []string{"fleet", "app", "route", "/search/*", "state", "closed"}, 1},
		{"bezoar_fleet_up", []string{"fleet", "app"}, 1},
		{"bezoar_fleet_places", []string{"fleet", "app"}, 2},
		{"bezoar_answered_total", []string{"fleet", "app"}, 11},
		{"bezoar_build_info", nil, 1},
		{"bezoar_quota_store_up", nil, 1},
		{"process_resident_memory_bytes", nil, 1 << 20},
		{"go_goroutines", nil, 1},
	} {
		if got := value(families[tc.name], tc.labels...); got < tc.least {
			t.Errorf("%s%v is %v, want %v at least", tc.name, tc.labels, got, tc.least)
		}
	}
	for _, name := range []string{"bezoar_health_check_state", "bezoar_retry_budget_used_ratio", "bezoar_watchdog_alarm", "bezoar_verdicts", "bezoar_stale_answers"} {
		if families[name] == nil {
			t.Errorf("%s is not there", name)
		}
	}
	types := metricTypes(t)
	for name, f := range families {
		if want := strings.ToLower(f.GetType().String()); strings.HasPrefix(name, "bezoar_") && types[name] != want {
			t.Errorf("docs/metrics.md says that %s is a %s, and it is a %s", name, types[name], want)
		}
	}
}
