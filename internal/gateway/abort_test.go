package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// hungUp waits until the gateway has closed the connection to the worker.
func (c *workerConn) hungUp() { _, _ = io.Copy(io.Discard, c) }

// TestCallerHangsUp: whenever a caller goes, the worker's connection is closed
// and nobody is blamed.
func TestCallerHangsUp(t *testing.T) {
	for _, tc := range []struct {
		name, request, answer string
		read                  string // by the caller before it goes
	}{
		{"while it waits", "GET / HTTP/1.1\nHost: h\n\n", "", ""},
		{"in the answer's body", "GET / HTTP/1.1\nHost: h\n\n", "HTTP/1.1 200 OK\nContent-Length: 100\n\nhello", "HTTP/1.1 200 OK\n"},
		{"between events", "GET / HTTP/1.1\nHost: h\n\n", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n", "HTTP/1.1 200 OK\n"},
		{"in a streamed upload", "POST / HTTP/1.1\nHost: h\nContent-Length: 1000000\n\n" + strings.Repeat("a", 100_000), "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, over := make(chan bool, 1), make(chan bool)
			f, d, w := through(t, func(c *workerConn) {
				if _, err := http.ReadRequest(c.br); err != nil {
					return
				}
				got <- true
				c.send(tc.answer)
				c.hungUp()
				close(over)
			})
			c := dial(t, f.addr)
			c.send(tc.request)
			<-got
			c.read(tc.read)
			c.Close()
			if r := d.result(); r.Fault != dispatch.CallerGone || r.Begun != (tc.answer != "") {
				t.Errorf("fault %d, begun %v, %v", r.Fault, r.Begun, r.Err)
			}
			select {
			case <-over:
			case <-time.After(patience):
				t.Error("the worker's connection stays open")
			}
			if n := w.deliveries(); n != 1 {
				t.Errorf("%d deliveries", n)
			}
		})
	}
}

