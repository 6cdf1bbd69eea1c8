package adminapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bezoar-dev/bezoar"
)

type seen struct{ Method, URI, Auth, Body string }

// serve answers every call with status and body and tells what it saw.
func serve(t *testing.T, status int, contentType, body string) (*Client, *seen) {
	t.Helper()
	got := new(seen)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*got = seen{r.Method, r.RequestURI, r.Header.Get("Authorization"), string(b)}
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	c, err := New(Config{Address: srv.Listener.Addr().String(), Token: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, got
}

func TestCallsReachTheirPaths(t *testing.T) {
	fp, err := bezoar.ParseFingerprint(strings.Repeat("ab", 16))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		answer string
		call   func(context.Context, *Client) (any, error)
		seen   seen
		want   any
	}{
		{
			"verdicts of one fleet", `{"verdicts":[{"id":"q-1","cause":"oom"}]}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Verdicts(ctx, "a&b") },
			seen{"GET", "/api/v1/quarantine?fleet=a%26b", "Bearer s3cret", ""},
			[]bezoar.Verdict{{ID: "q-1", Cause: bezoar.OOM}},
		},
		{
			"verdict, with its id escaped", `{"id":"q-1"}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Verdict(ctx, "../x?y") },
			seen{"GET", "/api/v1/quarantine/..%2Fx%3Fy", "Bearer s3cret", ""},
			bezoar.Verdict{ID: "q-1"},
		},
		{
			"add", `{"id":"q-2"}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Add(ctx, Add{Fingerprint: fp, For: Duration(90 * time.Minute), Reason: "r"})
			},
			seen{
				"POST", "/api/v1/quarantine", "Bearer s3cret",
				`{"fingerprint":"abababababababababababababababab","shape":"","for":"1h30m0s","reason":"r"}`,
			},
			bezoar.Verdict{ID: "q-2"},
		},
		{
			"release", "",
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Release(ctx, "q-1") },
			seen{"DELETE", "/api/v1/quarantine/q-1", "Bearer s3cret", ""},
			nil,
		},
		{
			"letters", `{"letters":[{"id":"dl-1","copies":3}]}`,
			func(ctx context.Context, c *Client) (any, error) {
				return c.Letters(ctx, LetterQuery{Fleet: "f", Limit: 5, Offset: 10})
			},
			seen{"GET", "/api/v1/letters?fleet=f&limit=5&offset=10", "Bearer s3cret", ""},
			[]bezoar.Letter{{ID: "dl-1", Copies: 3}},
		},
		{
			"letter", `{"id":"dl-1","request":{"body":"AAE="}}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Letter(ctx, "dl-1") },
			seen{"GET", "/api/v1/letters/dl-1", "Bearer s3cret", ""},
			bezoar.Letter{ID: "dl-1", Request: bezoar.Request{Body: []byte{0, 1}}},
		},
		{
			"discard", "",
			func(ctx context.Context, c *Client) (any, error) { return nil, c.Discard(ctx, "dl-1") },
			seen{"DELETE", "/api/v1/letters/dl-1", "Bearer s3cret", ""},
			nil,
		},
		{
			"redrive", `{"id":"dl-1","outcome":"answered","status":200}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Redrive(ctx, "dl-1") },
			seen{"POST", "/api/v1/letters/dl-1/redrive", "Bearer s3cret", ""},
			Redriven{ID: "dl-1", Outcome: Answered, Status: 200},
		},
		{
			"fleets", `{"fleets":[{"name":"f","workers":[{"name":"f-1","epoch":7}]}]}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Fleets(ctx) },
			seen{"GET", "/api/v1/fleets", "Bearer s3cret", ""},
			[]Fleet{{Name: "f", Workers: []Worker{{Name: "f-1", Epoch: 7}}}},
		},
		{
			"restart", `{"fleet":"a b","workers":8}`,
			func(ctx context.Context, c *Client) (any, error) { return c.Restart(ctx, "a b") },
			seen{"POST", "/api/v1/fleets/a%20b/restart", "Bearer s3cret", ""},
			Restarting{Fleet: "a b", Workers: 8},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, got := serve(t, 200, "application/json", tt.answer)
			out, err := tt.call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, out); d != "" {
				t.Error("answer (-want +got):", d)
			}
			if d := cmp.Diff(tt.seen, *got); d != "" {
				t.Error("request (-want +got):", d)
			}
		})
	}
}

