package main

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/supervise"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// Each example is started and supervised as a user would, and does what the
// README's table says.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		name, needs string
		command     func(t *testing.T) []string
		signal      string // by which /crash ends it; "" for an exit code
		says        string // its last words
	}{
		{"go", "go", buildGo, "", "nil pointer dereference"},
		{"python", "python3", script("python3", "../python-server/server.py"), "SIGSEGV", ""},
		{"node", "node", script("node", "../node-server/server.mjs"), "", "TypeError"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Skipf("%s is not on this machine, so its example was not run: %v", c.needs, err)
			}
			f, ends := start(t, c.command(t))
			if got := get(t, f, "/search?q=stone"); got != "bezoar stone\nbloodstone\nmoonstone\n" {
				t.Errorf("/search?q=stone answers %q", got)
			}
			if got := get(t, f, "/slow"); got != "done\n" {
				t.Errorf("/slow answers %q", got)
			}

			w := worker(t, f)
			go func() { _, _ = fetch(context.WithoutCancel(t.Context()), w, "/crash") }()
			end := next(t, ends)
			if end.Planned || end.Class != bezoar.Crash || end.Signal != c.signal || !strings.Contains(strings.Join(end.Stderr, "\n"), c.says) {
				t.Errorf("/crash ends it so: %+v", end)
			}

			w = worker(t, f)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = fetch(ctx, w, "/hang") }()
			for h := fleet.Alive; h != fleet.Unresponsive; { // until the pill has arrived
				if h = f.Settle(t.Context(), w, fleet.Overdue); h == fleet.Gone {
					t.Fatal("/hang ends it")
				}
			}
			f.Kill(t.Context(), w, "it hangs")
			if end := next(t, ends); end.Planned || end.Class != bezoar.Timeout {
				t.Errorf("/hang ends it so: %+v", end)
			}
		})
	}
}

func buildGo(t *testing.T) []string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "go-server")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return []string{bin}
}

func script(interpreter, file string) func(*testing.T) []string {
	return func(*testing.T) []string { return []string{interpreter, file} }
}

// start supervises two copies of command and returns their fleet and its ends.
func start(t *testing.T, command []string) (*fleet.Fleet, <-chan fleet.End) {
	t.Helper()
	ends := make(chan fleet.End, 16)
	f, err := fleet.New(fleet.Config{Name: "example", Ended: func(_ uint64, _ string, end fleet.End) { ends <- end }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := supervise.New(supervise.Config{
		Name: "example", Command: command, Replicas: 2, Registry: f,
		Health: supervise.Health{Path: "/healthz", Interval: time.Hour}, Drain: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Keep(s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return f, ends
}

// worker returns a worker that serves.
func worker(t *testing.T, f *fleet.Fleet) *fleet.Worker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := f.Acquire(ctx, fleet.Want{})
	if err != nil {
		t.Fatal(err)
	}
	f.Release(w)
	return w
}

func next(t *testing.T, ends <-chan fleet.End) fleet.End {
	t.Helper()
	select {
	case end := <-ends:
		return end
	case <-time.After(patience):
		t.Fatal("the worker does not end")
		return fleet.End{}
	}
}

func get(t *testing.T, f *fleet.Fleet, path string) string {
	t.Helper()
	body, err := fetch(t.Context(), worker(t, f), path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func fetch(ctx context.Context, w *fleet.Worker, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.Addr()+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}
