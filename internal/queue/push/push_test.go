package push

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sourceStub hands out messages once, and notes how each was settled.
type sourceStub struct {
	mu       sync.Mutex
	waiting  []queue.Message
	done     map[string]bool
	released map[string]queue.ReleaseInput
	settled  chan string
}

func newShelf(messages ...queue.Message) *sourceStub {
	return &sourceStub{waiting: messages, done: map[string]bool{}, released: map[string]queue.ReleaseInput{}, settled: make(chan string, 1000)}
}

func (s *sourceStub) Receive(ctx context.Context, _ string, in queue.ReceiveInput) ([]queue.Message, error) {
	s.mu.Lock()
	n := min(in.Max, len(s.waiting))
	got := s.waiting[:n]
	s.waiting = s.waiting[n:]
	s.mu.Unlock()
	if n == 0 {
		<-ctx.Done()
	}
	return got, nil
}

func (s *sourceStub) Delete(_ context.Context, _ string, r queue.Receipt) error {
	s.mu.Lock()
	s.done[fmt.Sprint(r.Sequence)] = true
	s.mu.Unlock()
	s.settled <- fmt.Sprint(r.Sequence)
	return nil
}

func (s *sourceStub) Release(_ context.Context, _ string, in queue.ReleaseInput) error {
	s.mu.Lock()
	s.released[fmt.Sprint(in.Receipt.Sequence)] = in
	s.mu.Unlock()
	s.settled <- fmt.Sprint(in.Receipt.Sequence)
	return nil
}

func message(n int64, body string, attributes ...string) queue.Message {
	m := queue.Message{ID: fmt.Sprintf("id-%d", n), Body: []byte(body), Receives: 1, Receipt: queue.Receipt{Sequence: n}, Attributes: map[string]queue.Attribute{}}
	for i := 0; i+1 < len(attributes); i += 2 {
		m.Attributes[attributes[i]] = queue.Attribute{DataType: "String", String: attributes[i+1]}
	}
	return m
}

