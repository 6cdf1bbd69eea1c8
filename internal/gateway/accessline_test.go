package gateway

import (
	"bytes"
	"log/slog"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/gateway/accesslog"
)

// lockedBuffer is written to by the gateway.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	l.b.Reset()
	return s
}

// TestCombinedLines: curl's requests in the form that log analysers read.
func TestCombinedLines(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	var out lockedBuffer
	log, err := accesslog.New(accesslog.Config{Combined: &out, Clear: true, Paths: true})
	if err != nil {
		t.Fatal(err)
	}
	w := startWorker(t, answering(hello))
	cfg := Config{Observe: log.Observe}
	f := serve(t, Route{Doer: newDirect(t, w.addr), Client: "header:X-Key"}, cfg, ServerConfig{})
	ask := func(args ...string) {
		t.Helper()
		args = append(args, "-sS", "-o", "/dev/null", "-A", `agent "x"`, "-H", "Referer: https://u:secret@from.example/a?token=secret#f",
			"-H", "X-Key: al ice", "http://"+f.addr+"/a%20b/c?token=secret")
		if b, err := exec.Command("curl", args...).CombinedOutput(); err != nil {
			t.Fatalf("curl: %v, %s", err, b)
		}
	}
	ask()
	want := regexp.MustCompile(`^127\.0\.0\.1 - al_ice \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "GET /a%20b/c HTTP/1\.1" 200 5 "https://from\.example/a" "agent \\x22x\\x22"\n$`)
	got := ""
	for late := time.Now().Add(patience); got == "" && time.Now().Before(late); runtime.Gosched() { // it is written when the answer has been
		got = out.take()
	}
	if !want.MatchString(got) {
		t.Errorf("the line is %s", got)
	}

	// Without Clear and Paths it names nobody.
	r := accesslog.Record{Time: time.Unix(1_000_000, 0).UTC(), Route: "search", Method: "GET", Path: "/reset/T0K3N", Status: 200, BytesOut: 5, Caller: "alice"}
	l, err := accesslog.New(accesslog.Config{Combined: &out})
	if err != nil {
		t.Fatal(err)
	}
	l.Observe(&r)
	if got := out.take(); got != `- - - [12/Jan/1970:13:46:40 +0000] "GET search -" 200 5 "-" "-"`+"\n" {
		t.Errorf("the line is %s", got)
	}
	if _, err := accesslog.New(accesslog.Config{}); err == nil {
		t.Error("a log to nowhere is fine")
	}
}

// Nothing that a caller sends as query, header or body is in a line.
func TestNoSecretIsLogged(t *testing.T) {
	var b bytes.Buffer
	l, err := accesslog.New(accesslog.Config{Log: slog.New(slog.NewJSONHandler(&b, nil)), Printer: newPrinter(t), Paths: true})
	if err != nil {
		t.Fatal(err)
	}
	done := newObserver()
	w := startWorker(t, answering("HTTP/1.1 200 OK\nX-Secret: s3cret\nContent-Length: 6\n\ns3cret"))
	f := serve(t, Route{Doer: newDirect(t, w.addr), Client: "header:Authorization"}, Config{
		Observe: func(r *accesslog.Record) { l.Observe(r); done.observe(r) },
	}, ServerConfig{})
	c := dial(t, f.addr)
	c.send("POST /p?q=s3cret HTTP/1.1\nHost: s3cret.example\nAuthorization: Bearer s3cret\nCookie: s3cret\nContent-Length: 6\n\ns3cret")
	c.answer("POST")
	done.next(t)
	if s := b.String(); strings.Contains(s, "s3cret") || !strings.Contains(s, `"path":"/p"`) || !strings.Contains(s, `"caller":"`) {
		t.Errorf("the line is %s", s)
	}
}
