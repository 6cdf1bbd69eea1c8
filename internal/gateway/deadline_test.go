package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/dispatch/ledger"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

func TestParseTimeout(t *testing.T) {
	for _, tc := range []struct {
		text string
		want time.Duration // 0: not ok
	}{
		{"1.5s", 1500 * time.Millisecond},
		{"1500ms", 1500 * time.Millisecond},
		{"2", 2 * time.Second},
		{"0.25", 250 * time.Millisecond},
		{"1.5ms", 1500 * time.Microsecond},
		{"0.000000001s", 1},
		{"999999999", MaxDeadline},
		{"999999999ms", MaxDeadline},
		{"", 0},
		{"0", 0},
		{"0.0ms", 0},
		{"-1s", 0},
		{"+1s", 0},
		{"1e3", 0},
		{"1.s", 0},
		{".5s", 0},
		{"1 s", 0},
		{"1,5s", 0},
		{"1m", 0},
		{"s", 0},
		{"ms", 0},
		{"Inf", 0},
		{"1000000000", 0},
		{"0.0000000001", 0},
		{"１s", 0},
	} {
		if d, ok := ParseTimeout(tc.text); d != tc.want || ok != (tc.want > 0) {
			t.Errorf("ParseTimeout(%q) = %v, %v, want %v", tc.text, d, ok, tc.want)
		}
	}
}

func TestParseGRPCTimeout(t *testing.T) {
	for _, tc := range []struct {
		text string
		want time.Duration
	}{
		{"1S", time.Second},
		{"100m", 100 * time.Millisecond},
		{"20u", 20 * time.Microsecond},
		{"7n", 7},
		{"2M", 2 * time.Minute},
		{"3H", 3 * time.Hour},
		{"99999999H", MaxDeadline},
		{"99999999n", 99999999},
		{"100000000S", 0},
		{"0S", 0},
		{"S", 0},
		{"1", 0},
		{"1s", 0},
		{"", 0},
		{"-1S", 0},
		{"1.5S", 0},
	} {
		if d, ok := ParseGRPCTimeout(tc.text); d != tc.want || ok != (tc.want > 0) {
			t.Errorf("ParseGRPCTimeout(%q) = %v, %v, want %v", tc.text, d, ok, tc.want)
		}
	}
}

func TestParseDeadline(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_123)
	for _, tc := range []struct {
		text string
		left time.Duration
		ok   bool
	}{
		{"1700000001123", time.Second, true},
		{"1700000000123", 0, true},
		{"1699999999123", -time.Second, true},
		{"1700086400123", MaxDeadline, true},
		{"1700086400124", 0, false},
		{"1700000001", 0, false}, // seconds
		{"1699913600122", 0, false},
		{"999999999999999", 0, false},
		{"9999999999999999", 0, false},
		{"", 0, false},
		{"-5", 0, false},
		{"1700000001123.5", 0, false},
	} {
		if left, ok := ParseDeadline(tc.text, now); left != tc.left || ok != tc.ok {
			t.Errorf("ParseDeadline(%q) = %v, %v, want %v, %v", tc.text, left, ok, tc.left, tc.ok)
		}
	}
}

// Whatever a caller sends, what is understood is within bounds, and what we
// would pass on of it is understood again.
func FuzzDeadlines(f *testing.F) {
	for _, s := range []string{"1.5s", "1500ms", "2", "1S", "99999999H", "1700000001123", "0.000000001s", "-1", "1..5", "9e9s"} {
		f.Add(s)
	}
	now := time.UnixMilli(1_700_000_000_000)
	f.Fuzz(func(t *testing.T, s string) {
		if d, ok := ParseTimeout(s); ok {
			if d <= 0 || d > MaxDeadline {
				t.Errorf("ParseTimeout(%q) = %v", s, d)
			}
			ms := max(d.Milliseconds(), 1)
			if back, ok := ParseTimeout(strconv.FormatInt(ms, 10) + "ms"); !ok || back != time.Duration(ms)*time.Millisecond {
				t.Errorf("%dms is read as %v, %v", ms, back, ok)
			}
		}
		if d, ok := ParseGRPCTimeout(s); ok && (d <= 0 || d > MaxDeadline) {
			t.Errorf("ParseGRPCTimeout(%q) = %v", s, d)
		}
		if d, ok := ParseDeadline(s, now); ok && (d < -MaxDeadline || d > MaxDeadline) {
			t.Errorf("ParseDeadline(%q) = %v", s, d)
		}
	})
}

