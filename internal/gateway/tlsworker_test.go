package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// atOnce is a connection whose writes are sent together, so that their TLS records arrive together.
type atOnce struct {
	net.Conn
	held bytes.Buffer
	hold bool
}

func (c *atOnce) Write(p []byte) (int, error) {
	if c.hold {
		return c.held.Write(p)
	}
	return c.Conn.Write(p)
}

// throughTLS is a gateway in front of a worker that speaks TLS by a script.
func throughTLS(t *testing.T, script func(c *tls.Conn, below *atOnce, br *bufio.Reader)) (*front, *direct) {
	t.Helper()
	own, pool := certificate(t)
	w := startWorker(t, func(c *workerConn) {
		below := &atOnce{Conn: c.Conn}
		s := tls.Server(below, own)
		if s.Handshake() == nil {
			script(s, below, bufio.NewReader(s))
		}
	})
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		return (&tls.Dialer{Config: &tls.Config{RootCAs: pool}}).DialContext(ctx, "tcp", addr)
	}
	f, err := fleet.New(fleet.Config{Name: "test", Connect: Upstream{DialTimeout: patience, Dial: dial}.Connect})
	if err != nil {
		t.Fatal(err)
	}
	epoch := f.Up("w", w.addr)
	t.Cleanup(func() { f.Down("w", epoch, fleet.End{Planned: true}) })
	d := &direct{t: t, worker: f.TryAcquire(fleet.Want{}), done: make(chan dispatch.Result, 1000)}
	return serve(t, Route{Doer: d}, Config{}, ServerConfig{}), d
}

// What a worker sends after the end of an answer is never taken for the answer to another request, also
// when it comes in a TLS record of its own, which lies in the gateway's memory by then.
func TestMoreThanTheAnswerOverTLS(t *testing.T) {
	f, _ := throughTLS(t, func(c *tls.Conn, below *atOnce, br *bufio.Reader) {
		for {
			if _, err := http.ReadRequest(br); err != nil {
				return
			}
			below.hold = true
			_, _ = io.WriteString(c, crlf(hello))
			_, _ = io.WriteString(c, crlf("HTTP/1.1 200 OK\nContent-Length: 5\n\nother"))
			below.hold = false
			_, _ = below.Conn.Write(below.held.Bytes())
			below.held.Reset()
		}
	})
	c := dial(t, f.addr)
	for range 5 {
		c.send("GET / HTTP/1.1\nHost: h\n\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "hello" {
			t.Fatalf("got %d %q", resp.StatusCode, body)
		}
	}
}

// A worker that closes its connection without TLS's goodbye has answered, as it has without TLS: Python's ssl says none.
func TestAWorkerThatLeavesWithoutAGoodbye(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		whole        bool
		fault        dispatch.Fault
	}{
		{"a length", hello, true, dispatch.NoFault},
		{"chunks", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n", true, dispatch.NoFault},
		{"no length", "HTTP/1.0 200 OK\n\nhello", true, dispatch.NoFault},
		{"too little", "HTTP/1.1 200 OK\nContent-Length: 6\n\nhello", false, dispatch.BrokenConn},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, d := throughTLS(t, func(s *tls.Conn, below *atOnce, br *bufio.Reader) {
				if _, err := http.ReadRequest(br); err != nil {
					return
				}
				_, _ = io.WriteString(s, crlf(c.answer))
				_ = below.Conn.(interface{ CloseWrite() error }).CloseWrite()
				_, _ = io.Copy(io.Discard, below.Conn)
			})
			res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Get("http://" + f.addr + "/")
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if text, err := io.ReadAll(res.Body); string(text) != "hello" || (err == nil) != c.whole {
				t.Errorf("got %q, %v", text, err)
			}
			if r := d.result(); r.Fault != c.fault {
				t.Errorf("fault %v, want %v: %v", r.Fault, c.fault, r.Err)
			}
		})
	}
}
