package h1

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// serve runs a server for the time of the test, and returns its address and what
// stops it: it waits for Serve to return.
func serve(t *testing.T, cfg ServerConfig, handler func(*Exchange)) (addr string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String(), serveOn(t, ln, cfg, handler)
}

func serveOn(t *testing.T, ln net.Listener, cfg ServerConfig, handler func(*Exchange)) (stop func() error) {
	t.Helper()
	if overTLS(t) {
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{testCertificate()}}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- NewServer(cfg, handler).Serve(ctx, ln) }()
	var stopped atomic.Bool
	stop = func() error {
		cancel()
		if stopped.Swap(true) {
			return nil
		}
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Fatal("Serve does not return")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// echo answers with the method, the target and the body.
func echo(x *Exchange) {
	var body []byte
	_ = x.Continue()
	for {
		p, err := x.Next()
		body = append(body, p...)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.Abort()
			return
		}
	}
	text := x.Req.Method + " " + x.Req.Target + " " + string(body)
	answer(x, 200, text)
}

func answer(x *Exchange, status int, text string) {
	_ = x.Begin(&Head{Status: status, Reason: http.StatusText(status), Length: int64(len(text))})
	_ = x.Write([]byte(text))
	_ = x.End(nil)
}

// client is a raw connection of a test.
type client struct {
	t *testing.T
	net.Conn
	br *bufio.Reader
}

func dial(t *testing.T, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if overTLS(t) {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own certificate
	}
	_ = c.SetDeadline(time.Now().Add(patience))
	return &client{t, c, bufio.NewReader(c)}
}

func (c *client) send(s string) {
	c.t.Helper()
	if _, err := c.Write([]byte(crlf(s))); err != nil {
		c.t.Fatal(err)
	}
}

// answer reads one answer and its body.
func (c *client) answer(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("read an answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("read a body: %v", err)
	}
	return resp, string(body)
}

// rest reads until the connection ends.
func (c *client) rest() string {
	c.t.Helper()
	b, err := io.ReadAll(c.br)
	if err != nil {
		c.t.Fatalf("the connection did not end cleanly: %v", err)
	}
	return string(b)
}

func TestServerKeepsAlive(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, echo)
	c := dial(t, addr)
	for range 3 {
		c.send("POST /a HTTP/1.1\nHost: x\nContent-Length: 3\n\nabc")
		if resp, body := c.answer("POST"); body != "POST /a abc" || resp.Close {
			t.Fatalf("got %q, close %v", body, resp.Close)
		}
		c.send("GET /b HTTP/1.1\nHost: x\n\n")
		if _, body := c.answer("GET"); body != "GET /b " {
			t.Fatalf("got %q", body)
		}
	}
	c.send("GET /c HTTP/1.1\nHost: x\nConnection: close\n\n")
	if resp, body := c.answer("GET"); body != "GET /c " || !resp.Close {
		t.Fatalf("got %q, close %v", body, resp.Close)
	}
	if rest := c.rest(); rest != "" {
		t.Errorf("%q behind the last answer", rest)
	}
}

func TestServerPipelines(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, echo)
	c := dial(t, addr)
	c.send("GET /1 HTTP/1.1\nHost: x\n\nPOST /2 HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n" +
		"3\nabc\n0\n\nHEAD /3 HTTP/1.1\nHost: x\n\nGET /4 HTTP/1.1\nHost: x\n\n")
	for i, m := range []string{"GET", "POST", "HEAD", "GET"} {
		_, body := c.answer(m)
		if want := []string{"GET /1 ", "POST /2 abc", "", "GET /4 "}[i]; body != want {
			t.Fatalf("answer %d is %q, want %q", i, body, want)
		}
	}
}

func TestServerOld(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		if x.Req.Path == "/stream" {
			_ = x.Begin(&Head{Status: 200, Reason: "OK", Length: -1})
			_ = x.Write([]byte("until close"))
			_ = x.End([]Field{{Name: "X", Value: "lost"}})
			return
		}
		echo(x)
	})
	c := dial(t, addr)
	c.send("GET /a HTTP/1.0\nConnection: keep-alive\n\n")
	if resp, body := c.answer("GET"); body != "GET /a " || resp.Header.Get("Connection") != "keep-alive" {
		t.Fatalf("got %q, Connection %q", body, resp.Header.Get("Connection"))
	}
	c.send("GET /stream HTTP/1.0\nConnection: keep-alive\n\n")
	if rest := c.rest(); !strings.HasSuffix(rest, "Connection: close\r\n\r\nuntil close") {
		t.Errorf("got %q", rest)
	}
}

