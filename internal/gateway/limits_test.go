package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/admission"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
	"github.com/bezoar-dev/bezoar/overload"
	"github.com/bezoar-dev/bezoar/policy/shed"
	"github.com/bezoar-dev/bezoar/protect"
	"github.com/bezoar-dev/bezoar/quota"
)

// perHour is long enough for no test to see it pass.
func perHour(name string, n int64) quota.Quota {
	return quota.Quota{Name: name, Limit: n, Per: time.Hour}
}

func newLimiter(t testing.TB, quotas ...quota.Quota) *quota.Limiter {
	t.Helper()
	l, err := quota.New(quota.Config{Quotas: quotas})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveLimited runs a gateway whose worker says hello, with the route's limits.
func serveLimited(t *testing.T, route Route, cfg Config) *front {
	t.Helper()
	route.Doer = newDirect(t, startWorker(t, answering(hello)).addr)
	return serve(t, route, cfg, ServerConfig{})
}

// ask sends one request and returns what comes back.
func (c *rawCaller) ask(lines ...string) (*http.Response, string) {
	c.t.Helper()
	method, _, _ := strings.Cut(lines[0], " ")
	c.send(strings.Join(append([]string{lines[0] + " HTTP/1.1", "Host: h"}, lines[1:]...), "\n") + "\n\n")
	return c.answer(method)
}

func decode(t *testing.T, body string) (g admission.RefusalBody) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &g); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return g
}

// TestRateLimit: what a quota refuses says which, how much, by how much and until
// when, and the connection goes on.
func TestRateLimit(t *testing.T) {
	f := serveLimited(t, Route{Limits: []admission.Limit{{Key: "header:X-Api-Key"}}}, Config{Limiter: newLimiter(t, perHour("keys", 2))})
	c := dial(t, f.addr)
	for i := range 2 {
		resp, body := c.ask("GET /", "X-Api-Key: a")
		if resp.StatusCode != 200 || body != "hello" {
			t.Fatalf("status %d, %q", resp.StatusCode, body)
		}
		if got := resp.Header.Get("RateLimit-Policy"); got != `"keys";q=2;w=3600` {
			t.Errorf("policy %s", got)
		}
		if got := resp.Header.Get("RateLimit"); !strings.HasPrefix(got, fmt.Sprintf(`"keys";r=%d;t=`, 1-i)) {
			t.Errorf("limit %s", got)
		}
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		resp, body := c.ask(method+" /", "X-Api-Key: a", "X-Request-Id: r1")
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if resp.StatusCode != 429 || err != nil || after < 1 || after > 7200 || resp.Close || resp.Header.Get("X-Request-Id") != "r1" {
			t.Fatalf("%s: status %d, close %v, head %v", method, resp.StatusCode, resp.Close, resp.Header)
		}
		if resp.Header.Get("RateLimit-Policy") != `"keys";q=2;w=3600` || resp.Header.Get("RateLimit") != fmt.Sprintf(`"keys";r=0;t=%d`, after) {
			t.Errorf("%s: head %v", method, resp.Header)
		}
		if method == "HEAD" {
			if body != "" || resp.ContentLength <= 0 {
				t.Errorf("HEAD: length %d, body %q", resp.ContentLength, body)
			}
			continue
		}
		g := decode(t, body)
		until, err := time.Parse(time.RFC3339, g.Until)
		if g.Type != problem.Prefix+"rate-limited" || g.Title != "Too Many Requests" || g.Status != 429 || g.Instance != "r1" ||
			g.Rule != "rate:keys" || g.Quota != "keys" || g.Violated[0] != "keys" || g.Unit != "requests" || g.Limit != 2 || *g.Used != 2 ||
			g.Excess != 1 || g.Window != "1h0m0s" || g.RetryAfter <= 0 || err != nil || time.Until(until) > 2*time.Hour {
			t.Errorf("%+v", g)
		}
		if resp.Header.Get("Content-Type") != "application/problem+json" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("head %v", resp.Header)
		}
		for _, secret := range []string{`"a"`, "127.0.0.1"} {
			if strings.Contains(body, secret) {
				t.Errorf("the refusal tells who is counted: %s", body)
			}
		}
	}
	if resp, _ := c.ask("GET /", "X-Api-Key: b"); resp.StatusCode != 200 {
		t.Errorf("another key on the connection: status %d", resp.StatusCode)
	}
}

