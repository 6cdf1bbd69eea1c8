package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
	"github.com/bezoar-dev/bezoar/quota"
)

// echoing is a worker that answers with the request's target and body.
func echoing(c *workerConn) {
	for {
		r, body := c.request()
		if r == nil {
			return
		}
		answer := r.URL.RequestURI() + " " + body
		c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n", len(answer)))
		_, _ = c.Write([]byte(answer))
	}
}

func newGuard(t *testing.T, limits string) *guard.Guard {
	t.Helper()
	l, err := guard.ParseLimits("test.yaml", []byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Config{Limits: l})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// guarded serves a route with a guard before a worker that echoes.
func guarded(t *testing.T, g *guardfront.Guard, cfg Config, limits ...admission.Limit) (*front, *worker) {
	t.Helper()
	w := startWorker(t, echoing)
	return serve(t, Route{Doer: newDirect(t, w.addr), Guard: g, Buffer: 4096, Limits: limits}, cfg, ServerConfig{}), w
}

func (c *rawCaller) post(target, body string, lines ...string) (*http.Response, string) {
	c.t.Helper()
	head := append([]string{"POST " + target, "Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body))}, lines...)
	c.send(strings.Join(append([]string{head[0] + " HTTP/1.1", "Host: h"}, head[1:]...), "\n") + "\n\n")
	_, _ = c.Write([]byte(body))
	return c.answer("POST")
}

const (
	cheap  = `{"query": {"match": {"title": "stone"}}, "size": 10}`
	costly = `{"size": 0, "aggs": {"a": {"terms": {"field": "x", "size": 5000}, "aggs": {"b": {"terms": {"field": "y", "size": 5000}}}}}}`
)

func TestGuardRejects(t *testing.T) {
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.Elasticsearch}, Config{})
	c := dial(t, f.addr)
	if resp, body := c.post("/idx/_search", cheap); resp.StatusCode != 200 || body != "/idx/_search "+cheap {
		t.Fatalf("a cheap query: %d %s", resp.StatusCode, body)
	}
	resp, body := c.post("/idx/_search", costly, "Accept: application/vnd.elasticsearch+json; compatible-with=8")
	var got struct {
		Type, Detail, Rule string
		Status             int
		Findings           []guard.Finding
		Error              struct {
			Type, Reason string
			RootCause    []struct{ Type, Reason string } `json:"root_cause"`
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if resp.StatusCode != 400 || got.Status != 400 || got.Type != problem.Prefix+"query-rejected" || len(got.Findings) == 0 ||
		!strings.HasPrefix(got.Rule, "guard:") || got.Error.Type == "" || got.Error.Reason != got.Detail || len(got.Error.RootCause) != 1 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if f := got.Findings[0]; f.Value <= f.Limit || f.Path == "" || f.Fix == "" {
		t.Errorf("a finding says too little: %+v", f)
	}
	if resp.Header.Get(guardfront.Field) != "reject" || resp.Header.Get("X-Elastic-Product") == "" ||
		resp.Header.Get("Content-Type") != "application/vnd.elasticsearch+json;compatible-with=8" {
		t.Errorf("head %v", resp.Header)
	}
	if resp, _ := c.post("/idx/_search", costly); resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("head %v", resp.Header)
	}
	if resp, _ := c.ask("GET /idx/_search?size=90000", "Accept: application/problem+json"); resp.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("head %v", resp.Header)
	}
	if resp, _ := c.ask("GET /idx/_search?from=9000&size=9000"); resp.StatusCode != 400 {
		t.Errorf("from and size in the URL: %d", resp.StatusCode)
	}
	if n := w.deliveries(); n != 1 {
		t.Errorf("%d requests were delivered, want the cheap one", n)
	}
	// What cannot be looked at is not passed on.
	long := `{"query": {"match": {"title": "` + strings.Repeat("x", 5000) + `"}}}`
	if resp, body := dial(t, f.addr).post("/idx/_search", long); resp.StatusCode != 413 || !strings.Contains(body, "4096 bytes") {
		t.Errorf("a body beyond the buffer: %d %s", resp.StatusCode, body)
	}
	if n := w.deliveries(); n != 1 {
		t.Errorf("%d requests were delivered after a body beyond the buffer", n)
	}
	// Documents are no queries, however long.
	if resp, body := dial(t, f.addr).post("/idx/_bulk", long); resp.StatusCode != 200 || body != "/idx/_bulk "+long {
		t.Errorf("a long bulk: %d %.100s", resp.StatusCode, body)
	}
	f, _ = guarded(t, &guardfront.Guard{Guard: newGuard(t, "report_only: yes"), Kind: guard.Elasticsearch}, Config{})
	if resp, _ := dial(t, f.addr).post("/idx/_search", long); resp.StatusCode != 200 || resp.Header.Get(guardfront.Field) != "report; predictor=body_bytes" {
		t.Errorf("a body beyond the buffer, reported only: %d %v", resp.StatusCode, resp.Header)
	}
}

func TestGuardOfStatements(t *testing.T) {
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, "unparsable: reject"), Kind: guard.SQL, Statement: []string{"json:$.q"}}, Config{})
	c := dial(t, f.addr)
	for body, want := range map[string]int{
		`{"q": "SELECT a FROM t WHERE id = 1"}`: 200,
		`{"q": "UPDATE t SET a = 1"}`:           400,
		`{"q": `:                                400,
	} {
		if resp, answer := c.post("/", body); resp.StatusCode != want {
			t.Errorf("POST %s: %d %s", body, resp.StatusCode, answer)
		}
	}
	if n := w.deliveries(); n != 1 {
		t.Errorf("%d were delivered, want the good one", n)
	}
}

