package h1

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func TestExchangeGone(t *testing.T) {
	inside, look := make(chan bool), make(chan bool)
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		if x.Req.Path == "/next" {
			answer(x, 200, "")
			return
		}
		inside <- true
		for range look {
			inside <- x.Gone()
		}
		answer(x, 200, "")
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	<-inside
	ask := func() bool { look <- true; return <-inside }
	if ask() {
		t.Fatal("gone while it waits")
	}
	c.send("GET /next HTTP/1.1\nHost: x\n\n")
	if ask() {
		t.Fatal("gone while it sends")
	}
	close(look)
	c.answer("GET")
	c.answer("GET")
}

func TestExchangeGoneAfterClose(t *testing.T) {
	gone := make(chan bool)
	inside := make(chan bool)
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		inside <- true
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for !x.Gone() {
			<-tick.C
		}
		gone <- true
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	<-inside
	c.Close()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("nobody notices that the caller has hung up")
	}
}

func TestExchangePatience(t *testing.T) {
	stalled := make(chan bool)
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		x.Patience(5*time.Millisecond, time.Time{})
		var body []byte
		for {
			p, err := x.Next()
			body = append(body, p...)
			switch {
			case errors.Is(err, ErrStalled):
				select {
				case stalled <- true:
				default:
				}
			case errors.Is(err, io.EOF):
				answer(x, 200, string(body))
				return
			case err != nil:
				x.Abort()
				return
			}
		}
	})
	c := dial(t, addr)
	c.send("POST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n")
	for _, piece := range []string{"5", "\n", "hel", "lo", "\n", "0\n", "X: y\n", "\n"} {
		<-stalled
		c.send(piece)
	}
	if _, body := c.answer("POST"); body != "hello" {
		t.Errorf("got %q", body)
	}
}

func TestExchangeInterrupt(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		done := make(chan error)
		go func() {
			for {
				if _, err := x.Next(); err != nil {
					done <- err
					return
				}
			}
		}()
		x.Interrupt()
		if err := <-done; !errors.Is(err, ErrInterrupted) {
			t.Errorf("Next: %v", err)
		}
		answer(x, 200, "early")
	})
	c := dial(t, addr)
	c.send("POST / HTTP/1.1\nHost: x\nContent-Length: 100\n\nabc")
	if _, body := c.answer("POST"); body != "early" {
		t.Errorf("got %q", body)
	}
	if rest := c.rest(); rest != "" {
		t.Errorf("got %q", rest)
	}
}

func TestExchangeReset(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		_ = x.Begin(&Head{Status: 200, Length: 100})
		_ = x.Write([]byte("never sent"))
		if x.Sent() || !x.Reset() {
			t.Error("nothing has been sent, but it cannot be taken back")
		}
		answer(x, 502, "other")
		if !x.Sent() || x.Reset() {
			t.Error("it has been sent, but can be taken back")
		}
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	if resp, body := c.answer("GET"); resp.StatusCode != 502 || body != "other" {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	c.send("GET / HTTP/1.1\nHost: x\n\n")
	c.answer("GET")
}

// TestExchangeFraming checks that handlers cannot write framing of their own.
func TestExchangeFraming(t *testing.T) {
	var h Head
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		_ = x.Begin(&h)
		_ = x.Write([]byte("body"))
		_ = x.End(nil)
	})
	fields := []Field{
		{"Content-Length", "100", ContentLength},
		{"Transfer-Encoding", "gzip", TransferEncoding},
		{"Connection", "close", Connection},
		{"Keep-Alive", "timeout=5", KeepAlive},
	}
	for _, tc := range []struct {
		name, method string
		head         Head
		want, not    string
	}{
		{"known length", "GET", Head{Status: 200, Length: 4}, "\r\nContent-Length: 4\r\n\r\nbody", "gzip"},
		{"unknown length", "GET", Head{Status: 200, Length: -1}, "\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "gzip"},
		{"HEAD keeps the length", "HEAD", Head{Status: 200, Length: -1, Bare: true}, "\r\nContent-Length: 100\r\n", "body"},
		{"304 keeps the length", "GET", Head{Status: 304, Bare: true}, "\r\nContent-Length: 100\r\n", "body"},
		{"204 has none", "GET", Head{Status: 204, Bare: true}, "HTTP/1.1 204 ", "Content-Length"},
	} {
		h = tc.head
		h.Fields = fields
		c := dial(t, addr)
		c.send(tc.method + " / HTTP/1.1\nHost: x\nConnection: close\n\n")
		got := c.rest()
		if !strings.Contains(got, tc.want) || strings.Contains(got, tc.not) || strings.Contains(got, "Keep-Alive") {
			t.Errorf("%s: got %q", tc.name, got)
		}
		if n := strings.Count(got, "Connection:"); n != 1 {
			t.Errorf("%s: %d Connection fields in %q", tc.name, n, got)
		}
	}
}

func TestExchangeTunnel(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		_ = x.Begin(&Head{Status: 101, Reason: "Switching Protocols", Bare: true, Fields: []Field{{"Upgrade", x.Req.Upgrade, Upgrade}}})
		nc, early, err := x.Tunnel()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = nc.Write(early)
		_, _ = io.Copy(nc, nc)
	})
	c := dial(t, addr)
	c.send("GET / HTTP/1.1\nHost: x\nConnection: upgrade\nUpgrade: echo\n\nearly ")
	resp, _ := c.answer("GET")
	if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "echo" || resp.Header.Get("Connection") != "Upgrade" {
		t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
	c.send("late")
	buf := make([]byte, len("early late"))
	if _, err := io.ReadFull(c.br, buf); err != nil || string(buf) != "early late" {
		t.Errorf("got %q, %v", buf, err)
	}
}
