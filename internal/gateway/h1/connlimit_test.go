package h1

import (
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Who has a request in progress keeps its place: newcomers wait.
func TestServerMaxConns(t *testing.T) {
	inside, out := make(chan struct{}), make(chan struct{})
	addr, _ := serve(t, ServerConfig{MaxConns: 1}, func(x *Exchange) {
		if x.Req.Target == "/1" {
			inside <- struct{}{}
			<-out
		}
		echo(x)
	})
	first := dial(t, addr)
	first.send("GET /1 HTTP/1.1\nHost: x\nConnection: close\n\n")
	<-inside
	second := dial(t, addr)
	second.send("GET /2 HTTP/1.1\nHost: x\n\n")
	_ = second.SetReadDeadline(time.Now().Add(2 * fresh))
	if b, err := second.br.ReadByte(); err == nil {
		t.Fatalf("a second connection was served: %c", b)
	}
	close(out)
	first.answer("GET")
	_ = second.SetReadDeadline(time.Now().Add(patience))
	if _, body := second.answer("GET"); body != "GET /2 " {
		t.Errorf("got %q", body)
	}
}

// While all places are taken, whoever has been silent for the longest goes: who
// never sent anything, who sent a part of a head, and who is between requests.
func TestServerMakesRoom(t *testing.T) {
	addr, _ := serve(t, ServerConfig{MaxConns: 3}, echo)
	quiet, slow, between := dial(t, addr), dial(t, addr), dial(t, addr)
	slow.send("GET / HTTP/1.1\nHo")
	between.send("GET /a HTTP/1.1\nHost: x\n\n")
	between.answer("GET")
	for range 3 { // each of them takes the place of one
		c := dial(t, addr)
		c.send("GET /b HTTP/1.1\nHost: x\n\n")
		if _, body := c.answer("GET"); body != "GET /b " {
			t.Fatalf("got %q", body)
		}
	}
	for name, c := range map[string]*client{"quiet": quiet, "slow": slow, "between": between} {
		if b, _ := io.ReadAll(c.br); len(b) > 0 { // the end may be a reset
			t.Errorf("%s got %q", name, b)
		}
	}
}

// A connection that has been idle for a while serves as before.
func TestServerWakesFromRest(t *testing.T) {
	made, forgotten := 0, make(chan struct{}, 3)
	addr, stop := serve(t, ServerConfig{}, func(x *Exchange) {
		if x.ConnData == nil {
			data := new([64]byte) // large enough to be one of its own
			runtime.AddCleanup(data, func(c chan struct{}) { c <- struct{}{} }, forgotten)
			x.ConnData = data
			made++
		}
		echo(x)
	})
	long := strings.Repeat("a", 50<<10)
	c, never := dial(t, addr), dial(t, addr)
	var rested time.Time
	for i := range 3 {
		c.send("POST /x HTTP/1.1\nHost: x\nX: " + long + "\nContent-Length: 3\n\nabc")
		if resp, body := c.answer("POST"); resp.StatusCode != http.StatusOK || body != "POST /x abc" {
			t.Fatalf("got %d %q", resp.StatusCode, body)
		}
		if i == 0 {
			_ = c.SetReadDeadline(time.Now().Add(restAfter))
			if _, err := c.br.ReadByte(); err == nil {
				t.Fatal("bytes from nowhere")
			}
			_ = c.SetReadDeadline(time.Now().Add(2 * patience))
			for late := time.After(patience); canRest && len(forgotten) == 0; runtime.GC() {
				select {
				case <-late:
					t.Fatal("it does not rest")
				default:
				}
			}
			rested = time.Now()
		}
	}
	again := time.Since(rested) >= restAfter // as it may if this took so long
	if canRest && made != 2 && !(again && made == 3) {
		t.Errorf("%d objects, want one before the rest and one after it", made)
	}
	if err := stop(); err != nil { // both rest, and end at once
		t.Error(err)
	}
	if rest := never.rest(); rest != "" {
		t.Errorf("got %q", rest)
	}
}

func TestDefaultConns(t *testing.T) {
	if n := DefaultConns(); n < 1 || n > 16<<10 {
		t.Errorf("DefaultConns() = %d", n)
	}
}

// Connections that have been idle for a moment hold a few kilobytes each, both
// ends in this process together, whatever their requests needed.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const n, most = 400, 16 << 10
	addr, _ := serve(t, ServerConfig{}, func(x *Exchange) {
		x.ConnData = make([]byte, 32<<10)
		echo(x)
	})
	text := []byte("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("a", 40<<10) + "\r\n\r\n")
	answer := make([]byte, 512)
	before := inUse()
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns[i] = c
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := c.Write(text); err != nil {
			t.Fatal(err)
		}
		if m, err := c.Read(answer); err != nil || !strings.HasPrefix(string(answer[:m]), "HTTP/1.1 200") {
			t.Fatalf("got %q, %v", answer[:m], err)
		}
	}
	if !canRest {
		return
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for late := time.After(patience); ; {
		each := (inUse() - before) / n
		if each <= most {
			t.Logf("%d bytes each", each)
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%d bytes each, want at most %d", each, most)
		}
	}
}

// inUse is what is reachable, and the stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // pools let go at the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
