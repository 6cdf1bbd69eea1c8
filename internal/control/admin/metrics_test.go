package admin

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, s *Server) (map[string]*dto.MetricFamily, string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("/metrics: %d %s", w.Code, w.Body)
	}
	text := w.Body.String()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("/metrics cannot be read: %v", err)
	}
	return families, text
}

func TestQueueMetrics(t *testing.T) {
	engine, svc := newTriage(t)
	kill(t, engine, 2, "parse", "no \"such\" field\n\xff")
	h := newQueuesStub("jobs", "paused")
	p := h.queues["paused"]
	p.State = "paused: everything fails"
	h.queues["paused"] = p
	h.stats = queue.Stats{Vanished: 7, Mass: 3, Workers: 2, Held: 11}
	h.blocked = []adminapi.Condition{{Kind: "breaker", Name: "db \"one\"\n", State: "open"}, {Kind: "breaker", Name: "fine", State: "closed"}, {Kind: "outage", Name: "paused"}}
	alarms := func() []adminapi.Alarm {
		return []adminapi.Alarm{{Name: "any", Firing: true, Value: 2, Looked: time.Unix(1_800_000_000, 0), Told: 1, Untold: 4}, {Name: "none", Limit: 9}}
	}
	s, err := New(Config{Address: "127.0.0.1:7070", Queues: h, Triage: svc, Alarms: alarms}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	families, text := scrape(t, s)
	for _, want := range []string{
		`bezoar_queue_messages{queue="jobs",state="visible"} 3`,
		`bezoar_queue_messages{queue="jobs",state="in_flight"} 2`,
		`bezoar_queue_oldest_seconds{queue="jobs"} 60`,
		`bezoar_queue_paused{queue="jobs"} 0`,
		`bezoar_queue_paused{queue="paused"} 1`,
		`bezoar_dead_letters{queue="jobs-dlq"} 2`,
		`bezoar_dead_letter_groups{queue="jobs-dlq"} 1`,
		`bezoar_queue_workers_vanished_total 7`,
		`bezoar_queue_workers_vanished_together_total 3`,
		`bezoar_queue_workers 2`,
		`bezoar_queue_messages_held 11`,
		`bezoar_queue_breaker_open{group="db \"one\"\n"} 1`,
		`bezoar_queues_without_metrics 0`,
		`bezoar_redrive_letters{outcome="left"} 0`,
		`bezoar_alarm_firing{alarm="any"} 1`,
		`bezoar_alarm_firing{alarm="none"} 0`,
		`bezoar_alarm_limit{alarm="none"} 9`,
		`bezoar_alarm_looked_timestamp_seconds{alarm="any"} 1.8e+09`,
		`bezoar_alarm_untold_total{alarm="any"} 4`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(text, "such") || strings.Contains(text, "parse") {
		t.Error("what letters say has become a label")
	}
	for name, f := range families {
		if strings.HasPrefix(name, "bezoar_") && (f.GetHelp() == "" || f.GetType() == dto.MetricType_COUNTER != strings.HasSuffix(name, "_total")) {
			t.Errorf("%s has the help %q and the type %v", name, f.GetHelp(), f.GetType())
		}
	}
}

// However much there is, what becomes labels is bounded.
func TestMetricsAreBounded(t *testing.T) {
	h := newQueuesStub()
	for i := range 1500 {
		name := fmt.Sprintf("q-%04d", i)
		h.queues[name] = adminapi.Queue{Name: name, State: "ok"}
		h.blocked = append(h.blocked, adminapi.Condition{Kind: "breaker", Name: name, State: "open"})
	}
	s, err := New(Config{Address: "127.0.0.1:7070", Queues: h}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	families, _ := scrape(t, s)
	for name, most := range map[string]int{"bezoar_queue_messages": 3000, "bezoar_queue_paused": 1000, "bezoar_queue_breaker_open": 1000} {
		if n := len(families[name].GetMetric()); n != most {
			t.Errorf("%s has %d series, want %d", name, n, most)
		}
	}
	if more := families["bezoar_queues_without_metrics"].GetMetric(); len(more) != 1 || more[0].GetGauge().GetValue() != 1 {
		t.Errorf("it does not say that there are more queues: %v", more)
	}
}