func TestGuardReportsAndCaps(t *testing.T) {
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, "report_only: yes"), Kind: guard.Elasticsearch}, Config{})
	resp, body := dial(t, f.addr).post("/idx/_search", costly)
	if resp.StatusCode != 200 || body != "/idx/_search "+costly || !strings.HasPrefix(resp.Header.Get(guardfront.Field), "report; predictor=") {
		t.Errorf("report: %d %v %s", resp.StatusCode, resp.Header, body)
	}
	f, _ = guarded(t, &guardfront.Guard{Guard: newGuard(t, "rules: [{predictor: result_window, limit: 100, action: cap}]"), Kind: guard.OpenSearch}, Config{})
	c := dial(t, f.addr)
	resp, body = c.post("/idx/_search", `{"query": {"term": {"a": 1}}, "size": 5000}`)
	_, sent, _ := strings.Cut(body, " ")
	var got struct{ Size int }
	if err := json.Unmarshal([]byte(sent), &got); err != nil || got.Size != 100 || resp.StatusCode != 200 {
		t.Errorf("cap: %d %s: %v", resp.StatusCode, body, err)
	}
	if resp.Header.Get(guardfront.Field) != "cap" || !strings.Contains(resp.Header.Get(guardfront.CapsField), "5000->100") {
		t.Errorf("cap: head %v", resp.Header)
	}
	if resp, body := c.ask("GET /idx/_search?q=a:1&size=5000"); resp.StatusCode != 200 || !strings.HasPrefix(body, "/idx/_search?q=a:1&size=100") {
		t.Errorf("cap in the URL: %d %s", resp.StatusCode, body)
	}
}

func TestGuardOfExpressions(t *testing.T) {
	g := &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.Regex, Dialect: "js", Expressions: []string{"query:filter", "json:$.rules[*].match", "header:X-Filter"}}
	f, _ := guarded(t, g, Config{})
	c := dial(t, f.addr)
	for target, want := range map[string]int{
		"/?filter=%5Ea%2Bb%24":                 200,
		"/?filter=%28a%2B%29%2B%24":            400,
		"/?other=%28a%2B%29%2B%24":             200,
		"/?filter=a&%66ilter=%28a%2B%29%2B%24": 400,
	} {
		if resp, body := c.ask("GET " + target); resp.StatusCode != want {
			t.Errorf("GET %s: %d %s", target, resp.StatusCode, body)
		}
	}
	if resp, _ := c.ask("GET /", "X-Filter: (x+x+)+y"); resp.StatusCode != 400 {
		t.Errorf("in a header: %d", resp.StatusCode)
	}
	for body, want := range map[string]int{
		`{"rules": [{"match": "^a"}, {"match": "(a+)+$"}]}`:            400,
		`{"rules": [{"match": "^a"}, {"other": "(a+)+$"}]}`:            200,
		`{"rules": {"match": "(a+)+$"}, "match": "(a+)+$"}`:            200,
		`{"rules": [` + strings.Repeat(`{"match":"a"},`, 100) + `{}]}`: 400, // more than is looked at
		`no JSON`: 200,
	} {
		if resp, answer := c.post("/", body); resp.StatusCode != want {
			t.Errorf("POST %.60s: %d %.200s", body, resp.StatusCode, answer)
		}
	}
}

