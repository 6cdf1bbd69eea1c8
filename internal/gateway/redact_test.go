package gateway

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
)

// jobFor returns the job of a request whose head is given, with its body held.
func jobFor(t testing.TB, g *Gateway, text string) *job {
	t.Helper()
	head, body, _ := strings.Cut(crlf(text), "\r\n\r\n")
	req := new(h1.Request)
	if err := req.Parse(head+"\r\n\r\n", h1.Limits{}); err != nil {
		t.Fatal(err)
	}
	j := &job{g: g, s: g.now.Load(), route: g.now.Load().table[0]}
	j.begin(context.Background(), &recorder{body: []byte(body)}, req, peer{ip: "192.0.2.1"})
	if err := j.gather(); err != nil {
		t.Fatal(err)
	}
	return j
}

func newGateway(t testing.TB, cfg Config) *Gateway {
	t.Helper()
	if cfg.Routes == nil {
		cfg.Routes = []Route{{Doer: doFunc(nil), Printer: newPrinter(t)}}
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestKeep(t *testing.T) {
	g := newGateway(t, Config{Redact: []string{"X-Tenant"}})
	j := jobFor(t, g, "POST /a?q=1&api_key=s3cret&x HTTP/1.1\nHost: h\nContent-Length: 5\nAuthorization: Bearer s3cret\nCOOKIE: s3cret\n"+
		"X-Api-Key: s3cret\nx-amz-security-token: s3cret\nX-Tenant-Id: s3cret\nIdempotency-Key: k1\nAccept: a\nAccept: b\n"+
		"Referer: https://u:s3cret@o/p?token=s3cret&p=1\n\nhello")
	want := bezoar.Request{
		Method: "POST", Target: "/a?q=1&api_key=[redacted]&x", Host: "h",
		Header: map[string][]string{
			"Content-Length": {"5"}, "Authorization": {Redacted}, "Cookie": {Redacted}, "X-Api-Key": {Redacted},
			"X-Amz-Security-Token": {Redacted}, "X-Tenant-Id": {Redacted}, "Idempotency-Key": {"k1"}, "Accept": {"a", "b"},
			"Referer": {"https://[redacted]@o/p?token=[redacted]&p=1"},
		},
		Order: []string{
			"Content-Length", "Authorization", "COOKIE", "X-Api-Key", "x-amz-security-token", "X-Tenant-Id", "Idempotency-Key",
			"Accept", "Accept", "Referer",
		},
		Body: []byte("hello"), BodySize: 5, Client: "192.0.2.1",
	}
	if d := cmp.Diff([]string{"Authorization", "Cookie", "Referer", "X-Amz-Security-Token", "X-Api-Key", "X-Tenant-Id", "target"}, want.Missing()); d != "" {
		t.Error(d)
	}
	got := j.Keep()
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	j.body.bytes[0] = 'X'
	if string(got.Body) != "hello" {
		t.Error("the kept body is not a copy")
	}
}

func TestKeepTruncated(t *testing.T) {
	g := newGateway(t, Config{Routes: []Route{{Doer: doFunc(nil), Printer: newPrinter(t), Buffer: 10}}})
	j := jobFor(t, g, "POST / HTTP/1.1\nHost: h\nContent-Length: 26\n\nabcdefghijklmnopqrstuvwxyz")
	j.body.whole = false // as it is when the rest streams
	if got := j.Keep(); string(got.Body) != "abcdefghij" || !got.Truncated || got.BodySize != 26 {
		t.Errorf("kept %q of %d, truncated %v", got.Body, got.BodySize, got.Truncated)
	}
}

func TestSample(t *testing.T) {
	g := newGateway(t, Config{})
	j := jobFor(t, g, "GET /search?q=a&key=s3cret HTTP/1.1\nHost: h\n\n")
	if got := j.Sample(); got != "GET /search?q=a&key=[redacted]" {
		t.Errorf("got %q", got)
	}
	j = jobFor(t, g, "GET /"+strings.Repeat("ä", 300)+"\xff HTTP/1.1\nHost: h\n\n")
	if got := j.Sample(); len(got) > 200 || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes, %q", len(got), got)
	}
}
