package probe

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// envServe makes the test binary a worker process that listens on the address
// it names.
const envServe = "PROBE_TEST_SERVE"

func TestMain(m *testing.M) {
	if addr := os.Getenv(envServe); addr != "" {
		serve(addr)
		return
	}
	goleak.VerifyTestMain(m)
}

// serve is the worker process: /healthz answers what /set?status= said last,
// /looks says how often it was asked,
// /shut closes the port and lets open connections live, /hold never answers.
func serve(addr string) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var status atomic.Int64
	status.Store(200)
	mux := http.NewServeMux()
	var looks atomic.Int64
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		looks.Add(1)
		w.WriteHeader(int(status.Load()))
	})
	mux.HandleFunc("/looks", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, looks.Load()) })
	mux.HandleFunc("/set", func(_ http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("status"))
		status.Store(int64(n))
	})
	mux.HandleFunc("/shut", func(http.ResponseWriter, *http.Request) { _ = ln.Close() })
	mux.HandleFunc("/hold", func(http.ResponseWriter, *http.Request) { select {} })
	_ = http.Serve(ln, mux)
	select {} // the port is shut; connections go on
}

// process is a worker process of a test.
type process struct {
	t    *testing.T
	addr string
	cmd  *exec.Cmd
}

// freeAddr returns a loopback address that nobody listens on. Where the whole of
// 127.0.0.0/8 is one, nobody else takes the port while no worker has it.
func freeAddr(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	}
	ln, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envServe+"="+p.addr)
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(p.kill)
	until(p.t, "the worker listens", func() bool {
		return Open(p.t.Context(), p.addr, time.Second).Outcome == Answered
	})
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// freeze stops the process and returns when it has stopped.
func (p *process) freeze() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		p.t.Fatal(err)
	}
	until(p.t, "the worker has stopped", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		return err == nil && b[bytes.LastIndexByte(b, ')')+2] == 'T'
	})
}

func (p *process) get(path string) string {
	p.t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := c.Get("http://" + p.addr + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// until polls what has no event to wait for: another process.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !cond() {
		if !sleep(ctx, nil, 5*time.Millisecond) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// recorder is a Registry that writes down what it is told.
type recorder struct {
	mu      sync.Mutex // guards what follows
	log     []string   // "up w 1", "drain w", "down w 1 crash"
	epochs  map[string]uint64
	sick    map[string]uint64 // epochs that were reported sick
	weights map[string]int
	next    uint64
	last    fleet.End
	work    chan struct{} // closed when nothing is in flight any more; nil means nothing is
	news    chan struct{} // closed and replaced at every entry
}

func newRecorder() *recorder {
	return &recorder{epochs: map[string]uint64{}, sick: map[string]uint64{}, weights: map[string]int{}, news: make(chan struct{})}
}

func (r *recorder) note(f func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := f(); s != "" {
		r.log = append(r.log, s)
	}
	close(r.news)
	r.news = make(chan struct{})
}

func (r *recorder) Add(string) {}

func (r *recorder) SetWeight(worker string, weight int) {
	r.note(func() string {
		if r.weights[worker] == weight {
			return ""
		}
		r.weights[worker] = weight
		return "weight"
	})
}

func (r *recorder) Remove(string) error {
	r.note(func() string { return "remove" })
	return nil
}

func (r *recorder) Up(worker, _ string) (epoch uint64) {
	r.note(func() string {
		r.next++
		epoch = r.next
		r.epochs[worker] = epoch
		return "up"
	})
	return epoch
}

func (r *recorder) Drain(string)  { r.note(func() string { return "drain" }) }
func (r *recorder) Resume(string) { r.note(func() string { return "resume" }) }

func (r *recorder) Sick(worker string, epoch uint64, _ string) bool {
	r.note(func() string {
		if r.sick[worker] == epoch {
			return ""
		}
		r.sick[worker] = epoch
		return "sick"
	})
	return true
}

func (r *recorder) Well(worker string, _ uint64) {
	r.note(func() string {
		delete(r.sick, worker)
		return "well"
	})
}

// Idle waits while there is work.
func (r *recorder) Idle(ctx context.Context, _ string) error {
	r.mu.Lock()
	work := r.work
	r.mu.Unlock()
	if work == nil {
		return nil
	}
	select {
	case <-work:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *recorder) Down(worker string, epoch uint64, end fleet.End) {
	r.note(func() string {
		if r.epochs[worker] != epoch {
			return ""
		}
		delete(r.epochs, worker)
		r.last = end
		if end.Planned {
			return "down planned " + end.Class.String()
		}
		return "down " + end.Class.String()
	})
}

// wait waits for the n-th entry from the start that equals want.
func (r *recorder) wait(t *testing.T, want string, n int) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		r.mu.Lock()
		seen := 0
		for _, s := range r.log {
			if s == want {
				seen++
			}
		}
		news, log := r.news, fmt.Sprint(r.log)
		r.mu.Unlock()
		if seen >= n {
			return
		}
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("timed out waiting for %q × %d; the registry was told %s", want, n, log)
		}
	}
}

func (r *recorder) count(want string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.log {
		if s == want {
			n++
		}
	}
	return n
}

func (r *recorder) epoch(worker string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epochs[worker]
}

func (r *recorder) end() fleet.End {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// keep runs ExternalWorkers over addrs until the test ends.
func keep(t *testing.T, reg Registry, edit func(*Config), addrs ...string) *ExternalWorkers {
	t.Helper()
	cfg := Config{Name: "test", Registry: reg, Health: Health{Interval: 50 * time.Millisecond}}
	for _, a := range addrs {
		cfg.Workers = append(cfg.Workers, "http://"+a)
	}
	if edit != nil {
		edit(&cfg)
	}
	x, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return x
}
