package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode"
)

// rig is a server whose checks are made when a test says so.
type rig struct {
	*Health
	t   *testing.T
	srv *httptest.Server
}

func newRig(t *testing.T, c Config) *rig {
	t.Helper()
	h := newHealth(t, c, idle())
	srv := httptest.NewServer(h.Handler())
	t.Cleanup(srv.Close)
	return &rig{h, t, srv}
}

// settle makes every check once.
func (r *rig) settle() {
	r.mu.Lock()
	r.phase = running
	for _, p := range r.probes {
		p.out = true // and no Run to make it
	}
	probes := r.probes
	r.mu.Unlock()
	for _, p := range probes {
		r.finish(p, r.guarded(context.Background(), p), nil)
	}
	r.step(context.Background(), time.Now(), true)
}

func (r *rig) get(path string) (status int, body string) {
	r.t.Helper()
	return r.do(http.MethodGet, path)
}

func (r *rig) do(method, path string) (status int, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.srv.URL+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := r.srv.Client().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-store" {
		r.t.Errorf("%s %s: Cache-Control %q", method, path, got)
	}
	if method == http.MethodGet && resp.ContentLength != int64(len(text)) {
		r.t.Errorf("%s: %d bytes of %d", path, len(text), resp.ContentLength)
	}
	return resp.StatusCode, string(text)
}

func (r *rig) check(name string, optional bool, err error) {
	r.t.Helper()
	f := func(context.Context) error { return err }
	if err := r.Check(name, CheckConfig{Func: f, Optional: optional}); err != nil {
		r.t.Fatal(err)
	}
}

