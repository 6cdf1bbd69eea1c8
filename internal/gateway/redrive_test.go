package gateway

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
)

func TestRedrive(t *testing.T) {
	w := startWorker(t, answering(hello))
	d := newDirect(t, w.addr)
	f := serve(t, Route{Name: "r", Doer: d}, Config{}, ServerConfig{})

	// The letter is of a request as it came.
	original := jobFor(t, f.g, "POST /a?x=1 HTTP/1.1\nHost: h\nAuthorization: s3cret\nConnection: X-Hop\nX-Hop: 1\nX-Request-Id: r1\n"+
		"Content-Type: text/plain\nContent-Length: 5\n\nhello")
	work := original.work()
	letter := bezoar.Letter{ID: "dl-1", Route: "r", Fingerprint: work.Fingerprint, Shape: work.Shape, Request: original.Keep()}
	original.end()

	got, err := f.g.Redrive(context.Background(), letter)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != 200 || string(got.Body) != "hello" || got.Truncated || got.Answer.Kind != dispatch.Answered {
		t.Errorf("got %+v", got)
	}
	if d := cmp.Diff([]string{"Authorization"}, got.Missing); d != "" {
		t.Error(d)
	}
	want := crlf("POST /a?x=1 HTTP/1.1\nHost: h\nContent-Type: text/plain\nX-Forwarded-For: 192.0.2.1\nX-Forwarded-Host: h\n" +
		"X-Forwarded-Proto: http\nX-Request-Id: r1\nContent-Length: 5\n\nhello")
	if raw := w.raw(); raw != want {
		t.Errorf("the worker got\n%s\nwant\n%s", raw, want)
	}
	if wk := d.work(); wk.Fingerprint != letter.Fingerprint || wk.Shape != letter.Shape || wk.Route != "r" {
		t.Errorf("work is %+v", wk)
	}
	noneHeld(t, f.g)
}

// What is run again whole is the same variant, for the worker as well; what lacks a
// part is another one, so that nothing is concluded for what killed.
func TestARedrivenRequestIsItsVariant(t *testing.T) {
	const whole = "POST /a?x=1 HTTP/1.1\nHost: h\nx-theme: neon\nX-B: 2\nContent-Type: text/plain\nX-Theme: dark\nX-a: 1\nContent-Length: 5\n\nhello"
	for name, tc := range map[string]struct {
		raw, sent string
		missing   []string
	}{
		"whole": {whole, "POST /a?x=1 HTTP/1.1\nHost: h\nx-theme: neon\nX-B: 2\nContent-Type: text/plain\nX-Theme: dark\nX-a: 1\n", nil},
		"without its cookie": {
			strings.Replace(whole, "X-B: 2\n", "cookie: a=1\nX-B: 2\n", 1),
			"POST /a?x=1 HTTP/1.1\nHost: h\nx-theme: neon\nX-B: 2\nContent-Type: text/plain\nX-Theme: dark\nX-a: 1\n",
			[]string{"Cookie"},
		},
		"without an upgrade": {
			strings.Replace(whole, "X-B: 2\n", "Connection: Upgrade\nUpgrade: websocket\nX-B: 2\n", 1),
			"POST /a?x=1 HTTP/1.1\nHost: h\nx-theme: neon\nX-B: 2\nContent-Type: text/plain\nX-Theme: dark\nX-a: 1\n",
			[]string{"Upgrade"},
		},
		"without a parameter": {
			strings.Replace(whole, "x=1", "x=1&token=s3cret", 1),
			"POST /a?x=1&token=[redacted] HTTP/1.1\nHost: h\nx-theme: neon\nX-B: 2\nContent-Type: text/plain\nX-Theme: dark\nX-a: 1\n",
			[]string{"target"},
		},
	} {
		w := startWorker(t, answering(hello))
		d := newDirect(t, w.addr)
		f := serve(t, Route{Name: "r", Doer: d}, Config{}, ServerConfig{})
		original := jobFor(t, f.g, tc.raw)
		work := original.work()
		letter := bezoar.Letter{
			ID: "dl-1", Route: "r", Fingerprint: work.Fingerprint, Variant: work.Traits.Variant(), Shape: work.Shape, Request: original.Keep(),
		}
		original.end()
		got, err := f.g.Redrive(context.Background(), letter)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tc.missing, got.Missing, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if raw := w.raw(); !strings.HasPrefix(raw, crlf(tc.sent)) {
			t.Errorf("%s: the worker got\n%s\nwant\n%s", name, raw, tc.sent)
		}
		if same := d.variant() == letter.Variant; same != (len(tc.missing) == 0) {
			t.Errorf("%s: it is the variant of the letter: %v", name, same)
		}
		// Nothing was put on it: what the worker gets is the same variant again.
		again := jobFor(t, f.g, tc.sent+"Content-Length: 5\n\nhello")
		if v := again.work().Traits.Variant(); v == letter.Variant != (len(tc.missing) == 0) {
			t.Errorf("%s: what was sent is another variant", name)
		}
		again.end()
	}
}

func TestRedriveRefused(t *testing.T) {
	w := startWorker(t, answering(hello))
	f := serve(t, Route{Path: "/a", Doer: newDirect(t, w.addr)}, Config{}, ServerConfig{})
	noLane := serve(t, Route{Doer: doFunc(nil)}, Config{}, ServerConfig{})
	ok := bezoar.Request{Method: "GET", Target: "/a", Host: "h"}
	for _, tc := range []struct {
		name   string
		g      *Gateway
		change func(*bezoar.Letter)
		want   error
		says   string
	}{
		{"truncated", f.g, func(l *bezoar.Letter) { l.Request.Truncated = true }, ErrTruncated, "dl-1"},
		{"no route", f.g, func(l *bezoar.Letter) { l.Request.Target = "/b" }, ErrNoRoute, "dl-1"},
		{"malformed", f.g, func(l *bezoar.Letter) { l.Request.Header = map[string][]string{"X": {"a\r\nb: c"}} }, nil, "not allowed"},
		{"no lane", noLane.g, func(*bezoar.Letter) {}, nil, "has no lane"},
	} {
		l := bezoar.Letter{ID: "dl-1", Request: ok}
		tc.change(&l)
		_, err := tc.g.Redrive(context.Background(), l)
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !regexp.MustCompile(tc.says).MatchString(err.Error()) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestRedriveResult checks what is told of the answer.
func TestRedriveResult(t *testing.T) {
	long := make([]byte, 0, 2*MaxRedriveBody)
	for range cap(long) {
		long = append(long, 'x')
	}
	for name, tc := range map[string]struct {
		script func(*workerConn)
		want   Redriven
	}{
		"long": {
			answering("HTTP/1.1 500 Oops\nContent-Length: 131072\n\n" + string(long)),
			Redriven{Status: 500, Body: long[:MaxRedriveBody], Truncated: true},
		},
		"crash": {func(c *workerConn) { c.request() }, Redriven{Missing: []string{"X-Token", "target"}}},
	} {
		w := startWorker(t, tc.script)
		f := serve(t, Route{Doer: newDirect(t, w.addr)}, Config{}, ServerConfig{})
		req := bezoar.Request{Method: "GET", Target: "/", Host: "h"}
		if tc.want.Missing != nil {
			req.Target, req.Header = "/?key="+Redacted, map[string][]string{"X-Token": {Redacted, Redacted}}
		}
		got, err := f.g.Redrive(context.Background(), bezoar.Letter{ID: "dl-1", Request: req})
		if err != nil {
			t.Fatal(err)
		}
		got.Answer = dispatch.Answer{}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
