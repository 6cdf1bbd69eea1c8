package health

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/process/procstat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a machine whose numbers a test sets.
type machine struct {
	mu     sync.Mutex
	memory procstat.Mem
	self   procstat.Process
	disk   procstat.Space
	cpu    procstat.PSI
	err    error // of the processor's pressure
	broken error // of the disk
	paths  []string
}

func (m *machine) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *machine) source() source {
	return source{
		self: func() (procstat.Process, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.self, nil
		},
		memory: func() (procstat.Mem, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.memory, nil
		},
		disk: func(path string) (procstat.Space, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.paths = append(m.paths, path)
			return m.disk, m.broken
		},
		cpu: func() (procstat.PSI, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.cpu, m.err
		},
	}
}

// idle is a machine with nothing to do.
func idle() *machine {
	return &machine{
		memory: procstat.Mem{Total: 1000, Available: 900},
		self:   procstat.Process{FDs: 10, FDLimit: 1000},
		disk:   procstat.Space{Total: 1000, Free: 900, Available: 900},
	}
}

// bare is a configuration without checks of the machine.
func bare() Config {
	return Config{Memory: Never(), FDs: Never(), CPU: Never(), Disks: []Disk{}}
}

func newHealth(t *testing.T, c Config, m *machine) *Health {
	t.Helper()
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if m != nil {
		h.source = m.source()
	}
	return h
}

// run runs h until the test is over.
func run(t *testing.T, h *Health) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// check returns one check of the report.
func check(t *testing.T, h *Health, name string) Check {
	t.Helper()
	for _, c := range h.Report().Checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %+v", name, h.Report())
	return Check{}
}

func wantState(t *testing.T, h *Health, name string, want State) {
	t.Helper()
	if c := check(t, h, name); c.State != want {
		t.Errorf("%s is %v, want %v: %+v", name, c.State, want, c)
	}
}

// after lets time pass in a bubble, and all that is due be done.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestConfig(t *testing.T) {
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero Config: %v", err)
	}
	for _, tc := range []struct {
		cfg  Config
		want string
	}{
		{Config{Interval: time.Millisecond}, "interval is 1ms"},
		{Config{Timeout: -1}, "timeout is -1ns"},
		{Config{Memory: Limits{Degraded: Band{Upper: -5}}}, "memory: degraded upper is -5"},
		{Config{FDs: Limits{Times: -1}}, "fds: times is -1"},
		{Config{CPU: Limits{Calm: -1}}, "cpu: calm is -1ns"},
		{Config{Disks: []Disk{{Name: "a b"}}}, `disks[0]: name is "a b"`},
		{Config{Disks: []Disk{{Name: "memory"}}}, `disks[0]: name "memory" is taken`},
		{Config{Disks: []Disk{{Path: "/a"}, {Path: "/b"}}}, `disks[1]: name "disk" is taken`},
		{Config{Disks: []Disk{{Limits: Limits{Failing: Band{Upper: 0.1}}}}}, "disks[0]: failing is 0.1"},
		{Config{Disks: make([]Disk, 33)}, "disks are 33"},
		{Config{Interval: 1, Timeout: -1}, "interval is 1ns, want 100ms to 1h\ntimeout is"},
	} {
		_, err := New(tc.cfg)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.cfg, err, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"db", "fleet:search", "disk:/var/lib", "A-1_b.c", strings.Repeat("x", 64)} {
		if err := checkName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "a b", "a\n", "ä", "a,b", "a\x00", strings.Repeat("x", 65), "<b>"} {
		if checkName(name) == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// The real machine is looked at, and is well enough to run this test.
func TestARealMachine(t *testing.T) {
	h := newHealth(t, Config{Interval: 100 * time.Millisecond, Timeout: time.Minute}, nil)
	ready := make(chan struct{})
	var once sync.Once
	if err := h.Check("ready", CheckConfig{Timeout: time.Minute, Func: func(context.Context) error {
		if r := h.Report(); r.NotReady == "" || r.NotReady == "failing" {
			once.Do(func() { close(ready) })
		}
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
	stop := run(t, h)
	<-ready
	r := h.Report()
	stop()
	for _, c := range r.Checks {
		switch {
		case c.Pending || c.At.IsZero():
			t.Errorf("%s was not looked at", c.Name)
		case c.Kind == Local && c.Skipped == "" && len(c.Measures) != 1:
			t.Errorf("%s measured nothing: %+v", c.Name, c)
		case c.Skipped != "" && c.State != OK:
			t.Errorf("%s is left out and yet %v", c.Name, c.State)
		}
		for _, m := range c.Measures {
			if !(m.Value >= 0 && m.Value <= 1) || m.Thresholds == nil {
				t.Errorf("%s: %+v", c.Name, m)
			}
		}
	}
	if len(r.Checks) != 5 {
		t.Errorf("%d checks, want memory, fds, cpu, disk and ready", len(r.Checks))
	}
}

var errSecret = errors.New("dial tcp 10.1.2.3:5432: password authentication failed")
