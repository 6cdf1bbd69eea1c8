package supervise

import (
	"bytes"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/probe"
)

// logged is a log that can be read while it is written.
type logged struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestGluttonIsKilledByTheKernel(t *testing.T) {
	var out logged
	r := run(t, "server", func(c *Config) {
		c.Memory = 64 << 20
		c.Log = slog.New(slog.NewTextHandler(&out, nil))
	})
	r.reg.wait(t, "up", 1)
	epoch := r.reg.epoch("w-1")
	_, _ = r.get("w-1", "/oom")
	if h := r.Check(t.Context(), "w-1", epoch, fleet.Broken); h != fleet.Gone {
		t.Errorf("Check = %v, want gone", h)
	}
	end := r.reg.end()
	if strings.Contains(out.String(), "is killed") {
		t.Logf("this machine forbids memory groups; its memory was looked at: %s", end.Detail)
	} else if end.Signal != "SIGKILL" {
		t.Errorf("end %+v, want SIGKILL by the kernel", end)
	}
	if end.Class != bezoar.OOM || end.Planned || !strings.Contains(end.Detail, "limit 64 MiB") {
		t.Errorf("end %+v, want oom with its limit named", end)
	}
	// kill -9 of the next life, in a group of its own, is no such thing.
	r.reg.wait(t, "up", 2)
	_, _ = r.get("w-1", "/exit?code=137")
	r.reg.wait(t, "down w-1 crash", 1)
}

func TestWithoutGroupsMemoryIsLookedAt(t *testing.T) {
	glutton := filepath.Join(t.TempDir(), "glutton")
	build := exec.Command("go", "build", "-o", glutton, "testdata/glutton.go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	var out logged
	r := run(t, "", func(c *Config) {
		c.Command = []string{glutton}
		c.Memory = 128 << 20
		c.Log = slog.New(slog.NewTextHandler(&out, nil))
	}, func(x *Supervisor) {
		x.memory.create = func(string, int64) (*cgroup.Group, error) {
			return nil, fmt.Errorf("%w: forbidden by this test", cgroup.ErrUnavailable)
		}
	})
	for i := range 2 {
		r.reg.wait(t, "up", i+1)
		_, _ = r.get("w-1", "/")
		r.reg.wait(t, "down w-1 oom", i+1)
	}
	if end := r.reg.end(); end.Signal != "SIGKILL" || !strings.Contains(end.Detail, "MiB resident (out of memory, limit 128 MiB)") {
		t.Errorf("end %+v, want what it held and its limit", end)
	}
	if n := strings.Count(out.String(), "Bezoar kills a worker"); n != 1 {
		t.Errorf("the looser limit was told %d times, want once:\n%s", n, out.String())
	}
}

// A worker that is held out for its health and stays silent is ended: nothing
// else would bring it back. One that answers anything is not.
func TestSilentWorkerIsEnded(t *testing.T) {
	r := run(t, "server", func(c *Config) {
		c.Replicas = 2
		c.Health.Path, c.Health.Interval = "/healthz", time.Hour // only the looks below
	})
	r.reg.wait(t, "up", 2)
	w := r.find("w-1")
	v := healthLoop{w: w, l: w.current()}
	silent, ill := probe.Result{Outcome: probe.TimedOut}, probe.Result{Outcome: probe.Answered, Status: 500}
	now := time.Now()
	for _, res := range []probe.Result{silent, silent, silent, ill} {
		v.see(res, now)
		now = now.Add(silentFor)
	}
	if !v.out || r.reg.count("sick w-1") != 1 || w.current().dead() {
		t.Fatalf("held out %v, told %q: want held out and alive", v.out, r.reg.entries())
	}
	v.see(silent, now)
	if w.current().dead() {
		t.Fatal("it was ended at its first silence")
	}
	r.reg.mu.Lock()
	r.reg.panic = true
	r.reg.mu.Unlock()
	v.see(silent, now.Add(2*silentFor))
	if v.out || w.current().dead() {
		t.Fatal("it was ended in panic")
	}
	if st := r.Status()[0]; st.State != Ready {
		t.Errorf("in panic its state is %s, want ready", st.State)
	}
	r.reg.mu.Lock()
	r.reg.panic = false
	r.reg.mu.Unlock()
	busy := make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = busy
	r.reg.mu.Unlock()
	v.see(silent, now.Add(2*silentFor))
	if w.current().dead() {
		t.Fatal("it was ended with work in flight")
	}
	close(busy)
	v.see(silent, now.Add(2*silentFor))
	r.reg.wait(t, "down w-1 timeout", 1)
	if end := r.reg.end(); !strings.Contains(end.Detail, "no answer to its health check for 30s") {
		t.Errorf("end %+v", end)
	}
}
