package admin

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
)

func TestEveryCallThroughTheClient(t *testing.T) {
	backend := newBackendStub()
	_, base := start(t, Config{Token: "correct-horse-battery"}, backend, new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base, Token: "correct-horse-battery"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()

	if vs, err := c.Verdicts(ctx, "shop"); err != nil || len(vs) != 1 || vs[0].Reason != "it crashed the lane" {
		t.Errorf("Verdicts = %v, %v", vs, err)
	}
	if v, err := c.Verdict(ctx, "q-000000000001"); err != nil || v.Fleet != "shop" {
		t.Errorf("Verdict = %v, %v", v, err)
	}
	add := adminapi.Add{Fleet: "shop", Shape: bezoar.Fingerprint{1}, For: adminapi.Duration(time.Hour), Reason: "known"}
	if v, err := c.Add(ctx, add); err != nil || !v.Manual {
		t.Errorf("Add = %v, %v", v, err)
	}
	if diff := cmp.Diff(add, backend.added); diff != "" {
		t.Errorf("the backend was asked for something else:\n%s", diff)
	}
	if err := c.Release(ctx, "q-000000000001"); err != nil {
		t.Errorf("Release = %v", err)
	}
	wantCode(t, "second Release", c.Release(ctx, "q-000000000001"), adminapi.CodeNotFound)

	if ls, err := c.Letters(ctx, adminapi.LetterQuery{Fleet: "shop", Limit: 5, Offset: 2}); err != nil || len(ls) != 1 {
		t.Errorf("Letters = %v, %v", ls, err)
	}
	if want := (ledger.LetterQuery{Fleet: "shop", Limit: 5, Offset: 2}); backend.asked != want {
		t.Errorf("the backend was asked for %+v, want %+v", backend.asked, want)
	}
	if l, err := c.Letter(ctx, "dl-000000000001"); err != nil || l.Request.Target != "/<script>" {
		t.Errorf("Letter = %v, %v", l, err)
	}
	if d, err := c.Redrive(ctx, "dl-000000000001"); err != nil || d.Outcome != adminapi.Answered {
		t.Errorf("Redrive = %v, %v", d, err)
	}
	if err := c.Discard(ctx, "dl-000000000001"); err != nil {
		t.Errorf("Discard = %v", err)
	}
	_, err = c.Letter(ctx, "dl-000000000001")
	wantCode(t, "Letter after Discard", err, adminapi.CodeNotFound)

	if fs, err := c.Fleets(ctx); err != nil || len(fs) != 1 || len(fs[0].Workers) != 3 {
		t.Errorf("Fleets = %v, %v", fs, err)
	}
	if r, err := c.Restart(ctx, "shop"); err != nil || r.Workers != 3 {
		t.Errorf("Restart = %v, %v", r, err)
	}
	_, err = c.Restart(ctx, "../x")
	wantCode(t, "Restart of no fleet", err, adminapi.CodeNotFound)
}

func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var p *adminapi.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("%s = %v, want a problem %q", what, err, code)
	}
}

