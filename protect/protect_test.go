package protect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// TestPassesTheWriterOn: what handlers do with their ResponseWriter still
// works.
func TestPassesTheWriterOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	goOn := make(chan bool)
	recs := new(records)
	pool := newPool(t, overload.Config{})
	addr := serve(t, Config{Pool: pool, Observe: recs.note, Stale: stale.New(stale.Config{})}, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		switch r.URL.Path {
		case "/flush":
			_, _ = io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			<-goOn
			_, _ = io.WriteString(w, "second")
		case "/file":
			http.ServeFile(w, r, file)
		case "/deadline":
			fmt.Fprint(w, rc.SetWriteDeadline(time.Now().Add(time.Hour)), rc.SetReadDeadline(time.Now().Add(time.Hour)), rc.EnableFullDuplex())
		case "/hints":
			w.Header().Set("Link", "</x>")
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusTeapot)
		case "/hijack":
			conn, rw, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nraw")
			_ = rw.Flush()
		}
	})
	c := dial(t, addr)
	c.send("GET /flush HTTP/1.1\nHost: h\nX-Request-Id: flush\n\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
	goOn <- true
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "second" {
		t.Fatalf("%q, %v", rest, err)
	}
	for range 2 { // the second time it is not recorded, and the server's writer reads
		if resp, body := c.ask("GET /file"); resp.StatusCode != 200 || body != "from a file" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
		if resp, body := c.ask("GET /file", "Range: bytes=0-3"); resp.StatusCode != 206 || body != "from" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
	}
	if _, body := c.ask("GET /deadline"); body != "<nil> <nil> <nil>" {
		t.Errorf("%q", body)
	}
	c.send("GET /hints HTTP/1.1\nHost: h\n\n")
	if resp, err := http.ReadResponse(c.br, nil); err != nil || resp.StatusCode != 103 {
		t.Errorf("%v, %v", resp, err)
	}
	if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusTeapot {
		t.Errorf("status %d", resp.StatusCode)
	}
	c.send("GET /hijack HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: x\n\n")
	if rest, clean := c.ends(); !strings.HasSuffix(rest, "raw") || !clean {
		t.Errorf("%q, %v", rest, clean)
	}
	if rec := recs.last(t, "flush"); rec.Status != 200 || rec.BytesOut != 11 || rec.TTFB <= 0 || rec.Duration < rec.TTFB || rec.Path != "/flush" || rec.Route != "/*" {
		t.Errorf("%+v", rec)
	}
}

// TestBreaker: errors and panics of the handler open the circuit; then the
// last good answer is shown, or another handler asked.
func TestBreaker(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"an error": func(w http.ResponseWriter) { w.WriteHeader(500) },
		"a panic":  func(http.ResponseWriter) { panic("handler") },
		"a cut":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x"); panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			b, all := newBreaker(t)
			cache, err := NewAnswerCache(AnswerCacheConfig{})
			if err != nil {
				t.Fatal(err)
			}
			recs := new(records)
			addr := serve(t, Config{
				Breaker: b, Stale: cache, Pool: newPool(t, overload.Config{}), Observe: recs.note,
				Fallback: []Fallback{{On: []FallbackCause{Open}, Stale: &Stale{}}, {Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "instead")
				})}},
			}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "fail" {
					fail(w)
					return
				}
				_, _ = io.WriteString(w, "good")
			})
			for i, end := range append(bodiesOfGET(), "\n") {
				c := dial(t, addr)
				c.send(fmt.Sprintf("GET /%d HTTP/1.1\nHost: h\n", i) + end)
				if _, body := c.answer("GET"); body != "good" {
					t.Fatalf("%q", body)
				}
			}
			settled(t, func() bool { return cache.Stats().Entries > 0 })
			for range 2 {
				c := dial(t, addr)
				c.send("GET /?fail HTTP/1.1\nHost: h\n\n")
				_, _ = io.ReadAll(io.LimitReader(c.br, 10))
			}
			settled(t, func() bool { return stateOf(all) == breaker.Open })
			c := dial(t, addr)
			if resp, body := c.ask("GET /2", "X-Request-Id: 1"); body != "good" || resp.Header.Get(FallbackField) != "stale; on=open" || resp.Header.Get("Age") == "" {
				t.Errorf("%q %v", body, resp.Header)
			}
			for _, b := range bodiesOfGET() {
				c := dial(t, addr)
				c.send("GET /2 HTTP/1.1\nHost: h\n" + b)
				if resp, body := c.answer("GET"); body != "instead" {
					t.Errorf("a body that was never asked for: %q %v", body, resp.Header)
				}
			}
			if resp, body := c.ask("GET /new", "X-Request-Id: 2"); body != "instead" || resp.Header.Get(FallbackField) != "other; on=open" {
				t.Errorf("%q %v", body, resp.Header)
			}
			for id, kind := range map[string]string{"1": "stale", "2": "other"} {
				if rec := recs.last(t, id); rec.Rule != RuleBreaker || rec.Fallback != kind || rec.Status != 200 {
					t.Errorf("%+v", rec)
				}
			}
			if n := cache.Stats().Entries; n != 1 {
				t.Errorf("%d copies: what broke, or was no answer of the handler's, is kept", n)
			}
		})
	}
}

