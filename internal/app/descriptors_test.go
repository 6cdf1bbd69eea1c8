//go:build unix

package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// hoard opens connections to an address, has each ask once, and keeps all of them.
func hoard(t *testing.T, addr, request string, n int) {
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(c, request); err != nil {
			continue // it was closed to make room
		}
		if res, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			res.Body.Close()
		}
	}
}

// Connections that are kept for nothing leave descriptors for callers, operators and
// workers, on whichever listener they are; and where Bezoar itself has none left, that
// is no worker's fault.
func TestFewDescriptorsAreSharedOut(t *testing.T) {
	t.Parallel()
	const files = 160
	n := spawn(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [%q], env: {%s: worker}, replicas: 2, health: {path: /healthz, interval: 100ms, timeout: 2s}}}
routes: [{match: {path: /*}, fleet: app}]
`, os.Getenv(workVar), roleVar), "sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0"`, files))
	get := func(path string) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.url+path, http.NoBody)
		if err != nil {
			return 0, err
		}
		req.Close = true
		res, err := n.http.Do(req)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode, nil
	}
	n.until("it serves", func() bool { status, _ := get("/"); return status == http.StatusOK })
	host := func(url string) string { return strings.TrimPrefix(url, "http://") }
	well := func(when string) {
		t.Helper()
		for range 8 {
			if status, err := get("/"); status != http.StatusOK {
				t.Fatalf("%s: a new caller got %d, %v", when, status, err)
			}
		}
		all, err := n.admin.Fleets(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		for _, w := range all[0].Workers {
			if w.Held != nil || w.Failed > 0 || w.Restarts > 0 || w.State != "ready" {
				t.Errorf("%s: %+v", when, w)
			}
		}
	}
	var hoards sync.WaitGroup // together they want more than there is
	for addr, path := range map[string]string{n.adminAt: "/api/v1/fleets", host(n.sqs): "/", host(n.url): "/"} {
		hoards.Go(func() { hoard(t, addr, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", files/3) })
	}
	hoards.Wait()
	well("with idle callers, operators and SQS clients")
	n.call("ListQueues", map[string]any{}, nil)

	// Each of these needs a connection to a worker as well, and there are not so many.
	var all sync.WaitGroup
	for i := range files / 2 {
		all.Go(func() {
			if status, err := get(fmt.Sprintf("/?slow=%d", i)); status != http.StatusOK {
				t.Errorf("one of many got %d, %v", status, err)
			}
		})
	}
	all.Wait()
	well("after too many at once")
}
