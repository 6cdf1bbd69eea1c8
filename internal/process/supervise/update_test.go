package supervise

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar/internal/dispatch/fleet"
)

// update changes the settings that the workers of r have now.
func (r *running) update(edit func(*Config)) (restart bool) {
	r.t.Helper()
	cfg := *r.cfg.Load()
	cfg.Env = slices.Clone(cfg.Env)
	edit(&cfg)
	restart, err := r.Update(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	return restart
}

// hold has the registry say that work is in flight, until the returned function
// is called.
func (r *running) hold() (release func()) {
	busy := make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = busy
	r.reg.mu.Unlock()
	return sync.OnceFunc(func() { close(busy) })
}

// names lists the workers that are there.
func (r *running) names() string {
	var out []string
	for _, st := range r.Status() {
		out = append(out, st.Name)
	}
	return strings.Join(out, " ")
}

// pid is the process of a worker.
func (r *running) pid(worker string) int {
	for _, st := range r.Status() {
		if st.Name == worker {
			return st.PID
		}
	}
	return 0
}

func TestMoreAndFewerWorkers(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	pids := fmt.Sprint(r.pid("w-1"), r.pid("w-2"))
	if r.update(func(c *Config) { c.Replicas = 4 }) {
		t.Error("more workers need a restart")
	}
	r.reg.wait(t, "up", 4)
	if got := r.names(); got != "w-1 w-2 w-3 w-4" {
		t.Errorf("workers %s", got)
	}
	release := r.hold()
	gone := r.pid("w-4")
	r.update(func(c *Config) { c.Replicas = 3 })
	r.reg.wait(t, "drain w-4", 1)
	if !lives(gone) || r.names() != "w-1 w-2 w-3 w-4" {
		t.Errorf("with work in flight it lives: %v, workers %s", lives(gone), r.names())
	}
	release()
	r.reg.wait(t, "remove w-4", 1)
	if end := r.reg.end(); !end.Planned || !strings.Contains(end.Detail, "more workers run than the settings ask for") {
		t.Errorf("end %+v", end)
	}
	if got := r.names(); got != "w-1 w-2 w-3" || lives(gone) {
		t.Errorf("workers %s, the process of w-4 lives: %v", got, lives(gone))
	}
	if n := r.reg.count("down"); n != 1 {
		t.Errorf("%d ended, want 1", n)
	}
	if got := fmt.Sprint(r.pid("w-1"), r.pid("w-2")); got != pids {
		t.Errorf("those that stay have the processes %s, not %s", got, pids)
	}
	r.update(func(c *Config) { c.Replicas = 4 })
	r.reg.wait(t, "up w-4", 2)
}

// A worker that is wanted again before it has finished its work goes on.
func TestWorkerThatStaysAfterAll(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	pid := r.pid("w-2")
	for i := range 3 {
		release := r.hold()
		r.update(func(c *Config) { c.Replicas = 1 })
		r.reg.wait(t, "drain w-2", i+1)
		r.update(func(c *Config) { c.Replicas = 2 })
		r.reg.wait(t, "resume w-2", i+1)
		until(t, "it says that it is ready", func() bool { return r.Status()[1].State == Ready })
		release()
	}
	if r.pid("w-2") != pid || r.reg.count("down") != 0 {
		t.Errorf("it was process %d and is %+v; told %q", pid, r.Status()[1], r.reg.entries())
	}
	// And it can still go, and come.
	r.update(func(c *Config) { c.Replicas = 1 })
	r.reg.wait(t, "remove w-2", 1)
	r.update(func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up w-2", 2)
}

// In every state a worker can be told to go: starting, and waiting to start.
func TestFewerWorkersWhileTheyStart(t *testing.T) {
	for _, role := range []string{"mute", "build"} {
		t.Run(role, func(t *testing.T) {
			r := run(t, role, func(c *Config) {
				c.Replicas = 3
				c.Backoff.Base, c.Backoff.Cap = time.Hour, time.Hour
				for _, e := range c.Env {
					if name, ok := strings.CutPrefix(e, envFlag+"="); ok {
						_ = os.WriteFile(name, nil, 0o600) // a bad build
					}
				}
			})
			until(t, "the processes were started", func() bool {
				return !slices.ContainsFunc(r.Status(), func(st WorkerStatus) bool { return st.PID == 0 && st.LastError == "" })
			})
			r.update(func(c *Config) { c.Replicas = 1 })
			r.reg.wait(t, "remove", 2)
			if got := r.names(); got != "w-1" {
				t.Errorf("workers %s", got)
			}
		})
	}
}

func TestNewSettingsOfProcesses(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	dir := t.TempDir()
	if !r.update(func(c *Config) {
		c.Command, c.Dir, c.Env = append(slices.Clone(c.Command), "new"), dir, append(c.Env, "COLOUR=blue")
		c.Replicas = 3
	}) || !r.Outdated() {
		t.Fatal("a new command needs no restart")
	}
	r.reg.wait(t, "up", 3)
	has := func(worker string) bool {
		about := r.mustGet(worker, "/about")
		return strings.Contains(about, `"new"`) && strings.Contains(about, "\nCOLOUR=blue")
	}
	if has("w-1") || has("w-2") || !has("w-3") {
		t.Error("only the process that began after it has the new settings")
	}
	if s := r.Status(); !s[0].Outdated || s[2].Outdated {
		t.Errorf("status %+v", s)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !has("w-1") || !has("w-2") || r.Outdated() {
		t.Error("after a restart not all have the new settings")
	}
	if r.update(func(c *Config) { c.Drain, c.Grace, c.Health.Interval = time.Minute, time.Minute, time.Minute }) {
		t.Error("what holds at once needs a restart")
	}
}

func TestInvalidUpdateChangesNothing(t *testing.T) {
	r := run(t, "server", nil)
	r.reg.wait(t, "up", 1)
	was := r.cfg.Load()
	for _, edit := range []func(*Config){
		func(c *Config) { c.Command = nil },
		func(c *Config) { c.Replicas = MaxReplicas + 1 },
		func(c *Config) { c.Memory = 1 },
		func(c *Config) { c.Drain = -1 },
	} {
		cfg := *was
		edit(&cfg)
		if restart, err := r.Update(cfg); err == nil || restart {
			t.Errorf("%v, %v", restart, err)
		}
	}
	if r.cfg.Load() != was || r.names() != "w-1" {
		t.Error("something has changed")
	}
	r.stop()
	if _, err := r.Update(*was); err == nil {
		t.Error("it was changed when it had ended")
	}
}

// Health settings hold for workers that are up, unless they wait for a new
// build, which may answer elsewhere.
func TestNewHealthSettings(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Health.Interval = 10 * time.Millisecond })
	r.reg.wait(t, "up", 1)
	r.mustGet("w-1", "/status?code=500")
	r.update(func(c *Config) { c.Health.Path = "/healthz" })
	r.reg.wait(t, "sick w-1", 1)
	r.update(func(c *Config) { c.Health.Path = "" })
	r.reg.wait(t, "well w-1", 1)
	until(t, "it is ready, as nothing is asked any more", func() bool { return r.Status()[0].State == Ready })
	r.mustGet("w-1", "/status?code=200")
	r.update(func(c *Config) { c.Health.Path = "/healthz" })
	r.update(func(c *Config) { c.Health.Path, c.Command = "/nowhere", append(slices.Clone(c.Command), "new") })
	if h := r.settingsFor(r.find("w-1").current()).Health; h.Path != "/healthz" {
		t.Errorf("a process that waits to be replaced is asked for %q", h.Path)
	}
	// Interval changes reach those that wait for the next look.
	r.update(func(c *Config) { c.Health.Path, c.Health.Interval = "/healthz", time.Hour })
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.mustGet("w-1", "/status?code=500")
	r.update(func(c *Config) { c.Health.Interval = 10 * time.Millisecond })
	r.reg.wait(t, "sick w-1", 2)
}

// A command that does not start costs no worker: neither in a restart, nor when
// one dies afterwards.
func TestCommandThatDoesNotStart(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	good := r.cfg.Load().Command
	r.update(func(c *Config) { c.Command = []string{"/nowhere/at/all"} })
	if err := r.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Errorf("restart: %v", err)
	}
	_, _ = r.get("w-2", "/exit?code=3")
	r.reg.wait(t, "up w-2", 2)
	if st := r.Status(); !st[0].Outdated || !st[1].Outdated {
		t.Errorf("status %+v", st)
	}
	if r.update(func(c *Config) { c.Command = good }) {
		t.Error("going back needs a restart, though all run as before")
	}
}

