package gateway

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/control/redact"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/internal/gateway/stale"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/breaker"
)

// TestAnotherFleetsWorkersGetWhatIsTheirs: the path in front of paths, and the secrets
// that are kept out of what workers write, are those of the fleet that does the work.
func TestAnotherFleetsWorkersGetWhatIsTheirs(t *testing.T) {
	w := startWorker(t, answering("HTTP/1.1 200 OK\nContent-Length: 5\n\nother"))
	nobody := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Unavailable, RetryAfter: time.Second, Reason: "no worker"}
	})
	var own, others redact.Values
	f := serve(t, Route{
		Doer: nobody, Base: "/v2", Known: &own,
		Fallback: []Fallback{{Other: newDirect(t, w.addr), Base: "/old", Known: &others}},
	}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	if resp, body := c.ask("POST /x?y", "Authorization: open-sesame", "Content-Length: 0"); resp.StatusCode != 200 || body != "other" {
		t.Errorf("%s %q", resp.Status, body)
	}
	if got := w.raw(); !strings.HasPrefix(got, "POST /old/x?y HTTP/1.1\r\n") {
		t.Errorf("the other worker got %.100q", got)
	}
	for _, v := range []*redact.Values{&own, &others} {
		if got := string(v.Hide([]byte("open-sesame"))); got != bezoar.Redacted {
			t.Errorf("a line is %s", got)
		}
	}
}

// TestBreakerAndFallbacks: failures open the circuit, and what is answered then
// is marked, in the answer and in the record.
func TestBreakerAndFallbacks(t *testing.T) {
	other := newDirect(t, startWorker(t, answering("HTTP/1.1 200 OK\nContent-Length: 5\nX-Own: 1\n\nother")).addr)
	nobody := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Unavailable, RetryAfter: time.Second, Reason: "no worker"}
	})
	static := Fallback{Static: &admission.Static{Status: 203, Header: http.Header{"Content-Type": {"text/plain"}, "X-Two": {"a", "b"}}, Body: []byte("static")}}
	for _, tc := range []struct {
		name     string
		fallback []Fallback
		optional bool
		status   int
		body     string
		mark     string
		rec      string
	}{
		{"none", nil, false, 503, "", "", ""},
		{"static", []Fallback{static}, false, 203, "static", "static; on=open", "static"},
		{"for something else", []Fallback{{On: []admission.FallbackCause{admission.Shed, admission.Unavailable}, Static: static.Static}}, false, 503, "", "", ""},
		{"other", []Fallback{{On: []admission.FallbackCause{admission.Open}, Other: other}, static}, false, 200, "other", "other; on=open", "other"},
		{"other has nobody", []Fallback{{Other: nobody}, static}, false, 203, "static", "static; on=open", "static"},
		{"no copy is there", []Fallback{{Stale: &admission.Stale{}}, static}, false, 203, "static", "static; on=open", "static"},
		{"optional", nil, true, 204, "", "", "degraded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDirect(t, startWorker(t, answering("HTTP/1.1 500 Oh\nContent-Length: 0\n\n")).addr)
			b, all := newBreaker(t)
			var recs records
			f := serve(t, Route{
				Doer: d, Breaker: b, Fallback: tc.fallback, Optional: tc.optional, Stale: stale.New(stale.Config{}),
				Pool: newPool(t, overload.Config{}),
			}, Config{Observe: recs.note}, ServerConfig{})
			c := dial(t, f.addr)
			for range 2 {
				if resp, _ := c.ask("GET /"); resp.StatusCode != 500 {
					t.Fatalf("status %d", resp.StatusCode)
				}
			}
			settled(t, func() bool { return stateOf(all) == breaker.Open })
			for _, method := range []string{"GET", "HEAD"} {
				resp, body := c.ask(method+" /", "X-Request-Id: "+method)
				if resp.StatusCode != tc.status || resp.Header.Get(admission.FallbackField) != tc.mark || resp.Header.Get("X-Request-Id") != method || resp.Close {
					t.Errorf("%s: %d %v", method, resp.StatusCode, resp.Header)
				}
				switch {
				case method == "HEAD":
				case tc.status == 503:
					g := decode(t, body)
					if g.Rule != admission.RuleBreaker || g.Type != problem.Prefix+"circuit-open" || !strings.Contains(g.Reason, "in a row") || g.RetryAfter < 1 || resp.Header.Get("Retry-After") == "" {
						t.Errorf("%v %s", resp.Header, body)
					}
				case body != tc.body:
					t.Errorf("%q", body)
				}
				if tc.optional && resp.Header.Get(admission.DegradedField) != "open" {
					t.Errorf("%v", resp.Header)
				}
				if rec := recs.last(t, method); rec.Rule != admission.RuleBreaker || rec.Fallback != tc.rec || rec.Status != tc.status {
					t.Errorf("record %+v", rec)
				}
			}
			if n := d.sends.Load(); n != 2 {
				t.Errorf("%d deliveries", n)
			}
		})
	}
}

