package gateway

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// What a guarded body becomes when it is unpacked counts as held, for as long as
// it is looked at.
func TestUnpackedBodiesAreHeldBodies(t *testing.T) {
	bomb := gzipped(t, `{"size":10}`+strings.Repeat(" ", 8<<20))
	if len(bomb) > 16<<10 {
		t.Fatalf("it has %d bytes", len(bomb))
	}
	serveBomb := func(limits string, most int64) (*front, *worker) {
		w := startWorker(t, echoing)
		g := &guardfront.Guard{Guard: newGuard(t, limits), Kind: guard.Elasticsearch}
		return serve(t, Route{Doer: newDirect(t, w.addr), Guard: g, Buffer: 64 << 10}, Config{MaxBuffered: most}, ServerConfig{}), w
	}
	f, w := serveBomb("", 1<<20)
	c := dial(t, f.addr)
	var all sync.WaitGroup
	for range 8 {
		c := dial(t, f.addr)
		all.Go(func() {
			if resp, body := c.post("/x/_search", bomb, "Content-Encoding: gzip"); resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%d %.200s", resp.StatusCode, body)
			}
		})
	}
	all.Wait()
	if resp, body := c.post("/x/_search", gzipped(t, cheap), "Content-Encoding: gzip"); resp.StatusCode != 200 {
		t.Errorf("a small one: %d %.200s", resp.StatusCode, body)
	}
	if n := w.deliveries(); n != 1 {
		t.Errorf("%d requests were delivered, want the small one", n)
	}
	f, _ = serveBomb("", 64<<20)
	c = dial(t, f.addr)
	if resp, body := c.post("/x/_search", bomb, "Content-Encoding: gzip"); resp.StatusCode != 200 {
		t.Errorf("with room: %d %.200s", resp.StatusCode, body)
	}
	f, _ = serveBomb("report_only: yes", 1<<20)
	if resp, body := dial(t, f.addr).post("/x/_search", bomb, "Content-Encoding: gzip"); resp.StatusCode != 200 || resp.Header.Get(guardfront.Field) == "" {
		t.Errorf("reported only: %d %.200s", resp.StatusCode, body)
	}
}
