package console_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/config"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
	"github.com/bezoar-dev/bezoar/queue"
)

// hostile is what an attacker would have the pages run, and a terminal obey.
const hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script> \x1b]0;owned\x07\u202egnp.exe\u200b"

// rig is a real Bezoar with its queues in memory and the real page.
type rig struct {
	t *testing.T
	*queue.Engine
	url string
}

func startRig(t *testing.T) *rig {
	t.Helper()
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.Store, cfg.StateDir, cfg.SQS = "", "127.0.0.1:0", config.MemoryStore, "", "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, cfg, app.Options{Page: page})
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
	return &rig{t: t, Engine: a.Queues(), url: "http://" + a.AdminAddr() + "/queues"}
}

func (r *rig) create(name string) {
	r.t.Helper()
	if _, err := r.CreateQueue(r.t.Context(), name, queue.DefaultSettings(), nil); err != nil {
		r.t.Fatal(err)
	}
}

// kill makes letters of bodies.
func (r *rig) kill(name string, o queue.Outcome, bodies ...string) {
	r.t.Helper()
	for _, body := range bodies {
		_, err := r.Send(r.t.Context(), name, queue.SendInput{Body: []byte(body), Attributes: map[string]queue.Attribute{
			"tenant":    {DataType: "String", String: "acme"},
			"api-token": {DataType: "String", String: "correct-horse"},
		}})
		if err != nil {
			r.t.Fatal(err)
		}
	}
	for range bodies {
		got, err := r.Receive(r.t.Context(), name, queue.ReceiveInput{Worker: "10.0.0.9:4711"})
		if err != nil || len(got) != 1 {
			r.t.Fatalf("received %d messages: %v", len(got), err)
		}
		if err := r.Reject(r.t.Context(), name, got[0].Receipt, o); err != nil {
			r.t.Fatal(err)
		}
	}
}

func numbered(n int) []string {
	bodies := make([]string, n)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"order":9007199254740993,"n":%d,"lines":[]}`, i)
	}
	return bodies
}

// finish receives everything that is visible in a queue, and says what it was.
func (r *rig) finish(name string) (bodies []string) {
	r.t.Helper()
	for {
		got, err := r.Receive(r.t.Context(), name, queue.ReceiveInput{Max: 10})
		if err != nil {
			r.t.Fatal(err)
		}
		if len(got) == 0 {
			return bodies
		}
		for _, m := range got {
			bodies = append(bodies, string(m.Body))
			if err := r.Delete(r.t.Context(), name, m.Receipt); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

func (r *rig) letters(s queue.Selection) []queue.Death {
	r.t.Helper()
	found, err := r.Letters(r.t.Context(), s, 0, 200)
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// harmless fails when something of a payload has run or become markup.
func harmless(t *testing.T, p *browsertest.Page) {
	t.Helper()
	for _, problem := range p.Problems() {
		if !strings.Contains(problem, "status of 409") && !strings.Contains(problem, "status of 400") { // those that were asked for
			t.Errorf("the page complains: %s", problem)
		}
	}
	var got struct {
		Title, Text string
		Markup      int
	}
	p.Eval(`({Title: document.title, Text: document.body.innerText + [...document.querySelectorAll("input, textarea")].map((e) => e.value), Markup: document.querySelectorAll("main img, main script").length})`, &got)
	if strings.Contains(got.Title, "owned") || got.Markup > 0 {
		t.Errorf("an attacker's script has run: title %q, %d elements", got.Title, got.Markup)
	}
	if strings.ContainsAny(got.Text, "\x1b\x07\u202e\u200b") {
		t.Errorf("a control character reached the page")
	}
}

// fill writes into a field as a person does.
func fill(p *browsertest.Page, selector, text string) {
	p.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.select(); })()`, selector), nil)
	p.Type(text)
}

func at(view string) string {
	return fmt.Sprintf(`new URLSearchParams(location.search).get("view") === %q && !document.querySelector("#main").hasAttribute("aria-busy")`, view)
}

