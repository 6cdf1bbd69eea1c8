package console_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
)

// evil is what an attacker would have the page run.
const evil = `GET /<img src=x onerror=document.title='owned'>?q=<script>document.title="owned"</script>`

// story is a backend that shows the page every state it knows, without a fleet.
type story struct {
	mu       sync.Mutex // guards what changes below
	verdicts []bezoar.Verdict
	letters  []bezoar.Letter
	fleet    adminapi.Fleet
	others   []adminapi.Fleet
	queues   *shelved // nil: this server has none
	alarms   []adminapi.Alarm

	restarted chan string
}

func newStory() *story {
	now := time.Now()
	crash := bezoar.Evidence{
		Worker: "shop-2", Epoch: 7, At: now.Add(-time.Minute), Class: bezoar.Crash, Detail: "exit status 2",
		ExitCode: 2, Stderr: []string{"panic: runtime error: invalid memory address", "<b>goroutine 7</b>"},
		InFlight: 3, Share: 0.92, Others: []bezoar.Suspect{{Fingerprint: bezoar.Fingerprint{9}, Share: 0.08}},
	}
	lane := crash
	lane.Worker, lane.Lane, lane.InFlight, lane.Share = "shop-3", true, 1, 1
	return &story{
		restarted: make(chan string, 8), queues: new(shelved),
		verdicts: []bezoar.Verdict{
			{
				ID: "q-0000000000a1", Scope: bezoar.ScopeFeature, Features: []string{"header X-Theme: <u>neon</u>"}, Killers: 3, Successes: 32, State: bezoar.Quarantined, Fleet: "shop", Route: "/search",
				Cause: bezoar.Crash, Reason: "it crashed the worker that ran it alone in the lane", Sample: evil, Score: 1.92, Level: 1,
				Since: now.Add(-50 * time.Second), Until: now.Add(42 * time.Second), Refused: 1234,
				Evidence: []bezoar.Evidence{crash, lane}, Fingerprint: bezoar.Fingerprint{0xab, 1},
				Why: []string{"None of 32 remembered successes has it."},
			},
			{
				ID: "q-0000000000a2", Scope: bezoar.ScopeWork, State: bezoar.Suspected, Fleet: "shop", Cause: bezoar.Timeout,
				Reason: "it was in flight when shop-5 hung", Sample: "GET /report?of=sales", Score: 0.08, Since: now, Fingerprint: bezoar.Fingerprint{2},
			},
			{
				ID: "q-0000000000a3", Scope: bezoar.ScopeShape, State: bezoar.Laned, Fleet: "shop", Cause: bezoar.Crash,
				Reason: "three convicts of this shape", Sample: "GET /search?filter=…", Score: 3, Pace: 0.25, Since: now, Fingerprint: bezoar.Fingerprint{3}, Shape: bezoar.Fingerprint{3},
			},
		},
		letters: []bezoar.Letter{{
			ID: "dl-0000000000b1", Verdict: "q-0000000000a1", Fleet: "shop", Class: bezoar.Crash, Reason: "it crashed the lane",
			First: now.Add(-time.Minute), Last: now, Copies: 17, Evidence: []bezoar.Evidence{crash},
			Request: bezoar.Request{Method: "GET", Target: strings.TrimPrefix(evil, "GET "), Host: "shop.example", Header: map[string][]string{"Accept": {"*/*"}, "Cookie": {bezoar.Redacted}}, Body: []byte("<i>body</i>")},
		}},
		fleet: adminapi.Fleet{
			Name: "shop", State: "degraded", Managed: true,
			Workers: []adminapi.Worker{
				{Name: "shop-0", State: "ready", Epoch: 1, InFlight: 2, Served: 100},
				{Name: "shop-1", State: "ready", Epoch: 2, InFlight: 7, Served: 90},
				{Name: "shop-2", State: "starting", Epoch: 3, Restarts: 3},
				{Name: "shop-3", State: "down", Epoch: 4, Restarts: 12, LastEnd: &adminapi.End{Detail: "exit status 2"}},
				{Name: "shop-4", State: "ready", Lane: true, Epoch: 5, InFlight: 1, Served: 2},
				{Name: "shop-5", State: "draining", Epoch: 6, InFlight: 1, Served: 40},
				{Name: "shop-6", State: "ready", Epoch: 7, Served: 80},
				{Name: "shop-7", State: "ready", Epoch: 8, InFlight: 1, Served: 85},
			},
			Lane:     adminapi.Lane{Worker: "shop-4", Open: true, Waiting: 2},
			Counters: map[string]int64{"answered": 48213, "refused": 1234, "lane_runs": 12, "attempts": 48240, "convictions": 2},
		},
	}
}

func (s *story) locked() func() { s.mu.Lock(); return s.mu.Unlock }

