package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

// TestLaw1Deliveries: what a worker sees is what was attempted, however it
// breaks off, by whatever method, on cold and on many warm connections. Nothing
// below the Doer sends anything again. (net/http's Transport runs a GET 33 times
// when 32 connections are warm.)
func TestLaw1Deliveries(t *testing.T) {
	const pill = "/pill"
	for _, phase := range []struct {
		name, answer string
		status       int // 0: the caller's connection is cut
	}{
		{"close before the first byte", "", 502},
		{"close after half a header", "HTTP/1.1 200 OK\nContent-Le", 502},
		{"close mid body", "HTTP/1.1 200 OK\nContent-Length: 100\n\nhello", 0},
		{"close mid chunk", "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n64\nhello", 0},
	} {
		for _, warm := range []int{0, 32} {
			arrived, goOn := make(chan bool), make(chan bool)
			f, d, w := through(t, func(c *workerConn) {
				for {
					r, _ := c.request()
					if r == nil {
						return
					}
					if r.URL.Path == pill {
						c.send(phase.answer)
						return
					}
					arrived <- true
					<-goOn
					c.send(hello)
				}
			})
			for _, req := range law1Requests(pill) {
				warmUp(t, f.addr, warm, arrived, goOn)
				before, sends := w.deliveries(), d.sends.Load()
				c := dial(t, f.addr)
				c.send(req)
				status := phase.status
				if status == 0 && strings.HasPrefix(req, "HEAD") {
					status = 200 // whole without its body
				}
				checkBroken(t, c, status)
				got, want := w.deliveries()-before, int(d.sends.Load()-sends)
				if got != 1 || want != 1 {
					t.Errorf("%s, %d warm: %d deliveries of %d attempts:\n%s", phase.name, warm, got, want, req)
				}
			}
			for range d.sends.Load() {
				if r := d.result(); r.Fault != dispatch.NoFault && r.Fault != dispatch.BrokenConn {
					t.Errorf("%s: fault %d, %v", phase.name, r.Fault, r.Err)
				}
			}
		}
	}
}

// law1Requests are the requests of law 1's test.
func law1Requests(path string) []string {
	var all []string
	for _, method := range []string{"GET", "HEAD", "POST"} {
		for _, key := range []string{"", "Idempotency-Key: k\n"} {
			all = append(all, fmt.Sprintf("%s %s HTTP/1.1\nHost: x\n%s\n", method, path, key))
			if method == "POST" {
				all = append(all,
					fmt.Sprintf("POST %s HTTP/1.1\nHost: x\n%sContent-Length: 4\n\nbody", path, key),
					fmt.Sprintf("POST %s HTTP/1.1\nHost: x\n%sTransfer-Encoding: chunked\n\n4\nbody\n0\n\n", path, key))
			}
		}
	}
	return all
}

// warmUp leaves n idle connections between gateway and worker, which answers
// only when all requests are there.
func warmUp(t *testing.T, addr string, n int, arrived, goOn chan bool) {
	t.Helper()
	callers := make([]*rawCaller, n)
	for i := range callers {
		callers[i] = dial(t, addr)
		callers[i].send("GET /warm HTTP/1.1\nHost: x\n\n")
	}
	for range n {
		<-arrived
	}
	for range n {
		goOn <- true
	}
	for _, c := range callers {
		if _, body := c.answer("GET"); body != "hello" {
			t.Fatalf("warm-up got %q", body)
		}
		c.Close()
	}
}

// checkBroken reads an answer that must have the status, or if that is 0 must
// not end cleanly.
func checkBroken(t *testing.T, c *rawCaller, status int) {
	t.Helper()
	if status != 0 {
		all := make([]byte, len("HTTP/1.1 502"))
		if _, err := c.br.Read(all); err != nil || string(all) != fmt.Sprint("HTTP/1.1 ", status) {
			t.Errorf("got %q, %v", all, err)
		}
		return
	}
	if rest, clean := c.ends(); clean {
		t.Errorf("a cut answer ends cleanly: %q", rest)
	}
}
