package h1

import (
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestConnKeeps checks after which answers a connection carries another request.
func TestConnKeeps(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		keep         bool
	}{
		{"length", hello, true},
		{"chunked", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\nX: y\n\n"), true},
		{"no body", crlf("HTTP/1.1 204 No Content\n\n"), true},
		{"asks to close", crlf("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 5\n\nhello"), false},
		{"HTTP/1.0", crlf("HTTP/1.0 200 OK\nContent-Length: 5\n\nhello"), false},
		{"HTTP/1.0 keep-alive", crlf("HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 5\n\nhello"), true},
		{"more than the answer", hello + "HTTP/1.1 200 OK\r\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := startWorker(t, answering(tc.answer))
			p := newPool(t, w.addr, PoolConfig{})
			c := getConn(t, p)
			if _, err := exchange(t, c); err != nil {
				t.Fatal(err)
			}
			c.Release(true)
			if next := getConn(t, p); (next == c) != tc.keep {
				t.Errorf("kept %v, want %v", next == c, tc.keep)
			} else {
				next.Release(false)
			}
		})
	}
}

// TestConnUnfinished: a connection whose answer was not read to its end is never
// used again, whatever its user thinks.
func TestConnUnfinished(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, w.addr, PoolConfig{})
	for name, stop := range map[string]func(c *Conn){
		"nothing sent": func(*Conn) {},
		"head unread": func(c *Conn) {
			_, _ = c.Start([]byte(get), nil, false)
		},
		"body unread": func(c *Conn) {
			_, _ = c.Start([]byte(get), nil, false)
			_ = c.ReadHead("GET")
		},
		"second head unread": func(c *Conn) {
			_, _ = exchange(t, c)
			_, _ = c.Start([]byte(get), nil, false)
		},
	} {
		c := getConn(t, p)
		c.Watch(forever{})
		stop(c)
		c.Release(true)
		if alive, _ := p.Conns(); alive != 0 {
			t.Errorf("%s: the connection was kept", name)
		}
	}
}

// TestConnDeliversOnce is law 1 at this height: however an exchange ends, its
// bytes leave once.
func TestConnDeliversOnce(t *testing.T) {
	part := func(answer string) func(net.Conn) {
		return func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 4096))
			_, _ = io.WriteString(nc, answer)
		}
	}
	for name, script := range map[string]func(net.Conn){
		"closes before the first byte": part(""),
		"closes after half a head":     part("HTTP/1.1 200 OK\r\nContent-Le"),
		"closes in the body":           part("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"),
		"closes in a chunk":            part("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
		"is no HTTP":                   part("220 smtp ready\r\n"),
	} {
		w := startWorker(t, script)
		p := newPool(t, w.addr, PoolConfig{})
		c := getConn(t, p)
		if _, err := exchange(t, c); err == nil {
			t.Errorf("%s: no error", name)
		}
		c.Release(true)
		if n := w.deliveries(); n != 1 {
			t.Errorf("%s: %d deliveries, want 1", name, n)
		}
		if alive, _ := p.Conns(); alive != 0 {
			t.Errorf("%s: the connection was kept", name)
		}
	}
}

// TestConnOtherProtocols: an OpenSSL server answers HTTP with an alert, and a gRPC server with its settings. The error says
// what to set.
func TestConnOtherProtocols(t *testing.T) {
	for first, want := range map[string]string{
		"\x15\x03\x03\x00\x02\x02\x16":            "https://",
		"\x00\x00\x06\x04\x00\x00\x00\x00\x00":    "http2: true",
		"\x00\x01\x02\x03 something else\r\n\r\n": "first byte",
		"SSH-2.0-OpenSSH_9.2\r\n\r\n":             "status line",
	} {
		w := startWorker(t, func(nc net.Conn) {
			_, _ = nc.Read(make([]byte, 4096))
			_, _ = io.WriteString(nc, first)
		})
		c := getConn(t, newPool(t, w.addr, PoolConfig{}))
		_, err := exchange(t, c)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Rule, want) {
			t.Errorf("%q: %v, want %s", first, err, want)
		}
		c.Release(false)
	}
}