// TestCallerHangsUpWhileHeld: a body that never comes whole is never sent.
func TestCallerHangsUpWhileHeld(t *testing.T) {
	f, d, _ := through(t, answering(hello))
	c := dial(t, f.addr)
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 10\n\nhal")
	c.Close()
	noneHeld(t, f.g)
	if n := d.sends.Load(); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

// TestCallerGoneBeforeItsTurn: work whose caller has gone while it waited for the
// lane is not delivered.
func TestCallerGoneBeforeItsTurn(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	waiting := make(chan bool)
	f := serve(t, Route{Doer: doFunc(func(ctx context.Context, wk dispatch.Work, j dispatch.Job) dispatch.Answer {
		waiting <- true
		for tick := time.NewTicker(time.Millisecond); !j.(interface{ Gone() bool }).Gone(); <-tick.C {
			continue
		}
		target := dispatch.Target{Worker: d.worker, Lane: true}
		if err := j.Connect(ctx, &target); err != nil {
			t.Error(err)
		}
		r := j.Send(ctx, &target)
		d.done <- r
		return dispatch.Answer{Kind: dispatch.Aborted, Result: r}
	})}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	<-waiting
	c.Close()
	if r := d.result(); r.Fault != dispatch.CallerGone {
		t.Errorf("fault %d", r.Fault)
	}
	if n := w.deliveries(); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

// TestOverdue: an answer that does not begin in time.
func TestOverdue(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil && r.URL.Path == "/half" {
			c.send("HTTP/1.1 200 OK\nContent-")
		}
		c.hungUp()
	})
	d := newDirect(t, w.addr)
	const timeout = 50 * time.Millisecond
	f := serve(t, Route{Doer: d, Timeout: timeout}, Config{}, ServerConfig{})
	for _, path := range []string{"/late", "/half"} {
		c := dial(t, f.addr)
		began := time.Now()
		c.send("GET " + path + " HTTP/1.1\nHost: h\n\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 504 {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
		if took := time.Since(began); took < timeout {
			t.Errorf("%s: given up after %v", path, took)
		}
		if r := d.result(); r.Fault != dispatch.OverdueHead || r.Begun {
			t.Errorf("%s: fault %d, begun %v", path, r.Fault, r.Begun)
		}
	}
}

// TestBegunInTime: an answer that begins in time may then take its time.
func TestBegunInTime(t *testing.T) {
	given(t, 50*time.Millisecond, func(timeout time.Duration) bool {
		goOn := make(chan bool, 1)
		defer close(goOn)
		w := startWorker(t, func(c *workerConn) {
			if r, _ := c.request(); r == nil {
				return
			}
			c.send("HTTP/1.1 200 OK\nContent-Length: 5\n\nhe")
			<-goOn
			c.send("llo")
		})
		f := serve(t, Route{Doer: newDirect(t, w.addr), Timeout: timeout}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusGatewayTimeout {
			return false
		}
		<-time.After(2 * timeout)
		goOn <- true
		if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "hello" {
			t.Errorf("got %q, %v", body, err)
		}
		return true
	})
}

// TestSlowUploadIsNotOverdue: while a body streams, its progress counts.
func TestSlowUploadIsNotOverdue(t *testing.T) {
	w := startWorker(t, answering(hello))
	given(t, 60*time.Millisecond, func(timeout time.Duration) bool {
		d := newDirect(t, w.addr)
		f := serve(t, Route{Doer: d, Timeout: timeout, Buffer: 10}, Config{}, ServerConfig{BodyTimeout: 4 * timeout})
		c := dial(t, f.addr)
		c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 30\n\n0123456789")
		for range 2 {
			<-time.After(2 * timeout)
			_, _ = io.WriteString(c, "0123456789")
		}
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil || resp.StatusCode == http.StatusRequestTimeout || resp.StatusCode == http.StatusGatewayTimeout {
			return false // we were too slow, or the worker
		}
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %d", resp.StatusCode)
		}
		if r := d.result(); r.Fault != dispatch.NoFault {
			t.Errorf("fault %d, %v", r.Fault, r.Err)
		}
		return true
	})
}

// TestStalledUploads: the worker is not blamed for a caller who sends nothing
// more, and is for reading nothing more.
func TestStalledUploads(t *testing.T) {
	over := make(chan bool)
	w := startWorker(t, func(c *workerConn) {
		r, err := http.ReadRequest(c.br)
		if err != nil {
			return
		}
		if r.URL.Path == "/deaf" { // reads nothing of the body
			<-over
			c.reset()
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		c.send(hello)
	})
	t.Cleanup(func() { close(over) })
	serving := func(timeout time.Duration) (*direct, *rawCaller) {
		d := newDirect(t, w.addr)
		return d, dial(t, serve(t, Route{Doer: d, Timeout: timeout, Buffer: 10}, Config{}, ServerConfig{BodyTimeout: 4 * timeout}).addr)
	}
	t.Run("silent caller", func(t *testing.T) {
		given(t, 60*time.Millisecond, func(timeout time.Duration) bool {
			d, c := serving(timeout)
			c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 30\n\n0123456789")
			switch resp, _ := c.answer("POST"); resp.StatusCode {
			case http.StatusRequestTimeout:
			case http.StatusGatewayTimeout: // the head alone took longer
				return false
			default:
				t.Errorf("status %d", resp.StatusCode)
			}
			if r := d.result(); r.Fault != dispatch.CallerGone {
				t.Errorf("fault %d, %v", r.Fault, r.Err)
			}
			return true
		})
	})
	t.Run("deaf worker", func(t *testing.T) {
		d, c := serving(60 * time.Millisecond)
		c.send("POST /deaf HTTP/1.1\nHost: h\nContent-Length: 100000000\n\n")
		go func() {
			for piece := make([]byte, 100_000); ; {
				if _, err := c.Write(piece); err != nil {
					return
				}
			}
		}()
		if r := d.result(); r.Fault != dispatch.OverdueHead {
			t.Errorf("fault %d, %v", r.Fault, r.Err)
		}
		c.Close()
	})
}
