package app_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeFlags make Node.js have EventSource and WebSocket, which later versions have
// without them.
var nodeFlags = []string{"--no-warnings", "--experimental-eventsource", "--experimental-websocket"}

// needsNode skips a test without a Node.js that has all clients. It returns the paths of
// the server and the client.
func needsNode(t *testing.T) (server, client string) {
	t.Helper()
	if out, err := exec.Command("node", append(nodeFlags, "-e", "new EventSource('data:,').close(); WebSocket; fetch")...).CombinedOutput(); err != nil {
		t.Skipf("needs Node.js with EventSource and WebSocket: %v, %.200s", err, out)
	}
	dir, err := filepath.Abs("testdata/node")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "server.mjs"), filepath.Join(dir, "client.mjs")
}

// needs skips a test without one of the programs.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs " + program)
		}
	}
}

// getText asks once.
func getText(t *testing.T, url string) (status int, text string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// nodeClient runs a client to its end, and returns what it says.
func nodeClient(t *testing.T, client string, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", append(append(nodeFlags, client), args...)...)
	cmd.Stdout, cmd.Stderr = &said, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v, %s", args, err, said.String())
	}
	return said.String()
}

// TestStreamsOfRealClients: EventSources and WebSockets of Node.js that are open fill no
// place of a fleet that has four. All copies of one EventSource are let in, though most of
// them wait for the first.
func TestStreamsOfRealClients(t *testing.T) {
	t.Parallel()
	server, client := needsNode(t)
	b := follow(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [node, %q], replicas: 2, concurrency: {limit: 4, queue: 256, wait: 30s}}}
