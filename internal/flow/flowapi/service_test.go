package flowapi

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/policy/task"
)

// shelf is a store of one run, and of one before it that worked.
type shelf struct {
	run    flow.Run
	all    []flow.Instance
	before []flow.Instance
	tries  []flow.Attempt
	orders []flow.Order
}

func (s *shelf) Run(_ context.Context, id string) (flow.Run, error) {
	if id != s.run.ID {
		return flow.Run{}, flow.ErrNotFound
	}
	return s.run, nil
}

func (s *shelf) ListRuns(_ context.Context, q flow.RunQuery) ([]flow.Run, error) {
	if q.State == flow.RunSuccess {
		return []flow.Run{{ID: "before"}}, nil
	}
	return []flow.Run{s.run}, nil
}

func (s *shelf) Instances(_ context.Context, run string) ([]flow.Instance, error) {
	if run == "before" {
		return s.before, nil
	}
	return s.all, nil
}

func (s *shelf) ListAttempts(_ context.Context, q flow.AttemptQuery) (out []flow.Attempt, err error) {
	for _, a := range s.tries {
		if a.Run == q.Run && a.Token > q.After && (q.Task == "" || a.Task == q.Task) && (q.Index < 0 || a.Index == q.Index) && len(out) < max(q.Limit, 1) {
			out = append(out, a)
		}
	}
	return out, nil
}

func (s *shelf) Order(_ context.Context, o flow.Order) error {
	s.orders = append(s.orders, o)
	return nil
}

func (s *shelf) Logs(_ context.Context, token, offset int64, _ bool) (io.ReadCloser, error) {
	if token != 1 {
		return nil, flow.ErrNotFound
	}
	return io.NopCloser(strings.NewReader("one \x1b[31m<b>log</b>\n"[offset:])), nil
}

var start = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func fixture() *shelf {
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	return &shelf{
		run: flow.Run{ID: "run1", Flow: "f", State: flow.RunRunning, Created: at(0), Due: at(0), Owner: "n1", Version: 7, Definition: flow.Definition{
			Name: "f", Params: []flow.Param{{Name: "day"}}, Tasks: []flow.Task{
				{Name: "a", Command: []string{"x"}},
				{Name: "b", Needs: []string{"a"}, Each: &flow.Each{From: "a"}, Command: []string{"x"}},
				{Name: "c", Needs: []string{"b"}, Sensor: &flow.Sensor{}},
			},
		}},
		all: []flow.Instance{
			{Task: "a", State: task.Success, First: at(0), Since: at(4)},
			{Task: "b", Index: -1, State: task.Held, Since: at(4)},
			{Task: "b", Index: 0, State: task.Success, First: at(4), Since: at(6), Output: []byte("\xff ok")},
			{Task: "b", Index: 1, Item: "x", State: task.DeadLetter, Why: "twice alike", First: at(4), Since: at(7), Group: "g", History: task.History{Attempts: 2}},
			{Task: "b", Index: 2, State: task.Running, First: at(6), Since: at(6)},
			{Task: "c", State: task.Pending, Since: at(0)},
		},
		before: []flow.Instance{
			{Task: "a", State: task.Success, First: at(-100), Since: at(-96)},
			{Task: "b", Index: 0, State: task.Success, First: at(-96), Since: at(-90)},
			{Task: "b", Index: 1, State: task.Success, First: at(-95), Since: at(-86)},
			{Task: "c", State: task.Success, First: at(-86), Since: at(-66)},
		},
		tries: []flow.Attempt{
			{Token: 1, Run: "run1", Task: "b", Index: 1, N: 1, Node: "n1", State: flow.AttemptEnded, Ending: flow.Ending{Class: bezoar.Bug, Reason: "KeyError", Elapsed: time.Second}},
			{Token: 2, Run: "run1", Task: "b", Index: 2, N: 1, Node: "n2", State: flow.AttemptRunning},
		},
	}
}

