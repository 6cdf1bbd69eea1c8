package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/guard"
	"github.com/bezoar-dev/bezoar/internal/dispatch"
	"github.com/bezoar-dev/bezoar/internal/gateway/h1"
	"github.com/bezoar-dev/bezoar/internal/guardfront"
)

// shapesOf serves a request as the gateway would, and returns what it is to the
// dispatcher and to an operator who describes it.
func shapesOf(t *testing.T, g *guardfront.Guard, method, target, kind, body string) (sent, described, plain bezoar.Fingerprint) {
	t.Helper()
	if g != nil && g.Guard == nil {
		p := newPrinter(t)
		made, err := guard.New(guard.Config{Print: p.Shape, Scope: "r", Limits: guard.Limits{ReportOnly: true}})
		if err != nil {
			t.Fatal(err)
		}
		g.Guard = made
	}
	do := func(g *guardfront.Guard) (shape bezoar.Fingerprint, gw *Gateway) {
		done := doFunc(func(_ context.Context, w dispatch.Work, _ dispatch.Job) dispatch.Answer {
			shape = w.Shape
			return dispatch.Answer{Kind: dispatch.Aborted}
		})
		gw = newGateway(t, Config{Routes: []Route{{Doer: done, Printer: newPrinter(t), Guard: g}}})
		req := new(h1.Request)
		fields := []h1.Field{{Name: "Content-Type", Value: kind, Key: h1.ContentType}}
		if err := req.Make(method, target, "h", fields, int64(len(body))); err != nil {
			t.Fatal(err)
		}
		gw.handle(t.Context(), &recorder{body: []byte(body)}, req, peer{ip: "192.0.2.1"})
		return shape, gw
	}
	plain, _ = do(nil)
	sent, gw := do(g)
	_, _, described, err := gw.Identify(bezoar.Request{
		Method: method, Target: target, Host: "h", Header: map[string][]string{"Content-Type": {kind}}, Body: []byte(body),
	})
	if err != nil {
		t.Fatal(err)
	}
	return sent, described, plain
}

// The ledger knows work of a guarded route by the shape of its query, when the
// guard could read that.
func TestShapesOfGuardedWork(t *testing.T) {
	const json = "application/json"
	search := func(value string) string { return fmt.Sprintf(`{"query":{"match":{"title":%q}},"size":10}`, value) }
	values := []string{search("stone"), search("a long text, with 17 words and https://links.example"), search("2026-11-28"), search("")}
	for _, c := range []struct {
		name, method, target, kind string
		guard                      guardfront.Guard
		bodies                     []string
		read                       bool
	}{
		{"searches", "POST", "/idx-1/_search", json, guardfront.Guard{Kind: guard.Elasticsearch}, values, true},
		{"searches behind a prefix", "POST", "/es/idx-1/_search", json, guardfront.Guard{Kind: guard.OpenSearch, Prefix: "/es"}, values, true},
		{"statements", "POST", "/", "text/plain", guardfront.Guard{Kind: guard.SQL}, []string{"SELECT a FROM t WHERE id = 1", "SELECT a FROM t WHERE id = 'x y z'", "SELECT a FROM t WHERE id=4711 /* 9 */"}, true},
		{"statements in a field", "POST", "/", json, guardfront.Guard{Kind: guard.SQL, Statement: []string{"json:$.q"}}, []string{`{"q":"SELECT a FROM t WHERE id = 1"}`, `{"q":"SELECT a FROM t WHERE id = 'some text, and more'"}`}, true},
		{"documents", "POST", "/idx/_doc", json, guardfront.Guard{Kind: guard.Elasticsearch}, values[:1], false},
		{"what is no query", "POST", "/idx/_search", json, guardfront.Guard{Kind: guard.Elasticsearch}, []string{`{"query":`}, false},
		{"what does not begin with the prefix", "POST", "/idx/_search", json, guardfront.Guard{Kind: guard.Elasticsearch, Prefix: "/es"}, values[:1], false},
		{"expressions", "GET", "/?p=a%2Bb", "", guardfront.Guard{Kind: guard.Regex, Expressions: []string{"query:p"}}, []string{""}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var first bezoar.Fingerprint
			for i, body := range c.bodies {
				sent, described, plain := shapesOf(t, &c.guard, c.method, c.target, c.kind, body)
				if sent != described {
					t.Errorf("%s is sent as %v and described as %v", body, sent, described)
				}
				if (sent != plain) != c.read {
					t.Errorf("%s: read is %v, want %v", body, sent != plain, c.read)
				}
				if i == 0 {
					first = sent
				}
				if sent != first {
					t.Errorf("%s has a shape of its own", body)
				}
			}
		})
	}
}

