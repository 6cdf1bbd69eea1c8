package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/browsertest"
	"github.com/bezoar-dev/bezoar/internal/config"
	"github.com/bezoar-dev/bezoar/internal/console"
)

const guardedSettings = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
fleets: {search: {workers: [%q]}}
routes:
  - {match: {path: /*}, fleet: search, guard: {query: elasticsearch, rules: "rules: [{predictor: result_window, limit: 100}]"}}
`

// The page shows what queries were predicted to cost, by whom and what became of
// them; names and paths in it are text.
func TestGuardsInPage(t *testing.T) {
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer worker.Close()
	page, err := console.New(console.Config{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, guardedSettings, worker.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, app.Options{Page: page, Settings: app.Settings{Path: file}})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	defer http.DefaultClient.CloseIdleConnections()
	s := &shop{t: t}
	post := func(body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+"/shop/_search", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Opaque-Id", wicked)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	s.until("it serves", func() bool { return post(`{"size": 10, "query": {"term": {"a": 1}}}`) == http.StatusOK })
	for range 3 {
		if got := post(`{"size": 500, "query": {"term": {"a": 1}}}`); got != http.StatusBadRequest {
			t.Errorf("beyond the limit: %d", got)
		}
	}
	p := browsertest.Start(t).Open("http://"+a.AdminAddr()+"/traffic", browsertest.Look{})
	p.Wait(`document.querySelectorAll("#guard-caller-rows tr").length === 1 && document.querySelectorAll("#guard-shape-rows tr").length >= 1`)
	if got := p.Text("#guards-sum"); !strings.Contains(got, "/*") || !strings.Contains(got, "3 rejected") || !strings.Contains(got, "limits version 1") {
		t.Errorf("the sum reads %q", got)
	}
	if got := p.Text("#guard-caller-rows tr"); !strings.Contains(got, "<img src=x") || !strings.Contains(got, "result_window (3)") {
		t.Errorf("the caller reads %q", got)
	}
	if got := p.Text("#guard-shape-rows"); !strings.Contains(got, "result_window") {
		t.Errorf("the shapes read %q", got)
	}
	keep(p, "traffic-guards")
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true, Dark: true})
	noWider(t, p, 360)
	harmless(t, p)
}
