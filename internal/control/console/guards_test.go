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
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/control/live"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
)

const guardedSettings = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
fleets: {search: {workers: [%q]}}
routes:
  - {match: {path: /*}, fleet: search, guard: {query: elasticsearch, rules: %q}}
  - {match: {path: /sql/*}, fleet: search, guard: {query: sql}}
`

const guardedRules = `
classes: {panels: {match: {opaque_id: ["grafana-*"]}}}
rules: [{predictor: result_window, limit: 100}, {predictor: result_window, limit: 20, action: report}]
`

// The page shows what queries were predicted to cost, by whom and what became of
// them; names and paths in it are text.
func TestGuardsInPage(t *testing.T) {
	browser := browsertest.Start(t)
	t.Parallel()
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer worker.Close()
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, guardedSettings, worker.URL, guardedRules), 0o600); err != nil {
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
	post := func(caller, path, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Opaque-Id", caller)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	p := browser.Open("http://"+a.AdminAddr()+"/guards", browsertest.Look{})
	p.Wait(`document.querySelector("#callers-empty").checkVisibility() && document.querySelector("#plot-sum").innerText.includes("No query has been answered")`)
	const search = "/shop/_search"
	s.until("it serves", func() bool {
		return post("grafana-7", search, `{"size": 10, "query": {"term": {"a": 1}}}`) == http.StatusOK
	})
	for range 3 {
		if got := post(wicked, search, `{"size": 500, "query": {"term": {"a": 1}}}`); got != http.StatusBadRequest {
			t.Errorf("beyond the limit: %d", got)
		}
	}
	post(wicked, search, `{"size": 50, "query": {"bool": {"filter": [{"term": {"a": 1}}, {"term": {"b": 1}}]}}}`)
	post("shop", "/sql/q", "select a from t where id = 1")
	api, err := adminapi.New(adminapi.Config{Address: a.AdminAddr()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	if _, err := api.SetOverride(t.Context(), adminapi.SetOverride{What: live.GuardLimit, Class: "panels", Predictor: "agg_product", Value: "500", For: adminapi.Duration(time.Hour), Reason: wicked}); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelectorAll("#guard-caller-rows tr").length === 2 && document.querySelectorAll("#guard-shape-rows tr").length === 3`)
	p.Wait(`document.querySelector("#guard-notes").innerText.includes("agg_product 500 for class panels")`)
	if got := p.Text("#guard-sum"); !strings.Contains(got, "3 rejected") || !strings.Contains(got, "limits version 1") {
		t.Errorf("the sum reads %q", got)
	}
	if got := p.Text("#guard-caller-rows tr"); !strings.Contains(got, "<img src=x") || !strings.Contains(got, "result_window (4)") {
		t.Errorf("the caller reads %q", got)
	}
	if got := p.Text("#guard-caller-rows"); !strings.Contains(got, "class panels") {
		t.Errorf("the callers read %q", got)
	}
	for what, script := range map[string]string{
		"bars of the last hour":     `document.querySelectorAll("#hour rect").length >= 1 && document.querySelectorAll("#guard-caller-rows .minutes rect").length >= 2`,
		"parts of verdicts":         `document.querySelector("#guard-caller-rows .verdicts").getAttribute("aria-label") === "0 accepted, 1 reported, 0 capped, 3 rejected" && document.querySelectorAll("#guard-caller-rows tr:first-child .verdicts rect").length === 2`,
		"points of shapes":          `document.querySelectorAll("#plot circle").length === 2 && document.querySelectorAll("#plot .beyond circle").length === 1`,
		"names of the axes":         `[...document.querySelectorAll("#plot text")].some((t) => t.textContent === "units predicted") && [...document.querySelectorAll("#plot text")].some((t) => /^10+ (ms|µs)$|^1 (ms|s)$/.test(t.textContent))`,
		"one query that is one":     `[...document.querySelectorAll("#plot title")].some((t) => / 1 query(,|$)/.test(t.textContent))`,
		"a rule":                    `document.querySelector("#guard-shape-rows").innerText.includes("reject result_window at $.size")`,
		"two routes to choose from": `document.querySelectorAll("#guard-route option").length === 2`,
	} {
		var is bool
		if p.Eval(script, &is); !is {
			t.Errorf("there are no %s:\n%s", what, p.Text("#main"))
		}
	}
	keep(p, "guards")

	// From a caller to its shapes, by keyboard, and back.
	p.Eval(`document.querySelector("#guard-caller-rows tr:first-child button").focus()`, nil)
	p.Press("Enter")
	p.Wait(`document.querySelectorAll("#guard-shape-rows tr").length === 2 && new URLSearchParams(location.search).get("caller").includes("<img") && document.querySelector("#shapes-of").innerText.includes("<img")`)
	if got := p.Text("#guard-shape-rows"); !strings.Contains(got, "3 times, ") {
		t.Errorf("the caller's shapes read %q", got)
	}
	p.Wait(`document.querySelectorAll("#plot .of").length === 1`)
	keep(p, "guards-caller")
	p.Click("#shapes-all")
	p.Wait(`document.querySelectorAll("#guard-shape-rows tr").length === 3`)
	p.Eval(`(() => { const s = document.querySelector("#guard-route"); s.value = "/sql/*"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)
	p.Wait(`document.querySelector("#guard-sum").innerText.includes("1 accepted") && document.querySelectorAll("#guard-caller-rows tr").length === 1`)
	p.Eval(`(() => { const s = document.querySelector("#guard-route"); s.value = "/*"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)

	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true, Dark: true})
	p.Wait(`Number(document.querySelector("#plot svg").getAttribute("width")) <= 360`)
	noWider(t, p, 360)
	keep(p, "guards-phone-dark")
	harmless(t, p)

	// The page of traffic has a line, and leads there.
	p = browsertest.Start(t).Open("http://"+a.AdminAddr()+"/traffic", browsertest.Look{})
	p.Wait(`document.querySelectorAll("#guards-sum a").length === 2 && document.querySelector("#guards-sum a").getAttribute("href").startsWith("guards?route=")`)
	p.Wait(`document.querySelector("#override-rows").innerText.includes("class panels") && document.querySelector("#override-rows").innerText.includes("agg_product 500")`)
	p.Click("#override-new")
	p.Eval(`(() => { const s = document.querySelector("#override-what"); s.value = "guard"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)
	p.Wait(`document.querySelector("#override-class").checkVisibility()`)
	p.Eval(`document.querySelector("#override-class").focus()`, nil)
	p.Type("panels")
	p.Press("Enter")
	p.Wait(`!document.querySelector("#override").open && document.querySelector("#override-rows").innerText.includes("limits of queries × 0.5")`)
	harmless(t, p)
}

// A page that has no answer yet does not say that there is no guard, whatever its
// window does meanwhile.
func TestGuardsPageWaits(t *testing.T) {
	t.Parallel()
	url := serve(t, newStory(), new(admin.Hub), "correct-horse-battery")
	p := browsertest.Start(t).Open(url+"guards", browsertest.Look{})
	p.Wait(`document.querySelector("#login").open`)
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true})
	var begins bool
	if p.Eval(`(() => { dispatchEvent(new Event("resize")); return !document.querySelector("#begin").hidden; })()`, &begins); begins {
		t.Errorf("the page says %q", p.Text("#begin"))
	}
	p.Eval(`document.querySelector("#login-token").focus()`, nil)
	p.Type("correct-horse-battery")
	p.Press("Enter")
	p.Wait(`document.querySelector("#begin").checkVisibility()`) // the backend has no guards
}

// Where there is no guard, the page says how to begin.
func TestGuardsPageBegins(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	p := browsertest.Start(t).Open(s.admin+"/guards", browsertest.Look{})
	p.Wait(`document.querySelector("#begin").checkVisibility() && !document.querySelector(".guarded").checkVisibility()`)
	if got := p.Text("#begin"); !strings.Contains(got, "report_only: true") {
		t.Errorf("the page says %q", got)
	}
	keep(p, "guards-begin")
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true})
	noWider(t, p, 360)
	harmless(t, p)
}
