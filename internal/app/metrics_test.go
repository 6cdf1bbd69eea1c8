package app_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/bezoar-dev/bezoar/internal/app"
)

// metric is one as it is described.
type metric struct{ labels, help string }

var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), unit: "", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

// described are the metrics that a Bezoar can show, by name.
func described(t *testing.T) map[string]metric {
	t.Helper()
	cfg := setup{Workers: []string{"http://127.0.0.1:1"}}.config()
	a, err := app.New(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := contextOf(t)
	cancel()
	defer func() { _ = a.Run(ctx) }() // which closes it
	out := map[string]metric{}
	for _, d := range a.Described() {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("a description that cannot be read: %s", d)
		}
		var help string
		if _, err := fmt.Sscanf(m[2], "%q", &help); err != nil {
			t.Fatal(err)
		}
		if _, ok := out[m[1]]; ok {
			t.Errorf("%s is described twice", m[1])
		}
		out[m[1]] = metric{strings.Join(strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' }), ", "), help}
	}
	return out
}

var metricRow = regexp.MustCompile("(?m)^\\| `(bezoar_\\w+)` \\| (counter|gauge|histogram) \\| ([^|]*)\\| (.*) \\|$")

// glossaryLink is the link of a word's first use, which the program does not print.
var glossaryLink = regexp.MustCompile(`\[([^\]]+)\]\(glossary\.md#[^)]+\)`)

// documented are the rows of docs/metrics.md about this process.
func documented(t *testing.T) (rows map[string]metric, types map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(glossaryLink.ReplaceAllString(string(page), "$1"), "## bezoar work")
	rows, types = map[string]metric{}, map[string]string{}
	for _, m := range metricRow.FindAllStringSubmatch(text, -1) {
		if _, ok := rows[m[1]]; ok {
			t.Errorf("docs/metrics.md has %s twice", m[1])
		}
		rows[m[1]], types[m[1]] = metric{strings.TrimSpace(strings.ReplaceAll(m[3], "`", "")), m[4]}, m[2]
	}
	return rows, types
}

// The page of metrics and what /metrics can show are the same.
func TestThePageOfMetricsIsWhatThereIs(t *testing.T) {
	have := described(t)
	rows, types := documented(t)
	for _, name := range slices.Sorted(maps.Keys(have)) {
		m := have[name]
		if row, ok := rows[name]; !ok || row != m {
			t.Errorf("docs/metrics.md has of %s %q\nwant a row\n| `%s` | … | %s | %s |", name, row, name, m.labels, m.help)
		}
		if counter := strings.HasSuffix(name, "_total"); counter != (types[name] == "counter") {
			t.Errorf("docs/metrics.md says that %s is a %s", name, types[name])
		}
		if !strings.HasSuffix(m.help, ".") {
			t.Errorf("the help of %s is %q", name, m.help)
		}
	}
	for name := range rows {
		if _, ok := have[name]; !ok {
			t.Errorf("docs/metrics.md has %s, which is not there", name)
		}
	}
}

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
	_, types := documented(t)
	for name, f := range families {
		if want := strings.ToLower(f.GetType().String()); strings.HasPrefix(name, "bezoar_") && types[name] != want {
			t.Errorf("docs/metrics.md says that %s is a %s, and it is a %s", name, types[name], want)
		}
	}
}
