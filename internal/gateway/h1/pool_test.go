package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// worker is a scripted worker: every connection runs script once, and the test
// learns how many connections and requests it has seen.
type worker struct {
	addr string

	mu       sync.Mutex
	conns    []net.Conn
	received strings.Builder
}

func startWorker(t *testing.T, script func(net.Conn)) *worker {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{addr: ln.Addr().String()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.conns = append(w.conns, nc)
			w.mu.Unlock()
			wg.Go(func() {
				defer nc.Close()
				script(&tee{nc, w})
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.each(func(nc net.Conn) { nc.Close() })
		wg.Wait()
	})
	return w
}

func (w *worker) each(f func(net.Conn)) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, nc := range w.conns {
		f(nc)
	}
	return len(w.conns)
}

// deliveries counts the requests that have reached the worker.
func (w *worker) deliveries() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.received.String(), " HTTP/1.1\r\n")
}

type tee struct {
	net.Conn
	w *worker
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.w.mu.Lock()
	t.w.received.Write(p[:n])
	t.w.mu.Unlock()
	return n, err
}

// answering returns a script that answers every head with text.
func answering(text string) func(net.Conn) {
	return func(nc net.Conn) {
		buf := make([]byte, 4096)
		for {
			n, err := nc.Read(buf)
			if err != nil {
				return
			}
			if strings.HasSuffix(string(buf[:n]), "\r\n\r\n") {
				if _, err := io.WriteString(nc, text); err != nil {
					return
				}
			}
		}
	}
}

const (
	get   = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
)

// exchange runs one request and returns the answer's body.
func exchange(t *testing.T, c *Conn) (string, error) {
	t.Helper()
	c.Watch(forever{})
	if _, err := c.Start([]byte(get), nil, false); err != nil {
		return "", err
	}
	if err := c.ReadHead("GET"); err != nil {
		return "", err
	}
	return readAll(&c.Body)
}

