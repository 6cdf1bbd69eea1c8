package gateway

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/fingerprint"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// observer keeps copies of records.
type observer struct {
	mu  sync.Mutex
	all []accesslog.Record
	got chan accesslog.Record
}

func newObserver() *observer { return &observer{got: make(chan accesslog.Record, 1000)} }

func (o *observer) observe(r *accesslog.Record) {
	c := *r
	for _, s := range []*string{&c.Route, &c.Worker, &c.Method, &c.Host, &c.Path, &c.Caller, &c.Plan, &c.Rule, &c.Fallback, &c.RequestID, &c.TraceID, &c.SpanID} {
		*s = strings.Clone(*s)
	}
	o.mu.Lock()
	o.all = append(o.all, c)
	o.mu.Unlock()
	select {
	case o.got <- c:
	default: // nobody has waited for a thousand of them
	}
}

func (o *observer) next(t *testing.T) accesslog.Record {
	t.Helper()
	select {
	case r := <-o.got:
		return r
	case <-time.After(patience):
		t.Fatal("no record comes")
		return accesslog.Record{}
	}
}

// TestRecords: whoever answers, and however it ends, there is one record that
// says so.
func TestRecords(t *testing.T) {
	const trace = "00-0123456789abcdef0123456789abcdef-00000000000000ab-01"
	o := newObserver()
	w := startWorker(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			switch r.URL.Path {
			case "/cut":
				c.send("HTTP/1.1 200 OK\nContent-Length: 100\n\nhello")
				return
			case "/die":
				return
			case "/echo":
				c.send("HTTP/1.1 201 Created\nTransfer-Encoding: chunked\n\n5\n12345\n0\n\n")
			case "/head":
				c.send("HTTP/1.1 200 OK\nContent-Length: 5\n\n")
			default:
				_ = body
				c.send(hello)
			}
		}
	})
	d := newDirect(t, w.addr)
	refusing := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Refused, Rule: dispatch.RuleQuarantine, RetryAfter: time.Second}
	})
	p := newPrinter(t)
	f := serveConfig(t, Config{
		Observe: o.observe,
		Routes: []Route{
			{Name: "all", Path: "/*", Doer: d, Printer: p, Client: "header:X-Who", Buffer: 1000, Methods: []string{"GET", "HEAD", "POST"}},
			{Name: "pill", Path: "/pill", Doer: refusing, Printer: p},
			{Name: "small", Path: "/small", Doer: d, Printer: p, MaxBody: 3},
		},
	}, ServerConfig{})
	for _, tc := range []struct {
		text string
		want accesslog.Record
	}{
		{
			"GET /a?secret=1 HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r7\nTraceparent: " + trace + "\n\n",
			accesslog.Record{
				Route: "all", Worker: "w", Method: "GET", Host: "h", Path: "/a", Status: 200, BytesOut: 5, Attempts: 1, Caller: "me", RequestID: "r7",
				TraceID: "0123456789abcdef0123456789abcdef", SpanID: "00000000000000ab",
			},
		},
		{
			"POST /echo HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r\nContent-Length: 4\n\nbody",
			accesslog.Record{Route: "all", Worker: "w", Method: "POST", Host: "h", Path: "/echo", Status: 201, BytesIn: 4, BytesOut: 5, Attempts: 1, Caller: "me", RequestID: "r"},
		},
		{
			"POST /echo HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r\nContent-Length: 3000\n\n" + strings.Repeat("x", 3000),
			accesslog.Record{Route: "all", Worker: "w", Method: "POST", Host: "h", Path: "/echo", Status: 201, BytesIn: 3000, BytesOut: 5, Attempts: 1, Caller: "me", RequestID: "r"},
		},
		{
			"HEAD /head HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r\n\n",
			accesslog.Record{Route: "all", Worker: "w", Method: "HEAD", Host: "h", Path: "/head", Status: 200, Attempts: 1, Caller: "me", RequestID: "r"},
		},
		{
			"GET /pill HTTP/1.1\nHost: h\nX-Request-Id: r\n\n",
			accesslog.Record{Route: "pill", Method: "GET", Host: "h", Path: "/pill", Status: 503, Rule: "quarantine", RequestID: "r"},
		},
		{
			"PUT /a HTTP/1.1\nHost: h\nX-Request-Id: r\n\n",
			accesslog.Record{Method: "PUT", Host: "h", Path: "/a", Status: 405, RequestID: "r"},
		},
		{
			"GET /die HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r\n\n",
			accesslog.Record{Route: "all", Worker: "w", Method: "GET", Host: "h", Path: "/die", Status: 502, Attempts: 1, Caller: "me", RequestID: "r"},
		},
		{
			"GET /cut HTTP/1.1\nHost: h\nX-Who: me\nX-Request-Id: r\n\n",
			accesslog.Record{Route: "all", Worker: "w", Method: "GET", Host: "h", Path: "/cut", Status: 200, Cut: true, BytesOut: 5, Attempts: 1, Caller: "me", RequestID: "r"},
		},
		{
			"POST /small HTTP/1.1\nHost: h\nX-Request-Id: r\nContent-Length: 4\n\nbody",
			accesslog.Record{Route: "small", Method: "POST", Host: "h", Path: "/small", Status: 413, RequestID: "r"},
		},
	} {
		c := dial(t, f.addr)
		before := time.Now()
		c.send(tc.text)
		c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		_, _ = io.ReadAll(c.br)
		got := o.next(t)
		if got.Time.Before(before.Add(-time.Second)) || got.Duration <= 0 || got.TTFB <= 0 || got.TTFB > got.Duration {
			t.Errorf("%.30q: times %v, %v of %v", tc.text, got.Time, got.TTFB, got.Duration)
		}
		if got.Status >= 400 && got.BytesOut == 0 {
			t.Errorf("%.30q: no bytes of a problem document are counted", tc.text)
		}
		if tc.want.Status >= 400 {
			got.BytesOut = 0
		}
		got.Time, got.Duration, got.TTFB, got.From = time.Time{}, 0, 0, nil
		if got != tc.want {
			t.Errorf("%.30q:\n%+v, want\n%+v", tc.text, got, tc.want)
		}
	}
	select {
	case r := <-o.got:
		t.Errorf("one record too many: %+v", r)
	default:
	}
}

