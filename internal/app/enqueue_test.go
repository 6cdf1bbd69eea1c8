package app_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ask makes a request to the gateway.
func (n *node) ask(method, target, kind string, body io.Reader) answer {
	n.t.Helper()
	req, err := http.NewRequestWithContext(n.t.Context(), method, n.url+target, body)
	if err != nil {
		n.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := n.http.Do(req)
	if err != nil {
		n.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return answer{res.StatusCode, string(text), res.Header}
}

// workStatus is what a status URL answers.
type workStatus struct {
	State, Queue, Reason string
	Attempts             int
	Since                time.Time
}

func (n *node) status(ticket string) workStatus {
	n.t.Helper()
	a := n.ask("GET", ticket, "", nil)
	var s workStatus
	if err := json.Unmarshal([]byte(a.body), &s); err != nil || a.status != 200 {
		n.t.Fatalf("GET %s: %d %s: %v", ticket, a.status, a.body, err)
	}
	if retry := a.header.Get("Retry-After"); (retry != "") != (s.State == "queued" || s.State == "running") {
		n.t.Errorf("state %s comes with Retry-After %q", s.State, retry)
	}
	return s
}

// enqueue makes a request that must be taken, and returns its ticket.
func (n *node) enqueue(method, target, kind string, body io.Reader) (ticket string) {
	n.t.Helper()
	a := n.ask(method, target, kind, body)
	ticket = a.header.Get("Location")
	if a.status != http.StatusAccepted || !strings.HasPrefix(ticket, "/.bezoar/requests/") {
		n.t.Fatalf("%s %s: %d %s, Location %q; want 202 and a ticket", method, target, a.status, a.body, ticket)
	}
	if method == http.MethodHead {
		return ticket
	}
	var doc struct {
		ID, State string
		Status    string `json:"status_url"`
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || doc.ID == "" || doc.State != "queued" || doc.Status != ticket {
		n.t.Errorf("%s %s: %s: %v", method, target, a.body, err)
	}
	return ticket
}

const jobsRoute = `listen: 127.0.0.1:0
routes:
  - match: {path: /checked/*}
    enqueue: checked
  - match: {path: /small/*}
    enqueue: small
  - match: {path: /*}
    enqueue: jobs
queues:
  jobs: {visibility: 30s, retry: {base: 1ms, cap: 1ms}}
  small: {max_bytes: 1KiB}
  checked: {schema: %q}
`

func jobsFile(t *testing.T, dir string) string {
	t.Helper()
	schema := filepath.Join(dir, "job.schema.json")
	if err := os.WriteFile(schema, []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return head(sqliteIn(dir), dir) + fmt.Sprintf(jobsRoute, schema)
}

// A request that is put on a queue can be followed to its end, across a restart.
func TestEnqueuedWorkIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := jobsFile(t, dir)
	n := serve(t, settings)
	done := n.enqueue("POST", "/report?of=7", "application/json", strings.NewReader(`{"n":1}`))
	dead := n.enqueue("POST", "/report?of=8", "application/json", strings.NewReader(`{"n":"broken"}`))
	if s := n.status(done); s.State != "queued" || s.Queue != "jobs" || s.Attempts != 0 || s.Since.IsZero() {
		t.Errorf("before: %+v", s)
	}
	n.stop()

	n = serve(t, settings)
	if s := n.status(done); s.State != "queued" {
		t.Errorf("after a restart: %+v", s)
	}
	m := n.receiveOne("jobs")
	if s := n.status(done); s.State != "running" || s.Attempts != 1 {
		t.Errorf("while it runs: %+v", s)
	}
	n.deleteMessage("jobs", m)
	if s := n.status(done); s.State != "done" {
		t.Errorf("after it worked: %+v", s)
	}
	for range 2 { // the same failure of the same payload twice
		n.report("jobs", n.receiveOne("jobs"), `{"class":"invalid","failure":"parse","reason":"n is no number"}`)
	}
	if s := n.status(dead); s.State != "dead" || !strings.Contains(s.Reason, "n is no number") || s.Attempts != 2 {
		t.Errorf("after it failed: %+v", s)
	}
	n.stop()
	n = serve(t, settings)
	if s := n.status(dead); s.State != "dead" {
		t.Errorf("dead, after a restart: %+v", s)
	}
}

// What consumers receive is what callers sent.
func TestEnqueuedRequestsKeepTheirForm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, jobsFile(t, dir))
	binary := "\x00\xff\x01PNG"
	for name, tt := range map[string]struct {
		method, target, kind string
		body                 io.Reader
		want, encoding       string
	}{
		"text":       {"POST", "/a?b=c&d=%2F", "text/plain", strings.NewReader("grüße\n"), "grüße\n", ""},
		"chunked":    {"PUT", "/chunks", "application/json", struct{ io.Reader }{strings.NewReader(`{"n":2}`)}, `{"n":2}`, ""},
		"binary":     {"POST", "/bin", "image/png", strings.NewReader(binary), base64.StdEncoding.EncodeToString([]byte(binary)), "base64"},
		"no body":    {"GET", "/get?x=1", "", nil, "/get?x=1", "none"},
		"head":       {"HEAD", "/head", "", nil, "/head", "none"},
		"its target": {"POST", "/self", "text/plain", strings.NewReader("/self"), "/self", ""},
		"large":      {"POST", "/large", "text/plain", strings.NewReader(strings.Repeat("a", 900<<10)), strings.Repeat("a", 900<<10), ""},
	} {
		n.enqueue(tt.method, tt.target, tt.kind, tt.body)
		m := n.receiveOne("jobs")
		a := func(k string) string { return m.MessageAttributes[k].StringValue }
		if m.Body != tt.want || a("HttpMethod") != tt.method || a("HttpTarget") != tt.target || a("ContentType") != tt.kind || a("BodyEncoding") != tt.encoding || a("RequestId") == "" {
			t.Errorf("%s: received %.100q with %v", name, m.Body, m.MessageAttributes)
		}
		n.deleteMessage("jobs", m)
	}
}

func TestWhatIsNotEnqueued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, jobsFile(t, dir))
	long := strings.Repeat("a", 2<<10)
	for name, tt := range map[string]struct {
		target, body string
		chunked      bool
		status       int
		problem      string
	}{
		"too long":          {"/small/x", long, false, 413, "too-large"},
		"too long, chunked": {"/small/x", long, true, 413, "too-large"},
		"long with headers": {"/small/x", long[:1020], false, 413, "too-large"},
		"too long as text":  {"/small/x", "\x00" + long[:800], false, 413, "too-large"},
		"against schema":    {"/checked/x", `{"n":"seven"}`, false, 422, "$.n"},
		"no JSON":           {"/checked/x", `n=7`, false, 422, "schema"},
	} {
		var body io.Reader = strings.NewReader(tt.body)
		if tt.chunked {
			body = struct{ io.Reader }{body}
		}
		a := n.ask("POST", tt.target, "", body)
		if a.status != tt.status || !strings.Contains(a.body, tt.problem) || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s, want %d with %s", name, a.status, a.body, tt.status, tt.problem)
		}
	}
	if n := len(n.bodies("small")) + len(n.bodies("checked")); n != 0 {
		t.Errorf("%d refused requests are in the queues", n)
	}
}

