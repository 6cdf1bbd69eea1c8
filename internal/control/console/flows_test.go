package console_test

import (
	"cmp"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/admin"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/control/console"
	"github.com/bezoar-dev/bezoar/internal/flow/flowapi"
	"github.com/bezoar-dev/bezoar/internal/test/browsertest"
	"github.com/bezoar-dev/bezoar/policy/task"
)

const evilTask = `<img src=x onerror="document.title='owned'">`

// river is one run whose names, reasons and logs were written by an attacker.
type river struct {
	mu     sync.Mutex // guards the rest
	run    flowapi.Run
	orders []flowapi.Order
	starts []flowapi.Start
	more   chan string // of the log that is followed
}

func newRiver() *river {
	now := time.Now()
	one := func(name string, state task.State, why string) flowapi.Task {
		t := flowapi.Task{Name: name, Kind: "command", State: state, Why: why, Counts: map[task.State]int{state: 1}}
		t.Instances = []flowapi.Instance{{Task: name, State: state, Why: why, Since: now}}
		return t
	}
	extract := one("extract", task.Success, "")
	extract.First, extract.Ended = now.Add(-50*time.Second), now.Add(-40*time.Second)
	load := one(evilTask, task.DeadLetter, "it failed twice alike: "+evil)
	load.Needs, load.First = []string{"extract"}, now.Add(-40*time.Second)
	load.Instances[0].Failures = []task.Failure{{Class: "bug", Reason: evil, At: now}}
	load.Instances[0].Output = evil
	each := one("each", task.Running, "")
	each.Each, each.Counts, each.Needs, each.First = true, map[task.State]int{task.Running: 1, task.Success: 3}, []string{"extract"}, now.Add(-30*time.Second)
	each.Instances[0].Item = evil
	report := one("report", task.Held, "load waits for a person")
	report.Needs = []string{evilTask, "each"}
	return &river{more: make(chan string), run: flowapi.Run{
		ID: "01k0000000000000000000000a", Flow: "orders", State: flow.RunRunning, Created: now.Add(-time.Minute), Due: now,
		Counts: map[task.State]int{task.Success: 4, task.DeadLetter: 1, task.Held: 1, task.Running: 1},
		Tasks:  []flowapi.Task{extract, load, each, report}, Left: adminapi.Duration(90 * time.Second),
	}}
}

func (f *river) locked() func() { f.mu.Lock(); return f.mu.Unlock }

func (f *river) Flows(context.Context) ([]flowapi.Flow, error) {
	return []flowapi.Flow{{Name: "orders", Tasks: 4, Schedule: "0 6 * * *", Zone: "Europe/Berlin"}}, nil
}

func (f *river) Runs(context.Context, flowapi.RunQuery) ([]flowapi.Run, error) {
	defer f.locked()()
	return []flowapi.Run{f.run}, nil
}

func (f *river) Run(_ context.Context, id string) (flowapi.Run, error) {
	defer f.locked()()
	if id != f.run.ID {
		return flowapi.Run{}, adminapi.NewProblem(404, adminapi.CodeNotFound, "there is no such run")
	}
	return f.run, nil
}

func (f *river) Instances(context.Context, string, flowapi.InstanceQuery) ([]flowapi.Instance, error) {
	return nil, nil
}

func (f *river) Attempts(_ context.Context, _ string, q flowapi.AttemptQuery) ([]flowapi.Attempt, error) {
	bug := bezoar.Bug
	return []flowapi.Attempt{
		{Token: 7, Task: q.Task, N: 1, State: flow.AttemptEnded, Class: &bug, Elapsed: adminapi.Duration(time.Second)},
		{Token: 8, Task: q.Task, N: 2, State: flow.AttemptRunning},
	}, nil
}

func (f *river) Logs(ctx context.Context, _ string, token, _ int64, follow bool) (io.ReadCloser, error) {
	if token == 7 {
		return io.NopCloser(strings.NewReader("the first attempt\n")), nil
	}
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "begun "+evil+"\x1b[31m\u202e\n")
		for {
			select {
			case <-ctx.Done():
				_ = w.Close()
				return
			case line := <-f.more:
				_, _ = io.WriteString(w, line)
			}
		}
	}()
	return r, nil
}

func (f *river) Order(_ context.Context, run string, o flowapi.Order) (flowapi.Ordered, error) {
	defer f.locked()()
	f.orders = append(f.orders, o)
	if o.Verb == flow.VerbRetry {
		t := &f.run.Tasks[1]
		t.State, t.Why, t.Counts, t.Instances = task.Running, "", map[task.State]int{task.Running: 1}, nil
		f.run.Counts = map[task.State]int{task.Success: 4, task.Running: 2, task.Pending: 1}
	}
	return flowapi.Ordered{Run: run, Instances: 1}, nil
}

func (f *river) Start(_ context.Context, s flowapi.Start) (flowapi.Run, error) {
	defer f.locked()()
	f.starts = append(f.starts, s)
	return f.run, nil
}

