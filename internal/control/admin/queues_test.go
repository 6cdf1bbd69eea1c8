package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
	"github.com/bezoar-dev/bezoar/queue"
)

// queuesStub is Queues over maps.
type queuesStub struct {
	mu      sync.Mutex
	queues  map[string]adminapi.Queue
	sent    map[string][]adminapi.Send
	did     []string // what was changed, in order
	blocked []adminapi.Condition
	stats   queue.Stats
	fail    error
}

func newQueuesStub(names ...string) *queuesStub {
	h := &queuesStub{queues: map[string]adminapi.Queue{}, sent: map[string][]adminapi.Send{}}
	for _, name := range names {
		h.queues[name] = adminapi.Queue{Name: name, State: "ok", Visible: 3, InFlight: 2, Delayed: 1, Oldest: adminapi.Duration(time.Minute)}
	}
	return h
}

func (h *queuesStub) find(name string) (adminapi.Queue, error) {
	if h.fail != nil {
		return adminapi.Queue{}, h.fail
	}
	q, ok := h.queues[name]
	if !ok {
		return q, fmt.Errorf("queue %q: %w", name, queue.ErrQueueNotFound)
	}
	return q, nil
}

func (h *queuesStub) change(name, what string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(name); err != nil {
		return err
	}
	h.did = append(h.did, what+" "+name)
	return nil
}

func (h *queuesStub) Queues(_ context.Context, q queue.ListQuery) (out adminapi.Queues, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.Limit == 0 {
		q.Limit = adminapi.MaxQueues
	}
	for _, name := range slices.Sorted(maps.Keys(h.queues)) {
		if name <= q.After || !strings.HasPrefix(name, q.Prefix) {
			continue
		}
		if len(out.Queues) == q.Limit {
			out.Next = out.Queues[q.Limit-1].Name
			break
		}
		out.Queues = append(out.Queues, h.queues[name])
	}
	return out, h.fail
}

func (h *queuesStub) Queue(_ context.Context, name string) (adminapi.Queue, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(name)
}

func (h *queuesStub) CreateQueue(_ context.Context, in adminapi.CreateQueue) (adminapi.Queue, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.queues[in.Name]; ok {
		return adminapi.Queue{}, fmt.Errorf("queue %q: %w", in.Name, queue.ErrQueueExists)
	}
	q := adminapi.Queue{Name: in.Name, Attributes: in.Attributes, Tags: in.Tags, State: "ok"}
	h.queues[in.Name] = q
	return q, h.fail
}

func (h *queuesStub) SetQueue(_ context.Context, name string, in adminapi.SetQueue) (adminapi.Queue, error) {
	return h.queues[name], h.change(name, fmt.Sprint("set ", in.Attributes, " of"))
}

func (h *queuesStub) DeleteQueue(_ context.Context, name string) error {
	return h.change(name, "delete")
}
func (h *queuesStub) Purge(_ context.Context, name string) error { return h.change(name, "purge") }
func (h *queuesStub) Pause(_ context.Context, name string, p queue.Pause) error {
	return h.change(name, "pause "+p.Reason)
}

func (h *queuesStub) Resume(_ context.Context, name string) error { return h.change(name, "resume") }

func (h *queuesStub) EditMessage(_ context.Context, name string, seq int64, in adminapi.EditMessage) (string, error) {
	return "m-1", h.change(name, fmt.Sprintf("edit %d into %s %v of", seq, in.Body, in.Attributes))
}

func (h *queuesStub) DeleteMessage(_ context.Context, name string, seq int64, force bool) (string, error) {
	return "m-1", h.change(name, fmt.Sprintf("delete %d by force %v of", seq, force))
}

func (h *queuesStub) Send(_ context.Context, name string, in []adminapi.Send) ([]adminapi.Sent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(name); err != nil {
		return nil, err
	}
	h.sent[name] = append(h.sent[name], in...)
	return []adminapi.Sent{{ID: "m-1", Sequence: 1}}, nil
}

func (h *queuesStub) SetAside(_ context.Context, name string, in []adminapi.Part) ([]adminapi.Sent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(name); err != nil {
		return nil, err
	}
	out := make([]adminapi.Sent, len(in))
	for i, p := range in {
		h.did = append(h.did, fmt.Sprintf("set %s aside in %s: %s", p.Body, name, p.Outcome.Class))
		out[i] = adminapi.Sent{ID: p.Once}
	}
	return out, nil
}

func (h *queuesStub) Peek(_ context.Context, name string, after int64, limit int) ([]adminapi.Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(name); err != nil {
		return nil, err
	}
	return []adminapi.Message{{ID: "m-1", Queue: name, Sequence: after + 1, Receives: limit, Body: []byte("<script>\x00\xff")}}, nil
}

func (h *queuesStub) Payloads(_ context.Context, name string) ([]adminapi.Payload, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, err := h.find(name); err != nil {
		return nil, err
	}
	return []adminapi.Payload{{Queue: name, Payload: bezoar.Fingerprint{1}, State: "suspect", Strikes: 1.5}}, nil
}