// Places that are to go are passed over by a restart, and do not end it.
func TestRestartWhilePlacesGo(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 3 })
	r.reg.wait(t, "up", 3)
	release := r.hold()
	done := make(chan error, 1)
	go func() { done <- r.Restart(t.Context()) }()
	r.reg.wait(t, "retire w-1", 1)
	r.update(func(c *Config) { c.Replicas = 1 })
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	r.reg.wait(t, "remove", 2)
	if r.reg.count("up") != 4 {
		t.Errorf("told %q", r.reg.entries())
	}
}

// A successor serves as soon as it is ready, beside a process that has a stream
// which does not end. A shorter drain in new settings holds for that process, too,
// and the successor's settings hold for the successor.
func TestASuccessorDoesNotWaitForStreams(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Drain = time.Hour })
	r.reg.wait(t, "up w-1", 1)
	release := r.hold()
	defer release()
	old := r.Status()[0]
	done := make(chan error, 1)
	go func() { done <- r.Restart(t.Context()) }()
	r.reg.wait(t, "up w-1", 2)
	until(t, "the successor is shown", func() bool { st := r.Status()[0]; return st.State == Ready && st.PID != old.PID })
	if h := r.Check(t.Context(), "w-1", old.Epoch, fleet.Broken); h != fleet.Alive || !lives(old.PID) || r.reg.count("down") != 0 {
		t.Errorf("beside its successor the old process is %v, told %q", h, r.reg.entries())
	}
	r.update(func(c *Config) { c.Drain, c.Env = 10*time.Millisecond, append(c.Env, "NEW=1") })
	r.reg.wait(t, "down w-1 planned", 1)
	if err := <-done; err != nil || lives(old.PID) {
		t.Errorf("%v, the old process lives: %v", err, lives(old.PID))
	}
	if st := r.Status()[0]; st.State != Ready || st.PID == old.PID {
		t.Errorf("status %+v", st)
	}
}

