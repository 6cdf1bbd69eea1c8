package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// upgrades is how often a bezoar is replaced under load.
func upgrades(usually int) int {
	if os.Getenv("BEZOAR_SOAK") != "" {
		return 20
	}
	return usually
}

// generation is one of the processes that follow each other.
type generation struct {
	cmd         *exec.Cmd
	listen, sqs string
}

// begin starts one and waits until it listens, or has taken over.
func begin(t *testing.T, cmd *exec.Cmd) *generation {
	t.Helper()
	g := &generation{cmd: cmd}
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "LISTEN_FDS=3", "LISTEN_FDNAMES=http:sqs:admin")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said strings.Builder
	for sc := bufio.NewScanner(stderr); sc.Scan(); {
		said.WriteString(sc.Text() + "\n")
		if at, ok := strings.CutPrefix(sc.Text(), "bezoar: serving on http://"); ok {
			g.listen = at
		}
		if at, ok := strings.CutPrefix(sc.Text(), "bezoar: sqs endpoint on http://"); ok {
			g.sqs = at
		}
		if strings.HasPrefix(sc.Text(), "bezoar: console and API") {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return g
		}
	}
	t.Fatalf("it ended before it served:\n%s", said.String())
	return nil
}

// ended waits for the end of one that was replaced.
func (g *generation) ended(t *testing.T) {
	t.Helper()
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("the process that was replaced ended with %v", err)
	}
}

// crowd calls a bezoar without pause.
type crowd struct {
	listen, sqs string
	done        chan struct{}
	wg          sync.WaitGroup
	answered    atomic.Int64
	sent        atomic.Int64 // messages
	refused     atomic.Pointer[string]
	failures    atomic.Int64
}

// gather has callers who keep their connections, callers who open one for each
// request, and one who sends messages.
func gather(g *generation) *crowd {
	c := &crowd{listen: "http://" + g.listen + "/", sqs: "http://" + g.sqs + "/", done: make(chan struct{})}
	message := url.Values{"Action": {"SendMessage"}, "MessageBody": {"m"}, "QueueUrl": {c.sqs + "000000000000/jobs"}, "Version": {"2012-11-05"}}.Encode()
	for i := range 6 {
		c.wg.Go(func() { c.call(c.listen, "text/plain", "x", i%2 == 0, &c.answered) })
	}
	c.wg.Go(func() { c.call(c.sqs, "application/x-www-form-urlencoded", message, true, &c.sent) })
	return c
}

func (c *crowd) call(to, kind, body string, keep bool, count *atomic.Int64) {
	tr := &http.Transport{DisableKeepAlives: !keep}
	defer tr.CloseIdleConnections()
	client := http.Client{Transport: tr, Timeout: patience}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		// Not idempotent, and of a body that can be read once: the client does not
		// send it again behind our back.
		resp, err := client.Post(to, kind, io.MultiReader(strings.NewReader(body)))
		var text []byte
		if err == nil {
			text, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			what := fmt.Sprintf("%s: %v %s", to, err, text)
			c.refused.CompareAndSwap(nil, &what)
			c.failures.Add(1)
			continue
		}
		count.Add(1)
	}
}

// served waits until both fronts have answered again.
func (c *crowd) served(t *testing.T) {
	t.Helper()
	answered, sent := c.answered.Load(), c.sent.Load()
	eventually(t, "the next process serves", func() bool { return c.answered.Load() > answered+30 && c.sent.Load() > sent+5 })
}

// end says what callers have seen.
func (c *crowd) end(t *testing.T, n int) {
	t.Helper()
	close(c.done)
	c.wg.Wait()
	if what := c.refused.Load(); what != nil {
		t.Errorf("%d calls failed, the first: %s", c.failures.Load(), *what)
	}
	t.Logf("%d upgrades: %d requests answered, %d messages accepted, %d failures", n, c.answered.Load(), c.sent.Load(), c.failures.Load())
}

// upgradable writes settings, and returns how a bezoar with them is started.
func upgradable(t *testing.T, more string) func(prefix ...string) *exec.Cmd {
	t.Helper()
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(worker.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "bezoar.yaml")
	settings := fmt.Sprintf(`
listen: 127.0.0.1:0
sqs: 127.0.0.1:0
admin: 127.0.0.1:0
store: sqlite:%s/b.db
state_dir: %s/state
queues: {jobs: {}}
fleets: {app: {workers: [%q]}}
routes: [{match: {path: /*}, fleet: app, retry: {attempts: 1}}]
`, dir, dir, worker.URL)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("bezoar")
	if err != nil {
		t.Fatal(err)
	}
	return func(prefix ...string) *exec.Cmd {
		args := append(prefix, path, "serve", "-c", file)
		if more != "" {
			args = append(args, more)
		}
		return exec.Command(args[0], args[1:]...)
	}
}

// A process that takes over has the listening sockets of the one before: callers
// wait, and nobody is refused.
func TestTakingOverRefusesNobody(t *testing.T) {
	t.Parallel()
	n := upgrades(5)
	command := upgradable(t, "--take-over")
	g := begin(t, command()) // there is nothing to take over
	c := gather(g)
	c.served(t)
	for range n {
		next := begin(t, command())
		g.ended(t)
		if next.listen != g.listen || next.sqs != g.sqs {
			t.Fatalf("it listens on %s and %s, no longer on %s and %s", next.listen, next.sqs, g.listen, g.sqs)
		}
		c.served(t)
		g = next
	}
	c.end(t, n)
}

// listening is a socket that a service manager has opened.
func listening(t *testing.T) (*net.TCPListener, *os.File) {
	t.Helper()
	ln, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close(); ln.Close() })
	return ln, f
}

// A service manager keeps the sockets open from one process to the next.
func TestSocketActivationRefusesNobody(t *testing.T) {
	t.Parallel()
	n := upgrades(2)
	var sockets []*os.File
	for range 3 {
		_, f := listening(t)
		sockets = append(sockets, f)
	}
	command := upgradable(t, "")
	start := func() *generation {
		cmd := command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`)
		cmd.ExtraFiles = sockets
		return begin(t, cmd)
	}
	g := start()
	c := gather(g)
	c.served(t)
	for range n {
		if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		g.ended(t)
		g = start()
		c.served(t)
	}
	c.end(t, n)
}
