package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

const someTrace = "00-0123456789abcdef0123456789abcdef-00000000000000ab-01"

// tracer makes spans and writes down what it is told.
type tracer struct {
	mu     sync.Mutex
	silent bool // Start returns none
	began  []span.Trace
	ended  []string
}

func (tr *tracer) Start(s *span.Span) span.Trace {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s.State = len(tr.began)
	if tr.silent {
		return span.Trace{}
	}
	t := span.NewTrace(s.Parent)
	tr.began = append(tr.began, t)
	return t
}

func (tr *tracer) End(s *span.Span) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.ended = append(tr.ended, fmt.Sprintf("%v attempt %d route %s worker %q %s %s status %d fault %d child %v",
		s.State, s.Attempt, s.Route, s.Worker, s.Method, s.Path, s.Status, s.Fault, s.Self.ID == s.Parent.ID))
}

// TestSpansAroundRequestAndAttempts: one of the request, and within it one of
// each attempt, which its worker is told.
func TestSpansAroundRequestAndAttempts(t *testing.T) {
	tr, o := &tracer{}, newObserver()
	first := make(chan bool, 1)
	first <- true
	w := startWorker(t, func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			select {
			case <-first:
				return
			default:
				c.send(hello)
			}
		}
	})
	f := serve(t, Route{Name: "all", Doer: realDoer(t, w.addr)}, Config{Trace: tr, Observe: o.observe}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET /a?b HTTP/1.1\nHost: h\nTraceparent: " + someTrace + "\nTracestate: x=y\n\n")
	if resp, body := c.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", resp.Status, body)
	}
	r := o.next(t)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	want := []string{
		`1 attempt 1 route all worker "w0" GET /a status 0 fault 2 child true`,
		`2 attempt 2 route all worker "w0" GET /a status 200 fault 0 child true`,
		`0 attempt 0 route all worker "" GET /a status 200 fault 0 child true`,
	}
	if fmt.Sprint(tr.ended) != fmt.Sprint(want) {
		t.Errorf("spans\n%s, want\n%s", strings.Join(tr.ended, "\n"), strings.Join(want, "\n"))
	}
	for _, span := range tr.began[1:] {
		if strings.Count(w.raw(), "\r\ntraceparent: "+span.String()+"\r\n") != 1 {
			t.Errorf("the worker was not told of %s once:\n%s", span, w.raw())
		}
	}
	if strings.Contains(w.raw(), someTrace) || strings.Count(w.raw(), "x=y") != 2 {
		t.Errorf("the worker got\n%s", w.raw())
	}
	if self := tr.began[0].String(); r.TraceID != self[3:35] || r.SpanID != self[36:52] {
		t.Errorf("the record says %s and %s, want those of %s", r.TraceID, r.SpanID, self)
	}
}

// Without a tracer what is valid passes, and nothing is made; with one that
// makes no span, the caller's is passed on.
func TestTraceparentsArePassedOn(t *testing.T) {
	for _, tc := range []struct {
		name, fields string
		tracer       span.Tracer
		want         string
	}{
		{"valid", "Traceparent: " + someTrace + "\nTracestate: x=y\n", nil, "Traceparent: " + someTrace + "\r\nTracestate: x=y\r\n"},
		{"none", "", nil, ""},
		{"invalid", "Traceparent: 00-1\nTracestate: x=y\n", nil, ""},
		{"two", "Traceparent: " + someTrace + "\nTraceparent: " + someTrace + "\n", nil, ""},
		{"state alone", "Tracestate: x=y\n", nil, ""},
		{"a tracer without a span", "Traceparent: " + someTrace + "\n", &tracer{silent: true}, "traceparent: " + someTrace + "\r\n"},
		{"a tracer without any", "", &tracer{silent: true}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := startWorker(t, answering(hello))
			f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{Trace: tc.tracer}, ServerConfig{})
			c := dial(t, f.addr)
			c.send("GET / HTTP/1.1\nHost: h\n" + tc.fields + "\n")
			c.answer("GET")
			got := ""
			for line := range strings.SplitAfterSeq(w.raw(), "\n") {
				if strings.HasPrefix(strings.ToLower(line), "trace") {
					got += line
				}
			}
			if got != tc.want {
				t.Errorf("the worker got %q, want %q", got, tc.want)
			}
		})
	}
}

// A request that no worker sees has its span all the same.
func TestARefusalHasASpan(t *testing.T) {
	tr := &tracer{}
	refusing := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Unavailable}
	})
	f := serve(t, Route{Name: "all", Doer: refusing}, Config{Trace: tr}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\nConnection: close\n\n")
	c.answer("GET")
	c.ends()
	if err := f.stop(); err != nil {
		t.Fatal(err)
	}
	if want := `[0 attempt 0 route all worker "" GET / status 503 fault 0 child false]`; fmt.Sprint(tr.ended) != want {
		t.Errorf("spans %v, want %s", tr.ended, want)
	}
}