func TestRefusals(t *testing.T) {
	s, err := New(Config{Address: "127.0.0.1:7070"}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	big := `{"request":{"method":"POST","target":"/","body":"` + strings.Repeat("A", maxBody) + `"}}`
	tests := []struct {
		name, method, target, kind, body string
		status                           int
		detail                           string
	}{
		{"no such path", "GET", "/api/v1/nothing", "", "", 404, "no GET /api/v1/nothing"},
		{"no page", "GET", "/", "", "", 404, ""},
		{"unknown parameter", "GET", "/api/v1/letters?limmit=3", "", "", 400, `parameter \"limmit\"`},
		{"limit", "GET", "/api/v1/letters?limit=1001", "", "", 400, "from 1 to 1000"},
		{"offset", "GET", "/api/v1/letters?offset=-1", "", "", 400, "from 0"},
		{"fingerprint", "GET", "/api/v1/letters?fingerprint=zz", "", "", 400, "32 hexadecimal"},
		{"form", "POST", "/api/v1/quarantine", "text/plain", "{}", 400, "application/json"},
		{"nothing named", "POST", "/api/v1/quarantine", "application/json", "{}", 400, "exactly one"},
		{"several faults", "POST", "/api/v1/quarantine", "application/json", `{"request":{"method":"GET"},"for":"-1s"}`, 400, "negative"},
		{"unknown field", "POST", "/api/v1/quarantine", "application/json", `{"fingerprnt":"x"}`, 400, "fingerprnt"},
		{"two documents", "POST", "/api/v1/quarantine", "application/json", `{} {}`, 400, "after the document"},
		{"too large", "POST", "/api/v1/quarantine", "application/json", big, 413, "bytes"},
		{"method", "PUT", "/api/v1/quarantine", "application/json", "{}", 404, "PUT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "http://127.0.0.1:7070"+tt.target, strings.NewReader(tt.body))
			if tt.kind != "" {
				r.Header.Set("Content-Type", tt.kind)
			}
			w := httptest.NewRecorder()
			s.Handler().ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.detail) {
				t.Errorf("= %d %s, want %d with %q", w.Code, w.Body, tt.status, tt.detail)
			}
			if strings.HasPrefix(tt.target, "/api/") && w.Header().Get("Content-Type") != adminapi.ProblemType {
				t.Errorf("a refusal of type %q", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestErrorsOfTheBackend(t *testing.T) {
	tests := []struct {
		err    error
		status int
		detail string
	}{
		{errors.New("disk on fire at /secret"), 500, "see the log"},
		{adminapi.NewProblem(409, adminapi.CodeConflict, "it has been released"), 409, "it has been released"},
		{context.DeadlineExceeded, 504, "too long"},
	}
	for _, tt := range tests {
		backend := newBackendStub()
		backend.fail = tt.err
		s, err := New(Config{Address: "127.0.0.1:7070"}, backend, new(Hub))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/quarantine", nil))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.detail) || strings.Contains(w.Body.String(), "/secret") {
			t.Errorf("%v = %d %s, want %d with %q", tt.err, w.Code, w.Body, tt.status, tt.detail)
		}
	}
}

func TestPayloadsCannotBecomeMarkup(t *testing.T) {
	s, err := New(Config{Address: "127.0.0.1:7070"}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/v1/letters/dl-000000000001", nil))
	if strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("the payload came back as markup: %s", w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type":            "application/json",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": policy,
		"Cache-Control":           "no-store",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestHealth(t *testing.T) {
	backend := newBackendStub()
	s, err := New(Config{Address: "127.0.0.1:7070"}, backend, new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) int {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil))
		return w.Code
	}
	if get("/livez") != 200 || get("/readyz") != 200 {
		t.Error("a ready server does not say so")
	}
	backend.down = errors.New("fleet shop has no worker")
	if get("/livez") != 200 || get("/readyz") != 503 {
		t.Error("a server without workers lives and is not ready")
	}
}

func TestMetrics(t *testing.T) {
	s, err := New(Config{Address: "127.0.0.1:7070"}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	for _, want := range []string{
		`bezoar_workers{fleet="shop",state="ready"} 1`,
		`bezoar_workers{fleet="shop",state="lane"} 1`,
		`bezoar_workers{fleet="shop",state="down"} 1`,
		`bezoar_workers{fleet="shop",state="starting"} 0`,
		`bezoar_in_flight{fleet="shop"} 2`,
		`bezoar_worker_restarts_total{fleet="shop"} 4`,
		`bezoar_lane_waiting{fleet="shop"} 4`,
		`bezoar_recovering{fleet="shop"} 1`,
		`bezoar_held_back_total{fleet="shop"} 6`,
		`bezoar_refused_total{fleet="shop"} 7`,
		`bezoar_lane_runs_total{fleet="shop"} 5`,
		`bezoar_rollout_stopped{fleet="shop"} 1`,
		`bezoar_rollouts_stopped_total{fleet="shop"} 3`,
		`go_goroutines`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// Serve ends soon although a call hangs and an event stream is open.
func TestServeEnds(t *testing.T) {
	backend := newBackendStub()
	backend.slow = make(chan struct{})
	s, err := New(Config{Address: "127.0.0.1:0"}, backend, new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, srv.Listener) }()
	defer http.DefaultClient.CloseIdleConnections()

	resp, err := http.Get("http://" + srv.Listener.Addr().String() + adminapi.PathEvents)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	cancel()
	if _, err := io.Copy(new(bytes.Buffer), resp.Body); err != nil {
		t.Errorf("the stream was cut, not ended: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve = %v", err)
	}
}
