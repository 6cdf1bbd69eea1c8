package gateway

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// longAnswer is an answer that no socket's buffers hold.
const longAnswer = 24 << 20

// oneAtATime is a worker that serves one request at a time.
func oneAtATime(t *testing.T) *httptest.Server {
	t.Helper()
	var busy sync.Mutex
	piece := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		busy.Lock()
		defer busy.Unlock()
		if r.URL.Path != "/long" {
			_, _ = io.WriteString(w, "short")
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(longAnswer))
		for range longAnswer / len(piece) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// A caller who takes nothing of a long answer does not hold its worker, over HTTP/1.1
// and HTTP/2; it gets all of the answer when it reads on, and nothing stays behind.
func TestSlowReadersFreeTheWorker(t *testing.T) {
	own, pool := certificate(t)
	for _, proto := range []string{"plain", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			client, scheme, cfg := &http.Client{Transport: &http.Transport{}, Timeout: patience}, "http", ServerConfig{WriteTimeout: patience}
			if proto != "plain" {
				client, scheme, cfg.TLS = tlsClients(t, pool)[proto], "https", own
			}
			d := newDirect(t, strings.TrimPrefix(oneAtATime(t).URL, "http://"))
			const limit = 256 << 10
			f := serve(t, Route{Doer: d, BufferAnswer: limit}, Config{}, cfg)
			res, err := client.Get(scheme + "://" + f.addr + "/long")
			if err != nil {
				t.Fatal(err)
			}
			defer client.CloseIdleConnections()
			defer res.Body.Close()
			if r := d.result(); r.Fault != dispatch.NoFault {
				t.Fatalf("the attempt ended with %+v", r)
			}
			if held := f.g.Held(); held > limit {
				t.Errorf("%d bytes are held in memory, more than %d", held, limit)
			}
			if f.g.spooled.Load() == 0 {
				t.Error("nothing waits on the disk")
			}
			other, err := client.Get(scheme + "://" + f.addr + "/short")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(other.Body); err != nil || string(text) != "short" {
				t.Errorf("meanwhile: %q, %v", text, err)
			}
			other.Body.Close()
			sum := sha256.New()
			if n, err := io.Copy(sum, res.Body); err != nil || n != longAnswer {
				t.Errorf("%d bytes came, and %v", n, err)
			}
			want := sha256.Sum256(bytes.Repeat([]byte("0123456789abcdef"), longAnswer/16))
			if !bytes.Equal(sum.Sum(nil), want[:]) {
				t.Error("other bytes came than were sent")
			}
			eventually(t, "nothing is kept", func() bool { return f.g.Held() == 0 && f.g.spooled.Load() == 0 })
		})
	}
}

// What is buffered and then abandoned is forgotten; what breaks off never looks whole;
// events and what trickles come through as they happen.
func TestBufferedAnswersThatEndOtherwise(t *testing.T) {
	more := make(chan struct{})
	w := startWorker(t, func(c *workerConn) {
		r, _ := c.request()
		if r == nil {
			return
		}
		switch r.URL.Path {
		case "/breaks":
			c.send("HTTP/1.1 200 OK\nContent-Length: 100000\n\n" + strings.Repeat("x", 50_000))
		case "/long":
			c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n", longAnswer) + strings.Repeat("x", longAnswer))
		default:
			kind := "text/plain"
			if r.URL.Path == "/events" {
				kind = admission.EventStream
			}
			// This worker serves one request for each connection.
			c.send("HTTP/1.1 200 OK\nConnection: close\nContent-Type: " + kind + "\nTransfer-Encoding: chunked\n\n1\na\n")
			<-more
			c.send("1\nb\n0\n\n")
		}
	})
	d := newDirect(t, w.addr)
	f := serve(t, Route{Doer: d, BufferAnswer: 64 << 10}, Config{}, ServerConfig{})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	get := func(path string) *http.Response {
		t.Helper()
		res, err := client.Get("http://" + f.addr + path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	if res, err := client.Get("http://" + f.addr + "/breaks"); err == nil { // the reset may come before the head
		if text, err := io.ReadAll(res.Body); err == nil {
			t.Errorf("an answer that broke off looks whole: %d bytes", len(text))
		}
		res.Body.Close()
	}
	get("/long").Body.Close()
	eventually(t, "nothing is kept", func() bool { return f.g.Held() == 0 && f.g.spooled.Load() == 0 })
	for _, path := range []string{"/trickles", "/events"} {
		res := get(path)
		b := make([]byte, 1)
		if _, err := io.ReadFull(res.Body, b); err != nil || b[0] != 'a' {
			t.Fatalf("%s: %q, %v", path, b, err)
		}
		more <- struct{}{}
		if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "b" {
			t.Errorf("%s: then %q, %v", path, rest, err)
		}
	}
}

// Without room in memory and on the disk an answer comes nevertheless.
func TestBufferedAnswersNeedNoRoom(t *testing.T) {
	f := serve(t, Route{Doer: newDirect(t, strings.TrimPrefix(oneAtATime(t).URL, "http://")), BufferAnswer: 64 << 10}, Config{}, ServerConfig{})
	f.g.held.Add(1 << 40)
	f.g.spooled.Add(MaxSpooled)
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + f.addr + "/long")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); err != nil || n != longAnswer {
		t.Errorf("%d bytes came, and %v", n, err)
	}
	eventually(t, "nothing is kept", func() bool { return f.g.Held() == 1<<40 && f.g.spooled.Load() == MaxSpooled })
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting until %s", what)
		}
		<-time.After(time.Millisecond)
	}
}