// TestRefusalBeforeTheBody: a refusal waits for no body. The connection goes on
// if the body is short, and closes cleanly if it is long or held back.
func TestRefusalBeforeTheBody(t *testing.T) {
	f := serveLimited(t, Route{Limits: []admission.Limit{{Key: "route"}}}, Config{Limiter: newLimiter(t, perHour("all", 1))})
	c := dial(t, f.addr)
	c.ask("GET /")
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 5\n\n") // the body comes later
	if resp, _ := c.answer("POST"); resp.StatusCode != 429 {
		t.Fatalf("status %d", resp.StatusCode)
	}
	c.send("hello")
	c.send("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 429 || resp.Close {
		t.Fatalf("status %d, close %v", resp.StatusCode, resp.Close)
	}
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 5\nExpect: 100-continue\n\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 429 { // and no 100 before
		t.Errorf("status %d", resp.StatusCode)
	}
	if rest, clean := c.ends(); rest != "" || !clean {
		t.Errorf("then %q, clean %v", rest, clean)
	}
	c = dial(t, f.addr)
	c.send("POST / HTTP/1.1\nHost: h\nContent-Length: 1000000000\n\n" + strings.Repeat("x", 100_000))
	if resp, _ := c.answer("POST"); resp.StatusCode != 429 {
		t.Errorf("status %d", resp.StatusCode)
	}
	if rest, clean := c.ends(); rest != "" || !clean {
		t.Errorf("then %q, clean %v", rest, clean)
	}
}

// TestQuotaOfBytes: a declared length is charged at once, and one that is not
// declared afterwards.
func TestQuotaOfBytes(t *testing.T) {
	bytes := perHour("upload", 100)
	bytes.Unit = quota.Bytes
	f := serveLimited(t, Route{Limits: []admission.Limit{{Key: "header:K"}}}, Config{Limiter: newLimiter(t, bytes)})
	c := dial(t, f.addr)
	post := func(key string, n int) int {
		c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nK: %s\nContent-Length: %d\n\n%s", key, n, strings.Repeat("x", n)))
		resp, body := c.answer("POST")
		if resp.StatusCode == 429 && n > 100 {
			if g := decode(t, body); resp.Header.Get("Retry-After") != "" || g.Excess != int64(n-100) || g.RetryAfter != 0 {
				t.Errorf("waiting does not help, but: %v, %+v", resp.Header, g)
			}
		}
		return resp.StatusCode
	}
	chunked := func(key string, n int) int {
		c.send(fmt.Sprintf("POST / HTTP/1.1\nHost: h\nK: %s\nTransfer-Encoding: chunked\n\n%x\n%s\n0\n\n", key, n, strings.Repeat("x", n)))
		resp, _ := c.answer("POST")
		return resp.StatusCode
	}
	for i, step := range []struct {
		got, want int
	}{
		{post("a", 60), 200},
		{post("a", 60), 429},
		{post("a", 40), 200},
		{post("a", 1), 429},
		{post("b", 101), 429},
		{post("b", 100), 200},
		{chunked("c", 150), 200},
		{chunked("c", 1), 429},
		{post("c", 1), 429},
	} {
		if step.got != step.want {
			t.Errorf("step %d: status %d, want %d", i, step.got, step.want)
		}
	}
}

