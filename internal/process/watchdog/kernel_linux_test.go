package watchdog

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
	policy "github.com/bezoar-dev/bezoar/policy/watchdog"
)

// sampler returns a watchdog that reads the kernel.
func sampler(t testing.TB, l Limits) *Watchdog {
	t.Helper()
	d, err := New(Config{Target: newHerd(1), Rules: Rules{Limits: l}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestProcessesAreMeasured(t *testing.T) {
	d := sampler(t, Limits{})
	w := Worker{Name: "w-1", PID: os.Getpid(), Life: 1, Up: time.Now()}
	s, err := d.sample(w)
	if err != nil || s.Memory < mib || s.Threads < 1 || s.Descriptors <= 0 || s.Descriptors > 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for range 2 { // what is not known here is said once
		d.note("pressure", errors.New("test"))
	}
	if n := len(d.Status().Unknown); n != 1 {
		t.Errorf("%d are unknown", n)
	}
}

// A process that has ended, or whose id another has got, is not measured.
func TestAnIDMayBeAnothers(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	d := sampler(t, Limits{})
	if _, err := d.sample(Worker{Name: "w-1", PID: cmd.Process.Pid, Life: 1}); !errors.Is(err, procstat.ErrGone) {
		t.Errorf("of a dead process: %v", err)
	}
	if _, err := d.sample(Worker{Name: "w-1"}); !errors.Is(err, procstat.ErrGone) {
		t.Errorf("of none: %v", err)
	}
	k := &kernel{d: d, seen: map[string]process{"w-1": {life: 7, pid: os.Getpid(), birth: 1}}}
	if _, err := k.sample(Worker{Name: "w-1", PID: os.Getpid(), Life: 7}); !errors.Is(err, procstat.ErrGone) {
		t.Errorf("of another with the id: %v", err)
	}
	if _, err := k.sample(Worker{Name: "w-1", PID: os.Getpid(), Life: 8}); err != nil {
		t.Errorf("of the next life: %v", err)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	k := &kernel{d: sampler(t, Limits{}), seen: map[string]process{}}
	for i := range 3 * maxSeen {
		if _, err := k.sample(Worker{Name: fmt.Sprint(i), PID: os.Getpid(), Life: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if len(k.seen) > 2*maxSeen {
		t.Errorf("%d are remembered", len(k.seen))
	}
}

func BenchmarkSample(b *testing.B) {
	d := sampler(b, Limits{})
	w := Worker{Name: "w-1", PID: os.Getppid(), Life: 1, Up: time.Now()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.sample(w); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLook100 is one look at a hundred workers, decision included.
func BenchmarkLook100(b *testing.B) {
	h := newHerd(100)
	for i := range h.workers {
		h.workers[i].PID = os.Getppid()
	}
	d, err := New(Config{Target: h, Rules: Rules{Limits: Limits{Memory: 1 << 40, Growth: 1 << 40, Descriptors: 1, Threads: 1 << 20}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if dec := d.tick(); dec.Action != policy.Idle {
			b.Fatal(dec)
		}
	}
}
