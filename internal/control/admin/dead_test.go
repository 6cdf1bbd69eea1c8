package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/internal/store/memory"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

// newTriage is a triage service over an engine that runs until the test ends.
func newTriage(t *testing.T) (*queue.Engine, *triage.Service) {
	t.Helper()
	db, err := memory.Open(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := queue.New(queue.Config{}, db.Queue())
	if err != nil {
		t.Fatal(err)
	}
	svc, err := triage.New(triage.Config{Queue: engine})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	go func() { done <- engine.Run(ctx) }()
	go func() { done <- svc.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
	if _, err := engine.CreateQueue(t.Context(), "jobs", queue.DefaultSettings(), nil); err != nil {
		t.Fatal(err)
	}
	return engine, svc
}

// kill makes n letters of one cause.
func kill(t *testing.T, e *queue.Engine, n int, failure, reason string) {
	t.Helper()
	for i := range n {
		if _, err := e.Send(t.Context(), "jobs", queue.SendInput{
			Body: fmt.Appendf(nil, `{"n":%d,"of":%q}`, i, failure), Attributes: map[string]queue.Attribute{"from": {DataType: "String", String: "a=b"}},
		}); err != nil {
			t.Fatal(err)
		}
		got, err := e.Receive(t.Context(), "jobs", queue.ReceiveInput{})
		if err != nil || len(got) != 1 {
			t.Fatalf("received %v, %v", got, err)
		}
		if err := e.Reject(t.Context(), "jobs", got[0].Receipt, queue.Outcome{Class: bezoar.Bug, Failure: failure, Reason: reason}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeadLetterCallsThroughTheClient(t *testing.T) {
	engine, svc := newTriage(t)
	kill(t, engine, 5, "parse", "<script>\x1b[31m")
	kill(t, engine, 3, "range", "index out of range")
	alarms := func() []adminapi.Alarm {
		return []adminapi.Alarm{{Name: "any", Kind: "depth", Queue: "*", Firing: true}}
	}
	_, base := start(t, Config{Triage: svc, Alarms: alarms}, newBackendStub(), new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base, Actor: "me\x1b@here"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()

	groups, err := c.DeadGroups(ctx, queue.Selection{Queue: "jobs-dlq"}, 10)
	if err != nil || len(groups) != 2 || groups[0].Count+groups[1].Count != 8 {
		t.Fatalf("DeadGroups = %+v, %v", groups, err)
	}
	parse := queue.Selection{Groups: []string{"bug:parse"}, After: time.Now().Add(-time.Hour), Before: time.Now().Add(time.Hour)}
	page, err := c.Dead(ctx, parse, "", 3)
	if err != nil || len(page.Letters) != 3 || page.Next == "" {
		t.Fatalf("Dead = %+v, %v", page, err)
	}
	rest, err := c.Dead(ctx, parse, page.Next, 3)
	if err != nil || len(rest.Letters) != 2 || rest.Next != "" {
		t.Fatalf("the rest = %+v, %v", rest, err)
	}
	within := queue.Selection{Body: "1", Reason: "out of", Attributes: map[string]string{"from": "a=b"}}
	if page, err := c.Dead(ctx, within, "", 3); err != nil || len(page.Letters) != 1 || page.Letters[0].Reason != "index out of range" {
		t.Fatalf("Dead by what is within = %+v, %v", page, err)
	}
	within.Body = "\x00"
	_, err = c.Dead(ctx, within, "", 3)
	wantCode(t, "Dead by an impossible body", err, adminapi.CodeInvalid)
	l, err := c.DeadLetter(ctx, page.Letters[0].ID)
	if err != nil || l.Body == nil || l.Reason != "<script>\x1b[31m" {
		t.Fatalf("DeadLetter = %+v, %v", l, err)
	}
	text := `{"mended":true}`
	edited, err := c.Edit(ctx, l.ID, triage.Edit{Version: l.Version, Body: &triage.Body{Text: &text}})
	if err != nil || edited.Destination != "jobs" {
		t.Fatalf("Edit = %+v, %v", edited, err)
	}
	var out bytes.Buffer
	if err := c.Export(ctx, queue.Selection{Queue: "jobs-dlq"}, &out); err != nil || strings.Count(out.String(), "\n") != 7 {
		t.Errorf("Export = %q, %v", out.String(), err)
	}

	plan, err := c.Plan(ctx, adminapi.Order{Verb: triage.Discard, Selection: parse})
	if err != nil || plan.Count != 4 {
		t.Fatalf("Plan = %+v, %v", plan, err)
	}
	tasks, err := c.Execute(ctx, plan.ID)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("Execute = %+v, %v", tasks, err)
	}
	_, err = c.Execute(ctx, plan.ID)
	wantCode(t, "Execute again", err, adminapi.CodeConflict)
	ended(t, c, tasks[0].ID, queue.MoveCompleted)
	_, err = c.Do(ctx, adminapi.Order{Verb: triage.Redrive, Selection: queue.Selection{Queue: "jobs-dlq"}, Expect: 99})
	wantCode(t, "Do with another count", err, adminapi.CodePlanChanged)
	changeTask(t, c)
	if all, err := c.Tasks(ctx, false, 10); err != nil || len(all) != 2 {
		t.Errorf("Tasks = %+v, %v", all, err)
	}
	if as, err := c.Alarms(ctx); err != nil || len(as) != 1 || !as[0].Firing {
		t.Errorf("Alarms = %+v, %v", as, err)
	}
	log, err := c.Audit(ctx, 0, 100)
	if err != nil || len(log) < 5 || !strings.HasPrefix(log[0].Actor, "me@here from 127.0.0.1:") {
		t.Errorf("Audit = %+v, %v", log, err)
	}
	for _, e := range log {
		if strings.ContainsRune(e.Actor, '\x1b') {
			t.Errorf("the actor of %+v holds an escape", e)
		}
	}
}

// changeTask leads a task that is slow enough through its states.
func changeTask(t *testing.T, c *adminapi.Client) {
	t.Helper()
	ctx := t.Context()
	tasks, err := c.Do(ctx, adminapi.Order{
		Verb: triage.Redrive, Selection: queue.Selection{Queue: "jobs-dlq"}, Expect: 3, Options: triage.Options{Canary: 1, Reason: "try"},
	})
	if err != nil || len(tasks) != 1 {
		t.Fatalf("Do = %+v, %v", tasks, err)
	}
	id := tasks[0].ID // waits for its canary, which nobody receives
	for _, step := range []struct {
		order adminapi.TaskOrder
		want  queue.MoveState
	}{
		{adminapi.TaskOrder{Action: "pause"}, queue.MovePaused},
		{adminapi.TaskOrder{Action: "rate", Rate: 7}, queue.MovePaused},
		{adminapi.TaskOrder{Action: "resume"}, queue.MoveRunning},
		{adminapi.TaskOrder{Action: "cancel"}, queue.MoveCancelled},
	} {
		task, err := c.ChangeTask(ctx, id, step.order)
		if err != nil || task.State != step.want {
			t.Errorf("%s = %+v, %v", step.order.Action, task, err)
		}
	}
	_, err = c.ChangeTask(ctx, id, adminapi.TaskOrder{Action: "pause"})
	wantCode(t, "pause what is over", err, adminapi.CodeConflict)
	if task, err := c.Task(ctx, id); err != nil || task.Rate != 7 || task.Reason != "try" {
		t.Errorf("Task = %+v, %v", task, err)
	}
}

func ended(t *testing.T, c *adminapi.Client, id string, want queue.MoveState) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		task, err := c.Task(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if task.State == want {
			return
		}
		<-tick.C
	}
}

func TestDeadLetterRefusals(t *testing.T) {
	_, svc := newTriage(t)
	s, err := New(Config{Address: "127.0.0.1:7070", Triage: svc}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, method, target, body string
		status                     int
		detail                     string
	}{
		{"unknown parameter", "GET", "letters?grup=a", "", 400, "grup"},
		{"limit", "GET", "letters?limit=1001", "", 400, "from 1 to 1000"},
		{"cursor", "GET", "letters?cursor=zz", "", 400, "did not come from a list"},
		{"time", "GET", "groups?after=yesterday", "", 400, "is not a time"},
		{"class", "GET", "groups?class=nope", "", 400, "nope"},
		{"NUL in a queue", "GET", "export?queue=%00", "", 400, "Queue"},
		{"broken query", "GET", "letters?a=%zz", "", 400, "query"},
		{"no letter", "GET", "letters/x", "", 404, "letter not found"},
		{"no plan", "POST", "plans/x/execute", "", 404, "plan not found"},
		{"no task", "POST", "tasks/x", `{"action":"pause"}`, 404, "not found"},
		{"no action", "POST", "tasks/x", `{"action":"explode"}`, 400, "explode"},
		{"neither count nor ids", "POST", "do", `{"verb":"redrive"}`, 400, "expect"},
		{"no verb", "POST", "do", `{"verb":"eat","selection":{"ids":["x"]}}`, 400, "eat"},
		{"nothing selected", "POST", "do", `{"verb":"redrive","expect":5}`, 409, "there are 0 now"},
		{"rate", "POST", "plans", `{"verb":"redrive","options":{"rate":-5}}`, 400, "Rate"},
		{"unknown field", "POST", "plans", `{"verb":"redrive","option":{}}`, 400, "option"},
		{"live", "GET", "tasks?live=perhaps", "", 400, "perhaps"},
	} {
		t.Run(tt.name, func(t *testing.T) { refused(t, s, tt.method, "/api/v1/dead/"+tt.target, tt.body, tt.status, tt.detail) })
	}
}

// Without queues and triage there are no such calls.
func TestNoQueuesNoCalls(t *testing.T) {
	s, err := New(Config{Address: "127.0.0.1:7070"}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{adminapi.PathQueues, adminapi.PathDeadGroups, adminapi.PathDeadExport, adminapi.PathAudit} {
		refused(t, s, "GET", path, "", 404, "no GET")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+adminapi.PathAlarms, nil))
	var got map[string][]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got["alarms"] == nil || len(got["alarms"]) != 0 {
		t.Errorf("no alarms are listed as %s, %v", w.Body, err)
	}
}
