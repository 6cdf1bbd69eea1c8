package gateway

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/circuit"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
	"github.com/bezoar-dev/bezoar/policy/shed"
)

// streamsOf is a worker that gives a WebSocket, a stream of events, a long answer
// or a short one, as the path says. Streams last until end is closed.
func streamsOf(end <-chan struct{}) func(*workerConn) {
	return func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			switch r.URL.Path {
			case "/ws":
				c.send(switchWeb)
				_, _ = io.Copy(c, c.br)
				return
			case "/events":
				c.send("HTTP/1.1 200 OK\nContent-Type: text/event-stream; charset=utf-8\nConnection: close\n\n")
				<-end
				return
			case "/long":
				c.send("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nx\n")
				<-end
				c.send("0\n\n")
			case "/fails":
				c.send("HTTP/1.1 500 Oh\nContent-Length: 0\n\n")
			default:
				c.send(hello)
			}
		}
	}
}

// opensStream asks for the path and returns the status of the answer, whose end it
// does not wait for.
func opensStream(t *testing.T, addr, path string) (*rawCaller, int) {
	t.Helper()
	c := dial(t, addr)
	if path == "/ws" {
		c.send(askWeb)
	} else {
		c.send("GET " + path + " HTTP/1.1\nHost: h\n\n")
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return c, resp.StatusCode
}

// TestStreamsDoNotFillThePool: a curl or a browser that holds streams open leaves the
// fleet's places to others. Before, 20 idle ones filled it.
func TestStreamsDoNotFillThePool(t *testing.T) {
	for _, path := range []string{"/ws", "/events", "/long"} {
		t.Run(path, func(t *testing.T) {
			end := make(chan struct{})
			stop := sync.OnceFunc(func() { close(end) })
			defer stop()
			d := newDirect(t, startWorker(t, streamsOf(end)).addr)
			pool := newPool(t, overload.Config{Limit: shed.Config{Min: 2, Max: 100, Initial: 2}, Queue: overload.Off, Streams: 6, Long: time.Millisecond})
			f := serve(t, Route{Doer: d, Pool: pool}, Config{}, ServerConfig{})
			var open []*rawCaller
			for i := range 6 {
				c, status := opensStream(t, f.addr, path)
				if open = append(open, c); status >= 400 {
					t.Fatalf("status %d", status)
				}
				settled(t, func() bool { s := pool.Stats(); return s.InFlight == 0 && s.Streams == i+1 })
				c = dial(t, f.addr)
				c.send("GET / HTTP/1.1\nHost: h\n\n")
				if resp, body := c.answer("GET"); resp.StatusCode != 200 {
					t.Fatalf("beside %d streams: %d %s", i+1, resp.StatusCode, body)
				}
			}
			for _, ask := range []string{"Upgrade: websocket\nConnection: Upgrade", "Accept: text/event-stream"} {
				c := dial(t, f.addr)
				c.send("GET / HTTP/1.1\nHost: h\n" + ask + "\n\n")
				resp, body := c.answer("GET")
				if g := decode(t, body); resp.StatusCode != 503 || g.Rule != "streams" || g.Limit != 6 || *g.InFlight != 6 {
					t.Errorf("%s: %d %s", ask, resp.StatusCode, body)
				}
			}
			for _, c := range open {
				c.Close()
			}
			stop()
			settled(t, func() bool { return pool.Stats().Streams == 0 })
			if s := pool.Stats(); s.Latency > time.Second {
				t.Errorf("the limit has learned from streams: %v", s.Latency)
			}
		})
	}
}

// TestCopiesOfAStreamFreeTheirPlaces: an EventSource that waits for another one of the same
// URL, whose answer has begun, takes no place of the pool. Other requests keep theirs.
func TestCopiesOfAStreamFreeTheirPlaces(t *testing.T) {
	for accept, streams := range map[string]int{"text/event-stream": 1, "*/*": 0} {
		pool := newPool(t, overload.Config{Limit: shed.Config{Min: 2, Max: 2, Initial: 2}})
		waits := doFunc(func(_ context.Context, _ dispatch.Work, j dispatch.Job) dispatch.Answer {
			s := j.(dispatch.StreamWaiter)
			s.WaitsForStream()
			s.WaitsForStream()
			if got := pool.Stats(); got.Streams != streams || got.InFlight != 1-streams {
				t.Errorf("Accept: %s: %d streams, %d in flight", accept, got.Streams, got.InFlight)
			}
			return dispatch.Answer{Kind: dispatch.Unavailable}
		})
		f := serve(t, Route{Doer: waits, Pool: pool}, Config{}, ServerConfig{})
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\nAccept: " + accept + "\n\n")
		c.answer("GET")
		settled(t, func() bool { s := pool.Stats(); return s.Streams == 0 && s.InFlight == 0 })
	}
}

// TestAStreamIsNoProbe: a stream that is a half-open breaker's only probe neither
// closes the breaker nor keeps it half-open. Before, it kept everybody out.
func TestAStreamIsNoProbe(t *testing.T) {
	for _, path := range []string{"/ws", "/events", "/long"} {
		t.Run(path, func(t *testing.T) {
			end := make(chan struct{})
			defer close(end)
			d := newDirect(t, startWorker(t, streamsOf(end)).addr)
			all, err := circuit.New(circuit.Config{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := all.Breaker("b", breaker.Config{Consecutive: 1, Open: 10 * time.Millisecond, MaxOpen: 10 * time.Millisecond, Probes: 1, ProbeFor: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			pool := newPool(t, overload.Config{Long: time.Millisecond})
			f := serve(t, Route{Doer: d, Breaker: b, Pool: pool}, Config{}, ServerConfig{})
			ask := func(path string) int {
				c := dial(t, f.addr)
				c.send("GET " + path + " HTTP/1.1\nHost: h\n\n")
				resp, _ := c.answer("GET")
				return resp.StatusCode
			}
			if status := ask("/fails"); status != 500 {
				t.Fatalf("status %d", status)
			}
			settled(t, func() bool { return stateOf(all) != breaker.Closed })
			settled(t, func() bool { // it lets one try
				_, status := opensStream(t, f.addr, path)
				return status < 400
			})
			if s := stateOf(all); s != breaker.HalfOpen {
				t.Fatalf("the breaker is %v, want half-open: the stream has said something", s)
			}
			// An answer that is slow now counts as a stream, too.
			settled(t, func() bool { return ask("/") == 200 && stateOf(all) == breaker.Closed })
		})
	}
}