func TestGuardBehindAPrefix(t *testing.T) {
	limits := "rules: [{predictor: result_window, limit: 50, action: reject, index: shop}]"
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, limits), Kind: guard.Elasticsearch, Prefix: "/es"}, Config{})
	c := dial(t, f.addr)
	const hundred = `{"size": 100, "query": {"term": {"a": 1}}}`
	for target, want := range map[string]int{
		"/es/shop/_search":         400,
		"/es/other/_search":        200, // the index is not es, and not shop
		"/es/shop/%5Fsearch":       400, // what a server may decode
		"/es/x/../shop/_search":    400,
		"/%65s/shop/_search":       400,
		"/es/shop/_doc/1":          200,
		"/esx/shop/_search":        400, // not one of the backend's
		"/health":                  400,
		"/es/../other/_search":     400,
		"/other/../es/shop/_count": 200,
	} {
		resp, body := c.post(target, hundred)
		if resp.StatusCode != want {
			t.Errorf("%s: %d %s", target, resp.StatusCode, body)
		}
		if sent := target + " " + hundred; want == 200 && body != sent {
			t.Errorf("%s was sent as %s", target, body)
		}
	}
	if n := w.deliveries(); n != 3 {
		t.Errorf("%d were delivered", n)
	}
	f, _ = guarded(t, &guardfront.Guard{Guard: newGuard(t, "unparsable: accept"), Kind: guard.Elasticsearch, Prefix: "/es"}, Config{})
	if resp, _ := dial(t, f.addr).post("/health", `{}`); resp.StatusCode != 200 {
		t.Errorf("accepted by a rule: %d", resp.StatusCode)
	}
	for _, bad := range []guardfront.Guard{
		{Kind: guard.SQL, Prefix: "/es"},
		{Kind: guard.Elasticsearch, Prefix: "es"},
		{Kind: guard.Elasticsearch, Prefix: "/es/"},
		{Kind: guard.Elasticsearch, Prefix: "/es/*"},
		{Kind: guard.Elasticsearch, Prefix: "/a/../b"},
	} {
		bad.Guard = newGuard(t, "")
		if _, err := New(Config{Routes: []Route{{Doer: doFunc(nil), Printer: newPrinter(t), Guard: &bad}}}); err == nil || !strings.Contains(err.Error(), "Guard.Prefix") {
			t.Errorf("%s %s: %v", bad.Kind, bad.Prefix, err)
		}
	}
}

// A search is one however its path is written.
func TestGuardDecodesPaths(t *testing.T) {
	f, w := guarded(t, &guardfront.Guard{Guard: newGuard(t, ""), Kind: guard.Elasticsearch}, Config{})
	for _, target := range []string{
		"/idx/_search", "/idx/%5Fsearch", "/idx/%5fsearch", "/idx%2F_search", "/idx/_sea%72ch", "/_bulk/../_search", "/_bulk/%2e%2e/_search", "/idx/_doc/..%2f_search",
	} {
		if resp, body := dial(t, f.addr).post(target, costly); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, resp.StatusCode, body)
		}
	}
	if n := w.deliveries(); n != 0 {
		t.Errorf("%d were delivered", n)
	}
	if resp, _ := dial(t, f.addr).post("/idx/_doc/a%2Fb%20c", costly); resp.StatusCode != http.StatusOK {
		t.Errorf("a document: %d", resp.StatusCode)
	}
}