func TestServerStreams(t *testing.T) {
	more := make(chan string)
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		_ = x.Hint(103, "Early Hints", []Field{{Name: "Link", Value: "</a>"}})
		_ = x.Begin(&Head{Status: 200, Reason: "OK", Length: -1, Fields: []Field{{"Trailer", "X-Sum", Trailer}}})
		for s := range more {
			_ = x.Write([]byte(s))
			_ = x.Flush()
		}
		_ = x.End([]Field{{Name: "X-Sum", Value: "7"}})
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	line, err := c.br.ReadString('\n')
	if err != nil || line != "HTTP/1.1 103 Early Hints\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	for line != "\r\n" {
		if line, err = c.br.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	more <- "first"
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, buf); err != nil || string(buf) != "first" {
		t.Fatalf("got %q, %v", buf, err)
	}
	more <- strings.Repeat("x", 100<<10)
	close(more)
	b, err := io.ReadAll(resp.Body)
	if err != nil || len(b) != 100<<10 {
		t.Fatalf("got %d bytes, %v", len(b), err)
	}
	if got := resp.Trailer.Get("X-Sum"); got != "7" {
		t.Errorf("trailer is %q", got)
	}
}

func TestServerRefusesSmuggling(t *testing.T) {
	var calls atomic.Int64
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		calls.Add(1)
		echo(x)
	})
	for _, tc := range refused {
		if tc.name == "empty" {
			continue // passed over, as TestEmptyLinesBetweenRequests says
		}
		c := dial(t, addr)
		c.send(tc.head + "GET /smuggled HTTP/1.1\nHost: x\n\n")
		resp, _ := c.answer("GET")
		if resp.StatusCode != tc.status || !resp.Close {
			t.Errorf("%s: status %d, close %v, want %d and close", tc.name, resp.StatusCode, resp.Close, tc.status)
		}
		if rest := c.rest(); rest != "" {
			t.Errorf("%s: %q behind the refusal", tc.name, rest)
		}
	}
	for _, head := range []string{
		"GET / HTTP/1.1\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\n",
		"\nGET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00", "\x00",
	} {
		c := dial(t, addr)
		if _, err := c.Write([]byte(head)); err != nil {
			t.Fatal(err)
		}
		if resp, _ := c.answer("GET"); resp.StatusCode != 400 || !resp.Close {
			t.Errorf("%q: status %d, close %v, want 400 and close", head, resp.StatusCode, resp.Close)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("the handler saw %d requests", n)
	}
}

func TestServerLimits(t *testing.T) {
	addr, _ := serve(t, ServerConfig{Limits: Limits{Head: 8 << 10, Target: 1 << 10}}, echo)
	long := strings.Repeat("a", 16<<10)
	for _, tc := range []struct {
		head   string
		status int
	}{
		{"GET /" + long[:900] + " HTTP/1.1\nHost: x\nX: " + long[:6<<10] + "\n\n", 200},
		{"GET /" + long[:1100] + " HTTP/1.1\nHost: x\n\n", 414},
		{"GET /" + long, 414},
		{"GET / HTTP/1.1\nHost: x\nX: " + long, 431},
		{"GET / HTTP/1.1\nHost: x\n" + strings.Repeat("X: y\n", 1500), 431},
	} {
		c := dial(t, addr)
		c.send(tc.head)
		if resp, _ := c.answer("GET"); resp.StatusCode != tc.status {
			t.Errorf("%.40q…: status %d, want %d", tc.head, resp.StatusCode, tc.status)
		}
	}
}

