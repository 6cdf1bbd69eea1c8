package app_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// observed are settings that use everything that can be seen.
func observed(t *testing.T, more string) string {
	t.Helper()
	return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
%s
fleets:
  app:
    command: [%q]
    env: {%s: worker}
    replicas: 2
    concurrency: {limit: 50, queue: 10}
    watchdog: {memory: 8GiB}
routes:
  - match: {path: /search/*}
    fleet: app
    client: "header:X-Api-Key"
    breaker: {}
    fallback: [{stale: 1m}]
    limits: [{name: few, rate: 10/m}]
`, more, os.Getenv(workVar), roleVar)
}

// getAs sends a GET to the gateway as caller.
func (n *node) getAs(path, caller string, header ...string) (status int, h http.Header) {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.url+path, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", caller)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := n.http.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, res.Header
}

// records are the lines of the access log.
func records(t *testing.T, log *syncBuffer) (out []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil && m["msg"] == "request" {
			out = append(out, m)
		}
	}
	return out
}

// The access log is as the settings say, who calls most can be asked for, and
// neither shows a caller's key unless that is wanted.
func TestCallersAreSeenAsTheSettingsSay(t *testing.T) {
	for _, names := range []string{"hash", "clear", "off", ""} {
		t.Run("caller="+names, func(t *testing.T) {
			t.Parallel()
			more, log := "", new(syncBuffer)
			if names != "" {
				more = fmt.Sprintf("access_log: {sample: 100%%, errors: 3, caller: %s}", names)
			}
			began := time.Now()
			n := serveWith(t, observed(t, more), app.Options{Log: slog.New(slog.NewJSONHandler(log, nil))})
			n.until("a worker serves", func() bool { s, _ := n.getAs("/search/a", "alice"); return s == http.StatusOK })
			for range 30 {
				n.getAs("/search/s3cret-path?q=s3cret-query", "sk-greedy")
			}
			var top adminapi.Top
			n.until("everything is counted", func() bool {
				var err error
				if top, err = n.admin.Top(t.Context(), adminapi.TopQuery{By: adminapi.ByRequests}); err != nil {
					t.Fatal(err)
				}
				// The first caller may have asked more than once.
				return top.Total >= 31 && (names == "off" || top.Callers[0].Value >= 30)
			})
			switch names {
			case "off":
				if len(top.Callers) != 0 {
					t.Errorf("%+v", top)
				}
			case "clear":
				if c := top.Callers[0]; c.Caller != "sk-greedy" || c.Value != 30 || c.Also[adminapi.ByRefused] < 15 {
					t.Errorf("%+v", top)
				}
			default:
				if c := top.Callers[0]; !strings.HasPrefix(c.Caller, "sk-…") || len(c.Caller) != len("sk-…")+6 || c.Value != 30 || top.Names != "label" {
					t.Errorf("%+v", top)
				}
			}
			n.stop()
			lines := records(t, log)
			n.lines(names, lines, top, time.Since(began))
			if s := log.String(); strings.Contains(s, "s3cret") || names != "clear" && strings.Contains(s, "sk-greedy") {
				t.Error("a secret is in the log")
			}
		})
	}
}

// lines checks those of the access log, which was written for so long.
func (n *node) lines(names string, lines []map[string]any, top adminapi.Top, length time.Duration) {
	t := n.t
	t.Helper()
	if names == "" {
		if len(lines) != 0 {
			t.Errorf("without access_log there are %d lines", len(lines))
		}
		return
	}
	good, bad := 0, 0
	for _, l := range lines {
		if l["status"] == float64(http.StatusOK) {
			good++
		} else {
			bad++
		}
		if caller := l["caller"]; names == "off" && caller != nil || names == "hash" && len(top.Callers) > 0 && l["status"] == float64(http.StatusTooManyRequests) && caller.(string)[:6] != strings.TrimPrefix(top.Callers[0].Caller, "sk-…") {
			t.Errorf("a line says %v", l)
		}
		if l["route"] != nil && l["route"] != "/search/*" {
			t.Errorf("a line says %v", l)
		}
	}
	if good < 11 || bad < 3 || float64(bad) > 3+3*length.Seconds() { // three at once, and three a second
		t.Errorf("%d good and %d bad requests are logged", good, bad)
	}
}

// collect is an OTLP collector over HTTP.
func collect(t *testing.T) (url string, spans func() []*otlp.Span) {
	t.Helper()
	var mu sync.Mutex
	var all []*otlp.Span
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		text, err := io.ReadAll(body)
		in := new(collector.ExportTraceServiceRequest)
		if err != nil || proto.Unmarshal(text, in) != nil {
			http.Error(w, "it cannot be read", http.StatusBadRequest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range in.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				all = append(all, ss.GetSpans()...)
			}
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []*otlp.Span {
		mu.Lock()
		defer mu.Unlock()
		return append([]*otlp.Span(nil), all...)
	}
}

// A request is one trace, from its caller over the gateway to each attempt.
func TestRequestsAreTraced(t *testing.T) {
	url, spans := collect(t)
	n := serve(t, observed(t, fmt.Sprintf("tracing: {endpoint: %q, sample: 0%%}", url)))
	n.until("a worker serves", func() bool { s, _ := n.getAs("/search/a", "alice"); return s == http.StatusOK })
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	n.getAs("/search/b", "bob", "traceparent", parent)
	var server, client *otlp.Span
	n.until("the spans arrive", func() bool {
		server, client = nil, nil
		for _, s := range spans() {
			switch s.GetKind() {
			case otlp.Span_SPAN_KIND_SERVER:
				server = s
			case otlp.Span_SPAN_KIND_CLIENT:
				client = s
			}
		}
		return server != nil && client != nil
	})
	if fmt.Sprintf("%x", server.GetTraceId()) != parent[3:35] || fmt.Sprintf("%x", server.GetParentSpanId()) != parent[36:52] || server.GetName() != "GET /search/*" {
		t.Errorf("the request's span is %v", server)
	}
	if !bytes.Equal(client.GetParentSpanId(), server.GetSpanId()) || client.GetEndTimeUnixNano() > server.GetEndTimeUnixNano() {
		t.Errorf("the attempt's span is %v", client)
	}
	if len(spans()) != 2 {
		t.Errorf("%d spans arrived: of requests whose callers did not decide none is traced", len(spans()))
	}
	n.until("they are counted", func() bool { return value(n.scrape()["bezoar_trace_spans_total"], "outcome", "sent") == 2 })
}

// A collector that is down costs callers nothing, and is told of once.
func TestACollectorThatIsDown(t *testing.T) {
	log := new(syncBuffer)
	n := serveWith(t, observed(t, `tracing: {endpoint: "http://127.0.0.1:1", sample: 100%}`), app.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	n.until("a worker serves", func() bool { s, _ := n.getAs("/search/a", "alice"); return s == http.StatusOK })
	n.until("spans are lost", func() bool {
		if s, _ := n.getAs("/search/a", time.Now().String()); s != http.StatusOK {
			t.Errorf("a request is answered %d", s)
		}
		f := n.scrape()["bezoar_trace_spans_total"]
		return value(f, "outcome", "failed") > 0 && value(f, "outcome", "dropped") > 0
	})
	n.stop()
	if got := strings.Count(log.String(), "does not accept spans"); got != 1 {
		t.Errorf("it is told of %d times", got)
	}
}
