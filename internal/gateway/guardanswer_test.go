package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// The guard hears of a query whose answer breaks off.
func TestTheGuardHearsOfBrokenAnswers(t *testing.T) {
	made, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil {
			c.send("HTTP/1.1 200 OK\nContent-Length: 1000\n\n{")
		}
	})
	f := serve(t, Route{Doer: newDirect(t, w.addr), Guard: &guardfront.Guard{Guard: made, Kind: guard.Elasticsearch}}, Config{}, ServerConfig{})
	const body = `{"size":1}`
	c := dial(t, f.addr)
	c.send(fmt.Sprintf("POST /i/_search HTTP/1.1\nHost: h\nContent-Type: application/json\nContent-Length: %d\n\n", len(body)))
	_, _ = c.Write([]byte(body))
	c.ends()
	if s := made.Shapes(1); len(s) != 1 || s[0].Observed != 1 || s[0].Bytes == 0 {
		t.Errorf("%+v", s)
	}
}

// BenchmarkGuarded is a search's way through the gateway and back: without a
// guard, and with one.
func BenchmarkGuarded(b *testing.B) {
	const body = `{"query":{"bool":{"filter":[{"term":{"user.id":"u-17"}},{"range":{"@timestamp":{"gte":"now-1d","lte":"now"}}}]}},"size":20,"aggs":{"hosts":{"terms":{"field":"host","size":10}}}}`
	answer := []byte(strings.Repeat(" ", 4<<10))
	p := newPrinter(b)
	made, err := guard.New(guard.Config{Print: p.Shape, Scope: "r"})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		guard *guardfront.Guard
	}{
		{"none", nil},
		{"guard", &guardfront.Guard{Guard: made, Kind: guard.Elasticsearch}},
	} {
		b.Run(c.name, func(b *testing.B) {
			does := doFunc(func(_ context.Context, _ dispatch.Work, j dispatch.Job) dispatch.Answer {
				it := j.(*job)
				_ = it.from.Write(answer)
				return dispatch.Answer{Kind: dispatch.Answered, Result: dispatch.Result{Status: 200}}
			})
			g := newGateway(b, Config{Routes: []Route{{Doer: does, Printer: p, Guard: c.guard}}})
			req := new(h1.Request)
			fields := []h1.Field{
				{Name: "Content-Type", Value: "application/json", Key: h1.ContentType},
				{Name: "X-Opaque-Id", Value: "dashboard"},
				{Name: "X-Request-Id", Value: "r1", Key: h1.RequestID},
			}
			if err := req.Make("POST", "/logs-1/_search", "h", fields, int64(len(body))); err != nil {
				b.Fatal(err)
			}
			from := &sink{}
			from.body = []byte(body)
			b.ReportAllocs()
			for b.Loop() {
				from.read = false
				g.handle(b.Context(), from, req, peer{ip: "192.0.2.1"})
			}
		})
	}
}
