package probe

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// server answers every connection with fn and returns its address.
func server(t *testing.T, fn func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			fn(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	return ln.Addr().String()
}

func say(text string) func(net.Conn) {
	return func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			line, err := br.ReadString('\n')
			if err != nil || line == "\r\n" {
				break
			}
		}
		_, _ = io.WriteString(c, text)
	}
}

func TestDo(t *testing.T) {
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for _, c := range []struct {
		name    string
		serve   func(net.Conn)
		outcome Outcome
		status  int
		healthy bool
	}{
		{"well", say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Answered, 200, true},
		{"redirects", say("HTTP/1.1 301 Moved\r\n\r\n"), Answered, 301, true},
		{"without a reason", say("HTTP/1.0 204\r\n\r\n"), Answered, 204, true},
		{"not ready", say("HTTP/1.1 503 Service Unavailable\r\n\r\n"), Answered, 503, false},
		{"hints first", say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), Answered, 200, true},
		{"silent", silent, TimedOut, 0, false},
		{"half a line", func(c net.Conn) { say("HTTP/1.1 2")(c); silent(c) }, TimedOut, 0, false},
		{"closes", func(c net.Conn) {}, Broken, 0, false},
		{"garbage", say("SSH-2.0-OpenSSH_9.2\r\n"), Broken, 0, false},
		{"hints without end", say(strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 10_000)), Broken, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := server(t, c.serve)
			patience := time.Minute
			if c.outcome == TimedOut {
				patience = 300 * time.Millisecond
			}
			r := Probe{Path: "/healthz", Timeout: patience}.Do(t.Context(), addr)
			if r.Outcome != c.outcome || r.Status != c.status || r.Healthy() != c.healthy {
				t.Errorf("Do = %v (status %d, healthy %v, %v), want %v, %d, %v",
					r.Outcome, r.Status, r.Healthy(), r.Err, c.outcome, c.status, c.healthy)
			}
			if (r.Err == nil) != (c.outcome == Answered) {
				t.Errorf("Err = %v with outcome %v", r.Err, r.Outcome)
			}
		})
	}
}

func TestDoRefused(t *testing.T) {
	addr := freeAddr(t)
	if r := (Probe{}).Do(t.Context(), addr); r.Outcome != Refused || !strings.Contains(r.Err.Error(), addr) {
		t.Errorf("Do = %v, %v, want refused and the address named", r.Outcome, r.Err)
	}
	if r := Open(t.Context(), addr, time.Second); r.Outcome != Refused {
		t.Errorf("Open = %v, want refused", r.Outcome)
	}
	if r := (Probe{}).Do(t.Context(), "no-such-host.invalid:80"); r.Outcome == Answered || r.Outcome == Refused {
		t.Errorf("Do of an unknown host = %v", r.Outcome)
	}
}

func TestDoSendsOneWholeRequest(t *testing.T) {
	for _, c := range []struct {
		probe Probe
		want  string
	}{
		{Probe{}, "HEAD / HTTP/1.1\r\nHost: ADDR\r\n"},
		{Probe{Path: "/up?deep=1", Host: "shop.example"}, "GET /up?deep=1 HTTP/1.1\r\nHost: shop.example\r\n"},
	} {
		got := make(chan string, 2)
		addr := server(t, func(conn net.Conn) {
			var head strings.Builder
			br := bufio.NewReader(conn)
			for !strings.HasSuffix(head.String(), "\r\n\r\n") {
				b, err := br.ReadByte()
				if err != nil {
					break
				}
				head.WriteByte(b)
			}
			got <- head.String() // then the connection is cut: nothing may be sent again
		})
		if r := c.probe.Do(t.Context(), addr); r.Outcome != Broken {
			t.Errorf("Do = %v, want broken", r.Outcome)
		}
		head := <-got
		if want := strings.ReplaceAll(c.want, "ADDR", addr); !strings.HasPrefix(head, want) || !strings.HasSuffix(head, "Connection: close\r\n\r\n") {
			t.Errorf("sent %q, want it to begin with %q and to close", head, want)
		}
		if len(got) != 0 {
			t.Errorf("the request was sent twice")
		}
	}
}

func TestDoEndsWithItsContext(t *testing.T) {
	reached := make(chan struct{}, 1)
	addr := server(t, func(c net.Conn) { reached <- struct{}{}; _, _ = io.Copy(io.Discard, c) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	began := time.Now()
	Probe{Timeout: time.Minute}.Do(ctx, addr)
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("Do took %v after its context ended", took)
	}
}

func TestWatchNeedsThreeFailuresAndTwoGoodAnswers(t *testing.T) {
	bad, good, none := Result{Outcome: TimedOut}, Result{Outcome: Answered, Status: 200}, Result{Outcome: Exhausted}
	var w Debouncer
	for i, c := range []struct {
		r    Result
		sick bool
	}{
		{bad, false},
		{bad, false},
		{good, false},
		{bad, false},
		{none, false},
		{none, false},
		{none, false},
		{bad, false},
		{bad, true},
		{none, true},
		{bad, true},
		{good, true},
		{bad, true},
		{good, true},
		{good, false},
		{bad, false},
	} {
		if got := w.Add(c.r); got != c.sick {
			t.Errorf("look %d: sick = %v, want %v", i, got, c.sick)
		}
	}
	w.MarkSick()
	if !w.Add(good) || w.Add(good) {
		t.Error("after Trust it must be sick until the second good answer")
	}
}

func FuzzReadStatus(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 500 X\r\n"))
	f.Add([]byte("HTTP/1.1 099 X\n"))
	f.Add([]byte("HTTP/1.\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		status, err := readStatus(bufio.NewReader(strings.NewReader(string(b))))
		if err == nil && (status < 101 || status > 599) {
			t.Errorf("readStatus(%q) = %d", b, status)
		}
	})
}
