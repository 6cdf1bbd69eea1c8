package hints

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/guard"
)

// backend answers like Elasticsearch 8.
type backend struct {
	mu       sync.Mutex
	status   string
	docs     map[string]int    // of indices
	mappings map[string]string // likewise
	took     time.Duration
	asked    []string                                        // method and path
	broken   func(r *http.Request) (status int, body string) // status 0: it is not
	open     int
	most     int // requests at once
}

func newBackend() *backend {
	return &backend{
		status: "green",
		docs:   map[string]int{"shop": 50_000, ".ds-logs-2026.11.01-000001": 9_000_000, ".ds-logs-2026.11.02-000002": 4_000_000, ".security-7": 100, "empty": 0},
		mappings: map[string]string{
			"shop": `{"properties": {"sku": {"type": "keyword"}, "colour": {"type": "keyword"}, "name": {"type": "text", "fields": {"raw": {"type": "keyword", "ignore_above": 256}}},
				"price": {"type": "scaled_float", "scaling_factor": 100}, "at": {"type": "date"}, "buyer": {"properties": {"id": {"type": "long"}, "city": {"type": "keyword"}}},
				"items": {"type": "nested", "properties": {"sku": {"type": "keyword"}}}, "paid": {"type": "boolean"}, "town": {"type": "alias", "path": "buyer.city"}, "v": {"type": "constant_keyword"}},
				"runtime": {"weekday": {"type": "keyword"}}}`,
			".ds-logs-2026.11.01-000001": `{"properties": {"@timestamp": {"type": "date"}, "trace": {"type": "keyword"}}}`,
			".ds-logs-2026.11.02-000002": `{"properties": {"@timestamp": {"type": "date"}, "trace": {"type": "keyword"}, "new": {"type": "ip"}}}`,
		},
	}
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	b.open++
	b.most = max(b.most, b.open)
	b.asked = append(b.asked, r.Method+" "+r.URL.Path)
	took, broken := b.took, b.broken
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open--
	}()
	if took > 0 {
		select {
		case <-time.After(took):
		case <-r.Context().Done():
			return
		}
	}
	if r.Header.Get("X-Opaque-Id") != "bezoar-hints" {
		http.Error(w, "who are you?", http.StatusTeapot)
		return
	}
	w.Header().Set("X-Elastic-Product", "Elasticsearch")
	w.Header().Set("Content-Type", "application/json")
	if broken != nil {
		if status, text := broken(r); status != 0 {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprint(w, b.answer(r))
}

func (b *backend) answer(r *http.Request) string {
	switch path := r.URL.Path; {
	case path == "/_cluster/health":
		return `{"status": "` + b.status + `"}`
	case path == "/_cat/indices":
		var rows []string
		for name, docs := range b.docs {
			rows = append(rows, fmt.Sprintf(`{"index": %q, "status": "open", "docs.count": "%d", "pri": "3"}`, name, docs))
		}
		rows = append(rows, `{"index": "closed", "status": "close", "docs.count": null, "pri": "1"}`)
		return "[" + strings.Join(rows, ",") + "]"
	case path == "/_alias":
		return `{"shop": {"aliases": {"store": {}, "sales": {"filter": {"term": {"paid": true}}}}}, "gone": {"aliases": {"old": {}}}}`
	case path == "/_data_stream":
		return `{"data_streams": [{"name": "logs", "indices": [{"index_name": ".ds-logs-2026.11.01-000001"}, {"index_name": ".ds-logs-2026.11.02-000002"}]}]}`
	case strings.HasSuffix(path, "/_mapping"):
		var parts []string
		for name := range strings.SplitSeq(strings.Trim(strings.TrimSuffix(path, "/_mapping"), "/"), ",") {
			if m, ok := b.mappings[name]; ok {
				parts = append(parts, fmt.Sprintf(`%q: {"mappings": %s}`, name, m))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return `{"error": {"type": "illegal_argument_exception"}, "status": 400}`
}

func (b *backend) set(change func(b *backend)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

// serve serves over TCP, and returns a Poller of it that has not run.
func serve(t *testing.T, b http.Handler, c Config) (*Poller, *guard.HintStore) {
	t.Helper()
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return newPoller(t, c)
}

// pipe serves over connections in memory, which virtual time can wait for.
func pipe(t *testing.T, b http.Handler, c Config) (*Poller, *guard.HintStore) {
	t.Helper()
	l := &memory{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: b}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	c.URL = "http://backend:9200"
	c.Client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: l.dial}}
	return newPoller(t, c)
}

func newPoller(t *testing.T, c Config) (*Poller, *guard.HintStore) {
	t.Helper()
	store := &guard.HintStore{}
	if c.Store == nil {
		c.Store = store
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p, store
}

type memory struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (m *memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case m.conns <- there:
		return here, nil
	case <-m.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error {
	m.once.Do(func() { close(m.closed) })
	return nil
}

func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// run runs a Poller until the test, or stop, ends it.
func run(t *testing.T, p *Poller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}
