package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// twoWorker is a worker that speaks HTTP/2 without TLS and nothing else.
type twoWorker struct {
	*httptest.Server
	requests atomic.Int64
	left     chan struct{} // a request's caller has left
	seen     chan struct{} // the caller has the answer
}

func startTwo(t *testing.T) *twoWorker {
	t.Helper()
	w := &twoWorker{left: make(chan struct{}, 10), seen: make(chan struct{}, 1)}
	w.Server = httptest.NewUnstartedServer(w)
	w.Config.Protocols = new(http.Protocols)
	w.Config.Protocols.SetUnencryptedHTTP2(true)
	w.Config.MaxHeaderBytes = 8 << 10
	w.Start()
	t.Cleanup(w.Close)
	return w
}

func (w *twoWorker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.requests.Add(1)
	rc := http.NewResponseController(rw)
	switch r.URL.Path {
	case "/breaks":
		_, _ = io.WriteString(rw, "half")
		_ = rc.Flush()
		panic(http.ErrAbortHandler)
	case "/whole": // and reset
		rw.Header().Set("Content-Length", "5")
		_, _ = io.WriteString(rw, "whole")
		_ = rc.Flush()
		<-w.seen
		panic(http.ErrAbortHandler)
	case "/early":
		rw.WriteHeader(http.StatusForbidden)
		return
	case "/waits":
		_ = rc.Flush()
		<-r.Context().Done()
		w.left <- struct{}{}
		return
	case "/switches":
		rw.WriteHeader(http.StatusSwitchingProtocols)
	case "/agent":
		_, _ = io.WriteString(rw, r.UserAgent())
		return
	case "/many":
		for range answerFields {
			rw.Header().Add("X-Many", "y")
		}
		return
	case "/hints":
		rw.Header().Set("Link", "</x>")
		for range 300 {
			rw.WriteHeader(http.StatusEarlyHints)
		}
		return
	case "/none":
		rw.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path != "/cut" { // net/http's server must not be left in the middle of hints
		rw.Header().Set("Link", "</x>")
		rw.WriteHeader(http.StatusEarlyHints)
	}
	n, err := io.Copy(io.Discard, r.Body)
	rw.Header().Set("Trailer", "X-Down")
	text := fmt.Sprintf("%s %s %s %d %v %s", r.Method, r.RequestURI, r.Host, n, err, r.Trailer.Get("X-Up"))
	if r.Method == http.MethodHead {
		rw.Header().Set("Content-Length", "7")
	}
	_, _ = io.WriteString(rw, text)
	rw.Header().Set("X-Down", "7")
}

// throughTwo is a gateway in front of it.
func throughTwo(t *testing.T) (*front, *direct, *twoWorker) {
	t.Helper()
	w := startTwo(t)
	f, err := fleet.New(fleet.Config{Name: "test", Connect: Upstream{DialTimeout: patience, HTTP2: true}.Connect})
	if err != nil {
		t.Fatal(err)
	}
	epoch := f.Up("w", w.URL)
	t.Cleanup(func() { f.Down("w", epoch, fleet.End{Planned: true}) })
	d := &direct{t: t, worker: f.TryAcquire(fleet.Want{}), done: make(chan dispatch.Result, 1000)}
	return serve(t, Route{Doer: d, Paths: PathsRaw, MaxBody: 64 << 20}, Config{}, ServerConfig{}), d, w
}

// What a worker of HTTP/2 gets, and what its callers get of it, is the same as over
// HTTP/1.1; and it gets each request once.
func TestHTTP2Worker(t *testing.T) {
	f, d, w := throughTwo(t)
	client := &http.Client{Transport: &http.Transport{}, Timeout: patience}
	defer client.CloseIdleConnections()
	large := bytes.Repeat([]byte("x"), 5<<20)
	for i, c := range []struct {
		method, target string
		body           []byte
		chunked        bool
		want           string
	}{
		{"GET", "/a%2Fb?x=%41", nil, false, "GET /a%2Fb?x=%41 HOST 0 <nil> "},
		{"GET", "/a|b", nil, false, "GET /a|b HOST 0 <nil> "},
		{"GET", "//x//y", nil, false, "GET //x//y HOST 0 <nil> "},
		{"GET", "/q?", nil, false, "GET /q? HOST 0 <nil> "},
		{"POST", "/p", []byte("hello"), false, "POST /p HOST 5 <nil> "},
		{"POST", "/p", []byte("hello"), true, "POST /p HOST 5 <nil> up"},
		{"POST", "/p", large, false, "POST /p HOST 5242880 <nil> "},
		{"PUT", "/p", large, true, "PUT /p HOST 5242880 <nil> up"},
		{"DELETE", "/d", nil, false, "DELETE /d HOST 0 <nil> "},
	} {
		hints := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(int, textproto.MIMEHeader) error { hints++; return nil },
		})
		req, err := http.NewRequestWithContext(ctx, c.method, "http://"+f.addr+"/", bytes.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque = "//" + f.addr + c.target
		want := strings.Replace(c.want, "HOST", f.addr, 1)
		if c.chunked {
			req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(c.body)), -1
			req.Trailer = http.Header{"X-Up": {"up"}}
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", c.method, c.target, err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || string(text) != want || res.Trailer.Get("X-Down") != "7" || hints != 1 {
			t.Errorf("%s %s: %q, %v, trailers %v, %d hints, want %q", c.method, c.target, text, err, res.Trailer, hints, want)
		}
		if r := d.result(); r.Fault != dispatch.NoFault || w.requests.Load() != int64(i+1) {
			t.Errorf("%s %s: %+v after %d requests", c.method, c.target, r, w.requests.Load())
		}
	}
	res, err := client.Head("http://" + f.addr + "/h")
	if err != nil || res.ContentLength != 7 {
		t.Errorf("HEAD: %+v, %v", res, err)
	}
	res.Body.Close()
	if res, err = client.Get("http://" + f.addr + "/none"); err != nil || res.StatusCode != http.StatusNoContent {
		t.Errorf("204: %+v, %v", res, err)
	}
	res.Body.Close()
}

