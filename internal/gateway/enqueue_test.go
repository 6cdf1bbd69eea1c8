package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// shelf is an Enqueuer that keeps what it gets, or fails.
type shelf struct {
	mu    sync.Mutex
	works []Enqueued
	fail  error
}

func (s *shelf) Enqueue(_ context.Context, w Enqueued) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return "", s.fail
	}
	s.works = append(s.works, w)
	return "ticket-1", nil
}

func (s *shelf) Status(_ context.Context, ticket string) (Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fail != nil:
		return Status{}, s.fail
	case ticket != "ticket-1":
		return Status{}, ErrNoTicket
	}
	return Status{State: StateRunning, Queue: "jobs", Attempts: 2}, nil
}

func (s *shelf) last(t *testing.T) Enqueued {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.works) == 0 {
		t.Fatal("nothing was enqueued")
	}
	return s.works[len(s.works)-1]
}

// fetch makes a request and reads its answer.
func fetch(t *testing.T, c *http.Client, method, url string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

// One request is the same work on every wire.
func TestEnqueueOnEveryWire(t *testing.T) {
	s := &shelf{}
	route := Route{Enqueue: s, Buffer: 1 << 10, MaxBody: 1 << 10}
	plain := serve(t, route, Config{}, ServerConfig{})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	clients, urls := map[string]*http.Client{"plain": {Transport: tr}}, map[string]string{"plain": "http://" + plain.addr}
	config, pool := certificate(t)
	secure := serve(t, route, Config{}, ServerConfig{TLS: config})
	for name, c := range tlsClients(t, pool) {
		clients[name], urls[name] = c, "https://"+secure.addr
	}
	for name, c := range clients {
		t.Run(name, func(t *testing.T) {
			for _, chunked := range []bool{false, true} {
				var body io.Reader = strings.NewReader("a body")
				if chunked {
					body = struct{ io.Reader }{body}
				}
				res, text := fetch(t, c, "PUT", urls[name]+"/a%2Fb?q=1", body, "Content-Type", "text/plain", "Idempotency-Key", "k")
				w := s.last(t)
				if res.StatusCode != 202 || res.Header.Get("Location") != StatusPath+"ticket-1" || !strings.Contains(text, w.ID) {
					t.Errorf("answered %d %s", res.StatusCode, text)
				}
				if w.Method != "PUT" || w.Target != "/a%2Fb?q=1" || w.ContentType != "text/plain" || w.Key != "k" || string(w.Body) != "a body" || w.Host == "" {
					t.Errorf("enqueued %+v", w)
				}
			}
			if res, text := fetch(t, c, "POST", urls[name]+"/x", strings.NewReader(strings.Repeat("x", 2<<10))); res.StatusCode != 413 {
				t.Errorf("a long body: %d %s", res.StatusCode, text)
			}
			res, text := fetch(t, c, "GET", urls[name]+StatusPath+"ticket-1", nil)
			var got Status
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.State != StateRunning || got.Attempts != 2 || res.Header.Get("Retry-After") == "" {
				t.Errorf("status: %d %s, %v", res.StatusCode, text, err)
			}
		})
	}
}

// Each refusal of the queue is told as what it is.
func TestWhatTheQueueRefuses(t *testing.T) {
	s := &shelf{}
	f := serve(t, Route{Enqueue: s, Buffer: 1 << 10}, Config{}, ServerConfig{})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	for name, tt := range map[string]struct {
		fail                    error
		enqueue, status         int
		enqueueType, statusType string
	}{
		"schema":   {&EnqueueError{Status: 422, Type: "schema", Detail: "no"}, 422, 503, "schema", "unavailable"},
		"the disk": {errors.New("disk on fire at /secret"), 503, 503, "unavailable", "unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			s.fail = tt.fail
			for what, ask := range map[string]struct {
				method, target string
				status         int
				kind           string
			}{
				"enqueue": {"POST", "/x", tt.enqueue, tt.enqueueType},
				"status":  {"GET", StatusPath + "ticket-1", tt.status, tt.statusType},
			} {
				res, text := fetch(t, c, ask.method, "http://"+f.addr+ask.target, nil)
				if res.StatusCode != ask.status || !strings.Contains(text, "problem:"+ask.kind+`"`) || strings.Contains(text, "secret") {
					t.Errorf("%s: %d %s, want %d %s", what, res.StatusCode, text, ask.status, ask.kind)
				}
				if again := res.Header.Get("Retry-After"); (again != "") != (res.StatusCode == 503) {
					t.Errorf("%s: %d with Retry-After %q", what, res.StatusCode, again)
				}
			}
		})
	}
}

// A body that does not fit into memory now is not too large: the caller may come
// again.
func TestNoMemoryForABodyNow(t *testing.T) {
	s := &shelf{}
	f := serve(t, Route{Enqueue: s, Buffer: 64 << 10, MaxBody: 64 << 10}, Config{MaxBuffered: 32 << 10}, ServerConfig{})
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	for name, body := range map[string]io.Reader{
		"length": strings.NewReader(strings.Repeat("x", 48<<10)), "chunked": struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 48<<10))},
	} {
		res, text := fetch(t, &http.Client{Transport: tr}, "POST", "http://"+f.addr+"/x", body)
		if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s, want 503", name, res.StatusCode, text)
		}
	}
	settled(t, func() bool { return f.g.Held() == 0 })
	res, text := fetch(t, &http.Client{Transport: tr}, "POST", "http://"+f.addr+"/x", strings.NewReader("small"))
	if res.StatusCode != 202 {
		t.Errorf("a small body: %d %s", res.StatusCode, text)
	}
}
