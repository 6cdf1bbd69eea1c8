package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

const someTrace = "00-0123456789abcdef0123456789abcdef-00000000000000ab-01"

func TestParseTrace(t *testing.T) {
	for _, tc := range []struct {
		text string
		ok   bool
	}{
		{someTrace, true},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab-00", true},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab-ff", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01-what-will-come", true},
		{"cc-0123456789abcdef0123456789abcdef-00000000000000ab-01what", false},
		{someTrace + "-", false},
		{"ff-0123456789abcdef0123456789abcdef-00000000000000ab-01", false},
		{"00-00000000000000000000000000000000-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef-0000000000000000-01", false},
		{"00-0123456789ABCDEF0123456789abcdef-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdeg-00000000000000ab-01", false},
		{"00_0123456789abcdef0123456789abcdef-00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef_00000000000000ab-01", false},
		{"00-0123456789abcdef0123456789abcdef-00000000000000ab_01", false},
		{someTrace[:54], false},
		{"", false},
	} {
		tr, ok := ParseTrace(tc.text)
		if ok != tc.ok || ok == tr.IsZero() {
			t.Errorf("ParseTrace(%q) = %v, %v", tc.text, tr, ok)
		}
		if ok && strings.HasPrefix(tc.text, "00") && tr.String() != tc.text {
			t.Errorf("%s is written %s", tc.text, tr)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add(someTrace)
	f.Add("cc-0123456789abcdef0123456789abcdef-00000000000000ab-01-x")
	f.Fuzz(func(t *testing.T, s string) {
		tr, ok := ParseTrace(s)
		if !ok {
			if !tr.IsZero() {
				t.Errorf("%q is refused and yet %v", s, tr)
			}
			return
		}
		text := tr.String()
		if text[2:] != s[2:traceSize] || tr.ID == [16]byte{} || tr.Span == [8]byte{} {
			t.Errorf("%q is written %q", s, text)
		}
		if back, ok := ParseTrace(text); !ok || back != tr {
			t.Errorf("%q is read back as %v", text, back)
		}
	})
}

func TestNewTracesAreValidAndTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parent Trace
		copy(parent.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		parent.Flags = rapid.Byte().Draw(t, "flags")
		child := NewTrace(parent)
		if back, ok := ParseTrace(child.String()); !ok || back != child {
			t.Fatalf("%s is read as %v, %v", child, back, ok)
		}
		if parent.ID != [16]byte{} && (child.ID != parent.ID || child.Flags != parent.Flags) {
			t.Fatalf("the child of %v is %v", parent, child)
		}
	})
}

// tracer makes spans and writes down what it is told.
type tracer struct {
	mu     sync.Mutex
	silent bool // Start returns none
	began  []Trace
	ended  []string
}

func (tr *tracer) Start(s *Span) Trace {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s.State = len(tr.began)
	if tr.silent {
		return Trace{}
	}
	t := NewTrace(s.Parent)
	tr.began = append(tr.began, t)
	return t
}

func (tr *tracer) End(s *Span) {
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
		tracer       Tracer
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
