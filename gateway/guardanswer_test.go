package gateway

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/guard/hints"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/h1"
)

const (
	visitors = `{"size":0,"aggs":{"u":{"cardinality":{"field":"user"}}}}`
	visited  = `{"took":7,"timed_out":false,"_shards":{"total":2,"failed":0},"aggregations":{"u":{"value":300000}}}`
)

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// packedBy is what a backend answers, packed.
func packedBy[W io.WriteCloser](by func(io.Writer) W) string {
	var b bytes.Buffer
	w := by(&b)
	_, _ = w.Write([]byte(visited))
	_ = w.Close()
	return b.String()
}

func newZstd(w io.Writer) *zstd.Encoder {
	return must(zstd.NewWriter(w, zstd.WithEncoderConcurrency(1)))
}

// learned is a guard with a learner that runs until the test ends, and what the
// guard is told.
func learned(t *testing.T, store *guard.HintStore) (*Guard, chan guard.Observation) {
	t.Helper()
	g, err := guard.New(guard.Config{Hints: store})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan guard.Observation, 100)
	l, err := hints.NewLearner(hints.LearnConfig{Store: store, Interval: time.Second, Tell: func(o guard.Observation) { g.Observe(o); told <- o }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &Guard{Guard: g, Kind: guard.Elasticsearch, Learner: l}, told
}

// Answers are read on their way, whatever they are packed in, and reach callers
// as they are.
func TestTheGuardReadsAnswers(t *testing.T) {
	store := &guard.HintStore{}
	g, told := learned(t, store)
	answers := map[string]string{ // by index
		"plain":   "HTTP/1.1 200 OK\nContent-Length: %d\n\n" + visited,
		"packed":  "HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Length: %d\n\n" + zipped(visited),
		"br":      "HTTP/1.1 200 OK\nContent-Encoding: br\nContent-Length: %d\n\n" + packedBy(brotli.NewWriter),
		"zstd":    "HTTP/1.1 200 OK\nContent-Encoding: ZSTD\nContent-Length: %d\n\n" + packedBy(newZstd),
		"deflate": "HTTP/1.1 200 OK\nContent-Encoding: deflate\nContent-Length: %d\n\n" + packedBy(zlib.NewWriter),
		"odd":     "HTTP/1.1 200 OK\nContent-Encoding: br\nContent-Length: %d\n\n" + visited,
		"unknown": "HTTP/1.1 200 OK\nContent-Encoding: snappy\nContent-Length: %d\n\n" + visited,
		"fields":  "HTTP/1.1 200 OK\nContent-Encoding: gzip\nContent-Encoding: br\nContent-Length: %d\n\n" + visited,
		"twice":   "HTTP/1.1 200 OK\nContent-Encoding: gzip, gzip\nContent-Length: %d\n\n" + visited,
		"tripped": "HTTP/1.1 429 Too Many Requests\nContent-Length: %d\n\n" + `{"error":{"type":"circuit_breaking_exception"}}`,
		"chunked": "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n" + chunks(visited),
	}
	w := startWorker(t, func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			head, body, _ := strings.Cut(answers[strings.Split(r.URL.Path, "/")[1]], "\n\n")
			if strings.Contains(head, "%d") {
				head = fmt.Sprintf(head, len(body))
			}
			c.send(head + "\n\n")
			_, _ = c.Write([]byte(body))
		}
	})
	f := serve(t, Route{Doer: newDirect(t, w.addr), Guard: g}, Config{}, ServerConfig{})
	for index, answer := range answers {
		c := dial(t, f.addr)
		resp, got := c.post("/"+index+"/_search", visitors, "Accept-Encoding: gzip", "X-Opaque-Id: app")
		_, body, _ := strings.Cut(answer, "\n\n")
		if index == "chunked" {
			body = visited
		}
		if got != body {
			t.Errorf("%s: the caller gets %q", index, got)
		}
		o := <-told
		if o.Caller != "app" || o.Took <= 0 || o.Shape == 0 || o.Bytes == 0 {
			t.Errorf("%s: %+v", index, o)
		}
		switch index {
		case "odd", "twice", "unknown", "fields":
			if o.Told != nil {
				t.Errorf("%s: %+v", index, o.Told)
			}
		case "tripped":
			if resp.StatusCode != http.StatusTooManyRequests || o.Told == nil || !o.Told.Tripped {
				t.Errorf("%s: %d %+v", index, resp.StatusCode, o.Told)
			}
		default:
			if o.Told == nil || o.Told.Took != 7*time.Millisecond {
				t.Errorf("%s: %+v", index, o.Told)
			}
		}
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for _, index := range []string{"plain", "packed", "chunked"} {
		for h, _ := store.Field(index, "user"); h.Cardinality != 300_000; h, _ = store.Field(index, "user") {
			select {
			case <-deadline.C:
				t.Fatalf("%s: %+v", index, h)
			case <-tick.C:
			}
		}
	}
	for _, index := range []string{"odd", "twice", "unknown", "fields", "tripped"} {
		if h, ok := store.Field(index, "user"); ok {
			t.Errorf("%s: %+v", index, h)
		}
	}
	if s := g.Guard.Shapes(10); len(s) == 0 || s[0].Told != 6 || s[0].Backend != 42*time.Millisecond || s[0].Tripped != 1 || s[0].Observed != 11 {
		t.Errorf("%+v", s)
	}
}

