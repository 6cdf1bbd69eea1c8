package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/state/handover"
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
	lines       <-chan string // of stderr
	listen, sqs string
}

// begin starts one and waits until it listens, or has taken over.
func begin(t *testing.T, cmd *exec.Cmd) *generation {
	t.Helper()
	g := launch(t, cmd)
	g.until(t, "bezoar: console and API")
	return g
}

func launch(t *testing.T, cmd *exec.Cmd, env ...string) *generation {
	t.Helper()
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "LISTEN_FDS=3", "LISTEN_FDNAMES=http:sqs:admin")
	cmd.Env = append(cmd.Env, env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 10_000)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-read; _ = cmd.Wait() })
	return &generation{cmd: cmd, lines: lines}
}

// until waits until it writes a line that contains says.
func (g *generation) until(t *testing.T, says string) {
	t.Helper()
	var said strings.Builder
	for line := range g.lines {
		said.WriteString(line + "\n")
		if at, ok := strings.CutPrefix(line, "bezoar: serving on http://"); ok {
			g.listen = at
		}
		if at, ok := strings.CutPrefix(line, "bezoar: sqs endpoint on http://"); ok {
			g.sqs = at
		}
		if strings.Contains(line, says) {
			return
		}
	}
	t.Fatalf("it ended before it wrote %q:\n%s", says, said.String())
}

// killed ends one with SIGKILL.
func (g *generation) killed(t *testing.T) {
	t.Helper()
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Wait(); err == nil {
		t.Fatal("it had ended")
	}
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
	quiet       sync.Mutex // while nobody sends a message
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
		c.wg.Go(func() { c.call(c.listen, "text/plain", "x", i%2 == 0, &c.answered, new(sync.Mutex)) })
	}
	c.wg.Go(func() { c.call(c.sqs, "application/x-www-form-urlencoded", message, true, &c.sent, &c.quiet) })
	return c
}

func (c *crowd) call(to, kind, body string, keep bool, count *atomic.Int64, quiet sync.Locker) {
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
		quiet.Lock()
		resp, err := client.Post(to, kind, io.MultiReader(strings.NewReader(body)))
		var text []byte
		if err == nil {
			text, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		quiet.Unlock()
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

// upgradable writes settings, and returns how a bezoar with them is started. Its worker fails health checks while sick.
func upgradable(t *testing.T, dir, more string, sick *atomic.Bool) func(prefix ...string) *exec.Cmd {
	t.Helper()
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" && sick.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(worker.Close)
	file := filepath.Join(dir, "bezoar.yaml")
	settings := fmt.Sprintf(`
listen: 127.0.0.1:0
sqs: 127.0.0.1:0
admin: 127.0.0.1:0
store: sqlite:%s/b.db
state_dir: %s/state
queues: {jobs: {}}
fleets: {app: {workers: [%q], health: {path: /healthz, interval: 100ms}}}
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
	command := upgradable(t, t.TempDir(), "--take-over", new(atomic.Bool))
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

// takeover speaks for a new process up to a step, and stays there until it is killed.
func takeover() {
	dir, last := os.Args[1], os.Args[2]
	reached := func(step string) {
		if fmt.Fprintln(os.Stderr, step); step == last {
			select {}
		}
	}
	if last == "connected" {
		c, err := net.Dial("unix", filepath.Join(dir, "takeover.sock"))
		defer runtime.KeepAlive(c)
		fmt.Fprintln(os.Stderr, err)
		reached("connected")
	}
	_, before, err := handover.Take(context.Background(), dir, func(*handover.Sockets) error {
		reached("received")
		return nil
	})
	if err == nil {
		reached("took")
		err = before.Wait(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
	reached("released")
}

// A process that takes over may be killed at any time until it serves: the one before goes on or serves again, and nobody is
// refused.
func TestASuccessorIsKilled(t *testing.T) {
	t.Parallel()
	dir, sick := t.TempDir(), new(atomic.Bool)
	command := upgradable(t, dir, "--take-over", sick)
	g := begin(t, command())
	c := gather(g)
	c.served(t)
	for _, step := range []string{"connected", "received", "took", "released"} {
		next := launch(t, exec.Command("takeover", filepath.Join(dir, "state"), step))
		next.until(t, step)
		if step == "connected" || step == "received" {
			c.served(t) // the one before goes on
		}
		next.killed(t)
		c.served(t)
	}
	next := launch(t, command())
	next.until(t, "taking over")
	next.killed(t)
	c.served(t)

	c.quiet.Lock() // its other fronts serve while it waits for a worker
	sick.Store(true)
	begin(t, command()).killed(t)
	sick.Store(false)
	c.quiet.Unlock()
	c.served(t)

	next = begin(t, command()) // it can still be replaced
	g.ended(t)
	if next.listen != g.listen || next.sqs != g.sqs {
		t.Fatalf("it listens on %s and %s, no longer on %s and %s", next.listen, next.sqs, g.listen, g.sqs)
	}
	c.served(t)
	c.end(t, 1)
}

// The process before may be killed as soon as its sockets are taken: the new one serves.
func TestAPredecessorIsKilled(t *testing.T) {
	t.Parallel()
	command := upgradable(t, t.TempDir(), "--take-over", new(atomic.Bool))
	g := begin(t, command())
	slow, err := net.Dial("tcp", g.listen) // a request that holds it up
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("it answered %+v, %v", resp, err)
	}
	if _, err := io.WriteString(slow, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	next := launch(t, command())
	next.until(t, "taking over")
	g.killed(t)
	next.until(t, "bezoar: console and API")
	c := gather(next)
	c.served(t)
	c.end(t, 1)
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
	command := upgradable(t, t.TempDir(), "", new(atomic.Bool))
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