// deliver pushes messages to url until all are settled.
func deliver(t *testing.T, url string, timeout time.Duration, messages ...queue.Message) *sourceStub {
	t.Helper()
	s := newShelf(messages...)
	p, err := New(Config{Queue: s, Name: "jobs", URL: url, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	for range messages {
		select {
		case <-s.settled:
		case <-time.After(time.Minute):
			t.Fatal("a message was not settled")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatAnAnswerMeans(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/throttled":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/invalid":
			http.Error(w, "no such field\nand more", http.StatusUnprocessableEntity)
		case "/bug":
			w.WriteHeader(http.StatusInternalServerError)
		case "/outage":
			w.WriteHeader(http.StatusBadGateway)
		case "/conflict":
			w.WriteHeader(http.StatusConflict)
		case "/redirect":
			http.Redirect(w, r, "/done", http.StatusFound)
		case "/broken":
			panic(http.ErrAbortHandler)
		case "/slow":
			_, _ = io.ReadAll(r.Body) // or the server does not notice that the caller has gone
			<-r.Context().Done()
		}
	}))
	defer server.Close()
	for path, want := range map[string]struct {
		class   bezoar.Class
		failure string
		after   time.Duration
	}{
		"/throttled": {bezoar.Throttled, "http:429", 7 * time.Second},
		"/invalid":   {bezoar.Invalid, "http:422", 0},
		"/bug":       {bezoar.Bug, "http:500", 0},
		"/outage":    {bezoar.Outage, "http:502", 0},
		"/conflict":  {bezoar.Transient, "http:409", 0},
		"/redirect":  {bezoar.Bug, "http:302", 0},
		"/broken":    {bezoar.Crash, "push:broken-off", 0},
		"/slow":      {bezoar.Timeout, "push:timeout", 0},
	} {
		t.Run(path[1:], func(t *testing.T) {
			s := deliver(t, server.URL+path, 300*time.Millisecond, message(1, "x"))
			got, ok := s.released["1"]
			if !ok || got.Outcome.Class != want.class || got.Outcome.Failure != want.failure || got.RetryAfter != want.after {
				t.Errorf("got %+v %+v, want %+v", got, got.Outcome, want)
			}
		})
	}
}

func TestNobodyListens(t *testing.T) {
	s := deliver(t, "http://127.0.0.1:1", time.Minute, message(1, "x"))
	if got := s.released["1"]; got.Outcome == nil || got.Outcome.Class != bezoar.Outage {
		t.Errorf("got %+v", got)
	}
}

// What was a request goes to its own target, byte for byte.
func TestRequestsComeOutAsTheyWentIn(t *testing.T) {
	type seen struct{ method, uri, kind, id, body string }
	got := make(chan seen, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("Bezoar-Message-Id"), string(body)}
	}))
	defer server.Close()
	raw := "\x00\xff"
	for name, tt := range map[string]struct {
		path string
		m    queue.Message
		want seen
	}{
		"a message": {"/jobs?a=b", message(1, "hello"), seen{"POST", "/jobs?a=b", "", "id-1", "hello"}},
		"a request": {
			"", message(1, `{"x":1}`, "HttpMethod", "PUT", "HttpTarget", "/a%2Fb?q=1", "ContentType", "application/json"),
			seen{"PUT", "/a%2Fb?q=1", "application/json", "id-1", `{"x":1}`},
		},
		"one without a body":           {"/", message(1, "/a?b", "HttpMethod", "GET", "HttpTarget", "/a?b", "BodyEncoding", "none"), seen{"GET", "/a?b", "", "id-1", ""}},
		"one whose body is its target": {"/", message(1, "/a", "HttpMethod", "POST", "HttpTarget", "/a"), seen{"POST", "/a", "", "id-1", "/a"}},
		"one that was given a body":    {"/", message(1, "now", "HttpMethod", "POST", "HttpTarget", "/a", "BodyEncoding", "none"), seen{"POST", "/a", "", "id-1", "now"}},
		"binary": {
			"", message(1, base64.StdEncoding.EncodeToString([]byte(raw)), "HttpMethod", "POST", "HttpTarget", "/u", "BodyEncoding", "base64"),
			seen{"POST", "/u", "", "id-1", raw},
		},
		"a request to a fixed path": {"/fixed", message(1, "b", "HttpMethod", "PUT", "HttpTarget", "/a"), seen{"POST", "/fixed", "", "id-1", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := deliver(t, server.URL+tt.path, 5*time.Second, tt.m)
			if g := <-got; g != tt.want {
				t.Errorf("got %+v, want %+v", g, tt.want)
			}
			if !s.done["1"] {
				t.Error("it was not deleted")
			}
		})
	}
}

// The limit begins at one, grows with success and never passes the most.
func TestConcurrencyFollowsSuccess(t *testing.T) {
	var mu sync.Mutex
	now, peak := 0, 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		now++
		peak = max(peak, now)
		mu.Unlock()
		mu.Lock()
		now--
		mu.Unlock()
	}))
	defer server.Close()
	var all []queue.Message
	for i := range int64(200) {
		all = append(all, message(i, "x"))
	}
	deliver(t, server.URL, 5*time.Second, all...)
	if peak > 10 {
		t.Errorf("%d requests at once, more than 10", peak)
	}
	w := window{size: 1, most: 3}
	for i, want := range []int{2, 2, 3, 3, 3, 3} {
		if w.grow(); w.size != want {
			t.Fatalf("after %d successes the limit is %d, want %d", i+1, w.size, want)
		}
	}
	for i, want := range []int{1, 1} {
		if w.shrink(); w.size != want {
			t.Fatalf("after %d failures the limit is %d, want %d", i+1, w.size, want)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{},
		{Queue: newShelf(), Name: "q", URL: "ftp://x"},
		{Queue: newShelf(), Name: "q", URL: "http://x", Concurrency: 1001},
		{Queue: newShelf(), Name: "q", URL: "http://x", Timeout: 13 * time.Hour},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v passed", c)
		}
	}
	now := time.Now()
	for value, want := range map[string]time.Duration{"3": 3 * time.Second, "-1": 0, "x": 0, "": 0, "99999999": queue.MaxVisibility} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", value, got, want)
		}
	}
}
