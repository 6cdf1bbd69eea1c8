package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = time.Minute

// given runs an attempt with ever more time, until it says that the time was enough:
// what has to happen within a timeout does so in the end, on the slowest machine.
func given(t *testing.T, first time.Duration, attempt func(timeout time.Duration) bool) {
	t.Helper()
	for timeout := first; timeout < patience/4; timeout *= 5 {
		if attempt(timeout) || t.Failed() {
			return
		}
		t.Logf("%v was not enough", timeout)
	}
	t.Error("no time was enough")
}

// crlf turns the line ends of a literal into those of HTTP.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// worker is a scripted worker on a raw socket.
type worker struct {
	t    *testing.T
	addr string
	wg   sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]bool
	received bytes.Buffer // everything that has come, in order of arrival
	opened   int
}

// startWorker runs script on every connection, which is closed behind it.
func startWorker(t *testing.T, script func(c *workerConn)) *worker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{t: t, addr: ln.Addr().String(), conns: make(map[net.Conn]bool)}
	w.wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.conns[nc] = true
			w.opened++
			w.mu.Unlock()
			w.wg.Go(func() {
				c := &workerConn{Conn: nc, w: w}
				c.br = bufio.NewReader(c)
				script(c)
				nc.Close()
				w.mu.Lock()
				delete(w.conns, nc)
				w.mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.mu.Lock()
		for nc := range w.conns {
			nc.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

// deliveries counts the requests whose first line has arrived.
func (w *worker) deliveries() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.received.String(), " HTTP/1.1\r\n")
}

func (w *worker) raw() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.received.String()
}

// settled waits until what has been sent has been read, to the end of every
// connection, and returns all of it.
func (w *worker) settled() string {
	late := time.After(patience)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		w.mu.Lock()
		open, raw := len(w.conns), w.received.String()
		w.mu.Unlock()
		if open == 0 && raw != "" {
			return raw
		}
		select {
		case <-look.C:
		case <-late:
			w.t.Errorf("%d connections to the worker are open, which got %.20q", open, raw)
			return raw
		}
	}
}

// workerConn is one connection to a worker.
type workerConn struct {
	net.Conn
	w  *worker
	br *bufio.Reader
}

func (c *workerConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.w.mu.Lock()
	if c.w.received.Len() < 1<<20 {
		c.w.received.Write(p[:n])
	}
	c.w.mu.Unlock()
	return n, err
}

// request reads one request with its body; nil at the connection's end.
func (c *workerConn) request() (*http.Request, string) {
	r, err := http.ReadRequest(c.br)
	if err != nil {
		return nil, ""
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, ""
	}
	return r, string(body)
}

func (c *workerConn) send(s string) { _, _ = io.WriteString(c, crlf(s)) }

// reset closes the connection hard.
func (c *workerConn) reset() {
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	c.Conn.Close()
}

// answering returns a script that gives every request the same answer.
func answering(answer string) func(*workerConn) {
	return func(c *workerConn) {
		for {
			if r, _ := c.request(); r == nil {
				return
			}
			c.send(answer)
		}
	}
}

const hello = "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"

// direct is the simplest Doer: one worker, one attempt.
type direct struct {
	lastVariant bezoar.Fingerprint
	t           *testing.T
	worker      *fleet.Worker

	sends   atomic.Int64
	mu      sync.Mutex
	works   []dispatch.Work
	results []dispatch.Result
	done    chan dispatch.Result // every result, for those who wait
}

func newDirect(t *testing.T, addr string) *direct {
	t.Helper()
	f, err := fleet.New(fleet.Config{Name: "test", Connect: Upstream{DialTimeout: patience}.Connect})
	if err != nil {
		t.Fatal(err)
	}
	epoch := f.Up("w", addr)
	t.Cleanup(func() { f.Down("w", epoch, fleet.End{Planned: true}) })
	return &direct{t: t, worker: f.TryAcquire(fleet.Want{}), done: make(chan dispatch.Result, 1000)}
}

