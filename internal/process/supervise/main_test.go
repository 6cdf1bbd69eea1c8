package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

var _ Registry = (*fleet.Fleet)(nil)

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		child(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// recorder is a Registry that writes down what it is told.
type recorder struct {
	mu       sync.Mutex // guards what follows
	log      []string   // "up w-1", "drain w-1", "idle w-1", "down w-1 crash"
	live     map[string]uint64
	retired  map[uint64]bool   // epochs beside which another is live
	sick     map[string]uint64 // epochs that were reported sick
	panic    bool              // nobody is held out
	addrs    map[string]string
	ends     []fleet.End
	answered map[string]uint64 // what Proof says
	next     uint64
	least    int           // the fewest live workers since it was set
	news     chan struct{} // closed and replaced at every entry
	busy     chan struct{} // Idle waits for it, if set
}

func newRecorder() *recorder {
	return &recorder{live: map[string]uint64{}, retired: map[uint64]bool{}, sick: map[string]uint64{}, addrs: map[string]string{}, answered: map[string]uint64{}, news: make(chan struct{})}
}

func (r *recorder) note(f func() string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := f(); s != "" {
		r.log = append(r.log, s)
	}
	r.least = min(r.least, len(r.live))
	close(r.news)
	r.news = make(chan struct{})
}

func (r *recorder) Add(worker string) { r.note(func() string { return "add " + worker }) }

func (r *recorder) Remove(worker string) error {
	r.note(func() string { return "remove " + worker })
	return nil
}

func (r *recorder) Up(worker, addr string) (epoch uint64) {
	r.note(func() string {
		r.next++
		epoch = r.next
		r.live[worker], r.addrs[worker] = epoch, addr
		return "up " + worker
	})
	return epoch
}

func (r *recorder) Drain(worker string)  { r.note(func() string { return "drain " + worker }) }
func (r *recorder) Resume(worker string) { r.note(func() string { return "resume " + worker }) }

func (r *recorder) Sick(worker string, epoch uint64, _ string) (out bool) {
	r.note(func() string {
		out = !r.panic
		if r.sick[worker] == epoch {
			return ""
		}
		r.sick[worker] = epoch
		return "sick " + worker
	})
	return out
}

func (r *recorder) Well(worker string, _ uint64) {
	r.note(func() string {
		delete(r.sick, worker)
		return "well " + worker
	})
}

func (r *recorder) Bake(worker string, _ uint64, on bool) {
	r.note(func() string { return fmt.Sprintf("bake %s %v", worker, on) })
}

func (r *recorder) Proof(worker string, epoch uint64) (answered uint64, out string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sick[worker] == epoch {
		out = "it is sick"
	}
	return r.answered[worker], out
}

func (r *recorder) Retire(worker string, epoch uint64) (ok bool) {
	r.note(func() string {
		if ok = r.live[worker] == epoch; !ok {
			return ""
		}
		delete(r.live, worker)
		r.retired[epoch] = true
		return "retire " + worker
	})
	return ok
}

func (r *recorder) Retired(ctx context.Context, worker string, _ uint64) error {
	return r.Idle(ctx, worker)
}

func (r *recorder) Idle(ctx context.Context, worker string) error {
	r.mu.Lock()
	busy := r.busy
	r.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			select {
			case <-busy: // whoever only looks must see it
			default:
				return ctx.Err()
			}
		}
	}
	r.note(func() string { return "idle " + worker })
	return nil
}

func (r *recorder) Down(worker string, epoch uint64, end fleet.End) {
	r.note(func() string {
		switch {
		case r.live[worker] == epoch:
			delete(r.live, worker)
		case r.retired[epoch]:
			delete(r.retired, epoch)
		default:
			return "" // over, or unknown
		}
		r.ends = append(r.ends, end)
		if end.Planned {
			return "down " + worker + " planned"
		}
		return "down " + worker + " " + end.Class.String()
	})
}

// wait waits until at least n entries begin with prefix.
func (r *recorder) wait(t *testing.T, prefix string, n int) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		r.mu.Lock()
		news := r.news
		r.mu.Unlock()
		if r.count(prefix) >= n {
			return
		}
		select {
		case <-news:
		case <-timeout:
			t.Fatalf("timed out waiting for %q × %d; the registry was told %q; the last end is %+v", prefix, n, r.entries(), r.end())
		}
	}
}

func (r *recorder) entries() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.log...)
}

func (r *recorder) count(prefix string) (n int) {
	for _, s := range r.entries() {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func (r *recorder) epoch(worker string) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[worker]
}

func (r *recorder) addr(worker string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addrs[worker]
}

func (r *recorder) end() fleet.End {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ends) == 0 {
		return fleet.End{Detail: "none"}
	}
	return r.ends[len(r.ends)-1]
}

// running is a Supervisor whose Run runs.
type running struct {
	*Supervisor
	t      *testing.T
	reg    *recorder
	out    *lines
	cancel context.CancelFunc
	done   chan error
	once   sync.Once
}

// lines collects output.
type lines struct {
	mu   sync.Mutex // guards what follows
	text []string
}

func (l *lines) add(worker string, stream Stream, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) < 10_000 {
		l.text = append(l.text, fmt.Sprintf("%s %s %s", worker, stream, line))
	}
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.text, "\n")
}

// run supervises the test binary in a role until the test ends.
func run(t *testing.T, role string, edit func(*Config), tweaks ...func(*Supervisor)) *running {
	t.Helper()
	r := &running{t: t, reg: newRecorder(), out: &lines{}, done: make(chan error, 1)}
	cfg := Config{
		Name: "w", Command: []string{os.Args[0], "arg", "port={port}"}, Registry: r.reg,
		Env: []string{envRole + "=" + role, envFlag + "=" + filepath.Join(t.TempDir(), "flag")},
		// Quick, so that tests are.
		Grace: 2 * time.Second, Drain: 5 * time.Second, Output: r.out.add,
	}
	cfg.Backoff.Base, cfg.Backoff.Cap = 20*time.Millisecond, 200*time.Millisecond
	if edit != nil {
		edit(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, tweak := range tweaks {
		tweak(s)
	}
	r.Supervisor = s
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() { r.done <- s.Run(ctx) }()
	<-s.running
	t.Cleanup(func() { r.stop() })
	return r
}

// stop ends Run and looks for what it left.
func (r *running) stop() {
	r.once.Do(func() {
		r.t.Helper()
		r.cancel()
		select {
		case err := <-r.done:
			if err != nil {
				r.t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			r.t.Fatalf("Run does not end; status %+v", r.Status())
		}
		for _, p := range processes(r.t, r.flag()) {
			if p.parent == os.Getpid() || p.marked {
				r.t.Errorf("process %d is left, in state %s", p.pid, p.state)
			}
		}
	})
}

// get sends one request to a worker over a connection of its own and returns
// the body; an error when the worker died on it.
func (r *running) get(worker, path string) (string, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, "http://"+r.reg.addr(worker)+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(b), err
}

func (r *running) mustGet(worker, path string) string {
	r.t.Helper()
	body, err := r.get(worker, path)
	if err != nil {
		r.t.Fatal(err)
	}
	return body
}

func (r *running) flag() string {
	for _, e := range r.cfg.Load().Env {
		if name, ok := strings.CutPrefix(e, envFlag+"="); ok {
			return name
		}
	}
	return ""
}

// until polls what has no event to wait for: other processes.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(time.Minute)
	for !cond() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