// both are the service itself, and a client of a server of it.
func both(t *testing.T, s *shelf) map[string]Flows {
	t.Helper()
	svc, err := New(Config{Store: s, Logs: s, Node: "n1", Now: func() time.Time { return start.Add(10 * time.Second) }})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(NewServer(svc, nil))
	t.Cleanup(srv.Close)
	api, err := adminapi.New(adminapi.Config{Address: srv.URL, Actor: "ops@desktop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return map[string]Flows{"service": svc, "client": NewClient(api)}
}

func TestRun(t *testing.T) {
	for name, f := range both(t, fixture()) {
		t.Run(name, func(t *testing.T) {
			r, err := f.Run(t.Context(), "run1")
			if err != nil {
				t.Fatal(err)
			}
			if r.Counts[task.Success] != 2 || r.Counts[task.DeadLetter] != 1 || r.Counts[task.Held] != 0 || len(r.Tasks) != 3 {
				t.Errorf("the counts are %v of %d tasks", r.Counts, len(r.Tasks))
			}
			b := r.Tasks[1]
			if b.State != task.Running || !b.Each || b.Counts[task.DeadLetter] != 1 || len(b.Instances) != 3 || b.Instances[0].State != task.DeadLetter || !b.Ended.IsZero() {
				t.Errorf("task b is %+v", b)
			}
			if r.Tasks[2].Kind != "sensor" || r.Tasks[0].Ended.IsZero() {
				t.Errorf("the tasks are %+v", r.Tasks)
			}
			// b took 10 s and runs for 6, then c takes 20.
			if got := time.Duration(r.Left); got != 24*time.Second {
				t.Errorf("%v are left, want 24s", got)
			}
			if _, err := f.Run(t.Context(), "nothing"); code(err) != adminapi.CodeNotFound {
				t.Errorf("a run that is not there: %v", err)
			}
			if all, err := f.Instances(t.Context(), "run1", InstanceQuery{Task: "b", State: task.Success}); err != nil || len(all) != 1 || all[0].Output != "\uFFFD ok" {
				t.Errorf("the instances are %+v, %v", all, err)
			}
			if all, err := f.Runs(t.Context(), RunQuery{Limit: 5}); err != nil || len(all) != 1 || all[0].Node != "n1" {
				t.Errorf("the runs are %+v, %v", all, err)
			}
		})
	}
}

func code(err error) string {
	if p, ok := errors.AsType[*adminapi.Problem](err); ok {
		return p.Code
	}
	return ""
}

func TestLogs(t *testing.T) {
	for name, f := range both(t, fixture()) {
		t.Run(name, func(t *testing.T) {
			one := 1
			all, err := f.Attempts(t.Context(), "run1", AttemptQuery{Task: "b", Index: &one})
			if err != nil || len(all) != 1 || all[0].Class == nil || *all[0].Class != bezoar.Bug {
				t.Fatalf("the attempts are %+v, %v", all, err)
			}
			log, err := f.Logs(t.Context(), "run1", 1, 4, true)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(log)
			_ = log.Close()
			if err != nil || string(text) != "\x1b[31m<b>log</b>\n" {
				t.Errorf("the log is %q, %v", text, err)
			}
			if _, err := f.Logs(t.Context(), "run1", 2, 0, false); code(err) != adminapi.CodeNotFound || !strings.Contains(err.Error(), `node "n2"`) {
				t.Errorf("a log elsewhere: %v", err)
			}
			if _, err := f.Logs(t.Context(), "other", 1, 0, false); code(err) != adminapi.CodeNotFound {
				t.Errorf("an attempt of another run: %v", err)
			}
		})
	}
}

func TestOrders(t *testing.T) {
	zero, one, nine := 0, 1, 9
	for name, c := range map[string]struct {
		order Order
		n     int
		code  string
	}{
		"all dead letters":   {Order{Verb: flow.VerbRetry}, 1, ""},
		"one instance":       {Order{Verb: flow.VerbRetry, Task: "b", Index: &one, Set: map[string]string{"day": "x"}}, 1, ""},
		"one that worked":    {Order{Verb: flow.VerbRetry, Task: "b", Index: &zero}, 0, adminapi.CodeConflict},
		"one of the group":   {Order{Verb: flow.VerbSkip, Group: "g"}, 1, ""},
		"another group":      {Order{Verb: flow.VerbRetry, Group: "h"}, 0, adminapi.CodeConflict},
		"the whole run":      {Order{Verb: flow.VerbCancel}, 4, ""},
		"no such task":       {Order{Verb: flow.VerbSkip, Task: "z"}, 0, adminapi.CodeNotFound},
		"no such instance":   {Order{Verb: flow.VerbSkip, Task: "b", Index: &nine}, 0, adminapi.CodeConflict},
		"no such verb":       {Order{Verb: "explode"}, 0, adminapi.CodeInvalid},
		"no such parameter":  {Order{Verb: flow.VerbRetry, Set: map[string]string{"night": "x"}}, 0, adminapi.CodeInvalid},
		"skip of everything": {Order{Verb: flow.VerbSkip}, 0, adminapi.CodeInvalid},
		"rows of no task":    {Order{Verb: flow.VerbRetry, Rows: true}, 0, adminapi.CodeInvalid},
		"rows of a skip":     {Order{Verb: flow.VerbSkip, Task: "b", Rows: true}, 0, adminapi.CodeInvalid},
		"rows not here":      {Order{Verb: flow.VerbRetry, Task: "b", Rows: true}, 0, adminapi.CodeNotFound},
		"set of a skip":      {Order{Verb: flow.VerbSkip, Task: "b", Set: map[string]string{"day": "x"}}, 0, adminapi.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := fixture()
			for how, f := range both(t, s) {
				s.orders = nil
				c.order.Who = "ops@desktop"
				got, err := f.Order(t.Context(), "run1", c.order)
				if code(err) != c.code || (err == nil) != (c.code == "") || got.Instances != c.n {
					t.Errorf("%s: %+v, %v; want %d and %q", how, got, err, c.n, c.code)
				}
				if want := c.code == ""; (len(s.orders) == 1) != want || want && (s.orders[0].Who != "ops@desktop" || s.orders[0].Verb != c.order.Verb) {
					t.Errorf("%s: the store has %+v", how, s.orders)
				}
			}
		})
	}
}

// A parameter that the flow has not, or that is missing, is the caller's fault.
func TestParametersOfAStart(t *testing.T) {
	d := flow.Definition{Name: "daily", Params: []flow.Param{{Name: "day", Required: true}}}
	svc, err := New(Config{
		Store: fixture(), Flows: func() []flow.Definition { return []flow.Definition{d} },
		Start: func(context.Context, Start) (string, error) { return "run1", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for want, st := range map[string]Start{
		"":                         {Flow: "daily", Params: map[string]string{"day": "1"}},
		adminapi.CodeInvalid:       {Flow: "daily", Params: map[string]string{"day": "1", "night": "2"}},
		adminapi.CodeInvalid + " ": {Flow: "daily"},
		adminapi.CodeNotFound:      {Flow: "weekly"},
	} {
		if _, err := svc.Start(t.Context(), st); code(err) != strings.TrimSpace(want) || (err == nil) != (want == "") {
			t.Errorf("%+v: %v, want %q", st, err, want)
		}
	}
}

// Callers who send nonsense are told so, and nothing of it reaches the store.
func TestRefusals(t *testing.T) {
	svc, err := New(Config{Store: fixture()})
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(svc, nil)
	for _, c := range []struct {
		method, path, kind, body string
		status                   int
	}{
		{"GET", "/api/flow/runs?limit=0x", "", "", 400},
		{"GET", "/api/flow/runs?colour=red", "", "", 400},
		{"GET", "/api/flow/nothing", "", "", 404},
		{"GET", "/api/flow/runs/run1/logs/x", "", "", 404},
		{"GET", "/api/flow/runs/run1/logs/1?follow=maybe", "", "", 400},
		{"POST", "/api/flow/runs/run1/orders", "text/plain", `{"verb":"retry"}`, 400},
		{"POST", "/api/flow/runs/run1/orders", "application/json", `{"verb":"retry","who":"root"}`, 400},
		{"POST", "/api/flow/runs/run1/orders", "application/json", `{`, 400},
		{"POST", "/api/flow/runs", "application/json", `{"flow":"f"}`, 404},
		{"DELETE", "/api/flow/runs/run1", "", "", 405},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, r)
		if w.Code != c.status && !(c.status == 405 && w.Code == 404) {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
	}
}
