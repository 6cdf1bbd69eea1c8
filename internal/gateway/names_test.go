package gateway

import (
	"bufio"
	"encoding/json"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bezoar-dev/bezoar/internal/gateway/problem"
)

// wsgi is Python's own WSGI server with an application that answers what it got. Like
// gunicorn and others it decodes paths and makes variables of fields.
const wsgi = `
import json, sys
from wsgiref.simple_server import make_server, WSGIRequestHandler
class Quiet(WSGIRequestHandler):
    def log_message(self, *a): pass
def app(env, start):
    start("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({k: v for k, v in env.items() if k.startswith("HTTP_") or k in ("PATH_INFO", "REQUEST_METHOD")}).encode()]
server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
print(server.server_port, flush=True)
server.serve_forever()
`

func startWSGI(t *testing.T) (addr string) {
	t.Helper()
	for _, program := range []string{"python3", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
	cmd := exec.Command("python3", "-c", wsgi)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}

// curl asks as it is told, and returns the variables that the application had.
func curl(t *testing.T, args ...string) (env map[string]string, said string) {
	t.Helper()
	out, err := exec.Command("curl", append([]string{"-sS", "--path-as-is", "--max-time", "60"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("curl %q: %v, %s", args, err, out)
	}
	_ = json.Unmarshal(out, &env) // a refusal is a document of another kind
	return env, string(out)
}

// TestNamesThatServersReadInTwoWays: curl in front of a WSGI server. Neither fields
// nor paths get past what the gateway knows by their plain names.
func TestNamesThatServersReadInTwoWays(t *testing.T) {
	addr := startWSGI(t)
	narrow, rest, strict := newDirect(t, addr), newDirect(t, addr), newDirect(t, addr)
	route := func(r Route) Route {
		r.Printer = newPrinter(t)
		return r
	}
	cfg := Config{Routes: []Route{
		route(Route{Path: "/api/*", Doer: narrow, Client: "header:X-Api-Key"}),
		route(Route{Path: "/strict/*", Doer: strict, Paths: PathsStrict, Lookalikes: LookalikesRefuse}),
		route(Route{Doer: rest}),
	}}
	f := serveConfig(t, cfg, ServerConfig{})
	url := "http://" + f.addr

	for path, want := range map[string]string{
		"/api%2Fx": "/api/x", "//api/x": "/api/x", "/a/..%2fapi/x": "/api/x", "/api%252Fx": "/api/x", "/files/a%2Fb": "/files/a/b",
	} {
		was := narrow.sends.Load()
		env, said := curl(t, url+path)
		if env["PATH_INFO"] != want {
			t.Errorf("%s: the application got %q, %s", path, env["PATH_INFO"], said)
		}
		if guarded := strings.HasPrefix(env["PATH_INFO"], "/api/"); guarded != (narrow.sends.Load() > was) {
			t.Errorf("%s went to the application as %s by the other route", path, env["PATH_INFO"])
		}
	}
	if _, said := curl(t, url+"/strict%2fx"); !strings.Contains(said, problem.Prefix+"ambiguous") || strict.sends.Load() > 0 {
		t.Errorf("a strict route: %s", said)
	}

	forged := []string{
		"X_Forwarded_For: 6.6.6.6", "X_Forwarded_Proto: https", "X_Bezoar_Attempt: 9", "X.Request.Id: forged", "Content_Type: text/forged",
		"Proxy: http://6.6.6.6", "X-Real-IP: 6.6.6.6", "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X_Tenant: kept", "X-Fine: kept",
		"SCRIPT_NAME: /forged", "Path_Info: /forged", "WL-Proxy-Client-IP: 6.6.6.6", "X-Sendfile-Type: forged", "X-Scheme: https",
	}
	var args []string
	for _, h := range forged {
		args = append(args, "-H", h)
	}
	env, _ := curl(t, append(args, url+"/x")...)
	for name, v := range env {
		if strings.Contains(v, "6.6.6.6") || strings.Contains(v, "forged") || strings.Contains(v, "/admin") || v == "9" || strings.Contains(v, "https") {
			t.Errorf("the application got %s=%q", name, v)
		}
	}
	if env["HTTP_X_TENANT"] != "kept" || env["HTTP_X_FINE"] != "kept" {
		t.Errorf("other fields: %v", env)
	}
	for _, h := range forged[:6] {
		if _, said := curl(t, "-H", h, url+"/strict/x"); !strings.Contains(said, problem.Prefix+"ambiguous") {
			t.Errorf("%s on a route that refuses: %s", h, said)
		}
	}

	env, _ = curl(t, "-H", "Authorization: Basic YQ==", "-H", "Cookie: a=b", "-H", "X-Api-Key: k", "-H", "X-Hop: 1",
		"-H", "Connection: Authorization, cookie, X-Api-Key, X-Forwarded-For, X-Hop", url+"/api/x")
	if env["HTTP_AUTHORIZATION"] == "" || env["HTTP_COOKIE"] == "" || env["HTTP_X_API_KEY"] != "k" || env["HTTP_X_FORWARDED_FOR"] == "" || env["HTTP_X_HOP"] != "" {
		t.Errorf("a Connection field took away what says who calls: %v", env)
	}
	for _, method := range []string{"TRACE", "TRACK"} {
		if env, said := curl(t, "-X", method, url+"/x"); env["REQUEST_METHOD"] != "" || !strings.Contains(said, problem.Prefix+"method") {
			t.Errorf("%s: %s", method, said)
		}
	}

	// A proxy that is trusted may say where it comes from, in the plain spelling.
	cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	if err := f.g.Swap(cfg); err != nil {
		t.Fatal(err)
	}
	env, _ = curl(t, slices.Concat([]string{"-H", "X-Forwarded-For: 9.9.9.9"}, args, []string{url + "/x"})...)
	if env["HTTP_X_REAL_IP"] != "6.6.6.6" || env["HTTP_X_FORWARDED_FOR"] != "9.9.9.9, 127.0.0.1" || env["HTTP_PROXY"] != "" {
		t.Errorf("from a trusted proxy: %v", env)
	}
}

// TestTrailersOfTheGateway: what the head may not have does not come behind the
// body, and the rest does.
func TestTrailersThatSayWhoCalls(t *testing.T) {
	f, _, w := through(t, answering(hello))
	for _, body := range []string{"1\na\n0\n", "20000\n" + strings.Repeat("a", 0x20000) + "\n0\n"} { // held, streamed
		c := dial(t, f.addr)
		c.send("POST / HTTP/1.1\nHost: h\nConnection: close\nTransfer-Encoding: chunked\n\n" + body +
			"X-Forwarded-For: 6.6.6.6\nX_Real_IP: 6.6.6.6\nAuthorization: forged\nX-Sum: 1\n\n")
		if resp, _ := c.answer("POST"); resp.StatusCode != 200 {
			t.Errorf("status %d", resp.StatusCode)
		}
	}
	raw := w.raw()
	if strings.Contains(raw, "6.6.6.6") || strings.Contains(raw, "forged") || strings.Count(raw, "X-Sum: 1\r\n") != 2 {
		t.Errorf("the worker got %.300s…%q", raw[:200], raw[max(0, len(raw)-200):])
	}
}