func TestRedriveAndRestore(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	r.create("orders")
	r.kill("orders", queue.Outcome{Class: bezoar.Crash, Failure: "sigsegv@parse", Reason: "segfault in parse() " + hostile}, numbered(101)...)
	r.kill("orders", queue.Outcome{Class: bezoar.Invalid, Failure: "no-total", Reason: "the total is missing"}, `{"a":1}`, `{"a":2}`)
	p := browsertest.Start(t).Open(r.url, browsertest.Look{})

	p.Wait(`document.querySelectorAll("#view tbody tr").length === 2`)
	if got := p.Text("#view tbody"); !strings.Contains(got, "orders-dlq") || !strings.Contains(got, "orders-dlq-dlq is made when needed") {
		t.Errorf("the queues read %q", got)
	}
	keep(p, "queues")
	p.Click(`#views a:nth-child(3)`)
	p.Wait(at("groups") + ` && document.querySelectorAll("#view tbody tr").length === 2`)
	p.Wait(`document.querySelectorAll(".spark").length === 2 && document.activeElement.id === "title"`)
	keep(p, "groups")

	r.groupsInPage(p)
	r.redriveInPage(p)
	r.discardInPage(p)
	p.Click(`#views a[href="?view=audit"]`)
	p.Wait(at("audit") + ` && document.querySelectorAll("#view tbody tr").length >= 6`)
	for _, want := range []string{"console from 127.0.0.1", "redrive", "discard", "restore", "because: parse() is fixed"} {
		if got := p.Text("#view"); !strings.Contains(got, want) {
			t.Errorf("the audit log does not say %q, but\n%s", want, got)
		}
	}
	keep(p, "audit")
	r.pauseInPage(p)
	r.warnInPage(p)
	harmless(t, p)
}

// groupsInPage filters groups, and has a new one come.
func (r *rig) groupsInPage(p *browsertest.Page) {
	t := r.t
	t.Helper()
	// The URL holds the filter, and so does the way back.
	p.Eval(`(() => { const s = document.querySelector("#filter-class"); s.focus(); s.value = "crash"; s.dispatchEvent(new Event("change", {bubbles: true})); })()`, nil)
	p.Wait(`location.search.includes("class=crash") && document.querySelectorAll("#view tbody tr").length === 1 && document.activeElement.id === "filter-class"`)
	if got := p.Text("#view tbody"); !strings.Contains(got, "101") || !strings.Contains(got, "<img src=x") {
		t.Errorf("the group reads %q", got)
	}
	p.Eval("history.back()", nil)
	p.Wait(`!location.search.includes("class=") && document.querySelectorAll("#view tbody tr").length === 2`)

	// Filters by content hold for the groups, and for the plan of all that they show.
	enter := func(field, text, shown string) {
		p.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event("change", {bubbles: true})); })()`, field, text), nil)
		p.Wait(fmt.Sprintf(`location.search.includes(%q) && !document.querySelector("#main").hasAttribute("aria-busy") && document.querySelectorAll("#view tbody tr").length === 1`, shown))
	}
	enter("#filter-reason", "total is missing", "reason=total")
	enter("#filter-body", `"a":2`, "body=")
	enter("#filter-attribute", "tenant=acme", "attribute=tenant")
	if got := p.Text("#view .summary"); !strings.Contains(got, "1 letter in 1 group") {
		t.Errorf("the filtered groups are %q", got)
	}
	keep(p, "groups-filtered")
	p.Eval(`[...document.querySelectorAll("#view .summary a")].find((a) => a.textContent.startsWith("Discard")).click()`, nil)
	p.Wait(at("order"))
	if got := p.Text("#view"); !strings.Contains(got, `"a":2`) || !strings.Contains(got, "total is missing") || !strings.Contains(got, "tenant=acme") {
		t.Errorf("what is chosen reads %q", got)
	}
	p.Click("#order-plan")
	p.Wait(`document.querySelector("#plan").open && document.querySelector("#plan-title").textContent === "Discard 1 letter?"`)
	p.Click("#plan-no")
	p.Wait(`!document.querySelector("#plan").open`)
	p.Click(`#views a:nth-child(3)`)
	p.Wait(at("groups") + ` && document.querySelectorAll("#view tbody tr").length === 2`)

	// What is new waits until somebody wants it, and what is there is updated in place.
	p.Eval(`window.firstRow = document.querySelector("#view tbody tr")`, nil)
	r.kill("orders", queue.Outcome{Class: bezoar.Bug, Failure: "new", Reason: "another one"}, "x")
	p.Wait(`!document.querySelector("#news").hidden && document.querySelector("#said").textContent === "1 new"`)
	var same bool
	if p.Eval(`document.querySelector("#view tbody tr") === window.firstRow`, &same); !same {
		t.Error("the rows moved by themselves")
	}
	p.Click("#news")
	p.Wait(`document.querySelectorAll("#view tbody tr").length === 3`)
	harmless(t, p)
}

