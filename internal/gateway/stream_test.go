package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// TestFramings sends every framing of a request's body through to every framing
// of an answer's.
func TestFramings(t *testing.T) {
	large := strings.Repeat("0123456789", 20<<10) // beyond what is held
	requests := []struct{ name, head, body, want string }{
		{"none", "", "", ""},
		{"length", "Content-Length: 5\n", "hello", "hello"},
		{"chunks", "Transfer-Encoding: chunked\n", "2\nhe\n3\nllo\n0\n\n", "hello"},
		{"large with length", fmt.Sprintf("Content-Length: %d\n", len(large)), large, large},
		{"large in chunks", "Transfer-Encoding: chunked\n", "32000\n" + large + "\n0\nX-Sum: 7\n\n", large},
	}
	answers := []struct {
		name  string
		write func(c *workerConn, body string)
	}{
		{"length", func(c *workerConn, body string) {
			c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(body), body))
		}},
		{"chunks", func(c *workerConn, body string) {
			c.send("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
			for body != "" {
				n := min(len(body), 10_000)
				c.send(fmt.Sprintf("%x\n%s\n", n, body[:n]))
				body = body[n:]
			}
			c.send("0\n\n")
		}},
		{"until close", func(c *workerConn, body string) {
			c.send("HTTP/1.1 200 OK\nConnection: close\n\n" + body)
			c.Close()
		}},
	}
	for _, ans := range answers {
		var deliveries atomic.Int64
		f, d, _ := through(t, func(c *workerConn) {
			for {
				r, body := c.request()
				if r == nil {
					return
				}
				deliveries.Add(1)
				if sum := r.Trailer.Get("X-Sum"); sum != "" {
					body += sum
				}
				ans.write(c, body)
			}
		})
		c := dial(t, f.addr)
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE"} {
			for _, req := range requests {
				before := deliveries.Load()
				c.send(method + " / HTTP/1.1\nHost: h\n" + req.head + "\n" + req.body)
				_, body := c.answer(method)
				if body = strings.TrimSuffix(body, "7"); body != req.want {
					t.Fatalf("%s with %s, answer with %s: got %d bytes, want %d", method, req.name, ans.name, len(body), len(req.want))
				}
				if r := d.result(); r.Fault != dispatch.NoFault {
					t.Errorf("%s with %s, answer with %s: fault %d, %v", method, req.name, ans.name, r.Fault, r.Err)
				}
				if n := deliveries.Load() - before; n != 1 {
					t.Errorf("%s with %s: %d deliveries", method, req.name, n)
				}
			}
		}
		noneHeld(t, f.g)
	}
}

// noneHeld waits until no body is held any more.
func noneHeld(t *testing.T, g *Gateway) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); g.Held() != 0; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are still held", g.Held())
		}
	}
}