// TestACallerWhoIsGoneLeavesARecord without a status.
func TestACallerWhoIsGoneLeavesARecord(t *testing.T) {
	o := newObserver()
	arrived := make(chan bool)
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil {
			arrived <- true
			silent(c)
		}
	})
	f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{Observe: o.observe}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	<-arrived
	c.Close()
	if r := o.next(t); r.Status != 0 || !r.Cut || r.Attempts != 1 {
		t.Errorf("got %+v", r)
	}
}

// TestRecordsOverNetHTTP: the other wire is metered by the same.
func TestRecordsOverNetHTTP(t *testing.T) {
	o := newObserver()
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	g := newGateway(t, Config{Observe: o.observe, Routes: []Route{{Doer: d, Printer: newPrinter(t)}}})
	srv := httptest.NewServer(g)
	defer srv.Close()
	resp, err := http.Post(srv.URL+"/x?y", "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if r := o.next(t); r.Status != 200 || r.BytesIn != 4 || r.BytesOut != 5 || r.Path != "/x" || r.Worker != "w" {
		t.Errorf("got %+v", r)
	}
}

// samePrint takes everything for the same.
type samePrint struct{}

func (samePrint) Work(*fingerprint.Input) (work, shape bezoar.Fingerprint) { return work, shape }
func (samePrint) Client(string) (client bezoar.Fingerprint)                { return client }

// TestObservingAllocatesNothing of its own.
func TestObservingAllocatesNothing(t *testing.T) {
	done := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Answered}
	})
	seen := 0
	log, err := accesslog.New(accesslog.Config{Log: slog.New(slog.DiscardHandler), Every: -1})
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, Config{
		Observe: func(r *accesslog.Record) { seen++; log.Observe(r) },
		Routes:  []Route{{Path: "/*", Doer: done, Printer: samePrint{}, Client: "ip"}},
	})
	req := new(h1.Request)
	text := strings.Replace(benchRequest, "\n\n", "\nX-Request-Timeout: 10s\nTraceparent: 00-0123456789abcdef0123456789abcdef-00000000000000ab-01\nX-Request-Id: r1\n\n", 1)
	if err := req.Parse(crlf(text), h1.Limits{}); err != nil {
		t.Fatal(err)
	}
	from, p := &sink{}, peer{ip: "192.0.2.1", cache: new(connCache)}
	j := &job{g: g} // not from the pool, which forgets now and then
	if n := testing.AllocsPerRun(200, func() { j.run(t.Context(), from, req, p); j.end() }); n > 0 {
		t.Errorf("%g allocations a request, want none", n)
	}
	if seen < 200 {
		t.Errorf("%d requests were observed", seen)
	}
}