// redriveInPage plans, cancels, plans again, counts and executes.
func (r *rig) redriveInPage(p *browsertest.Page) {
	t := r.t
	t.Helper()
	p.Click(`a[aria-label^="Redrive segfault"]`)
	p.Wait(at("order"))
	fill(p, "#order-rate", "5000")
	fill(p, "#order-canary", "0")
	fill(p, "#order-reason", "parse() is fixed")
	keep(p, "order")
	p.Click("#order-plan")
	p.Wait(`document.querySelector("#plan").open && document.activeElement.id === "plan-no"`)
	for _, want := range []string{"Redrive 101 letters?", "To\norders", "5\u202f000 a second", "when more than 20 %", "parse() is fixed", "Type 101"} {
		if got := p.Text("#plan"); !strings.Contains(got, want) {
			t.Errorf("the plan does not say %q, but\n%s", want, got)
		}
	}
	keep(p, "plan")
	harmless(t, p)
	p.Press("Enter") // on Cancel
	p.Wait(`!document.querySelector("#plan").open`)
	if n := len(r.letters(queue.Selection{Queue: "orders-dlq", Class: "crash"})); n != 101 {
		t.Fatalf("a cancelled plan left %d letters", n)
	}
	p.Click("#order-plan")
	p.Wait(`document.querySelector("#plan").open && document.querySelector("#plan-yes").disabled`)
	fill(p, "#plan-typed", "100")
	p.Wait(`document.querySelector("#plan-yes").disabled`)
	fill(p, "#plan-typed", "101")
	p.Wait(`!document.querySelector("#plan-yes").disabled`)
	p.Click("#plan-yes")
	p.Wait(at("task") + ` && document.querySelector("#view tbody").innerText.includes("moved 101 of 101")`)
	if got := len(r.finish("orders")); got != 101 {
		t.Errorf("%d messages came back", got)
	}
	p.Wait(`document.querySelector("#view tbody td:nth-child(4)").textContent === "101" && document.querySelector(".badge").dataset.word === "completed"`)
	keep(p, "task")
}