// TestQuotaOfAnswers: bytes of answers count when they are known, in front of
// workers and of handlers.
func TestQuotaOfAnswers(t *testing.T) {
	bytes := perHour("traffic", 12)
	bytes.Unit = quota.Bytes
	limits := []admission.Limit{{Key: "ip", Answers: true}}
	for name, addr := range map[string]string{
		"gateway": serveLimited(t, Route{Limits: limits}, Config{Limiter: newLimiter(t, bytes)}).addr,
		"handler": protected(t, protect.Config{Limits: limits, Limiter: newLimiter(t, bytes)}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}),
	} {
		c := dial(t, addr)
		for i, want := range []int{200, 200, 200, 429} { // 15 bytes after three
			resp, body := c.ask("GET /")
			if resp.StatusCode != want {
				t.Fatalf("%s: answer %d: status %d", name, i, resp.StatusCode)
			}
			if want == 429 && decode(t, body).Unit != "bytes" {
				t.Errorf("%s", body)
			}
		}
	}
}

func TestPlansAndOverrides(t *testing.T) {
	low := shed.Sheddable
	deny := admission.Override{Deny: true, Reason: "it scraped", Until: time.Now().Add(time.Hour)}
	overrides := map[string]admission.Override{"tight": {Rate: 0.5}, "loose": {Rate: 2}, "denied": deny, "low": {Priority: &low}}
	var asked string
	f := serveLimited(t, Route{
		Name: "shop", Client: "header:X-Api-Key", Limits: []admission.Limit{{}},
		Plans: []admission.Plan{
			{Name: "gold", Callers: func(c string) bool { return c == "gold" }},
			{Name: "free", Limits: []admission.Limit{{Quota: 1, Key: "client+route"}}},
		},
	}, Config{
		Limiter: newLimiter(t, perHour("all", 4), perHour("free", 2)),
		Overrides: func(route, caller, plan string) admission.Override {
			asked = route + " " + caller + " " + plan
			return overrides[caller]
		},
	})
	for _, tc := range []struct {
		key    string
		served int
		rule   string
		policy string
	}{
		{"gold", 4, "rate:all", `"all";q=4;w=3600`},
		{"other", 2, "rate:free", `"all";q=4;w=3600, "free";q=2;w=3600`},
		{"tight", 1, "rate:free", `"all";q=2;w=3600, "free";q=1;w=3600`},
		{"loose", 4, "rate:free", `"all";q=8;w=3600, "free";q=4;w=3600`},
		{"denied", 0, "denied", ""},
		{"low", 2, "rate:free", `"all";q=4;w=3600, "free";q=2;w=3600`},
	} {
		c := dial(t, f.addr)
		served := 0
		for {
			resp, body := c.ask("GET /", "X-Api-Key: "+tc.key)
			if resp.StatusCode == 200 {
				served++
				continue
			}
			g := decode(t, body)
			if g.Rule != tc.rule || resp.Header.Get("RateLimit-Policy") != tc.policy {
				t.Errorf("%s: rule %s, head %v", tc.key, g.Rule, resp.Header)
			}
			after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			if tc.key == "denied" && (resp.StatusCode != 403 || g.Reason != "it scraped" || g.Until == "" || after <= 0 || after > 3600) {
				t.Errorf("%d %s %v", resp.StatusCode, body, resp.Header)
			}
			break
		}
		plan := "free"
		if tc.key == "gold" {
			plan = "gold"
		}
		if served != tc.served || asked != "shop "+tc.key+" "+plan {
			t.Errorf("%s: %d served, want %d; asked about %q", tc.key, served, tc.served, asked)
		}
	}
}