// A process that dies while it drains beside its successor has died like any other.
func TestADeathBesideTheSuccessor(t *testing.T) {
	r := run(t, "server", nil)
	r.reg.wait(t, "up w-1", 1)
	release := r.hold()
	defer release()
	old := r.Status()[0]
	done := make(chan error, 1)
	go func() { done <- r.Restart(t.Context()) }()
	r.reg.wait(t, "up w-1", 2)
	r.Kill("w-1", old.Epoch, "it hangs")
	r.reg.wait(t, "down w-1 timeout", 1)
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := r.reg.count("down"); n != 1 {
		t.Errorf("told %q", r.reg.entries())
	}
}

// Any order of changes ends in what was asked for last.
func TestManyUpdates(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	for i := range 60 {
		r.update(func(c *Config) {
			c.Replicas = 1 + i*7%4
			c.Health.Path = []string{"", "/healthz"}[i%2]
			c.Health.Interval = 20 * time.Millisecond
		})
	}
	r.update(func(c *Config) { c.Replicas = 3 })
	until(t, "three serve", func() bool {
		st := r.Status()
		return len(st) == 3 && !slices.ContainsFunc(st, func(w WorkerStatus) bool { return w.State != Ready })
	})
	r.reg.mu.Lock()
	defer r.reg.mu.Unlock()
	if len(r.reg.live) != 3 {
		t.Errorf("up in the registry: %v", r.reg.live)
	}
}