func (s *story) Verdicts(context.Context, string) ([]bezoar.Verdict, error) {
	defer s.locked()()
	return append([]bezoar.Verdict(nil), s.verdicts...), nil
}

func (s *story) Verdict(_ context.Context, id string) (bezoar.Verdict, error) {
	defer s.locked()()
	for _, v := range s.verdicts {
		if v.ID == id {
			return v, nil
		}
	}
	return bezoar.Verdict{}, ledger.ErrNotFound
}

func (s *story) Quarantine(context.Context, adminapi.Add) (bezoar.Verdict, error) {
	return bezoar.Verdict{}, nil
}

func (s *story) Release(_ context.Context, id string) error {
	defer s.locked()()
	for i, v := range s.verdicts {
		if v.ID == id {
			s.verdicts = append(s.verdicts[:i:i], s.verdicts[i+1:]...)
			return nil
		}
	}
	return ledger.ErrNotFound
}

func (s *story) Letters(context.Context, ledger.LetterQuery) ([]bezoar.Letter, error) {
	defer s.locked()()
	return append([]bezoar.Letter(nil), s.letters...), nil
}

func (s *story) Letter(context.Context, string) (bezoar.Letter, error) {
	defer s.locked()()
	if len(s.letters) == 0 {
		return bezoar.Letter{}, ledger.ErrNotFound
	}
	return s.letters[0], nil
}

func (s *story) Discard(context.Context, string) error {
	defer s.locked()()
	s.letters = nil
	return nil
}

func (s *story) Redrive(_ context.Context, id string) (adminapi.Redriven, error) {
	return adminapi.Redriven{ID: id, Outcome: adminapi.Crashed, Reason: "it crashed the lane again"}, nil
}

func (s *story) Fleets() []adminapi.Fleet {
	defer s.locked()()
	f := s.fleet
	f.Workers = append([]adminapi.Worker(nil), f.Workers...)
	return append(slices.Clone(s.others), f)
}

func (s *story) Restart(_ context.Context, name string) (adminapi.Restarting, error) {
	s.restarted <- name
	return adminapi.Restarting{}, nil
}

func (s *story) Ready() error { return nil }

// serve traffic a little, so that dots fly.
func (s *story) work() {
	defer s.locked()()
	for i := range s.fleet.Workers {
		if s.fleet.Workers[i].State == "ready" {
			s.fleet.Workers[i].Served += 4
		}
	}
}

func serve(t *testing.T, s *story, hub *admin.Hub, token string) string {
	t.Helper()
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg := admin.Config{Address: "127.0.0.1:0", Page: page, Token: token, Alarms: func() []adminapi.Alarm { return s.alarms }}
	if s.queues != nil {
		cfg.Queues = s.queues
	}
	api, err := admin.New(cfg, s, hub)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL + "/"
}

// keep saves a picture when somebody wants to look: BEZOAR_PICTURES=dir.
func keep(p *browsertest.Page, name string) {
	if dir := os.Getenv("BEZOAR_PICTURES"); dir != "" {
		p.Eval("Promise.allSettled(document.getAnimations().map((a) => a.finished))", nil)
		p.Picture(filepath.Join(dir, name+".png"))
	}
}

// noWider fails when the page needs to be scrolled sideways.
func noWider(t *testing.T, p *browsertest.Page, window int) {
	t.Helper()
	var wide int
	if p.Eval("document.documentElement.scrollWidth", &wide); wide > window {
		t.Errorf("the page is %d pixels wide in a window of %d", wide, window)
	}
}

func clean(t *testing.T, p *browsertest.Page) {
	t.Helper()
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("the page complains: %s", strings.Join(problems, "\n"))
	}
	var title string
	if p.Eval("document.title", &title); title != "Bezoar" {
		t.Errorf("the title is %q: an attacker's script has run", title)
	}
}