func (h *queuesStub) Pardon(_ context.Context, name string, payload bezoar.Fingerprint) error {
	return h.change(name, "pardon "+payload.String())
}

func (h *queuesStub) Conditions(context.Context) ([]adminapi.Condition, error) {
	return h.blocked, h.fail
}
func (h *queuesStub) Stats() queue.Stats { return h.stats }

func TestQueueCallsThroughTheClient(t *testing.T) {
	h := newQueuesStub("jobs", "jobs-dlq", "other")
	_, base := start(t, Config{Queues: h}, newBackendStub(), new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()

	if qs, err := c.Queues(ctx, "jobs"); err != nil || len(qs) != 2 || qs[1].Name != "jobs-dlq" {
		t.Errorf("Queues = %v, %v", qs, err)
	}
	if q, err := c.Queue(ctx, "jobs"); err != nil || q.Visible != 3 || q.Oldest != adminapi.Duration(time.Minute) {
		t.Errorf("Queue = %v, %v", q, err)
	}
	in := adminapi.CreateQueue{Name: "new", Attributes: map[string]string{"VisibilityTimeout": "5"}, Tags: map[string]string{"a": "b"}}
	if q, err := c.CreateQueue(ctx, in); err != nil || q.Attributes["VisibilityTimeout"] != "5" || q.Tags["a"] != "b" {
		t.Errorf("CreateQueue = %v, %v", q, err)
	}
	_, err = c.CreateQueue(ctx, in)
	wantCode(t, "a second CreateQueue", err, adminapi.CodeConflict)
	delay := adminapi.Duration(time.Minute)
	send := []adminapi.Send{{Body: []byte("\x00\xff"), Delay: &delay, Group: "g", Dedup: "d", Priority: 9, Attributes: map[string]string{"K": "v"}}}
	if sent, err := c.Send(ctx, "jobs", send); err != nil || len(sent) != 1 || sent[0].ID != "m-1" {
		t.Errorf("Send = %v, %v", sent, err)
	}
	if d := cmp.Diff(send, h.sent["jobs"]); d != "" {
		t.Errorf("something else was sent (-want +got):\n%s", d)
	}
	if m, err := c.Peek(ctx, "jobs", 41, 7); err != nil || len(m) != 1 || m[0].Sequence != 42 || m[0].Receives != 7 || string(m[0].Body) != "<script>\x00\xff" {
		t.Errorf("Peek = %v, %v", m, err)
	}
	if p, err := c.Payloads(ctx, "jobs"); err != nil || len(p) != 1 || p[0].Strikes != 1.5 {
		t.Errorf("Payloads = %v, %v", p, err)
	}
	part := adminapi.Part{Body: []byte("row"), Outcome: queue.Outcome{Class: bezoar.Invalid, Reason: "odd"}, Once: "x-1"}
	if sent, err := c.SetAside(ctx, "jobs", []adminapi.Part{part}); err != nil || len(sent) != 1 || sent[0].ID != "x-1" {
		t.Errorf("SetAside = %v, %v", sent, err)
	}
	for _, do := range []func() error{
		func() error { return c.Purge(ctx, "jobs") },
		func() error {
			return second(c.SetQueue(ctx, "jobs", adminapi.SetQueue{Attributes: map[string]string{"VisibilityTimeout": "7"}}))
		},
		func() error { return c.Pause(ctx, "jobs", queue.Pause{Reason: "a deploy"}) },
		func() error { return c.Resume(ctx, "jobs") },
		func() error { return c.Pardon(ctx, "jobs", bezoar.Fingerprint{1}) },
		func() error {
			return second(c.EditMessage(ctx, "jobs", 42, adminapi.EditMessage{Body: []byte("new"), Attributes: map[string]string{"a": "b"}}))
		},
		func() error { return second(c.DeleteMessage(ctx, "jobs", 43, true, "why")) },
		func() error { return c.DeleteQueue(ctx, "jobs") },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"set row aside in jobs: invalid", "purge jobs", "set map[VisibilityTimeout:7] of jobs", "pause a deploy jobs", "resume jobs", "pardon " + bezoar.Fingerprint{1}.String() + " jobs", "edit 42 into new map[a:b] of jobs", "delete 43 by force true of jobs", "delete jobs"}; !slices.Equal(h.did, want) {
		t.Errorf("did %q, want %q", h.did, want)
	}
	if cs, err := c.Conditions(ctx); err != nil || len(cs) != 0 {
		t.Errorf("Conditions = %v, %v", cs, err)
	}
	_, err = c.SetQueue(ctx, "jobs", adminapi.SetQueue{})
	wantCode(t, "SetQueue of nothing", err, adminapi.CodeInvalid)
	for _, name := range []string{"nowhere", "a/b", "..", ".", "", "%2e%2e", "x?y#z", "\x00"} {
		_, err := c.Queue(ctx, name)
		wantCode(t, fmt.Sprintf("Queue(%q)", name), err, adminapi.CodeNotFound)
		wantCode(t, fmt.Sprintf("Purge(%q)", name), c.Purge(ctx, name), adminapi.CodeNotFound)
	}
}

// A list goes on beyond its bound, and a client follows it to its end.
func TestListsOfManyQueues(t *testing.T) {
	h := newQueuesStub()
	for i := range 2500 {
		name := fmt.Sprintf("q-%04d", i)
		h.queues[name] = adminapi.Queue{Name: name}
	}
	_, base := start(t, Config{Queues: h}, newBackendStub(), new(Hub))
	c, err := adminapi.New(adminapi.Config{Address: base})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	all, err := c.Queues(t.Context(), "")
	if err != nil || len(all) != 2500 || all[2499].Name != "q-2499" {
		t.Errorf("%d queues, %v", len(all), err)
	}
}

func TestQueueRefusals(t *testing.T) {
	s, err := New(Config{Address: "127.0.0.1:7070", Queues: newQueuesStub("jobs")}, newBackendStub(), new(Hub))
	if err != nil {
		t.Fatal(err)
	}
	many := `{"messages":[` + strings.Repeat(`{"body":"YQ=="},`, adminapi.MaxSendBatch) + `{"body":"YQ=="}]}`
	for _, tt := range []struct {
		name, method, target, body string
		status                     int
		detail                     string
	}{
		{"unknown parameter", "GET", "/queues?prefx=a", "", 400, "prefx"},
		{"limit of a list", "GET", "/queues?limit=1001", "", 400, "from 1 to 1000"},
		{"limit of a peek", "GET", "/queues/jobs/messages?limit=257", "", 400, "from 1 to 256"},
		{"after", "GET", "/queues/jobs/messages?after=-1", "", 400, "from 0"},
		{"number as name", "POST", "/queues", `{"name":5}`, 400, "name"},
		{"unknown field", "POST", "/queues", `{"name":"x","visibility":5}`, 400, "visibility"},
		{"number as attribute", "POST", "/queues", `{"name":"x","attributes":{"VisibilityTimeout":5}}`, 400, "attributes"},
		{"nothing to send", "POST", "/queues/jobs/messages", `{"messages":[]}`, 400, "between 1 and 256"},
		{"too much to send", "POST", "/queues/jobs/messages", many, 400, "between 1 and 256"},
		{"no base64", "POST", "/queues/jobs/messages", `{"messages":[{"body":"!"}]}`, 400, "base64"},
		{"too long", "POST", "/queues/jobs/messages", `{"messages":[{"body":"` + strings.Repeat("A", maxBody) + `"}]}`, 413, "bytes"},
		{"nothing to set aside", "POST", "/queues/jobs/parts", `{"parts":[]}`, 400, "between 1 and 256"},
		{"no payload", "DELETE", "/queues/jobs/payloads/zz", "", 400, "32 hexadecimal"},
		{"no queue", "DELETE", "/queues/none", "", 404, "none"},
		{"no such call", "PUT", "/queues/jobs", "{}", 404, "PUT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			refused(t, s, tt.method, adminapi.PathQueues[:len("/api/v1")]+tt.target, tt.body, tt.status, tt.detail)
		})
	}
}

