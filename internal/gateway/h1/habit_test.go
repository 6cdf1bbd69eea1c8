package h1

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestAWorkerThatClosesUnasked: uWSGI's HTTP socket closes each connection after its answer and does not say so. A request
// that cannot be repeated must not be sent on such a connection, which may close meanwhile.
func TestAWorkerThatClosesUnasked(t *testing.T) {
	for _, unasked := range []bool{true, false} {
		end := make(chan bool, 10)
		w := startWorker(t, func(nc net.Conn) {
			buf := make([]byte, 4096)
			for {
				if _, err := nc.Read(buf); err != nil {
					return
				}
				if _, err := io.WriteString(nc, hello); err != nil {
					return
				}
				if unasked {
					<-end
					return
				}
			}
		})
		t.Cleanup(func() { close(end) })
		p := newPool(t, w.addr, PoolConfig{})
		now := time.Now()
		get := func(after time.Duration) *Conn {
			t.Helper()
			now = now.Add(after)
			c, err := p.GetAt(context.Background(), time.Time{}, now, true)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		use := func(c *Conn) {
			t.Helper()
			if body, err := exchange(t, c); err != nil || body != "hello" {
				t.Fatalf("%q, %v", body, err)
			}
			c.ReleaseAt(true, now)
		}
		first := get(0)
		use(first)
		second := get(time.Millisecond)
		if !second.Fresh {
			t.Errorf("closes %v: a request that cannot be repeated got a connection of which nothing is known", unasked)
		}
		use(second)
		if !unasked {
			if c := get(settled); c != first {
				t.Error("the connection that was open for some time was not used")
			} else {
				use(c)
			}
			if c := get(time.Millisecond); c.Fresh {
				t.Error("the worker keeps connections, and a new one was made")
			} else {
				use(c)
			}
			continue
		}
		end <- true
		end <- true
		for _, c := range []*Conn{first, second} {
			if _, err := c.nc.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
		use(get(settled)) // finds the first closed
		if alive, _ := p.Conns(); alive != 0 {
			t.Error("a connection was kept to a worker that closes them")
		}
		end <- true
		use(get(2 * closesFor))
		if alive, _ := p.Conns(); alive != 1 {
			t.Error("the worker was not tried again")
		}
		end <- true
	}
}
