package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// TestProblems checks what callers are told when no worker has answered.
func TestProblems(t *testing.T) {
	until := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, tc := range []struct {
		name       string
		answer     dispatch.Answer
		status     int
		retryAfter string
		want       problem.Document
	}{
		{
			"refused",
			dispatch.Answer{
				Kind: dispatch.Refused, RetryAfter: 1500 * time.Millisecond, Reason: "other",
				Verdict: &bezoar.Verdict{ID: "q-0123456789ab", Cause: bezoar.Crash, Reason: "it killed 2 workers", Until: until, Sample: "GET /?token=s3cret"},
			},
			503, "2",
			problem.Document{
				Type: "urn:bezoar:problem:quarantined", Title: "Service Unavailable", Status: 503,
				Detail: "Requests like this one have crashed workers. They are refused until one copy has been tried in isolation.",
				ID:     "q-0123456789ab", Cause: "crash", Reason: "it killed 2 workers", Until: "2031-02-03T04:05:06Z",
			},
		},
		{
			"refused by an operator",
			dispatch.Answer{
				Kind: dispatch.Refused, RetryAfter: time.Second,
				Verdict: &bezoar.Verdict{ID: "q-0123456789ab", Cause: bezoar.Invalid, Manual: true, Reason: "by hand", Until: until},
			},
			503, "1",
			problem.Document{
				Type: "urn:bezoar:problem:quarantined", Title: "Service Unavailable", Status: 503,
				Detail: "An operator decided that requests like this one are refused for now.",
				ID:     "q-0123456789ab", Reason: "by hand", Until: "2031-02-03T04:05:06Z",
			},
		},
		{
			"refused without a verdict",
			dispatch.Answer{Kind: dispatch.Refused, Reason: "a rule"},
			503, "1",
			problem.Document{
				Type: "urn:bezoar:problem:quarantined", Title: "Service Unavailable", Status: 503,
				Detail: "Requests like this one have crashed workers. They are refused until one copy has been tried in isolation.",
				Reason: "a rule",
			},
		},
		{
			"unavailable",
			dispatch.Answer{Kind: dispatch.Unavailable, RetryAfter: 3 * time.Second, Reason: "no worker could be reached: dial 10.0.0.1"},
			503, "3",
			problem.Document{
				Type: "urn:bezoar:problem:unavailable", Title: "Service Unavailable", Status: 503,
				Detail: "No worker can take the request now.", Reason: "no worker could be reached",
			},
		},
		{
			"failed",
			dispatch.Answer{Kind: dispatch.Failed, Reason: "the worker died", Result: dispatch.Result{Err: errors.New("10.0.0.1")}},
			502, "",
			problem.Document{
				Type: "urn:bezoar:problem:failed", Title: "Bad Gateway", Status: 502,
				Detail: "The worker failed on the request.", Reason: "the worker died",
			},
		},
		{
			"timed out",
			dispatch.Answer{Kind: dispatch.TimedOut, Reason: "late"},
			504, "",
			problem.Document{
				Type: "urn:bezoar:problem:timeout", Title: "Gateway Timeout", Status: 504,
				Detail: "The worker did not answer in time.", Reason: "late",
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := serve(t, Route{Doer: doFunc(func(context.Context, dispatch.Work, dispatch.Job) dispatch.Answer { return tc.answer })}, Config{}, ServerConfig{})
			c := dial(t, f.addr)
			c.send("GET /?token=s3cret HTTP/1.1\nHost: h\nAccept: text/html\nX-Request-Id: r1\n\n")
			resp, body := c.answer("GET")
			if resp.StatusCode != tc.status || resp.Header.Get("Retry-After") != tc.retryAfter || resp.Header.Get("X-Request-Id") != "r1" ||
				resp.Header.Get("Content-Type") != "application/problem+json" || resp.Close {
				t.Errorf("status %d, head %v", resp.StatusCode, resp.Header)
			}
			var got problem.Document
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			tc.want.Instance = "r1"
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if strings.Contains(body, "s3cret") || strings.Contains(body, "10.0.0.1") {
				t.Errorf("the body tells what callers must not know: %s", body)
			}
			c.send("HEAD / HTTP/1.1\nHost: h\n\n")
			if resp, body := c.answer("HEAD"); resp.StatusCode != tc.status || body != "" || resp.ContentLength <= 0 {
				t.Errorf("HEAD: status %d, length %d, body %q", resp.StatusCode, resp.ContentLength, body)
			}
			c.send("GET / HTTP/1.1\nHost: h\n\n") // the connection is in step
			if resp, _ := c.answer("GET"); resp.StatusCode != tc.status {
				t.Errorf("then status %d", resp.StatusCode)
			}
		})
	}
}

// TestCut: an answer that breaks after it began never ends cleanly, in any
// framing.
func TestCut(t *testing.T) {
	for _, tc := range []struct{ answer, then string }{
		{"HTTP/1.1 200 OK\nContent-Length: 100\n\nhello", ""},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n", ""},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n", "xyz\n"},
		{"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n", "0\nX: y\n"},
	} {
		for _, minor := range []string{"0", "1"} {
			shown := make(chan bool)
			f, d, _ := through(t, func(c *workerConn) {
				c.request()
				c.send(tc.answer)
				<-shown
				c.send(tc.then)
			})
			c := dial(t, f.addr)
			c.send("GET / HTTP/1." + minor + "\nHost: h\n\n")
			for {
				line, err := c.br.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if line == "\r\n" {
					break
				}
			}
			close(shown)
			if rest, clean := c.ends(); clean {
				t.Errorf("HTTP/1.%s: %q ends cleanly with %q", minor, tc.answer+tc.then, rest)
			}
			if r := d.result(); r.Fault == dispatch.NoFault || !r.Begun || r.Status != 200 {
				t.Errorf("%q: fault %d, begun %v", tc.answer+tc.then, r.Fault, r.Begun)
			}
		}
	}
}

// TestNothingBegunCanBeAnswered: what broke before a byte reached the caller gets
// a proper answer, also when the worker's head was whole.
func TestNothingBegunCanBeAnswered(t *testing.T) {
	f, d, _ := through(t, func(c *workerConn) {
		c.request()
		c.send("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\nxyz\n")
	})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\n\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 502 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if r := d.result(); r.Begun || r.Fault != dispatch.BadAnswer {
		t.Errorf("fault %d, begun %v", r.Fault, r.Begun)
	}
}