// refused makes a call that must be answered with a problem.
func refused(t *testing.T, s *Server, method, target, body string, status int, detail string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:7070"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	if w.Code != status || !strings.Contains(w.Body.String(), detail) || w.Header().Get("Content-Type") != adminapi.ProblemType {
		t.Errorf("= %d %s %s, want %d with %q", w.Code, w.Header().Get("Content-Type"), w.Body, status, detail)
	}
}

func TestQueueProblems(t *testing.T) {
	for code, want := range map[queue.Code]int{
		queue.ErrQueueNotFound: 404, queue.ErrLetterNotFound: 404, queue.ErrMoveNotFound: 404,
		queue.ErrQueueExists: 409, queue.ErrConflict: 409, queue.ErrMoveRunning: 409, queue.ErrMoveNotRunning: 409, queue.ErrReceiptStale: 409,
		queue.ErrTooLarge: 413, queue.ErrInvalid: 400, queue.ErrSchema: 400, queue.ErrOverLimit: 400,
	} {
		p := queueProblem(fmt.Errorf("do something: %w", code))
		if p == nil || p.Status != want || !strings.Contains(p.Detail, "do something") {
			t.Errorf("%s is answered %v, want %d", code, p, want)
		}
	}
	if p := queueProblem(fmt.Errorf("send: %w", queue.ErrNoAnswer)); p == nil || p.Status != 503 || p.Code != adminapi.CodeUnavailable || !strings.Contains(p.Detail, "store does not answer") {
		t.Errorf("a store that is away is answered %v", p)
	}
	if p := queueProblem(fmt.Errorf("send: %w", queue.ErrNoSpace)); p == nil || p.Status != 507 || p.Code != adminapi.CodeUnavailable || !strings.Contains(p.Detail, "disk of the store is full") {
		t.Errorf("a full disk is answered %v", p)
	}
	if p := queueProblem(http.ErrAbortHandler); p != nil {
		t.Errorf("an error that is no queue's is answered %v", p)
	}
}

func second[T any](_ T, err error) error { return err }