// TestEventsFlow: what a worker sends reaches the caller before it sends more.
func TestEventsFlow(t *testing.T) {
	for name, framing := range map[string]string{
		"chunks": "Transfer-Encoding: chunked\n", "length": "Content-Length: 300\n", "until close": "",
	} {
		t.Run(name, func(t *testing.T) {
			next := make(chan bool)
			f, _, _ := through(t, func(c *workerConn) {
				c.request()
				c.send("HTTP/1.1 200 OK\nContent-Type: text/event-stream\n" + framing + "\n")
				for range next {
					if name == "chunks" {
						c.send("b\ndata: x\n\n\n")
						continue
					}
					c.send("data: x\n\n")
				}
			})
			defer close(next)
			c := dial(t, f.addr)
			c.send("GET / HTTP/1.1\nHost: h\n\n")
			resp, err := http.ReadResponse(c.br, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				next <- true
				buf := make([]byte, len("data: x\r\n\r\n"))
				if _, err := io.ReadFull(resp.Body, buf); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestTwoWayStream: caller and worker talk in turns within one exchange, the
// answer beginning before the request has ended.
func TestTwoWayStream(t *testing.T) {
	f, d, _ := through(t, func(c *workerConn) {
		r, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		c.send("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
		buf := make([]byte, 100)
		for {
			n, err := r.Body.Read(buf)
			if n > 0 {
				c.send(fmt.Sprintf("%x\n%s\n", n, strings.ToUpper(string(buf[:n]))))
			}
			if err != nil {
				break
			}
		}
		c.send("0\n\n")
		c.request()
	})
	c := dial(t, f.addr)
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n4\nping\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"ping", "pong", "done"} {
		if s != "ping" {
			c.send("4\n" + s + "\n")
		}
		buf := make([]byte, 4)
		if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != strings.ToUpper(s) {
			t.Fatalf("got %q, %v", buf, err)
		}
	}
	c.send("0\n\n")
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
		t.Fatalf("got %q, %v", rest, err)
	}
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("fault %d, %v", r.Fault, r.Err)
	}
	if d.work().Replayable {
		t.Error("a stream cannot be replayed")
	}
	c.send("GET / HTTP/1.1\nHost: h\n\n") // the connection goes on
}

// TestEarlyAnswer: a worker may answer without reading the body.
func TestEarlyAnswer(t *testing.T) {
	f, d, _ := through(t, func(c *workerConn) {
		if _, err := http.ReadRequest(c.br); err != nil {
			return
		}
		c.send("HTTP/1.1 413 Content Too Large\nContent-Length: 3\n\nno!")
		_, _ = c.Read(make([]byte, 1)) // until the gateway hangs up
		for {
			if _, err := c.Read(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	c := dial(t, f.addr)
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 1000000000\n\n" + strings.Repeat("a", 100<<10))
	resp, body := c.answer("POST")
	if resp.StatusCode != 413 || body != "no!" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	if r := d.result(); r.Fault != dispatch.NoFault || r.Status != 413 {
		t.Errorf("fault %d, status %d", r.Fault, r.Status)
	}
	if rest, _ := c.ends(); rest != "" {
		t.Errorf("got %q", rest)
	}
}

// TestLargeBodiesFlatMemory sends 256 MB up and down.
func TestLargeBodiesFlatMemory(t *testing.T) {
	const size = 256 << 20
	const pieces = size / (256 << 10)
	var peak atomic.Uint64
	look := func() { // at what is in use: how much garbage lies around depends on the machine's load
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > peak.Load() {
			peak.Store(m.HeapAlloc)
		}
	}
	f, d, _ := through(t, func(c *workerConn) {
		r, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != size {
			t.Errorf("the worker got %d bytes, %v", n, err)
		}
		c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n", size))
		piece := make([]byte, size/pieces)
		for range pieces {
			if _, err := c.Write(piece); err != nil {
				return
			}
		}
	})
	c := dial(t, f.addr)
	piece := make([]byte, size/pieces)
	look()
	base := peak.Load()
	c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Length: %d\n\n", size))
	for i := range pieces {
		if _, err := c.Write(piece); err != nil {
			t.Fatal(err)
		}
		if i%128 == 0 {
			look()
		}
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	for got := 0; got < size; {
		n, err := io.ReadFull(resp.Body, piece)
		if err != nil {
			t.Fatalf("after %d bytes: %v", got, err)
		}
		if got += n; got%(32<<20) == 0 {
			look()
		}
	}
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("fault %d, %v", r.Fault, r.Err)
	}
	if grown := int64(peak.Load()) - int64(base); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes while %d passed", grown, 2*size)
	}
}

// TestHeldBodies checks what is held, and that what is not streams and is not
// replayed.
func TestHeldBodies(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f := serve(t, Route{Doer: d, Buffer: 100, MaxBody: 1000, Replay: ReplayAll}, Config{MaxBuffered: 150}, ServerConfig{})
	send := func(head, body string) int {
		c := dial(t, f.addr)
		c.send("POST / HTTP/1.1\nHost: h\n" + head + "\n" + body)
		resp, _ := c.answer("POST")
		return resp.StatusCode
	}
	for _, tc := range []struct {
		name, head, body string
		status           int
		replayable       bool
	}{
		{"none", "", "", 200, true},
		{"fits", "Content-Length: 100\n", strings.Repeat("a", 100), 200, true},
		{"does not fit", "Content-Length: 101\n", strings.Repeat("a", 101), 200, false},
		{"chunks fit", "Transfer-Encoding: chunked\n", "50\n" + strings.Repeat("a", 80) + "\n0\n\n", 200, true},
		{"chunks do not fit", "Transfer-Encoding: chunked\n", "c8\n" + strings.Repeat("a", 200) + "\n0\n\n", 200, false},
		{"at the limit", "Content-Length: 1000\n", strings.Repeat("a", 1000), 200, false},
		{"beyond the limit", "Content-Length: 1001\n", strings.Repeat("a", 1001), 413, false},
		{"chunks beyond the limit", "Transfer-Encoding: chunked\n", "7d0\n" + strings.Repeat("a", 2000) + "\n0\n\n", 413, false},
		{"malformed chunk", "Transfer-Encoding: chunked\n", "xyz\n", 400, false},
		{"malformed chunk in the stream", "Transfer-Encoding: chunked\n", "c8\n" + strings.Repeat("a", 200) + "\nxyz\n", 400, false},
	} {
		before := d.sends.Load()
		if got := send(tc.head, tc.body); got != tc.status {
			t.Errorf("%s: status %d, want %d", tc.name, got, tc.status)
		}
		if d.sends.Load() > before {
			if got := d.work().Replayable; got != tc.replayable {
				t.Errorf("%s: replayable %v", tc.name, got)
			}
		}
		noneHeld(t, f.g)
	}

	// Two bodies of 100 bytes do not fit into 150.
	release := make(chan bool)
	held := make(chan bool)
	slow := serve(t, Route{Replay: ReplayAll, Buffer: 100, Doer: doFunc(func(_ context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
		held <- w.Replayable
		<-release
		return dispatch.Answer{Kind: dispatch.Failed}
	})}, Config{MaxBuffered: 150}, ServerConfig{})
	for i, want := range []bool{true, false} {
		dial(t, slow.addr).send("POST / HTTP/1.1\nHost: h\nContent-Length: 100\n\n" + strings.Repeat("a", 100))
		if got := <-held; got != want {
			t.Errorf("body %d: replayable %v, want %v", i, got, want)
		}
	}
	close(release)
}

func TestReplayable(t *testing.T) {
	w := startWorker(t, answering(hello))
	for _, tc := range []struct {
		policy     Replay
		head, body string
		want       bool
	}{
		{"", "GET / HTTP/1.1\nHost: h\n", "", true},
		{"", "HEAD / HTTP/1.1\nHost: h\n", "", true},
		{"", "PUT / HTTP/1.1\nHost: h\nContent-Length: 1\n", "a", true},
		{"", "DELETE / HTTP/1.1\nHost: h\n", "", true},
		{"", "POST / HTTP/1.1\nHost: h\n", "", false},
		{"", "PATCH / HTTP/1.1\nHost: h\n", "", false},
		{"", "PURGE / HTTP/1.1\nHost: h\n", "", false},
		{"", "POST / HTTP/1.1\nHost: h\nIdempotency-Key: k\n", "", true},
		{"", "POST / HTTP/1.1\nHost: h\nIdempotency-Key:\n", "", false},
		{ReplayAll, "POST / HTTP/1.1\nHost: h\n", "", true},
		{ReplayNone, "GET / HTTP/1.1\nHost: h\n", "", false},
		{ReplayNone, "POST / HTTP/1.1\nHost: h\nIdempotency-Key: k\n", "", false},
		{ReplayAll, "GET / HTTP/1.1\nHost: h\nConnection: upgrade\nUpgrade: x\n", "", false},
	} {
		d := newDirect(t, w.addr)
		f := serve(t, Route{Doer: d, Replay: tc.policy}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send(tc.head + "\n" + tc.body)
		c.answer(strings.Fields(tc.head)[0])
		if got := d.work().Replayable; got != tc.want {
			t.Errorf("%q %q: replayable %v", tc.policy, tc.head, got)
		}
	}
}

// TestPausedUploadStreams: a caller that pauses in a body of unknown length does
// not wait for the gateway for ever; one that promised a short body is waited for.
func TestPausedUploadStreams(t *testing.T) {
	got := make(chan string, 10)
	f, d, _ := through(t, func(c *workerConn) {
		for {
			r, err := http.ReadRequest(c.br)
			if err != nil {
				return
			}
			got <- r.Method
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			c.send(hello)
		}
	})
	c := dial(t, f.addr)
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n2\nab\n")
	<-got // before the body has ended
	c.send("0\n\n")
	c.answer("POST")
	if d.work().Replayable {
		t.Error("replayable")
	}
	c.send("PUT / HTTP/1.1\nHost: h\nContent-Length: 4\n\nab")
	select {
	case <-got:
		t.Fatal("a short body was not waited for")
	case <-time.After(3 * maxPause):
	}
	c.send("cd")
	c.answer("PUT")
	if !d.work().Replayable {
		t.Error("not replayable")
	}
}

// TestTinyChunks: a body in chunks of one byte arrives whole, whether it is held
// or streams, and does not cost the worker a packet for every byte.
func TestTinyChunks(t *testing.T) {
	f, d, w := through(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(body), body))
		}
	})
	for _, n := range []int{10, 100_000} {
		want := strings.Repeat("0123456789", n/10)
		var b strings.Builder
		for _, c := range want {
			b.WriteString("1\n" + string(c) + "\n")
		}
		c := dial(t, f.addr)
		c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n" + b.String() + "0\n\n")
		if _, body := c.answer("POST"); body != want {
			t.Errorf("got %d bytes, want %d", len(body), n)
		}
		if r := d.result(); r.Fault != dispatch.NoFault {
			t.Errorf("fault %d, %v", r.Fault, r.Err)
		}
	}
	if chunks := strings.Count(w.raw(), "\r\n1\r\n"); chunks > 100 {
		t.Errorf("the worker got %d chunks of one byte", chunks)
	}
}

// TestABodyReadWholeKeepsItsConnection: a body longer than what is held, all of
// which has come and gone out with the head, may be answered before its upload has
// begun to run. That costs nobody the connection.
func TestABodyReadWholeKeepsItsConnection(t *testing.T) {
	w := startWorker(t, answering(hello))
	f := serve(t, Route{Doer: newDirect(t, w.addr), Buffer: 1000}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	for i := range 500 {
		c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 1100\n\n" + strings.Repeat("x", 1100))
		if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "hello" || resp.Close {
			t.Fatalf("request %d: %s %s, close %v", i, resp.Status, body, resp.Close)
		}
	}
}
