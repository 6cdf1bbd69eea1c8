package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// h2cClient speaks HTTP/2 without TLS, from the first byte.
func h2cClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// Copies of a request are one variant over HTTP/2 too: net/http keeps fields in a
// map, whose order is another each time.
func TestCopiesAreOneVariantOverHTTP2(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f := serve(t, Route{Doer: d}, Config{}, ServerConfig{})
	client := h2cClient(t)
	variants := map[bezoar.Fingerprint]int{}
	for range 20 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+"/", strings.NewReader("17"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"X-A", "X-B", "X-C", "X-D"} {
			r.Header.Add(name, "1")
			r.Header.Add(name, "2")
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		variants[d.variant()]++
	}
	if len(variants) != 1 {
		t.Errorf("20 copies are %d variants", len(variants))
	}
}

// A plain listener takes HTTP/2 beside HTTP/1.1, with the same limits, and tells
// workers that it came without TLS.
func TestHTTP2WithoutTLS(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f := serve(t, Route{Doer: d, MaxBody: 1 << 20}, Config{}, ServerConfig{})
	client := h2cClient(t)
	for name, req := range map[string]struct {
		target string
		fields int
		body   int
		status int
	}{
		"a call":        {"/", 0, 0, http.StatusOK},
		"a body":        {"/", 0, 300 << 10, http.StatusOK},
		"a long body":   {"/", 0, 1<<20 + 1, http.StatusRequestEntityTooLarge},
		"many fields":   {"/", 250, 0, http.StatusRequestHeaderFieldsTooLarge},
		"a long target": {"/" + strings.Repeat("a", 20<<10), 0, 0, http.StatusRequestURITooLong},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+req.target, bytes.NewReader(make([]byte, req.body)))
		if err != nil {
			t.Fatal(err)
		}
		for range req.fields {
			r.Header.Add("X-Many", "1")
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != req.status || resp.ProtoMajor != 2 || req.status == http.StatusOK && string(got) != "hello" {
			t.Errorf("%s: %s, status %d, %q", name, resp.Proto, resp.StatusCode, got)
		}
	}
	if raw := w.raw(); !strings.Contains(raw, "X-Forwarded-Proto: http\r\n") || !strings.Contains(raw, "X-Forwarded-For: 127.0.0.1\r\n") {
		t.Errorf("the worker was told %q", raw)
	}
	plain := dial(t, f.addr)
	plain.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, _ := plain.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Errorf("HTTP/1.1 beside: status %d", resp.StatusCode)
	}
}

// What only looks like HTTP/2 is refused as ever, and no beginning of it holds a
// connection for longer than a head may take.
func TestPrefaces(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f := serve(t, Route{Doer: d}, Config{}, ServerConfig{HeadTimeout: 100 * time.Millisecond})
	get := "GET / HTTP/1.1\nHost: h\n\n"
	for name, test := range map[string]struct {
		send     string
		statuses []int
	}{
		"half of it":           {"PRI * HTT", []int{http.StatusRequestTimeout}},
		"all but its last":     {"PRI * HTTP/2.0\n\nSM\n", []int{http.StatusRequestTimeout}},
		"another end":          {"PRI * HTTP/2.0\n\nXX\n\n", []int{http.StatusHTTPVersionNotSupported}},
		"with a field":         {"PRI * HTTP/2.0\nHost: h\n\nSM\n\n", []int{http.StatusHTTPVersionNotSupported}},
		"another method":       {"GET / HTTP/2.0\n\nSM\n\n", []int{http.StatusHTTPVersionNotSupported}},
		"as second request":    {get + "PRI * HTTP/2.0\n\nSM\n\n", []int{http.StatusOK, http.StatusHTTPVersionNotSupported}},
		"an upgrade to h2c":    {"GET / HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABk\n\n" + get, []int{http.StatusOK, http.StatusOK}},
		"an upgrade, then PRI": {"GET / HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABk\n\nPRI * HTTP/2.0\n\nSM\n\n", []int{http.StatusOK, http.StatusHTTPVersionNotSupported}},
	} {
		c := dial(t, f.addr)
		c.send(test.send)
		for _, want := range test.statuses {
			if resp, _ := c.answer("GET"); resp.StatusCode != want {
				t.Errorf("%s: status %d, want %d", name, resp.StatusCode, want)
			}
		}
		if test.statuses[len(test.statuses)-1] != http.StatusOK {
			c.ends()
		}
		c.Close()
	}
	if raw := w.raw(); strings.Contains(raw, "PRI") || strings.Contains(raw, "HTTP2") || strings.Contains(raw, "Upgrade") {
		t.Errorf("the worker got %q", raw)
	}
}