// A ticket is of this deployment, or nothing.
func TestTicketsCannotBeForged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, jobsFile(t, dir))
	ticket := n.enqueue("POST", "/x", "", strings.NewReader("x"))
	raw := strings.TrimPrefix(ticket, "/.bezoar/requests/")
	for name, path := range map[string]string{
		"empty":   "",
		"garbage": "zzzz",
		"cut":     raw[:len(raw)-2],
		"longer":  raw + "AA",
		"changed": flip(raw, 3),
		"proof":   flip(raw, len(raw)-6),
		"padding": raw + "=",
		"long":    strings.Repeat("A", 4000),
		"path":    raw + "/x",
		"escapes": "%00%2e%2e",
	} {
		if a := n.ask("GET", "/.bezoar/requests/"+path, "", nil); a.status != 404 {
			t.Errorf("%s: %d %s, want 404", name, a.status, a.body)
		}
	}
	if a := n.ask("DELETE", ticket, "", nil); a.status != 405 || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
	if a := n.ask("HEAD", ticket, "", nil); a.status != 200 || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	if len(n.bodies("jobs")) != 1 {
		t.Error("a question about a ticket was enqueued")
	}
	// The same words from a deployment with another secret.
	other := serve(t, jobsFile(t, t.TempDir()))
	if a := other.ask("GET", ticket, "", nil); a.status != 404 {
		t.Errorf("a ticket of another deployment: %d", a.status)
	}
}

func flip(s string, i int) string {
	c := byte('A')
	if s[i] == c {
		c = 'B'
	}
	return s[:i] + string(c) + s[i+1:]
}

// A caller that goes away in the middle of its body has sent nothing.
func TestHalfARequestIsNotEnqueued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, jobsFile(t, dir))
	for _, head := range []string{
		"POST /half HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
		"POST /half HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(n.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			res.Body.Close()
			if res.StatusCode < 400 {
				t.Errorf("half a request was answered %s", res.Status)
			}
		}
		c.Close()
	}
	if got := n.bodies("jobs"); len(got) != 0 {
		t.Errorf("half requests are in the queue: %q", got)
	}
}

// Requests with one Idempotency-Key are one message of a FIFO queue, with one
// ticket; whatever the key is.
func TestIdempotencyKeysOnAFIFOQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := serve(t, head(sqliteIn(dir), dir)+`listen: 127.0.0.1:0
routes: [{match: {path: /*}, enqueue: orders.fifo}]
queues: {orders.fifo: {}}
`)
	orderAt := func(path, key, body string) (ticket string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", n.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		req.Header.Set("X-Request-Id", "one-for-all")
		res, err := n.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusAccepted {
			t.Errorf("key %.20q: %s", key, res.Status)
		}
		return res.Header.Get("Location")
	}
	order := func(key, body string) string { t.Helper(); return orderAt("/orders", key, body) }
	want := 0
	for _, key := range []string{"one", `"quoted, with blanks"`, strings.Repeat("k", 1000), "grün"} {
		first := order(key, "body "+key)
		if again := order(key, "body "+key); again != first {
			t.Errorf("key %.20q has two tickets", key)
		}
		want++
	}
	if first, second := order("", "same"), order("", "same"); first == second {
		t.Error("requests without a key are taken for one")
	}
	if orderAt("/refunds", "one", "body one") == order("one", "body one") {
		t.Error("a key of one target is taken for that of another")
	}
	if got := n.bodies("orders.fifo"); len(got) != want+3 {
		t.Errorf("%d messages, want %d: %.60q", len(got), want+3, got)
	}
}
