package gateway

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// buffering is a gateway whose route reads bodies of up to 4 MiB before it asks a worker.
func buffering(t *testing.T, script func(*workerConn)) (*front, *direct, *worker) {
	t.Helper()
	w := startWorker(t, script)
	d := newDirect(t, w.addr)
	var f *front
	t.Cleanup(func() { // after the end of the server
		if n := f.g.spooled.Load(); n != 0 {
			t.Errorf("%d bytes are still reserved on the disk", n)
		}
	})
	f = serve(t, Route{Doer: d, Buffer: 64 << 10, BufferBody: 4 << 20}, Config{}, ServerConfig{})
	return f, d, w
}

// digesting answers with the framing and the digest of each request.
func digesting(c *workerConn) {
	for {
		r, body := c.request()
		if r == nil {
			return
		}
		text := fmt.Sprintf("%d %v %x", r.ContentLength, r.TransferEncoding, sha256.Sum256([]byte(body)))
		c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(text), text))
	}
}

// A body without a length that is longer than what is held in memory reaches the worker with its length: servers
// that follow CGI read none of it otherwise. The worker is asked when all of it has come.
func TestBodiesAreBufferedOnDisk(t *testing.T) {
	f, d, w := buffering(t, digesting)
	body := bytes.Repeat([]byte("0123456789abcdef"), 128<<10) // 2 MiB
	want := fmt.Sprintf("%d [] %x", len(body), sha256.Sum256(body))
	for _, chunked := range []bool{true, false} {
		r, send := io.Pipe()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+"/", r)
		if err != nil {
			t.Fatal(err)
		}
		if !chunked {
			req.ContentLength = int64(len(body))
		}
		client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
		defer client.CloseIdleConnections()
		got := make(chan string, 1)
		go func() {
			res, err := client.Do(req)
			if err != nil {
				got <- err.Error()
				return
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			got <- string(text)
		}()
		before := w.deliveries()
		if _, err := send.Write(body[:len(body)-1]); err != nil { // the gateway takes it all
			t.Fatal(err)
		}
		if n := w.deliveries() - before; n != 0 {
			t.Errorf("chunked %v: the worker has %d requests before the body is complete", chunked, n)
		}
		_, _ = send.Write(body[len(body)-1:])
		send.Close()
		if text := <-got; text != want {
			t.Errorf("chunked %v: got %q, want %q", chunked, text, want)
		}
		if r := d.result(); r.Fault != dispatch.NoFault {
			t.Errorf("chunked %v: %+v", chunked, r)
		}
	}
}

// What cannot be buffered is refused if the worker could not be told its length, and streams otherwise.
func TestBodiesThatCannotBeBuffered(t *testing.T) {
	long, fits := strings.Repeat("x", 5<<20), strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name, body string
		chunked    bool
		full       bool
		want       int
	}{
		{"too long, without a length", long, true, false, 413},
		{"too long, with a length", long, false, false, 200},
		{"a full disk, without a length", fits, true, true, 503},
		{"a full disk, with a length", fits, false, true, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _, _ := buffering(t, digesting)
			if c.full {
				f.g.spooled.Add(MaxSpooled)
				defer f.g.spooled.Add(-MaxSpooled)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+"/", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.chunked {
				req.ContentLength = -1
			}
			res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != c.want {
				t.Errorf("status %d, want %d", res.StatusCode, c.want)
			}
		})
	}
}

// A worker may answer before it has read a buffered body; the caller, who has sent all of it, may go on with its connection.
func TestABufferedBodyThatTheWorkerDoesNotRead(t *testing.T) {
	over := make(chan struct{})
	f, d, w := buffering(t, func(c *workerConn) {
		if _, err := c.br.ReadString('\n'); err != nil {
			return
		}
		c.send("HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n")
		<-over
	})
	defer close(over)
	c := dial(t, f.addr)
	for range 2 {
		c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Length: %d\n\n", 4<<20) + strings.Repeat("x", 4<<20))
		if resp, _ := c.answer("POST"); resp.StatusCode != 403 {
			t.Errorf("status %d", resp.StatusCode)
		}
		if r := d.result(); r.Fault != dispatch.NoFault {
			t.Errorf("%+v", r)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.opened != 2 {
		t.Errorf("%d connections to the worker", w.opened)
	}
}

// A caller who leaves in the middle of its body costs the worker nothing.
func TestAnAbandonedBodyIsNotSent(t *testing.T) {
	f, _, w := buffering(t, digesting)
	c := dial(t, f.addr)
	c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nContent-Length: %d\n\n", 2<<20) + strings.Repeat("x", 1<<20))
	_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
	if rest, _ := c.ends(); strings.Contains(rest, "200 OK") {
		t.Errorf("got %.60q", rest)
	}
	if w.deliveries() != 0 {
		t.Error("the worker got part of it")
	}
}

// Workers of HTTP/2 get a buffered body, too.
func TestBodiesAreBufferedForHTTP2(t *testing.T) {
	_, d, _ := throughTwo(t)
	f := serve(t, Route{Doer: d, BufferBody: 4 << 20}, Config{}, ServerConfig{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.addr+"/p", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20))))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); !strings.Contains(string(text), " 1048576 <nil>") {
		t.Errorf("got %q", text)
	}
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("%+v", r)
	}
}
