package gateway

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnEarlyAnswerOverHTTP2: curl sends a long body that is refused unread, by the worker or by the gateway. It loses the
// answer if the stream is reset before it has sent everything.
func TestAnEarlyAnswerOverHTTP2(t *testing.T) {
	if said, err := exec.Command("curl", "--version").Output(); err != nil || !strings.Contains(string(said), "HTTP2") {
		t.Skip("needs curl with HTTP/2")
	}
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, make([]byte, 5<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := func(c *workerConn) {
		if _, err := http.ReadRequest(c.br); err == nil {
			c.send("HTTP/1.1 413 Payload Too Large\nConnection: close\nContent-Length: 7\n\ntoo big")
		}
	}
	for _, tc := range []struct {
		name, want string
		route      Route
	}{
		{"worker", "too big", Route{}},
		{"gateway", "urn:bezoar:problem:", Route{MaxBody: 1 << 20}},
	} {
		tc.route.Doer = newDirect(t, startWorker(t, worker).addr)
		f := serve(t, tc.route, Config{}, ServerConfig{})
		for range 3 {
			out, err := exec.Command("curl", "-sS", "--max-time", "60", "--http2-prior-knowledge", "-w", " %{http_code}", "--data-binary", "@"+body,
				"http://"+f.addr+"/").CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.want) || !strings.HasSuffix(string(out), " 413") {
				t.Errorf("refused by the %s: %v, %s", tc.name, err, out)
			}
		}
	}
}
