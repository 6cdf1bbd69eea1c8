package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/app"
	"github.com/bezoar-dev/bezoar/internal/control/adminapi"
)

// rig is a running Bezoar with real workers behind it.
type rig struct {
	t     *testing.T
	url   string
	admin *adminapi.Client
	http  *http.Client

	hurried bool // its timeout is so short that good requests may not make it
}

// run starts Bezoar in this process and stops it with the test.
func run(t *testing.T, s setup) *rig {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a, err := app.New(ctx, s.config(), app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := ended(done); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return open(t, a.Addr(), a.AdminAddr(), max(s.Replicas, len(s.Workers)))
}

// open connects to a Bezoar and waits until its workers serve.
func open(t *testing.T, addr, admin string, workers int) *rig {
	t.Helper()
	c, err := adminapi.New(adminapi.Config{Address: admin})
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 256}
	r := &rig{t: t, url: "http://" + addr, admin: c, http: &http.Client{Transport: tr, Timeout: 60 * time.Second}}
	t.Cleanup(func() { c.Close(); tr.CloseIdleConnections() })
	r.until("every worker serves", func() bool { return r.serving() == workers })
	return r
}

// until waits for what is true sooner or later.
func (r *rig) until(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("gave up waiting until %s", what)
		}
	}
}

func (r *rig) fleet() adminapi.Fleet {
	r.t.Helper()
	fs, err := r.admin.Fleets(r.t.Context())
	if err != nil || len(fs) != 1 {
		r.t.Fatalf("fleets: %v, %v", fs, err)
	}
	return fs[0]
}

func (r *rig) serving() (n int) {
	for _, w := range r.fleet().Workers {
		if w.State == "ready" {
			n++
		}
	}
	return n
}

func (r *rig) deaths() int { return int(r.fleet().Counters["deaths"]) }

func (r *rig) pids() (pids []int) {
	for _, w := range r.fleet().Workers {
		if w.PID != 0 {
			pids = append(pids, w.PID)
		}
	}
	return pids
}

// answer is what a caller sees.
type answer struct {
	status int
	body   string
	header http.Header
}

func (r *rig) send(method, target, body string) answer { return r.sendWith(method, target, body, nil) }

// sendWith sends a request with header fields, always for the same host: it is part
// of what tells requests apart, and ports change.
func (r *rig) sendWith(method, target, body string, header map[string]string) answer {
	return r.sendIn(r.t.Context(), method, target, body, header)
}

func (r *rig) sendIn(ctx context.Context, method, target, body string, header map[string]string) answer {
	req, err := http.NewRequestWithContext(ctx, method, r.url+target, strings.NewReader(body))
	if err != nil {
		r.t.Error(err)
		return answer{}
	}
	if body == "" {
		req.Body = http.NoBody
	}
	req.Host = "shop.example"
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return answer{body: err.Error()}
	}
	return answer{res.StatusCode, string(b), res.Header}
}

func (r *rig) get(target string) answer { return r.send("GET", target, "") }

func (r *rig) held(state bezoar.State) []bezoar.Verdict {
	r.t.Helper()
	vs, err := r.admin.Verdicts(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	var out []bezoar.Verdict
	for _, v := range vs {
		if v.State == state {
			out = append(out, v)
		}
	}
	return out
}

func (r *rig) convicts() []bezoar.Verdict { return r.held(bezoar.Quarantined) }

// crowd sends good requests until stopped, and fails the test for each that is
// not answered.
type crowd struct {
	end  func()
	wg   sync.WaitGroup
	sent atomic.Int64
	late atomic.Int64 // answers that the rig's short timeout has cut off
}

// think is how long callers wait between two requests. Callers that never wait take
// whatever the machine has, for as long as their test lasts.
const think = 10 * time.Millisecond

// crowd keeps n callers busy with popular, slow and unique requests.
func (r *rig) crowd(n int) *crowd {
	stop := make(chan struct{})
	c := &crowd{}
	c.end = sync.OnceFunc(func() { close(stop); c.wg.Wait() })
	r.t.Cleanup(c.end) // also when the test gives up
	for i := range n {
		c.wg.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-stop:
					return
				case <-time.After(think):
				}
				target := "/popular?q=1"
				switch i % 4 {
				case 1:
					target = "/report?slow=1"
				case 2:
					target = fmt.Sprintf("/item?id=%d", i*1_000_000+k)
				}
				c.sent.Add(1)
				switch a := r.get(target); {
				case a.status == http.StatusGatewayTimeout && r.hurried:
					c.late.Add(1)
				case a.status != 200 && r.t.Context().Err() == nil:
					r.t.Errorf("GET %s: %d %s", target, a.status, a.body)
				}
			}
		})
	}
	return c
}

// process is Bezoar in a process of its own.
type process struct {
	*rig
	cmd *exec.Cmd
	log *syncBuffer

	adminAddr string
}

// start runs Bezoar as a child that a test may kill. Its workers die with it.
func start(t *testing.T, s setup) *process { return startBy(t, s, (*exec.Cmd).Start) }

// startBy is start with another way to start the child.
func startBy(t *testing.T, s setup, begin func(*exec.Cmd) error) *process {
	t.Helper()
	spec, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"=bezoar", setupVar+"="+string(spec))
	var log syncBuffer
	cmd.Stderr, cmd.WaitDelay = &log, patience // its workers have it too
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = reap(t, cmd)
		look(t, &log)
	})
	line, err := firstLine(cmd, out)
	if err != nil {
		t.Fatalf("Bezoar did not start: %v\n%s", err, log.String())
	}
	var addr, admin string
	if _, err := fmt.Sscan(line, &addr, &admin); err != nil {
		t.Fatalf("Bezoar said %q: %v", line, err)
	}
	return &process{open(t, addr, admin, max(s.Replicas, len(s.Workers))), cmd, &log, admin}
}

// kill ends the process at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = reap(p.t, p.cmd)
}

type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// maxLog bounds what is kept: a soak logs for hours, and its memory is looked at.
const maxLog = 1 << 20

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.b.Len() > maxLog {
		b.b.Reset()
	}
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