// chunks is a text in chunks of ten bytes.
func chunks(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(10, len(text))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, text[:n])
		text = text[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// Of an answer that breaks off nothing is learned, and the guard hears of it all
// the same.
func TestTheGuardLearnsNothingFromBrokenAnswers(t *testing.T) {
	g, _ := learned(t, &guard.HintStore{})
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil {
			c.send("HTTP/1.1 200 OK\nContent-Length: 1000\n\n")
			_, _ = c.Write([]byte(visited))
		}
	})
	f := serve(t, Route{Doer: newDirect(t, w.addr), Guard: g}, Config{}, ServerConfig{})
	for range hints.MaxNotes + 1 { // no note is lost
		c := dial(t, f.addr)
		c.send(fmt.Sprintf("POST /i/_search HTTP/1.1\nHost: h\nContent-Type: application/json\nContent-Length: %d\n\n", len(visitors)))
		_, _ = c.Write([]byte(visitors))
		c.ends()
	}
	if s := g.Guard.Shapes(1); len(s) != 1 || s[0].Observed != hints.MaxNotes+1 || s[0].Told != 0 {
		t.Errorf("%+v", s)
	}
	if s := g.Learner.Status(); s.Read != 0 || s.Missed != 0 {
		t.Errorf("%+v", s)
	}
}

// A Doer that panics takes no note with it.
func TestNotesSurviveAPanic(t *testing.T) {
	g, _ := learned(t, &guard.HintStore{})
	panics := doFunc(func(_ context.Context, _ dispatch.Work, j dispatch.Job) dispatch.Answer {
		if j.(*job).listen(&h1.Response{Status: 200}) == nil {
			t.Error("there is no note left")
		}
		panic("of a Doer")
	})
	gw := newGateway(t, Config{Routes: []Route{{Doer: panics, Printer: newPrinter(t), Guard: g}}})
	for range 2 * hints.MaxNotes {
		req := new(h1.Request)
		if err := req.Make("POST", "/i/_search", "h", nil, int64(len(visitors))); err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() { _ = recover() }()
			gw.handle(t.Context(), &recorder{body: []byte(visitors)}, req, peer{ip: "192.0.2.1"})
		}()
	}
}

// BenchmarkGuarded is a search's way through the gateway and back: without a
// guard, with one, and with one that learns.
func BenchmarkGuarded(b *testing.B) {
	const body = `{"query":{"bool":{"filter":[{"term":{"user.id":"u-17"}},{"range":{"@timestamp":{"gte":"now-1d","lte":"now"}}}]}},"size":20,"aggs":{"hosts":{"terms":{"field":"host","size":10}}}}`
	answer := []byte(visited + strings.Repeat(" ", 4<<10))
	p := newPrinter(b)
	store := &guard.HintStore{}
	made, err := guard.New(guard.Config{Hints: store, Print: p.Shape, Scope: "r"})
	if err != nil {
		b.Fatal(err)
	}
	l, err := hints.NewLearner(hints.LearnConfig{Store: store, Tell: made.Observe})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	defer func() { cancel(); <-done }()
	for _, c := range []struct {
		name  string
		guard *Guard
	}{
		{"none", nil},
		{"guard", &Guard{Guard: made, Kind: guard.Elasticsearch}},
		{"learns", &Guard{Guard: made, Kind: guard.Elasticsearch, Learner: l}},
	} {
		b.Run(c.name, func(b *testing.B) {
			head := &h1.Response{Status: 200}
			does := doFunc(func(_ context.Context, _ dispatch.Work, j dispatch.Job) dispatch.Answer {
				it := j.(*job)
				n := it.listen(head)
				_ = it.from.Write(answer)
				if n != nil {
					_, _ = n.Write(answer)
				}
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