func getConn(t *testing.T, p *Pool) *Conn {
	t.Helper()
	c, err := p.Get(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newPool(t *testing.T, addr string, cfg PoolConfig) *Pool {
	p := NewPool(addr, cfg)
	t.Cleanup(func() { p.Close() })
	return p
}

func TestPoolReusesNewest(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, "http://"+w.addr+"/", PoolConfig{})
	a, b := getConn(t, p), getConn(t, p)
	for _, c := range []*Conn{a, b} {
		if body, err := exchange(t, c); err != nil || body != "hello" {
			t.Fatalf("got %q, %v", body, err)
		}
	}
	if !a.Fresh {
		t.Error("a dialled connection is not fresh")
	}
	a.Release(true)
	b.Release(true)
	for range 3 {
		c := getConn(t, p)
		if c != b || c.Fresh {
			t.Fatal("did not get the connection that was used last")
		}
		if _, err := exchange(t, c); err != nil {
			t.Fatal(err)
		}
		c.Release(true)
	}
	if alive, broken := p.Conns(); alive != 2 || broken != 0 {
		t.Errorf("Conns: %d alive, %d broken", alive, broken)
	}
	if n := w.each(func(net.Conn) {}); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// A worker may say how long it keeps an idle connection, as Node and Apache do: a request that were sent at
// that moment would be lost.
func TestPoolBelievesKeepAlive(t *testing.T) {
	for field, c := range map[string]struct{ used, gone time.Duration }{
		"Keep-Alive: timeout=5\n":            {3900 * time.Millisecond, 4100 * time.Millisecond},
		"Keep-Alive: max=100, Timeout = 3\n": {1900 * time.Millisecond, 2100 * time.Millisecond},
		"Keep-Alive: timeout=1\n":            {400 * time.Millisecond, 600 * time.Millisecond},
		"Keep-Alive: timeout=0\n":            {0, time.Millisecond},
		"Keep-Alive: timeout=600\n":          {29 * time.Second, 31 * time.Second},
		"Keep-Alive: max=3, timeout=soon\n":  {29 * time.Second, 31 * time.Second},
		"":                                   {29 * time.Second, 31 * time.Second},
	} {
		w := startWorker(t, answering(strings.Replace(hello, "Content-Length", strings.ReplaceAll(field, "\n", "\r\n")+"Content-Length", 1)))
		p := newPool(t, w.addr, PoolConfig{IdleTimeout: 30 * time.Second})
		at := time.Now()
		for _, wait := range []time.Duration{c.used, c.gone} {
			first := getConn(t, p)
			if _, err := exchange(t, first); err != nil {
				t.Fatal(err)
			}
			first.ReleaseAt(true, at)
			again, err := p.GetAt(t.Context(), time.Time{}, at.Add(wait), false)
			if err != nil {
				t.Fatal(err)
			}
			if reused := again == first; reused != (wait == c.used) {
				t.Errorf("%q: after %v the connection is used again: %v", field, wait, reused)
			}
			again.Release(again == first)
		}
	}
}

// A worker that does not say how long it keeps an idle connection, such as gunicorn or uvicorn, may close one at the
// moment at which a request is sent. One that cannot be repeated gets only a connection that was just used.
func TestPoolGivesYoungConnectionsToWhatCannotBeRepeated(t *testing.T) {
	for wait, reused := range map[time.Duration]bool{900 * time.Millisecond: true, 1100 * time.Millisecond: false} {
		for _, once := range []bool{true, false} {
			w := startWorker(t, answering(hello))
			p := newPool(t, w.addr, PoolConfig{})
			at := time.Now()
			first := getConn(t, p)
			if _, err := exchange(t, first); err != nil {
				t.Fatal(err)
			}
			first.ReleaseAt(true, at)
			if c, err := p.GetAt(t.Context(), time.Time{}, at.Add(50*time.Millisecond), false); err != nil || c != first { // it keeps connections
				t.Fatal(err)
			}
			if _, err := exchange(t, first); err != nil {
				t.Fatal(err)
			}
			first.ReleaseAt(true, at)
			c, err := p.GetAt(t.Context(), time.Time{}, at.Add(wait), once)
			if err != nil {
				t.Fatal(err)
			}
			if (c == first) != (reused || !once) {
				t.Errorf("once %v: after %v the connection is used again: %v", once, wait, c == first)
			}
			c.Release(false)
		}
	}
}

// TestPoolNoticesStale: what the worker has closed while it was idle, or has sent
// something unasked on, is not used again.
func TestPoolNoticesStale(t *testing.T) {
	for name, spoil := range map[string]func(net.Conn){
		"closed": func(nc net.Conn) { nc.Close() },
		"reset": func(nc net.Conn) {
			_ = nc.(*net.TCPConn).SetLinger(0)
			nc.Close()
		},
		"spoke unasked": func(nc net.Conn) { _, _ = io.WriteString(nc, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			w := startWorker(t, answering(hello))
			p := newPool(t, w.addr, PoolConfig{})
			c := getConn(t, p)
			if _, err := exchange(t, c); err != nil {
				t.Fatal(err)
			}
			c.Release(true)
			w.each(spoil)
			for c.peek() == quiet { // loopback takes a moment
				if c.since.Add(patience).Before(time.Now()) {
					t.Fatal("the end does not show")
				}
			}
			next := getConn(t, p)
			if next == c || !next.Fresh {
				t.Fatal("a stale connection was handed out")
			}
			if _, err := exchange(t, next); err != nil {
				t.Fatal(err)
			}
			next.Release(true)
			if n := w.deliveries(); n != 2 {
				t.Errorf("%d deliveries, want 2", n)
			}
		})
	}
}

func TestPoolCountsBroken(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, w.addr, PoolConfig{})
	conns := []*Conn{getConn(t, p), getConn(t, p), getConn(t, p)}
	for _, c := range conns {
		if _, err := exchange(t, c); err != nil {
			t.Fatal(err)
		}
		c.Release(true)
	}
	w.mu.Lock()
	w.conns[0].Close()
	w.conns[2].Close()
	w.mu.Unlock()
	deadline := time.Now().Add(patience)
	for broken := 0; broken < 2; {
		alive, n := p.Conns()
		if broken += n; alive+broken != 3 || time.Now().After(deadline) {
			t.Fatalf("Conns: %d alive, %d broken", alive, broken)
		}
	}
	if alive, broken := p.Conns(); alive != 1 || broken != 0 {
		t.Errorf("Conns: %d alive, %d broken, want those counted before to be gone", alive, broken)
	}
}

func TestPoolBounds(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, w.addr, PoolConfig{MaxIdle: 2, IdleTimeout: time.Hour})
	use := func(n int) {
		var conns []*Conn
		for range n {
			c := getConn(t, p)
			if _, err := exchange(t, c); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		for _, c := range conns {
			c.Release(true)
		}
	}
	use(3)
	if alive, _ := p.Conns(); alive != 2 {
		t.Errorf("%d idle, want 2", alive)
	}
	p.mu.Lock()
	for _, c := range p.idle {
		c.since = c.since.Add(-2 * time.Hour)
	}
	p.mu.Unlock()
	c := getConn(t, p)
	if !c.Fresh {
		t.Error("an expired connection was handed out")
	}
	c.Release(false)
	if alive, _ := p.Conns(); alive != 0 {
		t.Errorf("%d idle, want expired ones dropped", alive)
	}
}

func TestPoolClose(t *testing.T) {
	got := make(chan bool, 1)
	w := startWorker(t, func(nc net.Conn) {
		_, _ = nc.Read(make([]byte, 1000))
		got <- true
		_, _ = nc.Read(make([]byte, 1000)) // never answers
	})
	p := NewPool(w.addr, PoolConfig{})
	busy := getConn(t, p)
	failed := make(chan error, 1)
	go func() {
		_, err := exchange(t, busy)
		busy.Release(true)
		failed <- err
	}()
	<-got
	p.Close()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("an exchange succeeded without an answer")
		}
	case <-time.After(patience):
		t.Fatal("Close left an exchange waiting")
	}
	if _, err := p.Get(context.Background()); !errors.Is(err, ErrPoolClosed) {
		t.Errorf("Get: %v", err)
	}
	if alive, broken := p.Conns(); alive+broken != 0 {
		t.Errorf("Conns: %d, %d", alive, broken)
	}
}

func TestPoolDialFails(t *testing.T) {
	const addr = "127.0.0.1:1" // nobody listens there
	p := newPool(t, addr, PoolConfig{})
	if _, err := p.Get(context.Background()); err == nil || !strings.Contains(err.Error(), "connect to worker "+addr) {
		t.Errorf("Get: %v", err)
	}
	blocked := newPool(t, addr, PoolConfig{
		DialTimeout: 10 * time.Millisecond,
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})
	if _, err := blocked.Get(context.Background()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Get: %v", err)
	}
}

func TestPoolConfigValidate(t *testing.T) {
	err := PoolConfig{DialTimeout: -1, MaxIdle: -1, IdleTimeout: -1}.Validate()
	for _, field := range []string{"DialTimeout", "MaxIdle", "IdleTimeout"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}