// TestConnUnsent: when the kernel takes nothing, Start says so.
func TestConnUnsent(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	c.Watch(forever{})
	if err := c.nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Start([]byte(get), []byte("body"), false); n != 0 || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Start: %d, %v", n, err)
	}
	c.Release(false)
	c = getConn(t, p)
	c.Watch(forever{})
	c.Shut()
	if n, err := c.Start([]byte(get), nil, false); n != 0 || err == nil {
		t.Errorf("Start on a closed connection: %d, %v", n, err)
	}
	c.Release(false)
}

// TestConnFullBuffer: Start returns instead of waiting when the worker does not
// read, and tells how much the kernel has taken.
func TestConnFullBuffer(t *testing.T) {
	stop := make(chan bool)
	w := startWorker(t, func(net.Conn) { <-stop })
	defer close(stop)
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	c.Watch(forever{})
	body := make([]byte, 64<<20)
	n, err := c.Start([]byte(get), body, false)
	if err != nil || n <= len(get) || n >= len(get)+len(body) {
		t.Errorf("Start: %d, %v", n, err)
	}
	c.Release(false)
}

// bounded is a watch that gives up at a time.
type bounded struct {
	end   time.Time
	asked int
}

var errBounded = errors.New("waited long enough")

func (b *bounded) Wait(_, now time.Time) (time.Time, error) {
	b.asked++
	if !now.Before(b.end) {
		return time.Time{}, errBounded
	}
	return now.Add(min(5*time.Millisecond, b.end.Sub(now))), nil
}

// counted is a watch that gives up when it has been asked more often than most.
type counted struct{ asked, most int }

func (c *counted) Wait(_, now time.Time) (time.Time, error) {
	if c.asked++; c.asked > c.most {
		return time.Time{}, errBounded
	}
	return now.Add(5 * time.Millisecond), nil
}