// TestNoWayAround: nobody gets more by writing the same in another way, or by
// claiming to be others.
func TestNoWayAround(t *testing.T) {
	for name, tc := range map[string]struct {
		key  string
		more []string // what further requests say; none may be served
		want int
	}{
		"forged addresses":    {"ip", []string{"X-Forwarded-For: 10.1.1.1", "Forwarded: for=10.1.1.2", "X-Real-Ip: 10.1.1.3", "X-Forwarded-For: 127.0.0.1"}, 429},
		"case of the name":    {"header:X-Api-Key", []string{"x-api-key: k", "X-API-KEY: k", "X_Api_Key: k", "X-Api-Key:  k  "}, 429},
		"the same twice":      {"header:X-Api-Key", []string{"X-Api-Key: k\nx-api-key: k"}, 429},
		"two names":           {"header:X-Api-Key", []string{"X-Api-Key: k\nX-Api-Key: l", "X-Api-Key: l\nX-Api-Key: k", "X-Api-Key:\nX-Api-Key: k", "X_Api_Key: l\nX-Api-Key: k"}, 400},
		"many names":          {"header:X-Api-Key", []string{strings.Repeat("X-Api-Key: k\n", 100) + "X-Api-Key: l"}, 400},
		"garbage for a token": {"jwt:sub", []string{"Authorization: Bearer a.b.c", "Authorization: Bearer ", "Authorization: Bearer " + strings.Repeat("x", 9000), "Authorization: Basic abc", "Authorization: Bearer e30.e30.e30", bearerToken(`{"sub":{}}`), bearerToken(`{"sub":"a","sub":"b"}`)}, 429},
		"another token":       {"jwt:sub", []string{bearerToken(`{"jti":1}`), bearerToken(`{"jti":2,"sub":null}`)}, 429},
	} {
		t.Run(name, func(t *testing.T) {
			f := serveLimited(t, Route{Limits: []admission.Limit{{Key: tc.key}}}, Config{Limiter: newLimiter(t, perHour("q", 1))})
			c := dial(t, f.addr)
			first := "X-Api-Key: k"
			if resp, _ := c.ask("GET /", first); resp.StatusCode != 200 {
				t.Fatalf("status %d", resp.StatusCode)
			}
			for _, line := range tc.more {
				if resp, _ := c.ask("GET /", line); resp.StatusCode != tc.want {
					t.Errorf("%.60q: status %d", line, resp.StatusCode)
				}
			}
		})
	}
}

// TestTrustedProxiesCountCallers: behind a trusted proxy everybody is counted
// alone, IPv6 by network, and what the caller itself claims does not count.
func TestTrustedProxiesCountCallers(t *testing.T) {
	cfg := Config{Limiter: newLimiter(t, perHour("q", 1)), TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	f := serveLimited(t, Route{Limits: []admission.Limit{{}}}, cfg)
	c := dial(t, f.addr)
	for _, tc := range []struct {
		from string
		want int
	}{
		{"192.0.2.1", 200},
		{"192.0.2.1", 429},
		{"192.0.2.2", 200},
		{"10.9.9.9, 192.0.2.2", 429},
		{"::ffff:192.0.2.2", 429},
		{"2001:db8::1", 200},
		{"2001:db8::2:3:4:5", 429},
		{"2001:db8:0:1::1", 200},
		{"192.0.2.2, 127.0.0.9", 429},
	} {
		if resp, _ := c.ask("GET /", "X-Forwarded-For: "+tc.from); resp.StatusCode != tc.want {
			t.Errorf("%s: status %d, want %d", tc.from, resp.StatusCode, tc.want)
		}
	}
}

func TestQuietLimits(t *testing.T) {
	f := serveLimited(t, Route{Limits: []admission.Limit{{}}}, Config{Limiter: newLimiter(t, perHour("q", 1)), HideLimits: true})
	c := dial(t, f.addr)
	if resp, _ := c.ask("GET /"); resp.StatusCode != 200 || resp.Header["Ratelimit"] != nil || resp.Header["Ratelimit-Policy"] != nil {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if resp, _ := c.ask("GET /"); resp.StatusCode != 429 || resp.Header.Get("RateLimit") == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}

// TestLimitsOverTLS: the same over TLS, HTTP/2 included.
func TestLimitsOverTLS(t *testing.T) {
	d := newDirect(t, startWorker(t, answering(hello)).addr)
	cfg, pool := certificate(t)
	f := serve(t, Route{Doer: d, Limits: []admission.Limit{{Key: "header:X-Api-Key"}}}, Config{Limiter: newLimiter(t, perHour("keys", 1))}, ServerConfig{TLS: cfg})
	for name, client := range tlsClients(t, pool) {
		get := func(keys ...string) (*http.Response, string) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+f.addr+"/", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["X-Api-Key"] = keys
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp, string(b)
		}
		if resp, body := get(name); resp.StatusCode != 200 || body != "hello" || resp.Proto != name ||
			resp.Header.Get("RateLimit-Policy") != `"keys";q=1;w=3600` || !strings.HasPrefix(resp.Header.Get("RateLimit"), `"keys";r=0;t=`) {
			t.Errorf("%s: %d, %q, %v", name, resp.StatusCode, body, resp.Header)
		}
		for range 2 {
			resp, body := get(name)
			if g := decode(t, body); resp.StatusCode != 429 || g.Rule != "rate:keys" || resp.Header.Get("Retry-After") == "" || resp.Header.Get("RateLimit") == "" {
				t.Errorf("%s: %d, %s, %v", name, resp.StatusCode, body, resp.Header)
			}
		}
		if resp, _ := get(name, name+"2"); resp.StatusCode != 400 {
			t.Errorf("%s: two keys: status %d", name, resp.StatusCode)
		}
	}
}

func TestImpossiblePolicies(t *testing.T) {
	r := Route{
		Doer: doFunc(nil), Printer: newPrinter(t), Client: "jwt:",
		Limits:   []admission.Limit{{Quota: 1}, {Key: "client"}, {}, {}, {}, {}, {}, {}},
		Plans:    []admission.Plan{{}, {Name: "p", Limits: []admission.Limit{{Quota: -1}}}},
		Cost:     -1,
		Priority: admission.PriorityRule{Header: "a b"},
		Fallback: []Fallback{{}, {Static: &admission.Static{Status: 99}, On: []admission.FallbackCause{"rain"}}, {Stale: &admission.Stale{}}},
	}
	_, err := New(Config{Routes: []Route{r}, Limiter: newLimiter(t, perHour("q", 1))})
	for _, want := range []string{
		"Client has", "Limits[0].Quota is 1", "Limits[1].Key has", "Plans[0].Name", "Plans[1].Limits[0].Quota is -1", "are 9, want at most 8",
		"Cost", "Priority.Header", "Fallback[0] has 0", "Fallback[1].On has", "Fallback[2].Stale is set",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %q in\n%v", want, err)
		}
	}
}