// What a query costs is taken from quotas of cost, when it is known.
func TestGuardChargesCost(t *testing.T) {
	l := newLimiter(t, quota.Quota{Name: "units", Unit: quota.Cost, Limit: 100, Per: time.Hour})
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, "report_only: yes"), Kind: guard.Elasticsearch}, Config{Limiter: l}, admission.Limit{Key: "ip"})
	c := dial(t, f.addr)
	if resp, body := c.post("/idx/_search", costly); resp.StatusCode != 429 || decode(t, body).Quota != "units" {
		t.Errorf("a query beyond all units: %d %s", resp.StatusCode, body)
	}
	if resp, body := c.post("/idx/_search", cheap); resp.StatusCode != 200 {
		t.Errorf("a cheap one: %d %s", resp.StatusCode, body)
	}
	if n := w.deliveries(); n != 1 {
		t.Errorf("%d requests were delivered", n)
	}
}

func TestGuardClasses(t *testing.T) {
	limits := `
classes:
  dashboards: {match: {opaque_id: ["kibana-*"]}}
  batch: {match: {user: [etl]}}
  keyed: {match: {api_key: [k1]}}
rules:
  - {predictor: result_window, limit: 50, action: reject, class: dashboards}
  - {predictor: result_window, limit: 500, action: reject, class: batch}
  - {predictor: result_window, limit: 600, action: reject, class: keyed}
`
	f, _ := guarded(t, &guardfront.Guard{Guard: newGuard(t, limits), Kind: guard.Elasticsearch}, Config{})
	c := dial(t, f.addr)
	for _, tc := range []struct {
		size int
		line string
		want int
	}{
		{100, "X-Other: 1", 200},
		{100, "X-Opaque-Id: kibana-7", 400},
		{40, "X-Opaque-Id: kibana-7", 200},
		{550, "Authorization: Basic ZXRsOnBhc3M=", 400},
		{450, "Authorization: Basic ZXRsOnBhc3M=", 200},
		{550, "Authorization: ApiKey azE6c2VjcmV0", 200},
		{650, "Authorization: ApiKey azE6c2VjcmV0", 400},
		{650, "Authorization: ApiKey %%%", 200},
	} {
		if resp, body := c.post("/i/_search", fmt.Sprintf(`{"size": %d, "query": {"term": {"a": 1}}}`, tc.size), tc.line); resp.StatusCode != tc.want {
			t.Errorf("size %d, %s: %d %.300s", tc.size, tc.line, resp.StatusCode, body)
		}
	}
	for _, s := range f.g.now.Load().cfg.Routes[0].Guard.Guard.Callers(10) {
		if strings.Contains(s.Caller, "secret") || strings.Contains(s.Caller, "pass") {
			t.Errorf("a secret is a caller's name: %q", s.Caller)
		}
	}
}

func TestGuardFaults(t *testing.T) {
	_, err := New(Config{Routes: []Route{{Doer: doFunc(nil), Printer: newPrinter(t), Guard: &guardfront.Guard{Kind: "es2", Expressions: []string{"cookie:x", "json:a.b", "json:$.", "query:"}}}}})
	for _, want := range []string{"Guard.Guard is nil", "Guard.Kind", `"cookie:x"`, `"a.b"`, `"$."`, `"query:"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