func TestLivePage(t *testing.T) {
	t.Parallel()
	browser := browsertest.Start(t)
	s, hub := newStory(), new(admin.Hub)
	hub.Publish(adminapi.Event{Kind: "verdict", Text: "it happened before anybody looked"})
	p := browser.Open(serve(t, s, hub, ""), browsertest.Look{})
	p.Wait(`document.querySelector("#log").innerText.includes("before anybody looked")`)
	p.Wait(`document.querySelectorAll(".tile").length === 8`)
	p.Wait(`document.querySelectorAll("#verdict-rows tr").length === 3 && document.querySelectorAll("#letter-rows tr").length === 1`)
	p.Wait(`document.querySelector("#link").dataset.state === "live"`)

	if got := p.Text("#verdict-rows tr"); !strings.Contains(got, "<script>") || !strings.Contains(got, "quarantined") {
		t.Errorf("the first verdict reads %q", got)
	}
	if got := p.Text("#verdict-rows tr"); !strings.Contains(got, "with header X-Theme: <u>neon</u>") {
		t.Errorf("what the first verdict is about reads %q", got)
	}
	if got := p.Text("#verdict-rows tr:last-child"); !strings.Contains(got, "shape 03000000…, such as GET /search?filter=…: lane only, 0.25/s") {
		t.Errorf("what the last verdict is about reads %q", got)
	}
	if got := p.Text("#lane-slot"); !strings.Contains(got, "shop-4") {
		t.Errorf("the lane holds %q", got)
	}
	if p.Text("#counters") == "" {
		t.Error("the page shows no counters")
	}
	class := bezoar.Crash
	hub.Publish(adminapi.Event{Kind: "worker.down", Worker: "shop-6", Class: &class, Text: "shop-6 died: <i>exit status 2</i>"})
	p.Wait(`document.querySelector("#log").innerText.includes("<i>exit status 2</i>")`)
	keep(p, "live-light")

	p.Click("#verdict-rows tr:first-child button:first-child")
	p.Wait(`document.querySelector("#detail").open && document.querySelector("#detail").innerText.includes("<b>goroutine 7</b>")`)
	if got := p.Text("#detail"); !strings.Contains(got, "None of 32 remembered successes has it.") || !strings.Contains(got, "3 of 3, and 0 of 32 successes") {
		t.Errorf("the explanation reads %q", got)
	}
	keep(p, "live-evidence")
	p.Press("Escape")
	p.Wait(`!document.querySelector("#detail").open`)

	// Releasing asks first, with the focus on Cancel.
	p.Click("#verdict-rows tr:first-child button:last-child")
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Press("Enter")
	p.Wait(`!document.querySelector("#ask").open && document.querySelectorAll("#verdict-rows tr").length === 3`)
	p.Click("#verdict-rows tr:first-child button:last-child")
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Press("Tab")
	p.Press("Enter")
	p.Wait(`document.querySelectorAll("#verdict-rows tr").length === 2`)

	p.Click("#letter-rows button:nth-child(2)")
	p.Wait(`document.querySelector("#detail").innerText.includes("crashed the lane again")`)
	p.Press("Escape")
	clean(t, p)
}

// The page in every look: light, dark, on a phone, and without motion.
func TestLooks(t *testing.T) {
	t.Parallel()
	browser := browsertest.Start(t)
	s, hub := newStory(), new(admin.Hub)
	p := browser.Open(serve(t, s, hub, ""), browsertest.Look{})
	p.Wait(`document.querySelectorAll(".tile").length === 8`)
	p.Wait(`document.querySelectorAll("#verdict-rows tr").length === 3`)

	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-tick.C:
				s.work()
			case <-stop:
				tick.Stop()
				return
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	// Something is drawn.
	p.Wait(`(() => { const c = document.querySelector("#dots"); return c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); })()`)
	class := bezoar.Crash
	hub.Publish(adminapi.Event{Kind: "worker.down", Worker: "shop-1", Class: &class, Text: "shop-1 died: exit status 2"})
	hub.Publish(adminapi.Event{Kind: "verdict", Text: "quarantined for 1 min: GET /search?filter=…"})
	p.Wait(`document.querySelector("#log").innerText.includes("quarantined for 1 min")`)
	keep(p, "look-light")
	noWider(t, p, 1200)

	p.See(browsertest.Look{Width: 1200, Height: 900, Dark: true})
	keep(p, "look-dark")

	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true})
	noWider(t, p, 360)
	keep(p, "look-phone")
	p.See(browsertest.Look{Width: 360, Height: 780, Phone: true, Dark: true, Still: true})
	p.Wait(`getComputedStyle(document.querySelector("#dots")).display === "none"`)
	noWider(t, p, 360)
	keep(p, "look-phone-dark-still")
	clean(t, p)
}

func TestLogin(t *testing.T) {
	t.Parallel()
	browser := browsertest.Start(t)
	s := newStory()
	s.queues = nil
	p := browser.Open(serve(t, s, new(admin.Hub), "correct-horse-battery"), browsertest.Look{})
	p.Wait(`document.querySelector("#login").open`)
	p.Eval(`document.querySelector("#login-token").focus()`, nil)
	p.Type("wrong-horse-battery")
	p.Press("Enter")
	p.Wait(`document.querySelector("#login").open && !document.querySelector("#login-wrong").hidden`)
	keep(p, "login")
	p.Type("correct-horse-battery")
	p.Press("Enter")
	p.Wait(`document.querySelectorAll(".tile").length === 8`)
	p.Wait(`document.querySelector("#link").dataset.state === "live"`)
	var cookies string
	if p.Eval("document.cookie", &cookies); cookies != "" {
		t.Errorf("the token left a cookie: %s", cookies)
	}
	noQueues(p)
}