// realDoer is a dispatcher with a fleet of workers that run elsewhere.
func realDoer(t *testing.T, addrs ...string) *dispatch.Dispatcher {
	t.Helper()
	l, err := ledger.New(ledger.Config{Fleet: "test"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := fleet.New(fleet.Config{
		Name: "test", Connect: Upstream{DialTimeout: patience}.Connect,
		Opened: func(epoch uint64, _ string) { l.Opened(epoch) },
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := dispatch.New(dispatch.Config{Fleet: f, Ledger: l})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	epochs := map[string]uint64{}
	for i, a := range addrs {
		name := fmt.Sprint("w", i)
		epochs[name] = f.Up(name, a)
	}
	l.SetFleet(len(addrs))
	t.Cleanup(func() {
		cancel()
		<-done
		for name, e := range epochs {
			f.Down(name, e, fleet.End{Planned: true})
		}
	})
	return d
}

// silent reads requests and never answers.
func silent(c *workerConn) {
	for {
		if r, _ := c.request(); r == nil {
			return
		}
	}
}

// TestTheCallersDeadlineBoundsTheCall: a worker that does not answer in the
// caller's time costs the caller no more than that, however it said so.
func TestTheCallersDeadlineBoundsTheCall(t *testing.T) {
	w := startWorker(t, silent)
	f := serve(t, Route{Doer: realDoer(t, w.addr)}, Config{}, ServerConfig{})
	for _, field := range []string{
		"X-Request-Timeout: 0.05", "X-Request-Timeout: 50ms", "grpc-timeout: 50m", "x-request-timeout: 0.05s",
		"X-Request-Deadline: " + strconv.FormatInt(time.Now().Add(50*time.Millisecond).UnixMilli(), 10),
		"X-Request-Timeout: 1h\nX-Request-Timeout: 50ms", // the earliest, and 1h is none
	} {
		c := dial(t, f.addr)
		c.send("GET /x HTTP/1.1\nHost: h\n" + field + "\n\n")
		resp, body := c.answer("GET")
		if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, `"rule":"deadline"`) ||
			!strings.Contains(body, problem.Prefix+"deadline") || !strings.Contains(body, `"until":"`) {
			t.Errorf("%s: %s %s", field, resp.Status, body)
		}
		if resp.Close {
			t.Errorf("%s: the connection does not go on", field)
		}
	}
}

// A deadline that has passed is answered without a worker, also while the body
// has yet to come.
func TestWorkThatComesTooLateReachesNoWorker(t *testing.T) {
	w := startWorker(t, answering(hello))
	f := serve(t, Route{Doer: realDoer(t, w.addr)}, Config{}, ServerConfig{})
	past := strconv.FormatInt(time.Now().Add(-time.Second).UnixMilli(), 10)
	for _, text := range []string{
		"GET / HTTP/1.1\nHost: h\nX-Request-Deadline: " + past + "\n\n",
		"POST / HTTP/1.1\nHost: h\nX-Request-Timeout: 30ms\nContent-Length: 10\n\nhalf",
	} {
		c := dial(t, f.addr)
		c.send(text)
		if resp, body := c.answer("GET"); resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, `"rule":"deadline"`) {
			t.Errorf("%q: %s %s", text, resp.Status, body)
		}
	}
	if n := w.deliveries(); n != 0 {
		t.Errorf("%d deliveries, want none", n)
	}
}

// TestStreamsEndWithTheirDeadline: an answer that has begun and then stands still
// is cut when its caller's time is over.
func TestStreamsEndWithTheirDeadline(t *testing.T) {
	w := startWorker(t, func(c *workerConn) {
		if r, _ := c.request(); r != nil {
			c.send("HTTP/1.1 200 OK\nContent-Length: 100\n\nhello")
			silent(c)
		}
	})
	f := serve(t, Route{Doer: realDoer(t, w.addr)}, Config{}, ServerConfig{})
	given(t, 100*time.Millisecond, func(timeout time.Duration) bool {
		c := dial(t, f.addr)
		c.send("GET / HTTP/1.1\nHost: h\nX-Request-Timeout: " + strconv.FormatInt(timeout.Milliseconds(), 10) + "ms\n\n")
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode == http.StatusGatewayTimeout {
			return false // it has not begun
		}
		if got, err := io.ReadAll(resp.Body); err == nil || string(got) != "hello" {
			t.Errorf("got %q, %v, want it cut", got, err)
		}
		return true
	})
}

// What is left of the time and which attempt it is reach the worker; what callers
// forge or misspell does not, or changes nothing.
func TestWhatWorkersAreToldOfTimeAndAttempts(t *testing.T) {
	for _, tc := range []struct {
		name, fields string
		want         []string // what the worker gets, … for digits
		never        []string
	}{
		{"nothing said", "", nil, []string{"timeout", "attempt", "deadline"}},
		{"a forged attempt", "X-Bezoar-Attempt: 7", nil, []string{"attempt"}},
		{"a timeout", "X-Request-Timeout: 100s", []string{"X-Request-Timeout: ms"}, []string{"100s", "grpc"}},
		{"a gRPC timeout", "Grpc-Timeout: 100S", []string{"X-Request-Timeout: ms", "grpc-timeout: m"}, []string{"100S"}},
		{"a misspelt timeout", "X-Request-Timeout: soon", nil, []string{"soon", "ms", "Timeout"}},
		{"a timeout before now", "X-Request-Timeout: -5\nGrpc-Timeout: -5S", nil, []string{"-5", "ms", "imeout"}},
		{"both", "X-Request-Timeout: 100s\nX-Request-Deadline: 5", []string{"X-Request-Timeout: ms", "X-Request-Deadline: "}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := startWorker(t, answering(hello))
			f := serve(t, Route{Doer: realDoer(t, w.addr)}, Config{}, ServerConfig{})
			c := dial(t, f.addr)
			c.send("GET / HTTP/1.1\nHost: h\n" + strings.TrimSuffix(tc.fields+"\n", "\n\n") + "\n\n")
			c.answer("GET")
			got := strings.Map(func(r rune) rune {
				if '0' <= r && r <= '9' {
					return -1
				}
				return r
			}, w.raw())
			for _, want := range tc.want {
				if strings.Count(got, want+"\r\n") != 1 {
					t.Errorf("the worker got\n%s, want once %q", got, want)
				}
			}
			for _, never := range tc.never {
				if strings.Contains(strings.ToLower(w.raw()), strings.ToLower(never)) {
					t.Errorf("the worker got\n%s, want nothing of %q", w.raw(), never)
				}
			}
		})
	}
}

// A request that is sent again says so, with what is left of its time by then.
func TestAnAttemptAfterTheFirstSaysSo(t *testing.T) {
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
				return // breaks off
			default:
				c.send(hello)
			}
		}
	})
	f := serve(t, Route{Doer: realDoer(t, w.addr)}, Config{}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("GET / HTTP/1.1\nHost: h\nX-Request-Timeout: 20\nX-Bezoar-Attempt: 9\n\n")
	if resp, body := c.answer("GET"); resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", resp.Status, body)
	}
	one, two, _ := strings.Cut(strings.TrimPrefix(w.raw(), "GET"), "GET")
	if strings.Contains(one, "Attempt") || !strings.Contains(two, "\r\nX-Bezoar-Attempt: 2\r\n") || strings.Count(two, "Attempt") != 1 {
		t.Errorf("the worker got\n%s and then\n%s", one, two)
	}
	if strings.Count(one, "X-Request-Timeout: ") != 1 || strings.Count(two, "X-Request-Timeout: ") != 1 {
		t.Errorf("what is left was not told once each:\n%s and then\n%s", one, two)
	}
}