// TestFallbackWhenNobodyIsThere: the dispatcher's own refusal has fallbacks too,
// with the body that has been read.
func TestFallbackWhenNobodyIsThere(t *testing.T) {
	other := newDirect(t, startWorker(t, func(c *workerConn) {
		for {
			r, body := c.request()
			if r == nil {
				return
			}
			c.send("HTTP/1.1 200 OK\nContent-Length: 5\n\n" + body)
		}
	}).addr)
	nobody := doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer {
		return dispatch.Answer{Kind: dispatch.Unavailable, RetryAfter: time.Second, Reason: "no worker"}
	})
	f := serve(t, Route{Doer: nobody, Fallback: []Fallback{{On: []admission.FallbackCause{admission.Unavailable}, Other: other}}}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	for range 2 {
		c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 5\n\nhello")
		resp, body := c.answer("POST")
		if resp.StatusCode != 200 || body != "hello" || resp.Header.Get(admission.FallbackField) != "other; on=unavailable" {
			t.Errorf("%d %q %v", resp.StatusCode, body, resp.Header)
		}
	}
}

// TestStaleCopies: good answers to GETs are kept while they pass, and shown with
// their age when the worker cannot answer; what is personal is not.
func TestStaleCopies(t *testing.T) {
	var mu sync.Mutex
	gone := false
	w := startWorker(t, func(c *workerConn) {
		for {
			r, _ := c.request()
			if r == nil {
				return
			}
			more := ""
			switch r.URL.Path {
			case "/public":
				more = "Cache-Control: public\n"
			case "/private":
				more = "Cache-Control: private\n"
			case "/cookie":
				more = "Set-Cookie: a=b\n"
			}
			c.send("HTTP/1.1 200 OK\n" + more + "Content-Type: text/x\nTransfer-Encoding: chunked\n\n4\nseen\n4\n" + (r.URL.RawQuery + "----")[:4] + "\n0\n\n")
		}
	})
	d := newDirect(t, w.addr)
	sometimes := doFunc(func(ctx context.Context, work dispatch.Work, j dispatch.Job) dispatch.Answer {
		mu.Lock()
		away := gone
		mu.Unlock()
		if away {
			return dispatch.Answer{Kind: dispatch.Unavailable, RetryAfter: time.Second, Reason: "no worker"}
		}
		return d.Do(ctx, work, j)
	})
	f := serve(t, Route{
		Doer: sometimes, Stale: stale.New(stale.Config{}), Fallback: []Fallback{{Stale: &admission.Stale{MaxAge: time.Hour}}},
		Limits: []admission.Limit{{Key: "header:X-Api-Key"}},
	}, Config{Limiter: newLimiter(t, perHour("q", 1000))}, ServerConfig{})
	c := dial(t, f.addr)
	requests := []struct {
		lines []string
		kept  bool
	}{
		{[]string{"GET /a"}, true},
		{[]string{"GET /a?q=1"}, true},
		{[]string{"GET /a?q=2", "Accept-Language: de"}, true},
		{[]string{"GET /public", "Authorization: Basic abc"}, true},
		{[]string{"GET /b", "Authorization: Basic abc"}, false},
		{[]string{"GET /c", "Cookie: a=b"}, false},
		{[]string{"GET /d", "X-Api-Key: k"}, false},
		{[]string{"GET /private"}, false},
		{[]string{"GET /cookie"}, false},
		{[]string{"GET /e", "Range: bytes=0-1"}, false},
		{[]string{"POST /f", "Content-Length: 0"}, false},
	}
	bodies := make([]string, len(requests))
	for i, r := range requests {
		resp, body := c.ask(r.lines...)
		if resp.StatusCode != 200 {
			t.Fatalf("%v: %d", r.lines, resp.StatusCode)
		}
		bodies[i] = body
	}
	mu.Lock()
	gone = true
	mu.Unlock()
	for i, r := range requests {
		resp, body := c.ask(r.lines...)
		if (resp.StatusCode == 200) != r.kept {
			t.Errorf("%v: status %d", r.lines, resp.StatusCode)
			continue
		}
		if r.kept && (body != bodies[i] || resp.Header.Get(admission.FallbackField) != "stale; on=unavailable" || resp.Header.Get("Age") == "" ||
			resp.Header.Get("Content-Type") != "text/x" || len(resp.Header["X-Request-Id"]) != 1 || len(resp.Header["Ratelimit"]) > 1) {
			t.Errorf("%v: %q %v", r.lines, body, resp.Header)
		}
	}
	if resp, _ := c.ask("GET /a?q=2", "Accept-Language: fr"); resp.StatusCode != 503 {
		t.Errorf("another language: status %d", resp.StatusCode)
	}
	if resp, body := c.ask("HEAD /a"); resp.StatusCode != 200 || body != "" || resp.ContentLength != 8 {
		t.Errorf("HEAD: %d, %d", resp.StatusCode, resp.ContentLength)
	}
	for _, body := range bodiesOfGET() {
		c.send("GET /a HTTP/1.1\nHost: h\n" + body)
		if resp, _ := c.answer("GET"); resp.StatusCode != 503 {
			t.Errorf("a body that was never asked for: status %d", resp.StatusCode)
		}
	}
}

// bodiesOfGET are the ends of GETs with a body, on which the answer may depend.
func bodiesOfGET() []string {
	return []string{"Content-Length: 1\n\nq", "Transfer-Encoding: chunked\n\n1\nq\n0\n\n"}
}
