package app_test

import (
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

	"github.com/bezoar-dev/bezoar/queue"
)

// fragile is an HTTP server on the listener that it inherits. It dies of poison,
// and with it all that it has received.
func fragile() int {
	diary, err := os.OpenFile(os.Getenv(diaryVar), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "poison") {
			fmt.Fprintf(diary, "died of %s\n", body)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		time.Sleep(20 * time.Millisecond) // so that there are others under way
		fmt.Fprintf(diary, "did %s\n", body)
	}))
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// keep starts such a server again whenever it has died.
func keep(t *testing.T, diary string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := logOf(t)
	var crew sync.WaitGroup
	ctx := t.Context()
	crew.Go(func() {
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, exe)
			cmd.Env = append(os.Environ(), roleVar+"=fragile", diaryVar+"="+diary)
			cmd.ExtraFiles, cmd.Stderr = []*os.File{file}, log
			_ = cmd.Run() // that it dies is the point
		}
	})
	t.Cleanup(func() {
		crew.Wait()
		file.Close()
		l.Close()
	})
	return "http://" + l.Addr().String()
}

// Law 3 for servers that messages are pushed to: a poison body costs two of
// their lives, and what was under way with it is done all the same.
func TestPushedPoisonCostsTwoServers(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 2} {
		t.Run(fmt.Sprintf("after %d", after), func(t *testing.T) {
			t.Parallel()
			pushPoison(t, after)
		})
	}
}

func pushPoison(t *testing.T, after int) {
	dir := t.TempDir()
	diary := filepath.Join(dir, "diary")
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues:
  jobs: {retry: {base: 10ms, cap: 50ms}, quarantine: {after: %d}, push: {url: %q, concurrency: 6}}
`, after, keep(t, diary)))
	good := 0
	for i := range 120 {
		body := fmt.Sprintf(`{"good":%d}`, i)
		if i%60 == 30 {
			body = fmt.Sprintf(`{"poison":%d}`, i/60)
		} else {
			good++
		}
		n.sendMessage("jobs", body)
	}
	n.until("the queue is empty", func() bool { q := n.queue("jobs"); return q.Visible+q.InFlight+q.Delayed == 0 })
	deaths, done := readDiary(t, diary)
	for body, times := range deaths {
		if times > 2 {
			t.Errorf("%s killed %d servers, more than 2", body, times)
		}
	}
	if len(deaths) != 2 || len(done) != good {
		t.Errorf("%d bodies killed, want 2; %d of %d good ones are done", len(deaths), len(done), good)
	}
	dead := n.bodies("jobs-dlq")
	for _, body := range dead {
		if !strings.Contains(body, "poison") {
			t.Errorf("%s is in the dead-letter queue", body)
		}
	}
	if len(dead) != 2 {
		t.Errorf("%d dead letters, want 2", len(dead))
	}
}

// A server that says when to come again is believed.
func TestPushWaitsAsItIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked atomic.Int64
	var first, second time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/orders?id=7" || r.Method != http.MethodPut {
			t.Errorf("%s %s was asked for", r.Method, r.URL)
		}
		switch asked.Add(1) {
		case 1:
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			second = time.Now()
			_, _ = io.Copy(w, r.Body)
		}
	}))
	defer server.Close()
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`listen: 127.0.0.1:0
routes: [{match: {path: /*}, enqueue: jobs}]
queues:
  jobs: {retry: {base: 1ms, cap: 1ms}, push: {url: %q}}
`, server.URL))
	ticket := n.enqueue("PUT", "/orders?id=7", "text/plain", strings.NewReader("an order"))
	n.until("it is done", func() bool { return n.status(ticket).State == "done" })
	if waited := second.Sub(first); asked.Load() != 2 || waited < time.Second {
		t.Errorf("asked %d times, again after %v; want twice, after a second", asked.Load(), waited)
	}
}

// silentPort takes a port that refuses connections until listen is called. Nobody
// else can have it meanwhile.
func silentPort(t *testing.T) (address string, listen func() net.Listener) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	must(err)
	file := os.NewFile(uintptr(fd), "a port")
	t.Cleanup(func() { file.Close() })
	must(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	at, err := syscall.Getsockname(fd)
	must(err)
	return fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port), func() net.Listener {
		t.Helper()
		must(syscall.Listen(fd, 16))
		l, err := net.FileListener(file)
		must(err)
		return l
	}
}

// A server that is down blames no message: they wait, and are done when it is
// back.
func TestPushOutlivesAServerThatIsDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, listen := silentPort(t)
	n := serve(t, head(sqliteIn(dir), dir)+fmt.Sprintf(`queues:
  jobs: {max_receive_count: 1000, retry: {base: 1ms, cap: 20ms, budget: 100%%, budget_floor: 1000}, push: {url: "http://%s"}}
`, address))
	for i := range 4 { // fewer than pause a queue
		n.sendMessage("jobs", fmt.Sprintf(`{"n":"message %d"}`, i))
	}
	n.until("it was tried in vain", func() bool {
		page, err := n.admin.Peek(t.Context(), "jobs", 0, 1)
		return err == nil && len(page) == 1 && len(page[0].Attempts) > 0
	})
	l := listen()
	var done atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done.Add(1) }), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	n.until("all are done", func() bool { q := n.queue("jobs"); return q.Visible+q.InFlight+q.Delayed == 0 })
	if done.Load() != 4 {
		t.Errorf("%d requests, want 4", done.Load())
	}
	if groups, err := n.app.Triage().Groups(t.Context(), queue.Selection{}, 10); err != nil || len(groups) != 0 {
		t.Errorf("dead letters %v, %v", groups, err)
	}
}