func TestServerSlowCallers(t *testing.T) {
	errs := make(chan error, 1)
	cfg := ServerConfig{HeadTimeout: 50 * time.Millisecond, BodyTimeout: 50 * time.Millisecond}
	if overTLS(t) {
		cfg.HeadTimeout = time.Second // a handshake may take a while, too
	}
	addr, _ := serve(t, cfg, func(x *Exchange) {
		for {
			if _, err := x.Next(); err != nil {
				errs <- err
				answer(x, 408, "")
				return
			}
		}
	})
	t.Run("idle", func(t *testing.T) {
		addr, _ := serve(t, ServerConfig{IdleTimeout: 50 * time.Millisecond}, echo)
		if rest := dial(t, addr).rest(); rest != "" {
			t.Errorf("got %q", rest)
		}
	})
	t.Run("head", func(t *testing.T) {
		c := dial(t, addr)
		c.send("GET / HTTP/1.1\nHost")
		if resp, _ := c.answer("GET"); resp.StatusCode != 408 || !resp.Close {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
	t.Run("body", func(t *testing.T) {
		c := dial(t, addr)
		c.send("POST / HTTP/1.1\nHost: x\nContent-Length: 5\n\nab")
		if resp, _ := c.answer("POST"); resp.StatusCode != 408 {
			t.Errorf("status %d", resp.StatusCode)
		}
		if err := <-errs; !errors.Is(err, ErrTooSlow) {
			t.Errorf("Next: %v", err)
		}
	})
}

func TestServerSlowReader(t *testing.T) {
	failed := make(chan error, 1)
	addr, _ := serve(t, ServerConfig{WriteTimeout: 50 * time.Millisecond}, func(x *Exchange) {
		piece := make([]byte, 64<<10)
		_ = x.Begin(&Head{Status: 200, Length: -1})
		for {
			if err := x.Write(piece); err != nil {
				failed <- err
				return
			}
		}
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	select {
	case <-failed:
	case <-time.After(patience):
		t.Fatal("a caller that reads nothing holds its exchange for ever")
	}
}

func TestServerContinue(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		if x.Req.Path == "/no" {
			answer(x, 403, "")
			return
		}
		echo(x)
	})
	c := dial(t, addr)
	c.send("POST /yes HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: 3\n\n")
	if line, err := c.br.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	if line, err := c.br.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	c.send("abc")
	if _, body := c.answer("POST"); body != "POST /yes abc" {
		t.Fatalf("got %q", body)
	}
	c.send("POST /yes HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: 3\n\nabc") // did not wait
	if resp, body := c.answer("POST"); resp.StatusCode != 200 || body != "POST /yes abc" {
		t.Fatalf("got %d %q", resp.StatusCode, body)
	}
	c.send("POST /no HTTP/1.1\nHost: x\nExpect: 100-continue\nContent-Length: 3\n\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 403 {
		t.Fatalf("got %d", resp.StatusCode)
	}
	if rest := c.rest(); rest != "" { // nobody knows whether the body is going to come
		t.Errorf("got %q", rest)
	}
}

func TestServerUnreadBody(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) { answer(x, 200, "unread") })
	c := dial(t, addr)
	c.send("POST / HTTP/1.1\nHost: x\nContent-Length: 1000\n\n" + strings.Repeat("a", 1000))
	c.answer("POST")
	c.send("POST / HTTP/1.1\nHost: x\nContent-Length: 100000000\n\n" + strings.Repeat("a", 200<<10))
	if _, body := c.answer("POST"); body != "unread" { // not lost in a reset
		t.Fatalf("got %q", body)
	}
	if rest := c.rest(); rest != "" {
		t.Errorf("got %q", rest)
	}
}

// TestServerNeverEndsCleanlyInTheMiddle checks that no caller can take part of an
// answer for the whole.
func TestServerNeverEndsCleanlyInTheMiddle(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		length := int64(-1)
		if x.Req.Path == "/length" {
			length = 100
		}
		_ = x.Begin(&Head{Status: 200, Length: length})
		_ = x.Write([]byte("part"))
		_ = x.Flush()
		switch x.Req.Query {
		case "abort":
			x.Abort()
		case "end":
			_ = x.End(nil)
		case "panic":
			panic("handler")
		}
	})
	for _, target := range []string{"/length?abort", "/length?end", "/length?none", "/length?panic", "/?abort", "/?none", "/?panic"} {
		for _, minor := range []string{"0", "1"} {
			c := dial(t, addr)
			c.send("GET " + target + " HTTP/1." + minor + "\nHost: x\n\n")
			resp, err := http.ReadResponse(c.br, nil)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil {
				t.Errorf("%s HTTP/1.%s: ended cleanly", target, minor)
			}
		}
	}
}

func TestServerPanic(t *testing.T) {
	var log bytes.Buffer
	addr, stop := serve(t, ServerConfig{Log: slog.New(slog.NewTextHandler(&log, nil))}, func(x *Exchange) { panic("oh") })
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	if b, err := io.ReadAll(c.br); err == nil {
		t.Errorf("ended cleanly with %q", b)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if s := log.String(); !strings.Contains(s, "panic=oh") || !strings.Contains(s, "server_test.go") {
		t.Errorf("log: %q", s)
	}
}

func TestServerDrains(t *testing.T) {
	inside, goOn := make(chan bool), make(chan bool)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	stop := serveOn(t, ln, ServerConfig{}, func(x *Exchange) {
		if x.Req.Path == "/wait" {
			inside <- true
			<-goOn
		}
		answer(x, 200, "done")
	})
	idle, busy := dial(t, addr), dial(t, addr)
	idle.send("GET / HTTP/1.1\nHost: x\n\n")
	idle.answer("GET")
	busy.send("GET /wait HTTP/1.1\nHost: x\n\n")
	<-inside
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if rest := idle.rest(); rest != "" {
		t.Errorf("idle connection got %q", rest)
	}
	select {
	case <-stopped:
		t.Fatal("Serve returned with a request in flight")
	default:
	}
	goOn <- true
	if resp, body := busy.answer("GET"); body != "done" || !resp.Close {
		t.Errorf("got %q, close %v", body, resp.Close)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) { // its port may be somebody else's by now
		t.Errorf("still accepts: %v", err)
	}
}

func TestServerDrainIsBounded(t *testing.T) {
	inside := make(chan bool)
	addr, stop := serve(t, ServerConfig{DrainTimeout: 20 * time.Millisecond}, func(x *Exchange) {
		inside <- true
		_, _ = x.Next()
	})
	c := dial(t, addr)
	c.send("POST / HTTP/1.1\nHost: x\nContent-Length: 5\n\n")
	<-inside
	if err := stop(); err == nil || !strings.Contains(err.Error(), "1 connections were still busy") {
		t.Errorf("Serve: %v", err)
	}
}

func TestServerConfigValidate(t *testing.T) {
	err := ServerConfig{HeadTimeout: -1, MaxConns: -1}.Validate()
	for _, field := range []string{"HeadTimeout", "MaxConns"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	if err := (ServerConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}