// TestAdmissionAllocatesNothing: neither does deciding, nor saying what is left.
func TestAdmissionAllocatesNothing(t *testing.T) {
	wide := perHour("q", 1<<40)
	b, _ := newBreaker(t)
	policy := admission.NewPolicy(admission.Config{
		Client: "header:X-Api-Key", Limits: []admission.Limit{{}, {Key: "jwt:sub+ip"}}, Plans: []admission.Plan{{Name: "p", Limits: []admission.Limit{{Key: "route"}}}},
		Pool: newPool(t, overload.Config{PerCaller: 2}), Breaker: b, Priority: admission.PriorityRule{Header: "X-Priority"},
		Limiter: newLimiter(t, wide), Overrides: func(string, string, string) admission.Override { return admission.Override{} },
	}, [32]byte{1})
	m, lines := new(admission.ClientCache), make([]byte, 0, 256)
	name, value, _ := strings.Cut(bearerToken(`{"sub":"alice"}`), ": ")
	who := &client{req: &h1.Request{Fields: []h1.Field{
		{Name: "X-Api-Key", Value: "k"}, {Name: "X-Priority", Value: "sheddable"}, {Name: name, Value: value},
	}}, peer: peer{ip: "192.0.2.1"}, s: new(settings)}
	s := new(admission.Admission)
	if n := testing.AllocsPerRun(100, func() {
		*s = admission.Admission{}
		if no := s.Admit(t.Context(), policy, m, who, admission.Request{Now: time.Now()}); no != nil {
			t.Fatal(no.Body)
		}
		lines = s.QuotaLines(lines[:0])
		s.Release(time.Now())
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if want := "RateLimit-Policy: \"q\";q=1099511627776;w=3600\r\nRateLimit: \"q\";r="; !strings.HasPrefix(string(lines), want) {
		t.Errorf("%s", lines)
	}
}
