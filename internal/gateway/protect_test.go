package gateway

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/protect"
	"github.com/bezoar-dev/bezoar/quota"
)

// protected serves a handler behind its protection.
func protected(t *testing.T, p protect.Config, h http.HandlerFunc) string {
	t.Helper()
	wrap, err := protect.New(p)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(wrap(h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestProtectRefusesAsGatewaysDo: the same limits give the same refusals.
func TestProtectRefusesAsGatewaysDo(t *testing.T) {
	bytes := perHour("bytes", 10)
	bytes.Unit = quota.Bytes
	limits := []admission.Limit{{Key: "header:X-Api-Key"}, {Quota: 1, Key: "jwt:sub+ip"}}
	fresh := func() *quota.Limiter { return newLimiter(t, perHour("keys", 2), bytes) }
	overrides := func(_, caller, _ string) admission.Override {
		return admission.Override{Deny: caller == "bad", Reason: "because"}
	}
	full := func() *overload.Pool {
		p, err := overload.New(overload.Config{Limit: shed.Config{Fixed: 1}, Queue: overload.Off})
		if err != nil {
			t.Fatal(err)
		}
		if _, no := p.Enter(t.Context(), overload.Request{}); no != nil {
			t.Fatal(no)
		}
		return p
	}
	for name, tc := range map[string]struct {
		with  func(*Route, *Config)
		heads []string
	}{
		"limits": {func(r *Route, c *Config) { r.Limits, c.Limiter = limits, fresh() }, []string{
			"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: a\n\n",
			"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nx-api-key: a\n\n",
			"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nX_Api_Key: a\n\n",
			"HEAD / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: a\n\n",
			"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: a\nX-Api-Key: b\n\n",
			"POST / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: b\nContent-Length: 11\n\n" + strings.Repeat("x", 11),
			"POST / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: b\nTransfer-Encoding: chunked\n\n14\n" + strings.Repeat("x", 20) + "\n0\n\n",
			"POST / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: c\nContent-Length: 1\n\nx",
			"POST / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: c\n" + bearerToken(`{"sub":"s"}`) + "\nContent-Length: 1\n\nx",
		}},
		"quiet": {func(r *Route, c *Config) { r.Limits, c.Limiter, c.HideLimits = limits, fresh(), true }, []string{"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\n\n"}},
		"denied": {func(r *Route, c *Config) { r.Client, c.Overrides = "header:X-Api-Key", overrides }, []string{
			"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: bad\n\n", "GET / HTTP/1.1\nHost: h\nX-Request-Id: r\nX-Api-Key: good\n\n",
		}},
		"full":     {func(r *Route, _ *Config) { r.Pool = full() }, []string{"GET / HTTP/1.1\nHost: h\nX-Request-Id: r\n\n"}},
		"optional": {func(r *Route, _ *Config) { r.Pool, r.Optional = full(), true }, []string{"GET / HTTP/1.1\nHost: h\n\n", "HEAD / HTTP/1.1\nHost: h\n\n"}},
		"static": {func(r *Route, _ *Config) {
			r.Pool, r.Fallback = full(), []Fallback{{Static: &admission.Static{Header: http.Header{"Content-Type": {"a/b"}}, Body: []byte("static")}}}
		}, []string{"GET / HTTP/1.1\nHost: h\n\n", "HEAD / HTTP/1.1\nHost: h\n\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r Route
			var c Config
			tc.with(&r, &c)
			r.Doer = newDirect(t, startWorker(t, answering(hello)).addr)
			gate := dial(t, serve(t, r, c, ServerConfig{}).addr)

			tc.with(&r, &c)
			p := protect.Config{
				Client: r.Client, Limits: r.Limits, Pool: r.Pool, Optional: r.Optional,
				Limiter: c.Limiter, HideLimits: c.HideLimits, Overrides: c.Overrides,
			}
			for _, f := range r.Fallback {
				p.Fallback = append(p.Fallback, protect.Fallback{Static: f.Static})
			}
			hand := dial(t, protected(t, p, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "hello")
			}))
			for _, head := range tc.heads {
				method, _, _ := strings.Cut(head, " ")
				gate.send(head)
				hand.send(head)
				a, bodyA := gate.answer(method)
				b, bodyB := hand.answer(method)
				if a.StatusCode != b.StatusCode || a.Close != b.Close {
					t.Errorf("%q: status %d and %d, close %v and %v", head, a.StatusCode, b.StatusCode, a.Close, b.Close)
				}
				for _, f := range []string{"Retry-After", "RateLimit-Policy", "RateLimit", admission.FallbackField, admission.DegradedField, "Cache-Control"} {
					if x, y := near(a.Header.Get(f)), near(b.Header.Get(f)); x != y {
						t.Errorf("%q: %s %q and %q", head, f, x, y)
					}
				}
				if a.StatusCode < 400 || method == "HEAD" {
					if bodyA != bodyB {
						t.Errorf("%q: %q and %q", head, bodyA, bodyB)
					}
					continue
				}
				if d := cmp.Diff(decode(t, bodyA), decode(t, bodyB), cmp.AllowUnexported(admission.RefusalBody{}), cmpopts.IgnoreFields(admission.RefusalBody{}, "RetryAfter"),
					cmpopts.IgnoreFields(problem.Document{}, "Until", "Detail")); d != "" {
					t.Errorf("%q: %s", head, d)
				}
			}
		})
	}
}

// near leaves out the seconds, in which two clocks may differ.
func near(s string) string {
	s, _, _ = strings.Cut(s, ";t=")
	if strings.Trim(s, "0123456789") == "" && s != "" {
		return "a number"
	}
	return s
}