routes: [{match: {path: /*}, fleet: app}]
`, server))
	b.serving("app", 2)
	said := nodeClient(t, client, "streams", b.url, "20")
	if strings.Count(said, "\n200 ") != 12 || !strings.Contains(said, "40 open\n") || strings.Contains(said, "refused") {
		t.Errorf("12 requests beside 40 streams: %s", said)
	}
	said = nodeClient(t, client, "copies", b.url, "100")
	if !strings.HasPrefix(said, "100 open, ") {
		t.Errorf("100 copies of one stream: %s", said)
	}
	t.Log(said)
}

// TestAReloadBehindARealWebSocket: a WebSocket of Node.js stays open while its worker is
// replaced, and the successor serves. A shorter drain in the new settings ends it.
func TestAReloadBehindARealWebSocket(t *testing.T) {
	t.Parallel()
	server, client := needsNode(t)
	settings := func(drain string) string {
		return fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: 'memory:'
fleets: {app: {command: [node, %q], replicas: 1, drain: %s, bake: {requests: 0, time: 0s}}}
routes: [{match: {path: /*}, fleet: app}]
`, server, drain)
	}
	r := follow(t, settings("1h"))
	r.serving("app", 1)
	cmd := exec.CommandContext(t.Context(), "node", append(nodeFlags, client, "socket", r.url)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	old, ok := strings.CutPrefix(line, "socket ")
	if err != nil || !ok {
		t.Fatalf("the client said %q, %v", line, err)
	}
	closed := make(chan string, 1)
	go func() { line, _ := lines.ReadString('\n'); closed <- line }()
	if _, err := r.admin.Restart(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	r.until("the successor answers", func() bool {
		status, pid := getText(t, r.url+"/")
		return status == 200 && pid != strings.TrimSpace(old)
	})
	select {
	case line := <-closed:
		t.Fatalf("the WebSocket has ended: %q", line)
	default:
	}
	r.reload(settings("100ms"))
	select {
	case line := <-closed:
		if line != "closed\n" {
			t.Errorf("the client said %q", line)
		}
	case <-time.After(patience):
		t.Error("a shorter drain does not end the WebSocket")
	}
}

// TestFetchGetsEarlyAnswers: Node's fetch gets the answer of a worker that refuses 50 MB
// without reading them. Before, it lost one of four.
func TestFetchGetsEarlyAnswers(t *testing.T) {
	t.Parallel()
	server, client := needsNode(t)
	b := follow(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [node, %q], replicas: 2}}
routes: [{match: {path: /*}, fleet: app}]
`, server))
	b.serving("app", 2)
	tries := "8"
	if os.Getenv("BEZOAR_SOAK") != "" {
		tries = "60"
	}
	said := nodeClient(t, client, "early", b.url, tries)
	if n := strings.Count(said, "413 too long\n"); fmt.Sprint(n) != tries {
		t.Errorf("%d of %s answers came: %s", n, tries, said)
	}
}

// TestASlowReaderBeforeGunicorn: curl takes 20 MB at 1 MB/s from a gunicorn with one
// process, which answers others meanwhile.
func TestASlowReaderBeforeGunicorn(t *testing.T) {
	t.Parallel()
	needs(t, "gunicorn", "curl")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.py"), []byte(`
def app(environ, start_response):
    pieces = [b"x" * 1000000] * 20 if environ["PATH_INFO"] == "/long" else [b"short"]
    start_response("200 OK", [("Content-Length", str(sum(map(len, pieces))))])
    return iter(pieces)
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := follow(t, head("memory:", dir)+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: [gunicorn, --workers, "1", --bind, "127.0.0.1:{port}", --chdir, %q, "app:app"], replicas: 1}}
routes: [{match: {path: /*}, fleet: app, buffer_answer: 1MiB}]
`, dir))
	b.until("gunicorn answers", func() bool { status, _ := getText(t, b.url+"/"); return status == 200 })
	slow := exec.CommandContext(t.Context(), "curl", "-sS", "--limit-rate", "1M", "-o", filepath.Join(dir, "long"), b.url+"/long")
	if err := slow.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- slow.Wait() }()
	b.until("curl has begun", func() bool { info, err := os.Stat(filepath.Join(dir, "long")); return err == nil && info.Size() > 0 })
	for i := range 3 {
		if status, body := getText(t, b.url+fmt.Sprint("/", i)); status != 200 || body != "short" {
			t.Errorf("beside a slow reader: %d %s", status, body)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("curl ended first: %v", err)
	default:
	}
	_ = slow.Process.Kill()
	<-ended
}

// TestNamesBeforeRealServers: curl forges headers of the gateway by names that become the
// same variable in WSGI, Rack and PHP. None of them arrives.
func TestNamesBeforeRealServers(t *testing.T) {
	t.Parallel()
	needs(t, "curl")
	dir := t.TempDir()
	for file, text := range map[string]string{
		"app.py": `
def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return ["".join(f"{k}={v}\n" for k, v in environ.items() if k.startswith("HTTP_") or k == "SCRIPT_NAME").encode()]
`,
		"config.ru": `
run lambda { |env| [200, {"Content-Type" => "text/plain"}, env.map { |k, v| k.start_with?("HTTP_") || k == "SCRIPT_NAME" ? "#{k}=#{v}\n" : "" }] }
`,
		"index.php": `<?php
foreach ($_SERVER as $k => $v) if (str_starts_with($k, "HTTP_")) echo "$k=$v\n";
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, command := range map[string][]string{
		"gunicorn": {"gunicorn", "--workers", "1", "--bind", "127.0.0.1:{port}", "--chdir", dir, "app:app"},
		"puma":     {"puma", "--bind", "tcp://127.0.0.1:{port}", filepath.Join(dir, "config.ru")},
		"PHP":      {"php", "-S", "127.0.0.1:{port}", "-t", dir, filepath.Join(dir, "index.php")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, command[0])
			b := follow(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {command: ["%s"], replicas: 1}}
routes: [{match: {path: /*}, fleet: app}]
`, strings.Join(command, `", "`)))
			b.serving("app", 1)
			args := []string{"-sS", "--max-time", "60", b.url, "-H", "X_Tenant: kept"}
			for _, h := range []string{"X_Forwarded_For", "X_Forwarded-For", "X_Forwarded_Proto", "X_Forwarded_Host", "X_Bezoar_Attempt", "X_Request_Id", "X.Request.Id", "Proxy", "X-Real-IP", "X_Real_IP", "Forwarded", "SCRIPT_NAME"} {
				args = append(args, "-H", h+": forged")
			}
			out, err := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput()
			if said := string(out); err != nil || strings.Contains(said, "forged") || !strings.Contains(said, "HTTP_X_TENANT=kept\n") || !strings.Contains(said, "HTTP_X_FORWARDED_FOR=127.0.0.1\n") {
				t.Errorf("%v, the server got %s", err, said)
			}
		})
	}
}