func TestRefusalsBecomeProblems(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		status                  int
		code, text              string
	}{
		{
			"a problem document", ProblemType + "; charset=utf-8",
			`{"status":404,"code":"not-found","detail":"no verdict q-1"}`, 404, CodeNotFound,
			`get verdict "q-1": no verdict q-1`,
		},
		{"a proxy's page", "text/html", "<h1>oops</h1>", 502, CodeUnavailable, `get verdict "q-1": a proxy in between answers 502 Bad Gateway`},
		{
			"a problem that contradicts its status", ProblemType, `{"status":200}`, 403, CodeForbidden,
			`get verdict "q-1": a proxy in between refuses the request: 403 Forbidden`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _ := serve(t, tt.status, tt.contentType, tt.body)
			_, err := c.Verdict(t.Context(), "q-1")
			var p *Problem
			if !errors.As(err, &p) {
				t.Fatalf("error %v is not a Problem", err)
			}
			if p.Code != tt.code || p.Status != tt.status || err.Error() != tt.text {
				t.Errorf("got code %q status %d text %q, want %q %d %q", p.Code, p.Status, err, tt.code, tt.status, tt.text)
			}
		})
	}
}

// Another server at the address is told from a Bezoar that knows no such thing.
func TestAnotherServerIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		kind, body string
		text       string
	}{
		"a page":                    {404, "text/html", "<h1>not here</h1>", "answers, but is not Bezoar: 404 Not Found"},
		"a page for everything":     {200, "text/html", "<h1>welcome</h1>", "answers, but is not Bezoar: 200 OK"},
		"a redirect, not followed":  {307, "text/html", "", "answers, but is not Bezoar: 307 Temporary Redirect"},
		"another API with problems": {400, "application/json", `{"error":"no"}`, "answers, but is not Bezoar: 400 Bad Request"},
	} {
		c, _ := serve(t, tt.status, tt.kind, tt.body)
		_, err := c.Verdict(t.Context(), "q-1")
		if stranger, ok := errors.AsType[*StrangerError](err); !ok || !strings.HasSuffix(stranger.Error(), tt.text) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestProblemWrite(t *testing.T) {
	rec := httptest.NewRecorder()
	NewProblem(409, CodeConflict, "it moved").Write(rec)
	var got map[string]any
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"type": "about:blank", "title": "Conflict", "status": 409.0, "code": "conflict", "detail": "it moved"}
	if d := cmp.Diff(want, got); d != "" || rec.Code != 409 || rec.Header().Get("Content-Type") != ProblemType {
		t.Errorf("status %d, type %q, body (-want +got): %s", rec.Code, rec.Header().Get("Content-Type"), d)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	if b, err := readAll(strings.NewReader("12345"), 5); err != nil || string(b) != "12345" {
		t.Errorf("an answer within the bound gave %q, %v", b, err)
	}
	if _, err := readAll(strings.NewReader("123456"), 5); err == nil || !strings.Contains(err.Error(), "longer than 5") {
		t.Errorf("an answer over the bound gave %v", err)
	}
}

func TestUnreachableNamesTheAddress(t *testing.T) {
	const addr = "127.0.0.1:1" // nobody listens there
	c, err := New(Config{Address: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Fleets(t.Context())
	var reach *ReachError
	if !errors.As(err, &reach) || !strings.Contains(err.Error(), addr) {
		t.Fatalf("got %v, want a ReachError that names %s", err, addr)
	}
}

func TestTimeoutEndsACall(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	c, err := New(Config{Address: srv.URL, Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Fleets(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want the deadline", err)
	}
}

func TestAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "http://127.0.0.1:7070",
		":9000":                "http://127.0.0.1:9000",
		"example.com:1":        "http://example.com:1",
		"https://h/base/":      "https://h/base",
		"ftp://h":              "",
		"http://u:p@h":         "",
		"http://h?q":           "",
		"http://":              "",
		"http://a b":           "",
		"127.0.0.1:99999999:1": "",
	} {
		u, err := baseURL(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was accepted as %s", in, u)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q gave %v, %v; want %s", in, u, err, want)
		}
	}
}

func TestConfigPrintsNoToken(t *testing.T) {
	if s := (Config{Address: "h:1", Token: "s3cret"}).String(); strings.Contains(s, "s3cret") {
		t.Fatalf("%q shows the token", s)
	}
}