// h2cConn is a caller who has shaken hands.
func h2cConn(t *testing.T, f *front) (*rawCaller, *http2.Framer) {
	t.Helper()
	c := dial(t, f.addr)
	for i := range len(http2.ClientPreface) { // byte by byte
		if _, err := io.WriteString(c, http2.ClientPreface[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	fr := http2.NewFramer(c, c)
	if err := fr.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	if frame, err := fr.ReadFrame(); err != nil || frame.Header().Type != http2.FrameSettings {
		t.Fatalf("the first frame is %v, %v", frame, err)
	}
	return c, fr
}

// Connections of HTTP/2 have places among all others: when these are taken, those
// without a request make room, and those with one stay.
func TestHTTP2MakesRoom(t *testing.T) {
	inside, goOn := make(chan bool, 1), make(chan bool)
	w := startWorker(t, func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			if r.URL.Path == "/busy" {
				inside <- true
				<-goOn
			}
			c.send(hello)
		}
	})
	f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{}, ServerConfig{MaxConns: 4})
	busy := make(chan error, 1)
	client := h2cClient(t)
	go func() {
		resp, err := client.Get("http://" + f.addr + "/busy")
		if err == nil {
			resp.Body.Close()
		}
		busy <- err
	}()
	<-inside
	var silent []*rawCaller
	for range 3 {
		c, _ := h2cConn(t, f)
		silent = append(silent, c)
	}
	for range 3 {
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != http.StatusOK {
			t.Errorf("a newcomer: status %d", resp.StatusCode)
		}
	}
	for i, c := range silent {
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("silent connection %d goes on: %v", i, err)
		}
	}
	close(goOn)
	if err := <-busy; err != nil {
		t.Errorf("who had a request: %v", err)
	}
}

// Streams that are opened and taken back at once are bounded as over TLS: so many are
// in work, some wait, and who goes on then is cut off.
func TestRapidResetWithoutTLS(t *testing.T) {
	var inside, most atomic.Int64
	goOn := make(chan bool)
	d := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		n := inside.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer inside.Add(-1)
		<-goOn // whatever the caller does
		return dispatch.Answer{Kind: dispatch.Aborted}
	})
	f := serve(t, Route{Doer: d}, Config{}, ServerConfig{})
	c, fr := h2cConn(t, f)
	head := []byte("\x82\x84\x86\x01\x01h") // GET / http, :authority h
	for id := uint32(1); id < 20*maxStreams; id += 2 {
		if fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head, EndStream: true, EndHeaders: true}) != nil ||
			fr.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break
		}
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection goes on")
	}
	close(goOn)
	if err := f.stop(); err != nil {
		t.Error(err)
	}
	if n := most.Load(); n == 0 || n > maxStreams {
		t.Errorf("%d requests were in work at once, want at most %d", n, maxStreams)
	}
}

// What is in flight over HTTP/2 finishes when the server is told to stop, and is cut
// when it does not within the time for that.
func TestHTTP2DrainsWithoutTLS(t *testing.T) {
	inside, goOn := make(chan bool), make(chan bool)
	for name, bounded := range map[string]bool{"finishes": false, "is cut": true} {
		w := startWorker(t, func(c *workerConn) {
			c.request()
			inside <- true
			if bounded {
				c.hungUp()
				return
			}
			<-goOn
			c.send(hello)
		})
		d := newDirect(t, w.addr)
		cfg := ServerConfig{}
		if bounded {
			cfg.DrainTimeout = 50 * time.Millisecond
		}
		f := serve(t, Route{Doer: d}, Config{}, cfg)
		client := h2cClient(t)
		got := make(chan string, 1)
		go func() {
			resp, err := client.Get("http://" + f.addr + "/")
			if err != nil {
				got <- err.Error()
				return
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			got <- string(body)
		}()
		<-inside
		stopped := make(chan error, 1)
		go func() { stopped <- f.stop() }()
		if bounded {
			if err := <-stopped; err == nil || !strings.Contains(err.Error(), "drain") {
				t.Errorf("%s: Run: %v", name, err)
			}
			if r := d.result(); r.Fault != dispatch.CallerGone {
				t.Errorf("%s: fault %d, %v", name, r.Fault, r.Err)
			}
			<-got
			continue
		}
		goOn <- true
		if body := <-got; body != "hello" {
			t.Errorf("%s: got %q", name, body)
		}
		if err := <-stopped; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := net.Dial("tcp", f.addr); err == nil {
			t.Errorf("%s: the listener is open", name)
		}
	}
}
