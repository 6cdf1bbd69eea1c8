package gateway

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAnswersDoNotMix: buffers, jobs and connections are used again and again by
// many callers, some of whom hang up, before workers that break off. Every answer
// is still the one to its request, to the last byte.
func TestAnswersDoNotMix(t *testing.T) {
	f, _, _ := through(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			text := r.URL.Path + " " + body
			switch r.Header.Get("X-Do") {
			case "die":
				return
			case "cut":
				c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(text)+1, text))
				return
			case "chunk":
				c.send(fmt.Sprintf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n%x\n%s\n0\n\n", len(text), text))
			default:
				c.send(fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(text), text))
			}
		}
	})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			var c *mixCaller
			for n := range 40 {
				if c == nil {
					var err error
					if c, err = dialMix(f.addr); err != nil {
						t.Error(err)
						return
					}
				}
				if !c.exchange(t, rnd, fmt.Sprintf("/%d-%d", i, n)) {
					c.Close()
					c = nil
				}
			}
			if c != nil {
				c.Close()
			}
		})
	}
	wg.Wait()
	noneHeld(t, f.g)
}

type mixCaller struct {
	net.Conn
	br *bufio.Reader
}

func dialMix(addr string) (*mixCaller, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &mixCaller{nc, bufio.NewReader(nc)}, nc.SetDeadline(time.Now().Add(3 * patience))
}

// exchange runs one request of a random kind and reports whether the connection
// goes on.
func (c *mixCaller) exchange(t *testing.T, rnd *rand.Rand, path string) bool {
	size := []int{0, 10, 3000, 20_000, 70_000, 150_000}[rnd.IntN(6)]
	body := strings.Repeat(path+"|", size/len(path))
	do := []string{"", "", "", "chunk", "chunk", "die", "cut"}[rnd.IntN(7)]
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nX-Do: %s\r\n", path, do)
	if rnd.IntN(2) == 0 {
		head += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	} else {
		head += "Transfer-Encoding: chunked\r\n\r\n"
		for rest := body; rest != ""; {
			n := min(len(rest), 1+rnd.IntN(9000))
			head += fmt.Sprintf("%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		head += "0\r\n\r\n"
	}
	if rnd.IntN(10) == 0 { // hang up somewhere in the middle
		_, _ = io.WriteString(c, head[:rnd.IntN(len(head))])
		return false
	}
	if _, err := io.WriteString(c, head); err != nil {
		t.Errorf("%s: %v", path, err)
		return false
	}
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		if do != "cut" {
			t.Errorf("%s %q: %v", path, do, err)
		}
		return false
	}
	got, err := io.ReadAll(resp.Body)
	want := path + " " + body
	switch {
	case do == "die":
		return resp.StatusCode == http.StatusBadGateway && err == nil && !resp.Close
	case do == "cut":
		if err == nil || !strings.HasPrefix(want, string(got)) {
			t.Errorf("%s %q: %d bytes, %v", path, do, len(got), err)
		}
		return false
	case resp.StatusCode != http.StatusOK:
		t.Errorf("%s %q: %s: %s", path, do, resp.Status, got)
	case err != nil || string(got) != want:
		t.Errorf("%s %q: got %d bytes, want %d, %v", path, do, len(got), len(want), err)
	}
	return !resp.Close
}
