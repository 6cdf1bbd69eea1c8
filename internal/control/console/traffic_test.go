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
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
)

// shop is a real Bezoar before two workers, with the real page.
type shop struct {
	t      *testing.T
	file   string // its settings
	url    string // of the gateway
	admin  string
	sick   atomic.Bool // the workers say that they are not well
	failed atomic.Bool // they answer 500
}

const shopSettings = `
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
access_log: {sample: 0%%, errors: 1, caller: clear}
fleets:
  shop:
    workers: [%q, %q]
    health: {path: /healthz, interval: 100ms, panic_below: 50%%}
    concurrency: {limit: 40, queue: 10}
    balance: {eject: off}
routes:
  - {match: {path: /*}, fleet: shop, client: "header:X-Api-Key", breaker: {min_volume: 5, failure_ratio: 50%%, open: 1m}, timeout: %s}
`

func startShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, file: filepath.Join(t.TempDir(), "bezoar.yaml")}
	var workers [2]string
	for i := range workers {
		w := httptest.NewServer(s)
		t.Cleanup(w.Close)
		workers[i] = w.URL
	}
	s.write(workers, "30s")
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(s.file, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, app.Options{Page: page, Settings: app.Settings{Path: s.file}})
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
	s.url, s.admin = "http://"+a.Addr(), "http://"+a.AdminAddr()
	s.until("it serves", func() bool { return s.ask("alice") == http.StatusOK })
	return s
}

// write writes the settings, with another timeout.
func (s *shop) write(workers [2]string, timeout string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, fmt.Appendf(nil, shopSettings, workers[0], workers[1], timeout), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// change changes the timeout in the file.
func (s *shop) change(from, to string) {
	s.t.Helper()
	text, err := os.ReadFile(s.file)
	if err == nil {
		err = os.WriteFile(s.file, []byte(strings.Replace(string(text), "timeout: "+from, "timeout: "+to, 1)), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ServeHTTP is both workers.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/healthz" && s.sick.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.URL.Path != "/healthz" && s.failed.Load():
		w.WriteHeader(http.StatusInternalServerError)
	default:
		_, _ = io.WriteString(w, "ok")
	}
}

// ask sends one request of a caller.
func (s *shop) ask(caller string) int {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/search", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", caller)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

func (s *shop) until(what string, is func() bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatalf("%s: that never came", what)
		}
	}
}

// wicked is a caller's name; what is hostile in it fits into a header.
const wicked = "<img src=x onerror=document.title='owned'>\u202egnp.exe"

