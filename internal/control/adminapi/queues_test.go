package adminapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/triage"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestQueueCallsReachTheirPaths(t *testing.T) {
	payload, err := bezoar.ParseFingerprint(strings.Repeat("ab", 16))
	if err != nil {
		t.Fatal(err)
	}
	half := Duration(30 * time.Second)
	day := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	sel := queue.Selection{Queue: "a-dlq", Groups: []string{"bug:x&y", "b"}, IDs: []string{"1"}, Origin: "a", Class: "bug", After: day, Before: day.Add(time.Hour), Body: "a b", Reason: "no=", Attributes: map[string]string{"y": "=1", "x": ""}}
	for _, tt := range []struct {
		name, answer string
		call         func(context.Context, *Client) (any, error)
		method, uri  string
		body         string
		want         any
	}{
		{
			"queues", `{"queues":[{"name":"a","visible":3,"oldest":"1m0s"}]}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Queues(ctx, "a b") },
			"GET", "/api/v1/queues?prefix=a+b", "",
			[]Queue{{Name: "a", Visible: 3, Oldest: Duration(time.Minute)}},
		},
		{
			"queue", `{"name":"a","in_flight":2}`, func(ctx context.Context, c *Client) (any, error) { return c.Queue(ctx, "a/../b") },
			"GET", "/api/v1/queues/a%2F..%2Fb", "",
			Queue{Name: "a", InFlight: 2},
		},
		{
			"create", `{"name":"a"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.CreateQueue(ctx, CreateQueue{Name: "a", Tags: map[string]string{"k": "v"}})
			},
			"POST", "/api/v1/queues", `{"name":"a","tags":{"k":"v"}}`,
			Queue{Name: "a"},
		},
		{
			"delete", "", func(ctx context.Context, c *Client) (any, error) { return nil, c.DeleteQueue(ctx, "a.fifo") },
			"DELETE", "/api/v1/queues/a.fifo", "", nil,
		},
		{"purge", "", func(ctx context.Context, c *Client) (any, error) { return nil, c.Purge(ctx, "a") }, "POST", "/api/v1/queues/a/purge", "", nil},
		{"resume", "", func(ctx context.Context, c *Client) (any, error) { return nil, c.Resume(ctx, "a") }, "POST", "/api/v1/queues/a/resume", "", nil},
		{
			"send", `{"sent":[{"id":"m"},{"error":"no"}]}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Send(ctx, "a", []Send{{Body: []byte{0, 1}, Delay: &half}, {Body: []byte("x"), Priority: 9}})
			},
			"POST", "/api/v1/queues/a/messages", `{"messages":[{"body":"AAE=","delay":"30s"},{"body":"eA==","priority":9}]}`,
			[]Sent{{ID: "m"}, {Error: "no"}},
		},
		{
			"set aside", `{"sent":[{"id":"m"}]}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.SetAside(ctx, "a", []Part{{Body: []byte("x"), Outcome: queue.Outcome{Class: bezoar.Bug, Reason: "r"}, Once: "o"}})
			},
			"POST", "/api/v1/queues/a/parts", `{"parts":[{"body":"eA==","outcome":{"class":"bug","reason":"r"},"once":"o"}]}`,
			[]Sent{{ID: "m"}},
		},
		{
			"peek", `{"messages":[{"id":"m","sequence":7}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Peek(ctx, "a", 6, 10) },
			"GET", "/api/v1/queues/a/messages?after=6&limit=10", "",
			[]Message{{ID: "m", Sequence: 7}},
		},
		{
			"payloads", `{"payloads":[{"state":"suspect","strikes":0.5}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Payloads(ctx, "a") },
			"GET", "/api/v1/queues/a/payloads", "",
			[]Payload{{State: "suspect", Strikes: 0.5}},
		},
		{
			"pardon", "", func(ctx context.Context, c *Client) (any, error) { return nil, c.Pardon(ctx, "a", payload) },
			"DELETE", "/api/v1/queues/a/payloads/" + strings.Repeat("ab", 16), "", nil,
		},
		{
			"conditions", `{"conditions":[{"kind":"breaker","name":"db"}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Conditions(ctx) },
			"GET", "/api/v1/conditions", "",
			[]Condition{{Kind: "breaker", Name: "db"}},
		},
		{
			"alarms", `{"alarms":[{"name":"any","firing":true}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Alarms(ctx) },
			"GET", "/api/v1/alarms", "",
			[]Alarm{{Name: "any", Firing: true}},
		},
		{
			"groups", `{"groups":[{"group":"bug:x","count":4}]}`, func(ctx context.Context, c *Client) (any, error) { return c.DeadGroups(ctx, sel, 5) },
			"GET", "/api/v1/dead/groups?after=2026-11-28T10%3A00%3A00Z&attribute=x%3D&attribute=y%3D%3D1&before=2026-11-28T11%3A00%3A00Z&body=a+b&class=bug&group=bug%3Ax%26y&group=b&id=1&limit=5&origin=a&queue=a-dlq&reason=no%3D",
			"",
			[]queue.Group{{Key: "bug:x", Count: 4}},
		},
		{
			"letters", `{"letters":[{"id":"1"}],"next":"n"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Dead(ctx, queue.Selection{Queue: "a"}, "c u", 2)
			},
			"GET", "/api/v1/dead/letters?cursor=c+u&limit=2&queue=a", "",
			DeadLetters{Letters: []triage.Letter{{ID: "1"}}, Next: "n"},
		},
		{
			"letter", `{"id":"1"}`, func(ctx context.Context, c *Client) (any, error) { return c.DeadLetter(ctx, "1") },
			"GET", "/api/v1/dead/letters/1", "",
			triage.Letter{ID: "1"},
		},
		{
			"execute", `{"tasks":[{"id":"t"}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Execute(ctx, "plan-1") },
			"POST", "/api/v1/dead/plans/plan-1/execute", "",
			[]triage.Task{{ID: "t"}},
		},
		{
			"do", `{"tasks":[{"id":"t"}]}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Do(ctx, Order{Verb: triage.Discard, Selection: queue.Selection{IDs: []string{"1"}}})
			},
			"POST", "/api/v1/dead/do", `{"verb":"discard","selection":{"ids":["1"]},"options":{}}`,
			[]triage.Task{{ID: "t"}},
		},
		{
			"tasks", `{"tasks":[{"id":"t"}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Tasks(ctx, true, 3) },
			"GET", "/api/v1/dead/tasks?limit=3&live=true", "",
			[]triage.Task{{ID: "t"}},
		},
		{
			"change a task", `{"id":"t"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.ChangeTask(ctx, "t", TaskOrder{Action: "rate", Rate: 5})
			},
			"POST", "/api/v1/dead/tasks/t", `{"action":"rate","rate":5}`,
			triage.Task{ID: "t"},
		},
		{
			"audit", `{"entries":[{"number":9}]}`, func(ctx context.Context, c *Client) (any, error) { return c.Audit(ctx, 10, 1) },
			"GET", "/api/v1/audit?before=10&limit=1", "",
			[]queue.AuditEntry{{Number: 9}},
		},
		{
			"export", "{}\n{}\n",
			func(ctx context.Context, c *Client) (any, error) {
				var b bytes.Buffer
				err := c.Export(ctx, queue.Selection{Queue: "a"}, &b)
				return b.String(), err
			},
			"GET", "/api/v1/dead/export?queue=a", "", "{}\n{}\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, got := serve(t, 200, "application/json", tt.answer)
			out, err := tt.call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, out); d != "" {
				t.Error("answer (-want +got):", d)
			}
			if d := cmp.Diff(seen{tt.method, tt.uri, "Bearer s3cret", tt.body}, *got); d != "" {
				t.Error("request (-want +got):", d)
			}
		})
	}
}

// A list that never ends is no list.
func TestListsOfQueuesEnd(t *testing.T) {
	pages := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages++
		if after := r.URL.Query().Get("after"); after < "c" {
			fmt.Fprintf(w, `{"queues":[{"name":"x"}],"next":%q}`, string(rune('a'+pages-1)))
			return
		}
		fmt.Fprint(w, `{"queues":[],"next":"c"}`)
	}))
	defer srv.Close()
	c, err := New(Config{Address: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Queues(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "repeated") || pages != 4 {
		t.Errorf("after %d pages: %v", pages, err)
	}
}

// Names that lead elsewhere are not asked for.
func TestNamesThatLeadElsewhere(t *testing.T) {
	c, got := serve(t, 200, "application/json", `{}`)
	for _, name := range []string{"..", ".", ""} {
		_, err := c.Queue(t.Context(), name)
		var p *Problem
		if !errors.As(err, &p) || p.Code != CodeNotFound {
			t.Errorf("Queue(%q) = %v", name, err)
		}
	}
	if *got != (seen{}) {
		t.Errorf("%+v was asked", *got)
	}
}

// Who acts is said in one line of a header, whatever the name.
func TestActors(t *testing.T) {
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get(HeaderActor)
		fmt.Fprint(w, `{}`)
	}))
	defer srv.Close()
	for actor, want := range map[string]string{
		"me@here": "me@here", "a\r\nX: y\x1b[31m\x00": "aX: y[31m", "müller": "mller", strings.Repeat("x", 300): strings.Repeat("x", 200), "\n": "",
	} {
		c, err := New(Config{Address: srv.URL, Actor: actor})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Conditions(t.Context()); err != nil || got != want {
			t.Errorf("%q acts as %q, %v; want %q", actor, got, err, want)
		}
		c.Close()
	}
}