// wants gets each path and compares status and body; a body that ends in … is
// the beginning.
func (r *rig) wants(answers map[string]string) {
	r.t.Helper()
	for path, want := range answers {
		status, body := r.get(path)
		got := fmt.Sprintf("%d %s", status, body)
		if start, cut := strings.CutSuffix(want, "…"); got != want && !(cut && strings.HasPrefix(got, start)) {
			r.t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestTheThreeAnswers(t *testing.T) {
	r := newRig(t, bare())
	r.check("db", false, nil)
	r.check("cache", true, errSecret)
	r.wants(map[string]string{
		"/livez":   "200 ok\n",
		"/readyz":  "503 not ready: starting: db, cache\n",
		"/healthz": `200 {"state":"ok","ready":false,"alive":true,"not_ready":"starting","checks":[{"name":"db","kind":"custom","state":"ok","pending":true},…`,
	})
	r.settle()
	r.wants(map[string]string{
		"/livez": "200 ok\n", "/readyz": "200 ok\n",
		"/healthz": `200 {"state":"degraded","since":"…`,
	})
	r.check("queue", false, errSecret)
	r.settle()
	r.wants(map[string]string{
		"/livez":                       "200 ok\n",
		"/livez?verbose":               "200 ok\ndetails are withheld\n",
		"/readyz":                      "503 not ready: failing: queue\n",
		"/readyz?exclude=queue":        "200 ok\n",
		"/readyz?exclude=a,queue,b":    "200 ok\n",
		"/readyz?exclude=queu":         "503 not ready: failing: queue\n",
		"/healthz":                     `503 {"state":"failing","since":"…`,
		"/healthz?exclude=queue,cache": `200 {"state":"ok","ready":true,"alive":true,"checks":[{"name":"db",…`,
		"/healthz?verbose":             "503 failing\ndb: ok since …",
	})
	r.Drain()
	r.wants(map[string]string{"/livez": "200 ok\n", "/readyz": "503 not ready: draining\n"})
}

func TestStartingNamesWhatIsMissing(t *testing.T) {
	r := newRig(t, bare())
	for i := range 10 {
		r.check(fmt.Sprint("c", i), false, errSecret)
	}
	r.Dependency("db", DependencyConfig{})
	r.phase = starting
	r.wants(map[string]string{"/readyz": "503 not ready: starting: c0, c1, c2, c3, c4, c5, c6, c7 and 2 more\n"})
	r.settle()
	r.wants(map[string]string{"/readyz": "503 not ready: failing: c0, c1, c2, c3, c4, c5, c6, c7 and 2 more\n"})
}

func TestLivezKnowsLoopsAlone(t *testing.T) {
	r := newRig(t, Config{Verbose: true})
	r.check("db", false, errSecret)
	l, err := r.Loop("writer", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r.settle()
	r.wants(map[string]string{"/livez?verbose": "200 ok\nloop writer: ok, no beat for 0 s of 60 s\n"})
	r.life.Add(int64(61 * time.Second))
	r.wants(map[string]string{
		"/livez":         "503 not alive\n",
		"/livez?verbose": "503 not alive\nloop writer: stuck, no beat for 61 s of 60 s\n",
	})
	if status, body := r.get("/healthz?exclude=db"); status != 503 || !strings.Contains(body, `"alive":false`) || !strings.Contains(body, `"stuck":true`) {
		t.Errorf("%d %s", status, body)
	}
	l.Beat()
	r.wants(map[string]string{"/livez": "200 ok\n"})
}

func TestMethods(t *testing.T) {
	r := newRig(t, Config{})
	r.settle()
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/healthz?verbose"} {
		want, _ := r.get(path)
		if status, body := r.do(http.MethodHead, path); status != want || body != "" {
			t.Errorf("HEAD %s: %d %q", path, status, body)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			if status, _ := r.do(method, path); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d", method, path, status)
			}
		}
	}
}

// What may hold secrets is shown only for ?verbose, and only when it is allowed.
func TestSecrets(t *testing.T) {
	paths := []string{"/livez", "/readyz", "/healthz", "/livez?verbose", "/readyz?verbose", "/healthz?verbose", "/readyz?verbose&exclude=x"}
	for _, allowed := range []bool{false, true} {
		cfg := Config{Verbose: allowed, Disks: []Disk{{Path: "/secret/path"}}}
		r := newRig(t, cfg)
		r.check("db", false, errSecret)
		r.Dependency("api", DependencyConfig{Rules: Rules{MinVolume: -2111147114}})
		r.settle()
		for _, path := range paths {
			_, body := r.get(path)
			shown := allowed && strings.Contains(path, "verbose") && !strings.HasPrefix(path, "/livez")
			for _, secret := range []string{"10.1.2.3", "/secret/path", "2111147114"} { // which no time looks like
				if strings.Contains(body, secret) != shown {
					t.Errorf("allowed %v, %s: %q is shown: %v\n%s", allowed, path, secret, !shown, body)
				}
			}
			if withheld := !allowed && strings.Contains(path, "verbose"); strings.Contains(body, "details are withheld") != withheld {
				t.Errorf("%s does not say what it withholds: %s", path, body)
			}
		}
	}
}

func TestTheReport(t *testing.T) {
	r := newRig(t, Config{})
	d := r.Dependency("db", DependencyConfig{Optional: true})
	for range 30 {
		d.Observe(10*time.Millisecond, Good)
	}
	r.settle()
	_, body := r.get("/healthz")
	var got Report
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got.State != OK || !got.Ready || !got.Alive || got.Since.IsZero() || len(got.Checks) != 5 {
		t.Errorf("%s", body)
	}
	for _, want := range []string{
		`{"name":"memory","kind":"local","state":"ok","since":"`,
		`"measures":[{"name":"used","value":0.1,"unit":"share","state":"ok","thresholds":{"degraded":{"upper":0.85,"lower":0.8},"failing":{"upper":0.95,"lower":0.9},"times":1}}]`,
		`"name":"waiting","value":0,"unit":"share","state":"ok","thresholds":{"degraded":{"upper":0.6,"lower":0.4},"times":1,"for_seconds":15,"calm_seconds":15}`,
		`{"name":"db","kind":"called","state":"ok","optional":true,"since":"`,
		`{"name":"calls","value":30,"state":"ok"}`,
	} {
		if !strings.Contains(strings.ReplaceAll(body, "0.09999999999999998", "0.1"), want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	_, body = r.get("/healthz?verbose")
	for _, want := range []string{
		"ok\nmemory: ok since ", "\n  used 0.1 (degraded from 0.85 to below 0.8, failing from 0.95 to below 0.9)\n",
		"\ndb: ok since ", ", optional\n  calls 30\n", " s\n",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
}

// As many checks and as long errors as there can be, of the worst kind: answers
// stay bounded and clean.
func TestAnswersAreBounded(t *testing.T) {
	r := newRig(t, Config{Verbose: true})
	wild := errors.New(strings.Repeat("\x1b[31m\x00\r\nHTTP/1.1 200 OK\xff\u202e<script>", 1000))
	for i := range MaxChecks - 4 {
		r.check(fmt.Sprintf("%064d", i), false, wild)
	}
	for i := range MaxChecks {
		if _, err := r.Loop(fmt.Sprintf("%064d", i), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	r.settle()
	var exclude []string
	for i := range 5000 {
		exclude = append(exclude, fmt.Sprint("e", i))
	}
	for _, path := range []string{"/livez?verbose", "/readyz", "/readyz?verbose", "/healthz", "/healthz?verbose", "/readyz?verbose&exclude=" + strings.Join(exclude, ",")} {
		_, body := r.get(path)
		if len(body) > 300<<10 {
			t.Errorf("%.20s: %d bytes", path, len(body))
		}
		for _, c := range body {
			if c != '\n' && !unicode.IsPrint(c) || c == unicode.ReplacementChar {
				t.Fatalf("%.20s holds %q", path, c)
			}
		}
	}
	if n := len(excluded(map[string][]string{"exclude": exclude})); n != MaxChecks {
		t.Errorf("%d names are excluded", n)
	}
}

// Requests are answered while a check hangs.
func TestNoRequestWaitsForACheck(t *testing.T) {
	r := newRig(t, bare())
	asked := make(chan struct{})
	err := r.Check("slow", CheckConfig{Timeout: time.Hour, Func: func(ctx context.Context) error {
		close(asked)
		<-ctx.Done()
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, r.Health)
	<-asked
	r.wants(map[string]string{"/livez": "200 ok\n", "/readyz": "503 not ready: starting: slow\n", "/healthz": `200 {"state":"ok"…`})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a\tb\nc ": "a b c", "x\xffy": "x y", "näh": "näh", "\u202eabc": " abc",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := oneLine(strings.Repeat("ä", 1000)); len(got) > maxDetail {
		t.Errorf("%d bytes", len(got))
	}
}

func BenchmarkReadyz(b *testing.B) {
	h, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	handler := h.Readyz()
	req := httptest.NewRequest(http.MethodGet, "/readyz", nil)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
}
