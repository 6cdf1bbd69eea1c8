package gateway

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

const (
	askWeb    = "GET /ws HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: websocket\n\n"
	switchWeb = "HTTP/1.1 101 Switching Protocols\nConnection: Upgrade\nUpgrade: websocket\n\n"
)

// frame returns one WebSocket frame.
func frame(opcode byte, masked bool, payload string) string {
	b := []byte{0x80 | opcode, 0}
	switch n := len(payload); {
	case n < 126:
		b[1] = byte(n)
	case n < 1<<16:
		b[1] = 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] = 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if masked {
		b[1] |= 0x80
		b = append(b, 0, 0, 0, 0)
	}
	return string(b) + payload
}

// raw sends bytes as they are.
func (c *rawCaller) raw(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

// opens reads the 101.
func (c *rawCaller) opens(protocol string) {
	c.t.Helper()
	resp, _ := c.answer("GET")
	if resp.StatusCode != 101 || resp.Header.Get("Upgrade") != protocol || resp.Header.Get("Connection") != "Upgrade" {
		c.t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
}

// TestWebSocketEcho sends frames of every size through a tunnel, the first with
// the request itself.
func TestWebSocketEcho(t *testing.T) {
	f, d, _ := through(t, func(c *workerConn) {
		if r, _ := c.request(); r == nil {
			return
		}
		c.send(switchWeb)
		_, _ = io.Copy(c, c.br)
	})
	c := dial(t, f.addr)
	first := frame(1, true, "early")
	c.raw(crlf(askWeb) + first)
	c.opens("websocket")
	for _, s := range []string{first, frame(1, true, "x"), frame(2, true, strings.Repeat("y", 1000)), frame(2, true, strings.Repeat("z", 100_000))} {
		if s != first {
			c.raw(s)
		}
		got := make([]byte, len(s))
		if _, err := io.ReadFull(c.br, got); err != nil || string(got) != s {
			t.Fatalf("frame of %d bytes: %v", len(s), err)
		}
	}
	select {
	case r := <-d.done:
		t.Fatalf("an idle tunnel is no attempt in flight: %v", r)
	default:
	}
	c.Close()
	if r := d.result(); r.Fault != dispatch.NoFault || r.Status != 101 || !r.Begun {
		t.Errorf("fault %d, status %d, begun %v, %v", r.Fault, r.Status, r.Begun, r.Err)
	}
}

// A request that asks for another protocol may have a body, which is read as one by the worker before it
// switches: Docker's clients start commands in containers like that. What follows the body belongs to the new protocol.
func TestUpgradeWithABody(t *testing.T) {
	const body = `{"Detach":false,"Tty":false}`
	for name, head := range map[string]string{
		"length": fmt.Sprintf("Content-Length: %d\n\n%s", len(body), body),
		"chunks": fmt.Sprintf("Transfer-Encoding: chunked\n\n%x\n%s\n0\n\n", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 1)
			f, d, _ := through(t, func(c *workerConn) {
				r, sent := c.request()
				if r == nil {
					return
				}
				got <- fmt.Sprint(r.Header.Get("Connection"), " ", r.Header.Get("Upgrade"), " ", r.ContentLength, " ", sent)
				c.send("HTTP/1.1 101 UPGRADED\nConnection: Upgrade\nUpgrade: tcp\n\n")
				_, _ = io.Copy(c, c.br)
			})
			c := dial(t, f.addr)
			c.raw(crlf("POST /exec/1/start HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: tcp\n"+head) + "early")
			c.opens("tcp")
			if want := fmt.Sprint("Upgrade tcp ", len(body), " ", body); <-got != want {
				t.Errorf("the worker got something else than %s", want)
			}
			c.raw(" and late")
			_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
			if rest, clean := c.ends(); rest != "early and late" || !clean {
				t.Errorf("got %q, clean %v", rest, clean)
			}
			if r := d.result(); r.Fault != dispatch.NoFault || r.Status != 101 {
				t.Errorf("fault %d, status %d, %v", r.Fault, r.Status, r.Err)
			}
		})
	}
}

// A body that is not held whole comes without the Upgrade: the worker might take what follows for the new
// protocol.
func TestUpgradeWithALongBody(t *testing.T) {
	got := make(chan string, 1)
	f, _, _ := through(t, func(c *workerConn) {
		r, _ := c.request()
		if r == nil {
			return
		}
		got <- r.Header.Get("Upgrade")
		c.send(hello)
	})
	c := dial(t, f.addr)
	c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nConnection: Upgrade\nUpgrade: tcp\nContent-Length: %d\n\n", 1<<20) + strings.Repeat("x", 1<<20))
	if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if up := <-got; up != "" {
		t.Errorf("the worker got Upgrade: %s", up)
	}
}