func serveFlows(t *testing.T, f flowapi.Flows, token string) string {
	t.Helper()
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	cfg := admin.Config{Address: "127.0.0.1:0", Page: page, Token: token}
	if f != nil {
		cfg.Flows = flowapi.NewServer(f, nil)
	}
	api, err := admin.New(cfg, newStory(), new(admin.Hub))
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.Handler())
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

// The page shows a run as a graph, as bars and as a table, follows a log and gives
// orders. What tasks write is text in it.
func TestFlowsInPage(t *testing.T) {
	t.Parallel()
	f := newRiver()
	browser := browsertest.Start(t)
	p := browser.Open(serveFlows(t, f, "")+"/flows", browsertest.Look{})
	p.Wait(`document.querySelectorAll("#runs-table tbody tr").length === 1`)
	keep(p, "flows")
	p.Click("#runs-table tbody a")
	p.Wait(`document.querySelectorAll("#graph a").length === 4 && document.querySelectorAll("#gantt .bar").length === 3`)
	p.Wait(`document.querySelectorAll("#graph .edge").length === 4 && document.querySelectorAll("#tasks tbody tr").length === 4`)
	if got := p.Text("#tasks tbody tr:nth-child(2)"); !strings.Contains(got, evilTask) || !strings.Contains(got, "DEAD_LETTER") || !strings.Contains(got, "<script>") {
		t.Errorf("the dead letter reads %q", got)
	}
	if got := p.Text("#run-sum"); !strings.Contains(got, "1 DEAD_LETTER") || !strings.Contains(got, "about 1m30s left") {
		t.Errorf("the sum reads %q", got)
	}
	// States are told by words and shapes, not by colour alone.
	p.Wait(`[...document.querySelectorAll("#graph .word")].some((e) => e.textContent === "✖ DEAD_LETTER")`)
	keep(p, "flow-run")

	p.Click(`#graph a[data-task^="<img"]`)
	p.Wait(`!document.querySelector("#task").hidden && document.querySelector("#task-title").innerText.includes("<img")`)
	p.Wait(`document.querySelector("#log").textContent.includes("begun GET /<img src=x")`)
	f.more <- "and more\n"
	p.Wait(`document.querySelector("#log").textContent.includes("and more")`)
	p.Wait(`!document.querySelector("#log").textContent.includes("\u001b") && !document.querySelector("#log").textContent.includes("\u202e")`)
	p.Eval(`(() => { const s = document.querySelector("#attempt"); s.value = "7"; s.dispatchEvent(new Event("change")); })()`, nil)
	p.Wait(`document.querySelector("#log").textContent === "the first attempt\n"`)
	keep(p, "flow-task")

	// An order asks first, with the focus on Cancel.
	p.Click(`#tasks tbody tr:nth-child(2) button`)
	p.Wait(`document.querySelector("#ask").open && document.activeElement.id === "ask-no"`)
	p.Press("Enter")
	p.Wait(`!document.querySelector("#ask").open`)
	p.Click(`#tasks tbody tr:nth-child(2) button`)
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(`document.querySelector("#tasks tbody tr:nth-child(2)").innerText.includes("RUNNING")`)
	func() {
		defer f.locked()()
		if len(f.orders) != 1 || f.orders[0].Verb != flow.VerbRetry || f.orders[0].Task != evilTask || f.orders[0].Who != "console" {
			t.Errorf("the orders are %+v", f.orders)
		}
	}()
	for _, look := range []browsertest.Look{{Width: 390, Height: 800, Phone: true}, {Dark: true}} {
		p.See(look)
		p.Wait(`document.querySelectorAll("#graph a").length === 4`)
		noWider(t, p, cmp.Or(look.Width, 1200))
	}
	keep(p, "flow-dark")
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("the page complains: %s", strings.Join(problems, "\n"))
	}
	var title string
	if p.Eval("document.title", &title); title != "Bezoar: flows" {
		t.Errorf("the title is %q: an attacker's script has run", title)
	}
}

// Flows are started from the page; without flows it says how to have some.
func TestFlowsAreStartedInPage(t *testing.T) {
	t.Parallel()
	f := newRiver()
	browser := browsertest.Start(t)
	p := browser.Open(serveFlows(t, f, "")+"/flows", browsertest.Look{})
	p.Wait(`document.querySelector("#flow-starts button") !== null`)
	p.Click("#flow-starts button")
	p.Wait(`document.querySelector("#ask").open`)
	p.Click("#ask-yes")
	p.Wait(`location.search.includes("run=01k")`)
	func() {
		defer f.locked()()
		if len(f.starts) != 1 || f.starts[0].Flow != "orders" {
			t.Errorf("the starts are %+v", f.starts)
		}
	}()
	p = browser.Open(serveFlows(t, nil, "")+"/flows", browsertest.Look{})
	p.Wait(`document.querySelector("#notice").innerText.includes("runs no flows")`)
}
