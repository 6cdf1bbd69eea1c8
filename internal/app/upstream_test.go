package app_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// reads is a handler that says what it was asked, and takes 101 for an echo.
func reads(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		w.Header().Set("Upgrade", "echo")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.Copy(conn, rw)
			conn.Close()
		}
		return
	}
	n, _ := io.Copy(io.Discard, r.Body)
	who := ""
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		who = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	fmt.Fprintf(w, "%s %d %s", r.URL, n, who)
}

// TestWorkersByTLSAndUnixSockets: what workers by TLS, that want a certificate, and
// on unix sockets get is what others get: requests, long bodies, upgrades; connections
// are used again, and one that the worker has closed loses no request.
func TestWorkersByTLSAndUnixSockets(t *testing.T) {
	t.Parallel()
	dir, own := t.TempDir(), t.TempDir()
	cert, key, _ := keyPair(t, dir)
	mine, mineKey, trust := keyPair(t, own)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var seen sync.Map // callers' addresses
	var again atomic.Int64
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, used := seen.LoadOrStore(r.RemoteAddr, true); used {
			again.Add(1)
		}
		reads(w, r)
	}))
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trust}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	socket := filepath.Join(dir, "w.sock")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Server{Handler: http.HandlerFunc(reads)}
	go func() { _ = local.Serve(ln) }()
	t.Cleanup(func() { local.Close() })

	b := serve(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
fleets:
  secure:
    workers: ["https://%s/base/"]
    tls: {ca: %q, name: localhost, cert: %q, key: %q}
    health: {path: /healthz}
  local: {workers: ["unix:%s"]}
routes:
  - {match: {path: /s/*}, fleet: secure, buffer: 0}
  - {match: {path: /l/*}, fleet: local}
`, secure.Listener.Addr(), cert, mine, mineKey, socket))
	ask := func(path string, body []byte) string {
		res, err := b.http.Post(b.url+path, "text/plain", bytes.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	b.until("the worker by TLS answers", func() bool { return ask("/s/x?y", nil) == "/base/s/x?y 0 localhost" })
	b.until("the worker on a socket answers", func() bool { return ask("/l/x", nil) == "/l/x 0 " })
	long := make([]byte, 3<<20)
	for range 3 {
		if got := ask("/s/long", long); got != "/base/s/long 3145728 localhost" {
			t.Fatalf("a long body by TLS: %.200s", got)
		}
		if got := ask("/l/long", long[:1<<20]); got != "/l/long 1048576 " {
			t.Fatalf("a long body to a socket: %.200s", got)
		}
	}
	for i := range 20 {
		if i%5 == 4 {
			secure.CloseClientConnections()
		}
		if got := ask("/s/again", []byte("abc")); got != "/base/s/again 3 localhost" {
			t.Fatalf("request %d: %.200s", i, got)
		}
	}
	if again.Load() == 0 {
		t.Error("no connection by TLS was used twice")
	}
	for _, path := range []string{"/s/up", "/l/up"} {
		echo(t, b.url, path)
	}
}

// echo upgrades a connection and has it say something back.
func echo(t *testing.T, url, path string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n", path)
	var got []byte
	buf := make([]byte, 1024)
	said := false
	for !bytes.HasSuffix(got, []byte("\r\n\r\nping")) {
		n, err := conn.Read(buf)
		if got = append(got, buf[:n]...); err != nil {
			t.Fatalf("%s: %v after %q", path, err, got)
		}
		if !said && bytes.HasSuffix(got, []byte("\r\n\r\n")) {
			said = true
			fmt.Fprint(conn, "ping")
		}
	}
}

// TestWorkersTrustIsReloaded: other authorities hold for the next connections, and
// settings whose files cannot be read change nothing.
func TestWorkersTrustIsReloaded(t *testing.T) {
	t.Parallel()
	dir, wrong := t.TempDir(), t.TempDir()
	cert, key, _ := keyPair(t, dir)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	other, _, _ := keyPair(t, wrong)
	worker := httptest.NewUnstartedServer(http.HandlerFunc(reads))
	worker.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	var heard syncBuffer // Bezoar's log has the first reason, which on a busy machine is time
	worker.Config.ErrorLog = log.New(&heard, "", 0)
	worker.StartTLS()
	t.Cleanup(worker.Close)
	settings := func(ca string) string {
		return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {workers: ["https://%s"], tls: {ca: %q, name: localhost}}}
routes: [{match: {path: /*}, fleet: app}]
`, worker.Listener.Addr(), ca)
	}
	r := follow(t, settings(other))
	r.until("the worker hears that it is not trusted", func() bool { return strings.Contains(heard.String(), "bad certificate") })
	if n := r.workers("app", "ready"); n != 0 {
		t.Errorf("%d workers serve that are not trusted", n)
	}
	r.reload(settings(cert))
	r.serving("app", 1)
	r.write(settings(filepath.Join(dir, "none.pem")))
	if _, err := r.live().Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "fleets.app.tls") || !strings.Contains(err.Error(), "none.pem") {
		t.Errorf("a file that is missing: %v", err)
	}
	r.serving("app", 1)
}

// TestStickyRequests: a cookie's value leads to one worker, as long as that is up, and
// to one other after that; values of other workers stay where they are.
func TestStickyRequests(t *testing.T) {
	t.Parallel()
	var workers []*httptest.Server
	var urls []string
	for i := range 4 {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, i) }))
		t.Cleanup(s.Close)
		workers, urls = append(workers, s), append(urls, s.URL)
	}
	b := serve(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {workers: [%s]}}
routes: [{match: {path: /*}, fleet: app, sticky: cookie:SESSION}]
`, strings.Join(urls, ", ")))
	ask := func(session string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", `theme=dark; SESSION="`+session+`"`)
		res, err := b.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", res.Status, text)
		}
		return string(text)
	}
	serving := func(n int) func() bool {
		return func() bool {
			all, err := b.admin.Fleets(t.Context())
			up := 0
			for _, w := range all[0].Workers {
				if w.State == "ready" {
					up++
				}
			}
			return err == nil && up == n
		}
	}
	b.until("all workers serve", serving(4))
	const sessions = 32
	first := map[string]string{}
	used := map[string]int{}
	for i := range sessions {
		session := fmt.Sprint("s", i)
		first[session] = ask(session)
		used[first[session]]++
		for range 3 {
			if got := ask(session); got != first[session] {
				t.Errorf("%s went to worker %s, and then to %s", session, first[session], got)
			}
		}
	}
	if len(used) < 2 {
		t.Fatalf("all sessions went to one worker: %v", used)
	}
	gone := first["s0"]
	var n int
	_, _ = fmt.Sscan(gone, &n)
	workers[n].Close()
	b.until("one worker is gone", serving(3))
	for session, was := range first {
		now := ask(session)
		if was != gone && now != was {
			t.Errorf("%s moved from worker %s to %s, although only %s is gone", session, was, now, gone)
		}
		if again := ask(session); now == gone || again != now {
			t.Errorf("%s, whose worker is gone, went to worker %s and then %s", session, now, again)
		}
	}
}