func TestConnWatch(t *testing.T) {
	w := startWorker(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	defer c.Release(false)
	b := &counted{most: 3}
	c.Watch(b)
	if n, err := c.Start([]byte(get), nil, false); n != len(get) || err != nil {
		t.Fatalf("Start: %d, %v", n, err)
	}
	if err := c.ReadHead("GET"); !errors.Is(err, errBounded) {
		t.Errorf("ReadHead: %v", err)
	}
	if b.asked != b.most+1 {
		t.Errorf("asked %d times", b.asked)
	}
}

// TestConnLazyDeadline: a read deadline that an earlier exchange left behind
// neither ends nor prolongs a later one.
func TestConnLazyDeadline(t *testing.T) {
	var slow atomic.Int64 // time.Duration
	over := make(chan struct{})
	w := startWorker(t, func(nc net.Conn) {
		buf := make([]byte, 4096)
		for {
			if _, err := nc.Read(buf); err != nil {
				return
			}
			select {
			case <-time.After(time.Duration(slow.Load())):
			case <-over:
				return
			}
			_, _ = io.WriteString(nc, hello)
		}
	})
	defer close(over)
	p := newPool(t, w.addr, PoolConfig{})
	run := func(limit time.Duration) error {
		c := getConn(t, p)
		c.Watch(&bounded{end: time.Now().Add(limit)})
		_, err := c.Start([]byte(get), nil, false)
		if err == nil {
			err = c.ReadHead("GET")
		}
		if err == nil {
			_, err = readAll(&c.Body)
		}
		c.Release(err == nil)
		return err
	}
	if err := run(time.Minute); err != nil {
		t.Fatal(err)
	}
	slow.Store(int64(30 * time.Millisecond)) // several deadlines
	if err := run(time.Minute); err != nil {
		t.Errorf("ended by an old deadline: %v", err)
	}
	slow.Store(int64(time.Hour))
	if err := run(10 * time.Millisecond); !errors.Is(err, errBounded) {
		t.Errorf("prolonged by an old deadline: %v", err)
	}
}

func TestConnInterim(t *testing.T) {
	w := startWorker(t, answering(crlf("HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: x\n\n")+hello))
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	c.Watch(forever{})
	if _, err := c.Start([]byte(get), nil, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{100, 103, 200} {
		if err := c.ReadHead("GET"); err != nil || c.Resp.Status != want {
			t.Fatalf("got %d, %v, want %d", c.Resp.Status, err, want)
		}
	}
	if body, err := readAll(&c.Body); err != nil || body != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
	c.Release(true)
	if alive, _ := p.Conns(); alive != 1 {
		t.Error("the connection was not kept")
	}
}

func TestConnHugeHead(t *testing.T) {
	for n, ok := range map[int]bool{50 << 10: true, 70 << 10: false} {
		w := startWorker(t, answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: "+strings.Repeat("x", n)+"\r\n\r\nhello"))
		p := newPool(t, w.addr, PoolConfig{})
		c := getConn(t, p)
		_, err := exchange(t, c)
		var e *Error
		if ok && err != nil || !ok && !errors.As(err, &e) {
			t.Errorf("head of %d bytes: %v", n, err)
		}
		c.Release(err == nil)
	}
}

// TestConnStaleDeadline: the deadline of an earlier exchange may come at any time
// before the write.
func TestConnStaleDeadline(t *testing.T) {
	w := startWorker(t, answering(hello))
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	c.Watch(&bounded{end: time.Now().Add(patience)})
	c.armed = time.Now().Add(time.Millisecond) // as far as it knows; but it has just come
	if err := c.nc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Start([]byte(get), nil, false); n != len(get) || err != nil {
		t.Fatalf("Start: %d, %v", n, err)
	}
	if err := c.ReadHead("GET"); err != nil {
		t.Fatal(err)
	}
	if body, err := readAll(&c.Body); err != nil || body != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
	c.Release(true)
}

// TestConnMore: with more of the body to come, Start does not wait for an answer
// that is waiting for it.
func TestConnMore(t *testing.T) {
	w := startWorker(t, func(nc net.Conn) {
		if _, err := io.ReadFull(nc, make([]byte, len(get)+len("rest"))); err == nil {
			_, _ = io.WriteString(nc, hello)
		}
	})
	p := newPool(t, w.addr, PoolConfig{})
	c := getConn(t, p)
	c.Watch(forever{})
	if n, err := c.Start([]byte(get), nil, true); n != len(get) || err != nil {
		t.Fatalf("Start: %d, %v", n, err)
	}
	if _, err := c.Write([]byte("rest")); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadHead("POST"); err != nil {
		t.Error(err)
	}
	c.Release(false)
}

// Whatever their lengths, head and body arrive as they were, on one connection.
func TestConnHeadsAndBodies(t *testing.T) {
	addr, _ := serve(t, ServerConfig{}, echo)
	p := newPool(t, addr, PoolConfig{})
	for _, size := range []int{1, 1000, 4000, 4 << 10, 5000, smallBuffer, 3 * smallBuffer, 2} {
		body := strings.Repeat("0123456789", size/10+1)[:size]
		head := crlf("POST /x HTTP/1.1\nHost: h\nContent-Length: " + strconv.Itoa(size) + "\n\n")
		c := getConn(t, p)
		c.Watch(forever{})
		if wrote, err := c.Start([]byte(head), []byte(body), false); err != nil || wrote != len(head)+size {
			t.Fatalf("%d bytes: wrote %d, %v", size, wrote, err)
		}
		if err := c.ReadHead("POST"); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, err := readAll(&c.Body); err != nil || got != "POST /x "+body {
			t.Errorf("%d bytes: got %d other ones, %v", size, len(got), err)
		}
		c.Release(true)
	}
	if alive, _ := p.Conns(); alive != 1 {
		t.Errorf("%d connections, want one", alive)
	}
}
