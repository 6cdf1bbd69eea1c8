package browsertest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/test/pace"
)

// patience is how long anything in the browser may take.
const patience = time.Minute

// names are what the browser is called, by preference.
func names() []string { return []string{"chromium", "chromium-browser", "google-chrome"} }

// A Browser is one running Chromium.
type Browser struct {
	t  testing.TB
	ws string // of its DevTools
}

// Start starts a browser that ends with the test, or skips the test when the
// system has none.
func Start(t testing.TB) *Browser {
	t.Helper()
	pace.Spare(t, "the tests of what serves the page")
	path := find()
	if path == "" {
		t.Skipf("no browser here: install one of %s to run this test", strings.Join(names(), ", "))
	}
	// What it writes beside its profile is there as well. The name is short: there
	// are sockets in it.
	dir, err := os.MkdirTemp("", "b") //nolint:usetesting // of t.TempDir it would be too long
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps",
		"--disable-extensions", "--disable-sync", "--disable-dev-shm-usage", "--no-first-run",
		"--hide-scrollbars", "--force-color-profile=srgb", "--remote-allow-origins=*",
		"--remote-debugging-port=0", "--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	// Its helpers are in its group, and go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "DBUS_SESSION_BUS_ADDRESS=/dev/null", "TMPDIR="+dir)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	drained := make(chan struct{})
	found := make(chan string, 1)
	go func() {
		defer close(drained)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, ws, ok := strings.Cut(lines.Text(), "DevTools listening on "); ok {
				found <- ws
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // killed, as it should be
	})
	select {
	case ws := <-found:
		return &Browser{t: t, ws: ws}
	case <-time.After(patience):
		t.Fatalf("%s did not say where its DevTools listen", path)
		return nil
	}
}

func find() string {
	for _, name := range names() {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