// pauseInPage looks at a queue that an outage has paused, and resumes it.
func (r *rig) pauseInPage(p *browsertest.Page) {
	r.t.Helper()
	r.create("mails")
	for i := range 6 {
		if _, err := r.Send(r.t.Context(), "mails", queue.SendInput{Body: fmt.Appendf(nil, `{"mail": %d}`, i)}); err != nil {
			r.t.Fatal(err)
		}
	}
	got, err := r.Receive(r.t.Context(), "mails", queue.ReceiveInput{Max: 5})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range got {
		if err := r.Release(r.t.Context(), "mails", queue.ReleaseInput{
			Receipt: m.Receipt, Outcome: &queue.Outcome{Class: bezoar.Transient, Failure: "smtp: connection refused"},
		}); err != nil {
			r.t.Fatal(err)
		}
	}
	p.Click(`#views a[href="?view=queues"]`)
	p.Wait(at("queues") + ` && document.querySelector("#view tbody .badge").dataset.word === "paused"`)
	if got := p.Text("#view tbody tr"); !strings.Contains(got, "5 of 5 distinct payloads") {
		r.t.Errorf("the paused queue reads %q", got)
	}
	keep(p, "queues-paused")
	p.Click(`button[aria-label="Resume mails"]`)
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Click("#ask-yes")
	p.Wait(`document.querySelector("#view tbody .badge").dataset.word === "ok"`)
	if left, err := r.Receive(r.t.Context(), "mails", queue.ReceiveInput{}); err != nil || len(left) != 1 {
		r.t.Errorf("the resumed queue gives %d messages: %v", len(left), err)
	}
}

// discardInPage discards two chosen letters and restores them.
func (r *rig) discardInPage(p *browsertest.Page) {
	t := r.t
	t.Helper()
	p.Eval(`(() => { const a = document.createElement("a"); a.href = "?view=letters&class=invalid"; document.body.append(a); a.click(); a.remove(); })()`, nil)
	p.Wait(at("letters") + ` && document.querySelectorAll("#view tbody tr").length === 2`)
	p.Click(`#view tbody tr:first-child input`)
	p.Click(`#view tbody tr:last-child input`)
	p.Wait(`document.querySelector(".summary").innerText.includes("2 chosen")`)
	keep(p, "letters")
	p.Click(`.summary button:last-child`)
	p.Wait(at("order"))
	p.Click("#order-plan")
	p.Wait(`document.querySelector("#plan").open && document.querySelector("#plan-count").hidden`)
	// Between the plan and its execution one of the letters goes.
	one := r.letters(queue.Selection{Queue: "orders-dlq", Class: "invalid"})[0]
	if _, err := r.Resend(t.Context(), one.ID, queue.ResendInput{Receipt: one.Receipt, Destination: "orders", Body: one.Body}); err != nil {
		t.Fatal(err)
	}
	p.Click("#plan-yes")
	p.Wait(`!document.querySelector("#plan-wrong").hidden && document.querySelector("#plan-yes").hidden`)
	if got := p.Text("#plan-wrong"); !strings.Contains(got, "2 letters were planned, and there are 1 now") {
		t.Errorf("the changed plan reads %q", got)
	}
	p.Click("#plan-again")
	p.Wait(`document.querySelector("#plan").open && document.querySelector("#plan-title").textContent === "Discard 1 letter?"`)
	p.Click("#plan-yes")
	p.Wait(at("task") + ` && document.querySelector(".badge").dataset.word === "completed"`)

	p.Click(`#views a[href="?view=trash"]`)
	p.Wait(at("trash") + ` && document.querySelectorAll("#view tbody tr").length === 2`)
	keep(p, "trash")
	p.Click(`#view tbody tr:first-child input`)
	p.Click(`.summary button`)
	p.Wait(`document.querySelector("#plan").open && document.activeElement.id === "plan-no"`)
	p.Press("Tab")
	p.Press("Enter")
	p.Wait(at("task") + ` && document.querySelector(".badge").dataset.word === "completed"`)
	if n := len(r.letters(queue.Selection{Queue: "orders-dlq", Class: "invalid"})); n != 1 {
		t.Errorf("%d letters were restored", n)
	}
}

// noQueues goes to the queues of a server that has none, and back.
func noQueues(p *browsertest.Page) {
	p.Click(`.views a[href="queues?view=groups"]`)
	p.Wait(`document.querySelector("#no-queues")?.innerText.includes("This server has no queues")`)
	p.Click(`#views a[href="./"]`)
	p.Wait(`document.querySelectorAll(".tile").length === 8`)
}