func (d *direct) Do(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
	d.mu.Lock()
	d.works = append(d.works, w)
	if w.Traits != nil {
		d.lastVariant = w.Traits.Variant() // they are readable during the call only
	}
	d.mu.Unlock()
	t := dispatch.Target{Worker: d.worker, Epoch: d.worker.Epoch(), Deadline: time.Now().Add(w.Timeout)}
	if err := j.Connect(ctx, &t); err != nil {
		return dispatch.Answer{Kind: dispatch.Unavailable, Reason: err.Error()}
	}
	d.sends.Add(1)
	r := j.Send(ctx, &t)
	d.mu.Lock()
	d.results = append(d.results, r)
	d.mu.Unlock()
	select {
	case d.done <- r:
	default: // nobody has waited for a thousand of them
	}
	a := dispatch.Answer{Result: r, Attempts: 1, Reason: "the attempt failed: at 10.0.0.1"}
	switch {
	case r.Fault == dispatch.NoFault:
		a.Kind = dispatch.Answered
	case r.Fault == dispatch.CallerGone, r.Fault == dispatch.Unfit:
		a.Kind = dispatch.Aborted
	case r.Begun:
		a.Kind = dispatch.Cut
	case r.Fault == dispatch.OverdueHead:
		a.Kind = dispatch.TimedOut
	default:
		a.Kind = dispatch.Failed
	}
	return a
}

func (d *direct) Redrive(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
	return d.Do(ctx, w, j)
}

// result waits for the next attempt to end.
func (d *direct) result() dispatch.Result {
	d.t.Helper()
	select {
	case r := <-d.done:
		return r
	case <-time.After(patience):
		d.t.Fatal("the attempt does not end")
		return dispatch.Result{}
	}
}

func (d *direct) variant() bezoar.Fingerprint {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastVariant
}

func (d *direct) work() dispatch.Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.works[len(d.works)-1]
}

// doFunc is a Doer that answers without a worker.
type doFunc func(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer

func (f doFunc) Do(ctx context.Context, w dispatch.Work, j dispatch.Job) dispatch.Answer {
	return f(ctx, w, j)
}

func newPrinter(t testing.TB) *fingerprint.Printer {
	p, err := fingerprint.New(fingerprint.Key{1}, fingerprint.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// front is a gateway on a socket.
type front struct {
	g    *Gateway
	addr string
	stop func() error
}

// serve runs a gateway with one route for everything.
func serve(t *testing.T, route Route, cfg Config, srv ServerConfig) *front {
	t.Helper()
	if route.Printer == nil {
		route.Printer = newPrinter(t)
	}
	cfg.Routes = []Route{route}
	return serveConfig(t, cfg, srv)
}

func serveConfig(t *testing.T, cfg Config, srv ServerConfig) *front {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(g, srv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	var once sync.Once
	stop := func() (err error) {
		cancel()
		once.Do(func() {
			select {
			case err = <-done:
			case <-time.After(patience):
				t.Error("Run does not return")
			}
		})
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return &front{g: g, addr: s.Addr().String(), stop: stop}
}

// through starts a worker with the script and a gateway in front of it.
func through(t *testing.T, script func(*workerConn)) (*front, *direct, *worker) {
	t.Helper()
	w := startWorker(t, script)
	d := newDirect(t, w.addr)
	return serve(t, Route{Doer: d}, Config{}, ServerConfig{}), d, w
}

// caller is a raw connection to the gateway.
type rawCaller struct {
	t *testing.T
	net.Conn
	br *bufio.Reader
}

func dial(t *testing.T, addr string) *rawCaller {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return &rawCaller{t, c, bufio.NewReader(c)}
}

func (c *rawCaller) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, crlf(s)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawCaller) answer(method string) (*http.Response, string) {
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

// read reads exactly the text, in the line ends of HTTP.
func (c *rawCaller) read(want string) {
	c.t.Helper()
	want = crlf(want)
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.br, got)
	if err != nil || string(got) != want {
		c.t.Fatalf("got %q, %v, want %q", got[:n], err, want)
	}
}

// ends waits for the end of the connection and reports whether it was clean.
func (c *rawCaller) ends() (rest string, clean bool) {
	c.t.Helper()
	b, err := io.ReadAll(c.br)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		c.t.Fatal("the connection does not end")
	}
	return string(b), err == nil
}

// bearerToken is a header line with a token that nobody has signed.
func bearerToken(payload string) string {
	return "Authorization: Bearer eyJhbGciOiJub25lIn0." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}