// TestTunnelEnds checks whose fault the ends of a tunnel are.
func TestTunnelEnds(t *testing.T) {
	for _, tc := range []struct {
		name, protocol string
		worker         func(c *workerConn) // behind the 101
		caller         func(c *rawCaller)
		want           dispatch.Fault
	}{
		{
			"worker closes after a close frame", "websocket",
			func(c *workerConn) { _, _ = io.WriteString(c, frame(1, false, "bye")+frame(8, false, "")) },
			func(c *rawCaller) { c.ends(); c.Close() }, dispatch.NoFault,
		},
		{
			"worker closes after the caller's close frame", "websocket",
			func(c *workerConn) { _, _ = c.Read(make([]byte, 100)) },
			func(c *rawCaller) { c.raw(frame(8, true, "")); c.ends() }, dispatch.NoFault,
		},
		{
			"worker closes without one", "websocket",
			func(c *workerConn) { _, _ = io.WriteString(c, frame(1, false, "bye")) },
			func(c *rawCaller) { c.ends() }, dispatch.BrokenConn,
		},
		{
			"worker resets", "websocket",
			func(c *workerConn) { c.reset() },
			func(c *rawCaller) { c.ends() }, dispatch.BrokenConn,
		},
		{
			"worker closes another protocol", "other",
			func(c *workerConn) { c.send("bye") },
			func(c *rawCaller) { c.ends(); c.Close() }, dispatch.NoFault,
		},
		{
			"worker resets another protocol", "other",
			func(c *workerConn) { c.reset() },
			func(c *rawCaller) { c.ends() }, dispatch.BrokenConn,
		},
		{
			"caller closes", "websocket",
			func(c *workerConn) { c.hungUp() },
			func(c *rawCaller) { c.Close() }, dispatch.NoFault,
		},
		{
			"caller finishes sending and reads on", "other",
			func(c *workerConn) { c.hungUp(); c.send("all of it") },
			func(c *rawCaller) {
				_ = c.Conn.(interface{ CloseWrite() error }).CloseWrite()
				if rest, clean := c.ends(); rest != "all of it" || !clean {
					c.t.Errorf("got %q, clean %v", rest, clean)
				}
			}, dispatch.NoFault,
		},
		{
			"caller resets", "websocket",
			func(c *workerConn) { c.hungUp() },
			func(c *rawCaller) {
				_ = c.Conn.(interface{ SetLinger(int) error }).SetLinger(0)
				c.Close()
			}, dispatch.CallerGone,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, d, _ := through(t, func(c *workerConn) {
				if r, _ := c.request(); r == nil {
					return
				}
				c.send(strings.ReplaceAll(switchWeb, "websocket", tc.protocol))
				tc.worker(c)
			})
			c := dial(t, f.addr)
			c.send(strings.ReplaceAll(askWeb, "websocket", tc.protocol))
			c.opens(tc.protocol)
			tc.caller(c)
			if r := d.result(); r.Fault != tc.want {
				t.Errorf("fault %d, want %d: %v", r.Fault, tc.want, r.Err)
			}
		})
	}
}

// TestAWorkerThatKeepsASocket: a worker that does not close a WebSocket whose caller has
// closed, as a bare server of Node.js, keeps no connection of the gateway.
func TestAWorkerThatKeepsASocket(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	f, d, _ := through(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil {
			c.send(switchWeb)
			c.hungUp()
			<-release
		}
	})
	c := dial(t, f.addr)
	c.send(askWeb)
	c.opens("websocket")
	c.Close()
	if r := d.result(); r.Fault != dispatch.NoFault {
		t.Errorf("fault %d: %v", r.Fault, r.Err)
	}
}

// TestUpgradeRefused: a worker that does not switch just answers.
func TestUpgradeRefused(t *testing.T) {
	f, _, _ := through(t, answering(hello))
	c := dial(t, f.addr)
	for range 2 {
		c.send(askWeb)
		if resp, body := c.answer("GET"); resp.StatusCode != 200 || body != "hello" {
			t.Fatalf("got %d %q", resp.StatusCode, body)
		}
	}
}

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	for _, tc := range []struct {
		data string
		want bool
	}{
		{"", false},
		{frame(1, false, "a") + frame(2, true, "b") + frame(9, false, ""), false},
		{frame(1, false, "a") + frame(8, false, ""), true},
		{frame(2, true, long[:500]) + frame(2, false, long) + frame(8, true, "xx"), true},
		{frame(2, false, long)[:60_000], false},
		{frame(1, false, "\x88\x00\x88\x00"), false}, // in a payload
	} {
		for _, step := range []int{1, 3, 1 << 20} {
			var f frames
			for data := []byte(tc.data); len(data) > 0; {
				n := min(step, len(data))
				f.scan(data[:n])
				data = data[n:]
			}
			if f.closed != tc.want {
				t.Errorf("%d bytes in steps of %d: closed %v", len(tc.data), step, f.closed)
			}
		}
	}
}

// FuzzFrames checks that the steps in which frames arrive change nothing.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(frame(1, true, "hello") + frame(8, false, "")))
	f.Add([]byte("\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00\x88\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole, single frames
		whole.scan(data)
		for i := range data {
			single.scan(data[i : i+1])
		}
		if whole.closed != single.closed || whole.lost != single.lost || whole.left < 0 || whole.have > len(whole.head) {
			t.Fatal(fmt.Sprint(whole, single))
		}
		if !whole.closed && bytes.HasPrefix(data, []byte{0x88, 0}) {
			t.Fatal("a close frame is not seen")
		}
	})
}
