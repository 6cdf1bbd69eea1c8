package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestRoutesAtTheEdge: what settings say of bodies, paths, headers and redirects,
// asked by curl: from plain HTTP to TLS, and to a server that sees little of it.
func TestRoutesAtTheEdge(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	var asked atomic.Int64
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Server", "secret/1.0")
		fmt.Fprintf(w, "%s %s %q", r.URL.Path, r.Header.Get("X-Env"), r.Header.Get("Cookie"))
	}))
	t.Cleanup(worker.Close)
	dir := t.TempDir()
	cert, key, _ := keyPair(t, dir)
	log := filepath.Join(dir, "access.log")
	b := serve(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
tls: {cert: %q, key: %q, redirect: 127.0.0.1:0}
listeners: [{listen: 127.0.0.1:0, plain: true}, {listen: 127.0.0.1:0}]
connections: {lifetime: 1h}
access_log: {format: combined, file: %q, sample: 100%%, caller: clear, paths: true}
fleets: {app: {workers: [%q]}}
routes:
  - match: {path: /app/*}
    fleet: app
    max_body: 1KiB
    strip_prefix: /app
    request_headers: {set: {X-Env: prod}, remove: [Cookie]}
    answer_headers: {set: {X-Frame-Options: DENY}, remove: [Server]}
  - match: {path: /old/*}
    redirect: {to: "https://{host}/app", status: 301}
`, cert, key, log, worker.URL))
	port := b.url[strings.LastIndexByte(b.url, ':')+1:]
	curl := func(args ...string) string {
		out, _ := exec.Command("curl", append([]string{"-sS", "--max-time", "20", "--cacert", filepath.Join(dir, "cert.pem"), "--resolve", "localhost:" + port + ":127.0.0.1"},
			args...)...).CombinedOutput()
		return string(out)
	}
	plain := b.app.RedirectAddr()
	plain = "http://localhost" + plain[strings.LastIndexByte(plain, ':'):]
	b.until("a caller of plain HTTP gets its answer by TLS", func() bool {
		return curl("-L", "-H", "Cookie: a=b", plain+"/app/x") == `/x prod ""`
	})
	more := b.app.MoreAddrs()
	for i, scheme := range []string{"http", "https"} {
		if out := curl(scheme + "://localhost" + more[i][strings.LastIndexByte(more[i], ':'):] + "/app/x"); out != `/x prod ""` {
			t.Errorf("at listeners[%d]: %s", i, out)
		}
	}
	url := "https://localhost:" + port
	if out := curl("-i", "--http1.1", url+"/app/y"); !strings.Contains(out, "X-Frame-Options: DENY\r\n") || strings.Contains(out, "Server:") {
		t.Errorf("the answer is %s", out)
	}
	if out := curl("-i", url+"/old/x?y"); !strings.Contains(out, "301") || !strings.Contains(out, "ocation: https://localhost/app/old/x?y\r\n") {
		t.Errorf("the redirect is %s", out)
	}
	was := asked.Load()
	for _, how := range [][]string{{}, {"-H", "Transfer-Encoding: chunked"}, {"--http1.1", "-H", "Expect:"}} {
		if out := curl(append(how, "-o", "/dev/null", "-w", "%{http_code}", "--data", strings.Repeat("a", 1025), url+"/app/z")...); out != "413" {
			t.Errorf("too long a body, %q: %s", how, out)
		}
	}
	if asked.Load() != was {
		t.Error("the worker was asked about a body that is too long")
	}
	if out := curl("--data", strings.Repeat("a", 1024), url+"/app/z"); out != `/z prod ""` {
		t.Errorf("the longest body that fits: %s", out)
	}
	b.until("the access log has a line", func() bool {
		lines, err := os.ReadFile(log)
		return err == nil && strings.HasPrefix(string(lines), "127.0.0.1 - - [") && strings.Contains(string(lines), `] "GET /app/y HTTP/1.1" 200 `)
	})
}

// TestARenewedCertificateIsServed: curl trusts what the file holds now, before and
// after a renewal under the same path.
func TestARenewedCertificateIsServed(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "fine") }))
	t.Cleanup(worker.Close)
	dir := t.TempDir()
	cert, key, _ := keyPair(t, dir)
	b := serve(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
tls: {cert: %q, key: %q}
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app}]
`, cert, key, worker.URL))
	port := b.url[strings.LastIndexByte(b.url, ':')+1:]
	var said string
	defer func() {
		if t.Failed() {
			t.Log(said)
		}
	}()
	fine := func() bool {
		out, err := exec.Command("curl", "-sS", "--max-time", "20", "--cacert", filepath.Join(dir, "cert.pem"),
			"--resolve", "localhost:"+port+":127.0.0.1", "https://localhost:"+port+"/").CombinedOutput()
		said = string(out)
		return err == nil && said == "fine"
	}
	b.until("curl accepts the certificate", fine)
	keyPair(t, dir) // in place of the one before
	b.until("curl accepts the renewed one", fine)
}