func TestTraffic(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	defer http.DefaultClient.CloseIdleConnections()
	for range 40 {
		s.ask(wicked)
	}
	p := browsertest.Start(t).Open(s.admin+"/traffic?by=requests", browsertest.Look{})
	p.Wait(`document.querySelectorAll("#top-rows tr").length === 2 && document.querySelector("#top-by").value === "requests"`)
	if got := p.Text("#top-rows tr"); !strings.Contains(got, "<img src=x") || !strings.Contains(got, "⟨U+202E⟩") || !strings.Contains(got, "40") {
		t.Errorf("the first caller reads %q", got)
	}
	if got := p.Text("#top-sum"); strings.Contains(got, "hashes") || !strings.Contains(got, "in all") {
		t.Errorf("the sum reads %q", got)
	}
	p.Eval(`(() => { const s = document.querySelector("#top-by"); s.value = "bytes"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)
	p.Wait(`location.search.includes("by=bytes") && document.querySelector("#top-head").innerText.includes("Bytes") && document.querySelector("#top-rows td.number").innerText === "80 B"`)
	p.Click("#top-hold")
	p.Wait(`document.querySelector("#top-hold").getAttribute("aria-pressed") === "true"`)

	p.Wait(`document.querySelector(".pool .in-flight").getAttribute("d").includes("L") && document.querySelector(".pool").innerText.includes("limit 40")`)
	if got := p.Text(".pool"); !strings.Contains(got, "fixed limit") || !strings.Contains(got, "let in, 0 refused") {
		t.Errorf("the pool reads %q", got)
	}
	keep(p, "traffic")
	s.breakersInPage(p)
	s.overridesInPage(p)
	s.settingsInPage(p)
	s.panicInPage(p)
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true, Dark: true})
	noWider(t, p, 360)
	keep(p, "traffic-phone-dark")
	harmless(t, p)
}

// breakersInPage holds a breaker open, lets go of it, and sees it open by itself.
func (s *shop) breakersInPage(p *browsertest.Page) {
	t := s.t
	t.Helper()
	state := func(word string) string {
		return fmt.Sprintf(`document.querySelector("#breaker-rows .badge").dataset.word === %q`, word)
	}
	p.Wait(state("closed"))
	p.Click(`#breaker-rows button:nth-child(1)`)
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Press("Enter") // on Cancel
	p.Wait(`!document.querySelector("#ask").open`)
	if got := s.ask("alice"); got != http.StatusOK {
		t.Errorf("a cancelled question has opened the breaker: %d", got)
	}
	p.Click(`#breaker-rows button:nth-child(1)`)
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(state("open") + ` && document.querySelector("#breaker-rows").innerText.includes("held by console")`)
	if got := s.ask("alice"); got != http.StatusServiceUnavailable {
		t.Errorf("a breaker that is held open lets a request through: %d", got)
	}
	p.Click(`#breaker-rows button:nth-child(3)`)
	p.Wait(state("closed"))
	s.failed.Store(true)
	s.until("the breaker opens", func() bool { return s.ask("alice") == http.StatusServiceUnavailable })
	s.failed.Store(false)
	p.Wait(state("open") + ` && document.querySelector("#breaker-rows td.work").innerText.length > 5`)
	keep(p, "traffic-breaker")
	p.Click(`#breaker-rows button:nth-child(2)`)
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(state("closed"))
	s.until("requests pass", func() bool { return s.ask("alice") == http.StatusOK })
}

// overridesInPage refuses a caller for a while, and lifts that.
func (s *shop) overridesInPage(p *browsertest.Page) {
	t := s.t
	t.Helper()
	p.Click("#override-new")
	p.Wait(`document.querySelector("#override").open`)
	p.Eval(`(() => { const s = document.querySelector("#override-what"); s.value = "deny"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)
	fill(p, "#override-caller", "mallory")
	fill(p, "#override-for", "soon")
	fill(p, "#override-reason", "she <b>knows</b> why")
	p.Press("Enter")
	p.Wait(`!document.querySelector("#override-wrong").hidden`) // it says what is wrong, and stays
	fill(p, "#override-for", "10m")
	p.Press("Enter")
	p.Wait(`!document.querySelector("#override").open && document.querySelector("#override-rows").innerText.includes("caller mallory")`)
	if got := p.Text("#override-rows"); !strings.Contains(got, "everything is refused") || !strings.Contains(got, "<b>knows</b>") || !strings.Contains(got, "console") {
		t.Errorf("the override reads %q", got)
	}
	s.until("it holds", func() bool { return s.ask("mallory") == http.StatusForbidden })
	keep(p, "traffic-override")
	p.Click("#override-rows button")
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Click("#ask-yes")
	p.Wait(`!document.querySelector("#overrides-empty").hidden`)
	s.until("it is lifted", func() bool { return s.ask("mallory") == http.StatusOK })
}

// settingsInPage changes the file, looks at what that changed and goes back.
func (s *shop) settingsInPage(p *browsertest.Page) {
	t := s.t
	t.Helper()
	p.Wait(`document.querySelectorAll("#version-rows tr").length === 1`)
	s.change("30s", "7s")
	p.Wait(`document.querySelectorAll("#version-rows tr").length === 2 && document.querySelector("#version-rows tr small").innerText === "runs"`)
	p.Click(`#version-rows tr:first-child button:first-child`)
	p.Wait(`document.querySelector("#detail").open && document.querySelectorAll('#detail [data-sign="+"]').length > 0`)
	if got := p.Text("#detail"); !strings.Contains(got, "timeout: 7s") || !strings.Contains(got, "timeout: 30s") {
		t.Errorf("the difference reads %q", got)
	}
	keep(p, "traffic-diff")
	p.Press("Escape")
	p.Wait(`!document.querySelector("#detail").open`)
	p.Click(`#version-rows tr:last-child button:last-child`)
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Click("#ask-yes")
	p.Wait(`document.querySelectorAll("#version-rows tr").length === 3 && document.querySelector("#settings-state").innerText.startsWith("Version 3 runs")`)
	s.change("7s", "no time")
	p.Wait(`!document.querySelector("#settings-error").hidden && document.querySelector("#settings-error").innerText.includes("timeout")`)
	keep(p, "traffic-settings")
}

// panicInPage makes the health checks of all workers fail.
func (s *shop) panicInPage(p *browsertest.Page) {
	t := s.t
	t.Helper()
	s.sick.Store(true)
	p.Wait(`!document.querySelector("#panic").hidden && document.querySelector("#panic").innerText.includes("Panic mode: shop")`)
	if got := p.Text("#panic"); !strings.Contains(got, "of 2 workers look healthy") {
		t.Errorf("the banner reads %q", got)
	}
	if got := s.ask("alice"); got != http.StatusOK {
		t.Errorf("in panic mode a request is answered %d", got)
	}
	keep(p, "traffic-panic")
	p.Click(`.views a[href="./"]`)
	p.Wait(`document.querySelectorAll(".tile").length === 2 && !document.querySelector("#panic").hidden`)
	keep(p, "panic")
	s.sick.Store(false)
	p.Wait(`document.querySelector("#panic").hidden`)
	p.Click(`.views a[href="traffic"]`)
	p.Wait(`document.querySelectorAll("#top-rows tr").length >= 2`)
}

// The page's pure functions, and what it says where there is nothing.
func TestTrafficOfALittleServer(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	p := browsertest.Start(t).Open(strings.TrimSuffix(r.url, "queues")+"traffic", browsertest.Look{})
	p.Wait(`!document.querySelector("#top-empty").hidden && !document.querySelector("#pools-empty").hidden && !document.querySelector("#breakers-empty").hidden`)
	p.Wait(`document.querySelector("#settings-state").innerText.includes("follows no settings file") && document.querySelector("#override-new").hidden`)
	for expression, want := range map[string]string{
		`import("/panic.js").then((m) => {
			m.alarm([{name: "shop", rollout: {state: "stopped", number: 1, ended: "2026-01-02T03:04:05Z", replaced: 0, workers: 4, why: "<b>2</b> new processes ended", next: "Go back."}}]);
			const box = document.querySelector("#panic"), text = [box.hidden, box.innerText.replace(/at [^,]*,/, "at T,")].join("|");
			m.alarm([]);
			return text + "|" + box.hidden;
		})`: "false|Rolling restart stopped: shop at T, 0 of 4 workers replaced. <b>2</b> new processes ended. Go back.|true",
		`import("/topcallers.js").then((m) => [m.value("cost", 1.5e9), m.value("cost", 2e13), m.value("bytes", 999), m.value("bytes", 1234567), m.value("requests", 7)].join())`:                                                                                   "1.50 s,5.6 h,999 B,1.2 MB,7",
		`Promise.all([import("/guards.js"), import("/guardpictures.js")]).then(([m, p]) => [p.units(1234.4), p.units(5e8), m.sum({total: {checked: 2, accepted: 1, reported: 0, capped: 0, rejected: 1, cost: 7}, version: 3, dial: 0.5, load: 0.25})].join("|"))`: "1\u202f234|5.0e+8|2 queries: 1 accepted, 0 reported, 0 capped, 1 rejected; 7 units · limits version 3 · limits × 0.5 · pressure 25 %.",
		`import("/pools.js").then((m) => m.path([0, 10, 5], 10, 3))`:                                                 "M0.0 100.0L150.0 4.0L300.0 52.0",
		`import("/pools.js").then((m) => [m.duration("1m2.5s"), m.duration("1.5ms"), m.duration(undefined)].join())`: "62500,1.5,0",
	} {
		var got string
		if p.Eval(expression, &got); got != want {
			t.Errorf("%s gives %q, not %q", expression, got, want)
		}
	}
}