// What HTTP/2 cannot carry is no worker's fault: a head larger than the worker takes is
// refused, and a trailer that cannot be one is left out. Nothing is added for a caller
// that does not name its program, and nobody switches protocols.
func TestWhatHTTP2CannotCarry(t *testing.T) {
	f, d, w := throughTwo(t)
	for i, ask := range []struct {
		send   string
		status int
		body   string
		fault  dispatch.Fault
	}{
		{"GET /agent HTTP/1.1\nHost: h\n\n", 200, "", dispatch.NoFault},
		{"GET /agent HTTP/1.1\nHost: h\nX-Long: " + strings.Repeat("x", 12<<10) + "\n\n", 431, "head-too-large", dispatch.Unfit},
		{"POST /p HTTP/1.1\nHost: h\nTrailer: Content-Length, a b, X-Up\nTransfer-Encoding: chunked\n\n1\na\n0\nX-Up: up\n\n", 200, "POST /p h 1 <nil> up", dispatch.NoFault},
		{"GET /many HTTP/1.1\nHost: h\n\n", 502, "failed", dispatch.BadAnswer},
		{"GET /switches HTTP/1.1\nHost: h\n\n", 502, "failed", dispatch.BadAnswer},
	} {
		c := dial(t, f.addr)
		c.send(ask.send)
		res, body := c.answer("GET")
		for res.StatusCode == http.StatusEarlyHints {
			res, body = c.answer("GET")
		}
		if res.StatusCode != ask.status || !strings.Contains(body, ask.body) || i == 0 && body != "" {
			t.Errorf("%.40q: %s %.300q", ask.send, res.Status, body)
		}
		if r := d.result(); r.Fault != ask.fault {
			t.Errorf("%.40q: %+v", ask.send, r)
		}
	}
	if n := w.requests.Load(); n != 4 {
		t.Errorf("the worker has seen %d requests, want 4", n)
	}
}

// Answers that break off are cut, uploads that are refused end, and callers who leave
// take their request with them.
func TestHTTP2WorkerThatEndsOtherwise(t *testing.T) {
	f, d, w := throughTwo(t)
	c := dial(t, f.addr)
	c.send("GET /breaks HTTP/1.1\nHost: h\nConnection: close\n\n")
	// It may break before any of it has been passed on: then there is another answer.
	if rest, _ := c.ends(); strings.HasSuffix(rest, "0\r\n\r\n") {
		t.Errorf("an answer that broke off: %q", rest)
	}
	if r := d.result(); r.Fault != dispatch.BrokenConn {
		t.Errorf("an answer that broke off: %+v", r)
	}
	c = dial(t, f.addr)
	c.send("GET /whole HTTP/1.1\nHost: h\n\n")
	if _, body := c.answer("GET"); body != "whole" {
		t.Errorf("a complete answer: %q", body)
	}
	w.seen <- struct{}{}
	if r := d.result(); r.Fault != dispatch.NoFault { // three of these would convict the request
		t.Errorf("a reset after a complete answer: %+v", r)
	}
	c.Close()
	c = dial(t, f.addr)
	c.send("POST /early HTTP/1.1\nHost: h\nContent-Length: 50000000\n\n")
	go func() { _, _ = io.Copy(c, io.LimitReader(zeros{}, 50_000_000)) }()
	if res, _ := c.answer("POST"); res.StatusCode != http.StatusForbidden {
		t.Errorf("an upload that is refused: %s", res.Status)
	}
	c.Close()
	if r := d.result(); r.Fault != dispatch.NoFault || r.Status != http.StatusForbidden {
		t.Errorf("an upload that is refused: %+v", r)
	}
	c = dial(t, f.addr)
	c.send("GET /waits HTTP/1.1\nHost: h\n\n")
	c.read("HTTP/1.1 200 OK")
	c.Close()
	<-w.left
	if r := d.result(); r.Fault != dispatch.CallerGone {
		t.Errorf("a caller who left: %+v", r)
	}
	c = dial(t, f.addr)
	c.send("POST /cut HTTP/1.1\nHost: h\nContent-Length: 1000000\n\n" + strings.Repeat("x", 100_000))
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	if r := d.result(); r.Fault != dispatch.CallerGone {
		t.Errorf("a body that broke off: %+v", r)
	}
}

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
