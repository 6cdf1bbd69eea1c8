package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// member is a bezoar behind a balancer.
type member struct {
	cmd           *exec.Cmd
	listen, admin string
	out           atomic.Bool  // the balancer sends no more
	late          atomic.Int64 // good answers while it was not ready
	sick          atomic.Bool  // /readyz has said 503
}

// join starts a bezoar that is not in a hurry to stop.
func join(t *testing.T, worker string) *member {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bezoar.yaml")
	settings := fmt.Sprintf(`
listen: 127.0.0.1:0
admin: 127.0.0.1:0
store: "memory:"
shutdown_delay: 10m
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app, retry: {attempts: 1}}]
`, worker)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("bezoar")
	if err != nil {
		t.Fatal(err)
	}
	m := &member{cmd: exec.Command(path, "serve", "-c", file)}
	m.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	stderr, err := m.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.cmd.Process.Kill(); _ = m.cmd.Wait() })
	sc := bufio.NewScanner(stderr)
	for m.admin == "" && sc.Scan() {
		if at, ok := strings.CutPrefix(sc.Text(), "bezoar: serving on http://"); ok {
			m.listen = at
		}
		if at, ok := strings.CutPrefix(sc.Text(), "bezoar: console and API on http://"); ok {
			m.admin = strings.TrimSuffix(at, "/")
		}
	}
	if m.admin == "" {
		t.Fatal("bezoar ended before it served")
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return m
}

// readyz asks once.
func (m *member) readyz() (status int, text string) {
	resp, err := http.Get("http://" + m.admin + "/readyz")
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// watch is how balancers look: every so often, and three times bad is out, here
// not before somebody was served meanwhile.
func (m *member) watch(done <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for bad := 0; bad < 3 || m.late.Load() == 0; {
		select {
		case <-tick.C:
		case <-done:
			return
		}
		if status, _ := m.readyz(); status == http.StatusOK {
			bad = 0
			continue
		}
		m.sick.Store(true)
		bad++
	}
	m.out.Store(true)
}

// Between SIGTERM and the last connection there is time for a balancer to
// notice: what it still sends is answered, on connections old and new.
func TestNobodyIsRefusedWhileABalancerLetsGo(t *testing.T) {
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer worker.Close()
	members := []*member{join(t, worker.URL), join(t, worker.URL)}
	for _, m := range members {
		eventually(t, "it is ready", func() bool { status, _ := m.readyz(); return status == http.StatusOK })
	}
	leaving := members[0]
	done := make(chan struct{})
	var watcher, callers sync.WaitGroup
	var refused atomic.Pointer[string]
	tr := &http.Transport{MaxIdleConnsPerHost: 8}
	client := http.Client{Transport: tr, Timeout: patience}
	defer tr.CloseIdleConnections()
	for range 4 {
		callers.Go(func() {
			for turn := 0; ; turn++ {
				select {
				case <-done:
					return
				default:
				}
				m := members[turn%2]
				if m.out.Load() {
					continue
				}
				// A request with a body that is not idempotent: the client
				// does not send it again behind our back.
				resp, err := client.Post("http://"+m.listen+"/", "text/plain", strings.NewReader("x"))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				if err != nil || resp.StatusCode != http.StatusOK {
					text := fmt.Sprint(resp, err)
					refused.CompareAndSwap(nil, &text)
					return
				}
				if m.sick.Load() {
					m.late.Add(1)
				}
			}
		})
	}
	watcher.Go(func() { leaving.watch(done) })
	if err := leaving.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the balancer notices", leaving.out.Load)
	if status, text := leaving.readyz(); status != http.StatusServiceUnavailable || !strings.Contains(text, "stopping") {
		t.Errorf("readyz says %d %q", status, text)
	}
	if resp, err := client.Get("http://" + leaving.listen + "/"); err != nil || resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("who comes nevertheless gets %v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	close(done)
	callers.Wait()
	watcher.Wait()
	if what := refused.Load(); what != nil {
		t.Errorf("a caller was refused: %s", *what)
	}
	// Once more does not wait for the rest of the ten minutes.
	if err := leaving.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := leaving.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// The service manager is told when Bezoar listens, and not before.
func TestTheServiceManagerIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := manager.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	g := launch(t, exec.Command("bezoar", "serve", "--sqs", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--store", "sqlite:"+dir+"/b.db"),
		"NOTIFY_SOCKET="+manager.LocalAddr().String())
	state := make([]byte, 100)
	n, err := manager.Read(state)
	if err != nil || string(state[:n]) != "READY=1" {
		t.Fatalf("the manager was told %q, %v", state[:n], err)
	}
	if err := g.cmd.Process.Signal(syscall.SIGHUP); err != nil { // from now on that does not end it
		t.Fatal(err)
	}
	g.until(t, "bezoar: console and API")
	resp, err := http.Get("http://" + g.sqs + "/health")
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("it answers %v, %v", resp, err)
	}
}
