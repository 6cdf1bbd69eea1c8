package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// dockerEngine is as much of Docker's API as "docker exec" of a cat needs.
func dockerEngine(t *testing.T) *httptest.Server {
	t.Helper()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Api-Version", "1.41")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/_ping"):
			answer(w, 200, "OK")
		case strings.HasSuffix(path, "/containers/c/json"):
			answer(w, 200, map[string]any{"Id": "c", "State": map[string]any{"Running": true}, "Config": map[string]any{}})
		case strings.HasSuffix(path, "/containers/c/exec"):
			answer(w, 201, map[string]any{"Id": "e"})
		case strings.HasSuffix(path, "/exec/e/json"):
			answer(w, 200, map[string]any{"ID": "e", "ExitCode": 0})
		case strings.HasSuffix(path, "/exec/e/start") && r.Header.Get("Upgrade") == "tcp":
			var how struct{ Detach, Tty *bool }
			if err := json.NewDecoder(r.Body).Decode(&how); err != nil || how.Detach == nil {
				t.Errorf("the body of the request: %+v, %v", how, err)
			}
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = fmt.Fprint(c, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
			p := make([]byte, 32<<10)
			for {
				n, err := rw.Read(p)
				if err != nil {
					return
				}
				frame := []byte{1, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)} // of standard output
				if _, err := c.Write(append(frame, p[:n]...)); err != nil {
					return
				}
			}
		default:
			answer(w, 404, map[string]any{"message": r.Method + " " + path})
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestDockerExec: the docker command switches protocols by a POST with a body, and ends its half of the connection before it
// has read all of the other.
func TestDockerExec(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("docker", "--version").CombinedOutput(); err != nil {
		t.Skipf("needs docker: %v, %.100s", err, out)
	}
	b := follow(t, head("memory:", t.TempDir())+fmt.Sprintf(`listen: 127.0.0.1:0
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app}]
`, dockerEngine(t).URL))
	b.until("the worker answers", func() bool { status, _ := getText(t, b.url+"/_ping"); return status == 200 })
	cmd := exec.CommandContext(t.Context(), "docker", "-H", "tcp://"+strings.TrimPrefix(b.url, "http://"), "--config", t.TempDir(), "exec", "-i", "c", "cat")
	sent := bytes.Repeat([]byte("what cat says\n"), 20_000)
	cmd.Stdin = bytes.NewReader(sent)
	var said, failed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &failed
	if err := cmd.Run(); err != nil || !bytes.Equal(said.Bytes(), sent) {
		t.Errorf("docker exec gave %d of %d bytes, %v, %s", said.Len(), len(sent), err, failed.String())
	}
}
