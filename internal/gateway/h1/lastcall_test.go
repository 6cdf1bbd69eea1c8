package h1

import (
	"net"
	"testing"
	"time"
)

// Who has a connection when the server is told to stop may use it once more, and
// who does not is not waited for longer than that.
func TestServerLastCall(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr, called := ln.Addr().String(), make(chan bool, 1)
	stop := serveOn(t, ln, ServerConfig{LastCall: func() time.Duration { called <- true; return patience }}, echo)
	kept, fresh := dial(t, addr), dial(t, addr)
	kept.send("GET / HTTP/1.1\nHost: x\n\n")
	kept.answer("GET")
	seen := dial(t, addr) // when it is answered, the one before was accepted as well
	seen.send("GET / HTTP/1.1\nHost: x\nConnection: close\n\n")
	seen.answer("GET")
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	<-called
	_, _ = ln.Accept() // until it is closed
	for _, c := range []*client{kept, fresh} {
		c.send("GET /late HTTP/1.1\nHost: x\n\n")
		if resp, body := c.answer("GET"); body != "GET /late " || resp.StatusCode != 200 {
			t.Errorf("got %d %q", resp.StatusCode, body)
		}
		if rest := c.rest(); rest != "" {
			t.Errorf("%q behind the last answer", rest)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}

	addr, stop = serve(t, ServerConfig{LastCall: func() time.Duration { return time.Millisecond }}, echo)
	idle := dial(t, addr)
	idle.send("GET / HTTP/1.1\nHost: x\n\n")
	idle.answer("GET")
	if err := stop(); err != nil {
		t.Error(err)
	}
	if rest := idle.rest(); rest != "" {
		t.Errorf("idle connection got %q", rest)
	}
}

// An answer that did not say that it is the last one is not, although the server
// was told to stop before it had ended.
func TestAnswerThatBeganBeforeTheStop(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, end, called := make(chan bool, 1), make(chan bool), make(chan bool, 1)
	stop := serveOn(t, ln, ServerConfig{LastCall: func() time.Duration { called <- true; return patience }}, func(x *Exchange) {
		if x.Req.Target != "/slow" {
			echo(x)
			return
		}
		_ = x.Begin(&Head{Status: 200, Reason: "OK", Length: 2})
		_ = x.Write([]byte("o"))
		_ = x.Flush()
		began <- true
		<-end
		_ = x.Write([]byte("k"))
		_ = x.End(nil)
	})
	c := dial(t, ln.Addr().String())
	c.send("GET /slow HTTP/1.1\nHost: x\n\n")
	<-began
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	<-called
	_, _ = ln.Accept() // until it is closed
	close(end)
	if resp, body := c.answer("GET"); resp.Close || body != "ok" {
		t.Fatalf("got %q, and the last answer: %v", body, resp.Close)
	}
	c.send("GET /late HTTP/1.1\nHost: x\n\n")
	if resp, body := c.answer("GET"); !resp.Close || body != "GET /late " {
		t.Errorf("got %q, and the last answer: %v", body, resp.Close)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