// TestIgnoresCallersWhoLeave: they say nothing about the handler.
func TestIgnoresCallersWhoLeave(t *testing.T) {
	b, all := newBreaker(t)
	came, left := make(chan bool), make(chan bool)
	addr := serve(t, Config{Breaker: b}, func(_ http.ResponseWriter, r *http.Request) {
		came <- true
		<-r.Context().Done()
		left <- true
		panic(http.ErrAbortHandler)
	})
	for range 3 {
		c := dial(t, addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		<-came
		c.Close()
		<-left
	}
	if s := all.List()[0]; s.State != breaker.Closed || s.Counts.Failed > 0 {
		t.Errorf("%+v", s)
	}
}

func TestTrustsProxies(t *testing.T) {
	p := Config{Limits: []Limit{{Key: "ip"}}, Limiter: newLimiter(t, perHour("q", 1))}
	ok := func(http.ResponseWriter, *http.Request) {}
	for _, trusted := range []bool{true, false} {
		p.Limiter = newLimiter(t, perHour("q", 1))
		if trusted {
			p.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		} else {
			p.TrustedProxies = nil
		}
		c := dial(t, serve(t, p, ok))
		served := 0
		for _, from := range []string{"192.0.2.1", "192.0.2.2", "1.1.1.1, 192.0.2.2", "2001:db8::1", "[2001:db8::2]:443", "192.0.2.2:4711, 127.0.0.1"} {
			if resp, _ := c.ask("GET /", "X-Forwarded-For: "+from); resp.StatusCode == 200 {
				served++
			}
		}
		if want := map[bool]int{true: 3, false: 1}[trusted]; served != want {
			t.Errorf("trusted %v: %d served, want %d", trusted, served, want)
		}
	}
}

// TestSilentHandlers: one that writes nothing has answered 200, and its
// answer has the fields.
func TestSilentHandlers(t *testing.T) {
	recs := new(records)
	addr := serve(t, Config{Limits: []Limit{{}}, Limiter: newLimiter(t, perHour("q", 1)), Observe: recs.note}, func(http.ResponseWriter, *http.Request) {})
	if resp, _ := dial(t, addr).ask("GET /", "X-Request-Id: r"); resp.StatusCode != 200 || resp.Header.Get("RateLimit-Policy") != `"q";q=1;w=3600` {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if rec := recs.last(t, "r"); rec.Status != 200 {
		t.Errorf("%+v", rec)
	}
}

// TestNothing: without limits, requests pass.
func TestNothing(t *testing.T) {
	addr := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
	if resp, body := dial(t, addr).ask("GET /"); resp.StatusCode != 200 || body != "hello" {
		t.Errorf("%d %q", resp.StatusCode, body)
	}
}

// TestOverPoorWriters: what the server's writer cannot, is said.
func TestOverPoorWriters(t *testing.T) {
	wrap, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, _, err := w.(http.Hijacker).Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		if _, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("text")); err != nil {
			t.Error(err)
		}
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
}

// TestDetailsOfLines: the details of a line are those of the request.
func TestDetailsOfLines(t *testing.T) {
	var b bytes.Buffer
	l, err := NewAccessLog(AccessLogConfig{Log: slog.New(slog.NewJSONHandler(&b, nil)), Clear: true, Paths: true, Details: true})
	if err != nil {
		t.Fatal(err)
	}
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	wrap, err := New(Config{Observe: l.Observe})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "http://shop.example/a?token=secret", http.NoBody)
	r.Header.Set("Referer", "https://from.example/x?token=secret")
	r.Header.Set("User-Agent", "agent")
	wrap(h).ServeHTTP(httptest.NewRecorder(), r)
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"remote": "192.0.2.1", "protocol": "HTTP/1.1", "host": "shop.example", "path": "/a", "user_agent": "agent", "referer": "https://from.example/x",
	} {
		if got[key] != want {
			t.Errorf("%s is not %s: %v", key, want, got)
		}
	}
}

// TestImpossibleProtection: every fault is named with its field.
func TestImpossibleProtection(t *testing.T) {
	if _, err := NewAnswerCache(AnswerCacheConfig{MaxBytes: -1}); err == nil || !strings.Contains(err.Error(), "MaxBytes") {
		t.Errorf("NewAnswerCache: %v", err)
	}
	_, err := New(Config{Limits: []Limit{{}}, Fallback: []Fallback{{}}, Slow: -1})
	for _, want := range []string{"Limits[0].Quota", "Fallback[0] has 0 answers, want one of Static, Stale and Handler", "Slow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in\n%v", want, err)
		}
	}
}

// TestProtectedStreams: a handler's streams are none of a pool's work either.
func TestProtectedStreams(t *testing.T) {
	pool := newPool(t, overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off, Long: time.Millisecond})
	wrap, err := New(Config{Pool: pool})
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	stop := sync.OnceFunc(func() { close(end) })
	srv := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
		case "/long":
			_ = http.NewResponseController(w).Flush()
		case "/ws":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		default:
			return
		}
		<-end
	})))
	defer srv.Close()
	defer stop()
	for i, path := range []string{"/events", "/long", "/ws"} {
		c := dial(t, srv.Listener.Addr().String())
		c.send("GET " + path + " HTTP/1.1\nHost: h\n\n")
		if _, err := http.ReadResponse(c.br, nil); err != nil {
			t.Fatal(err)
		}
		settled(t, func() bool { s := pool.Stats(); return s.InFlight == 0 && s.Streams == i+1 })
		resp, err := http.Get(srv.URL)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("beside %s: %v %v", path, resp, err)
		}
		resp.Body.Close()
	}
	stop()
	settled(t, func() bool { return pool.Stats().Streams == 0 })
}
