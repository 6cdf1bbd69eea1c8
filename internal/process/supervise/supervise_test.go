package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

func TestWorkersGetWhatTheyNeedAndNoMore(t *testing.T) {
	t.Setenv("BEZOAR_SECRET", "s3cret")
	t.Setenv("NOTIFY_SOCKET", "/run/notify")
	t.Setenv("PGPASSWORD", "hunter2")
	t.Setenv("MY_TOKEN", "hunter2")
	t.Setenv("MY_SETTING", "kept")
	r := run(t, "server", func(c *Config) {
		c.Replicas = 3
		c.Inherit.Secrets = []string{"MY_TOKEN"}
		c.Env = append(c.Env, "BEZOAR_SAMPLE=given by name")
	})
	r.reg.wait(t, "up", 3)
	addrs := map[string]bool{}
	for _, w := range []string{"w-1", "w-2", "w-3"} {
		addr := r.reg.addr(w)
		addrs[addr] = true
		_, port, _ := strings.Cut(addr, ":")
		about := r.mustGet(w, "/about")
		var pid, pgid int
		if _, err := fmt.Sscanf(about, "pid=%d pgid=%d", &pid, &pgid); err != nil || pid != pgid || pgid == syscall.Getpgrp() {
			t.Errorf("%s: pid %d, group %d, %v: want a group of its own", w, pid, pgid, err)
		}
		for _, want := range []string{`"arg" "port=` + port + `"`, `stdin="",<nil>`, "\nPORT=" + port, "\nBEZOAR_WORKER=" + w, "\nMY_SETTING=kept", "\nBEZOAR_SAMPLE=given by name", "\nPATH="} {
			if !strings.Contains(about, want) {
				t.Errorf("%s lacks %q in\n%s", w, want, about)
			}
		}
		for _, never := range []string{"s3cret", "NOTIFY_SOCKET", "hunter2"} {
			if strings.Contains(about, never) {
				t.Errorf("%s sees %q", w, never)
			}
		}
	}
	if len(addrs) != 3 {
		t.Errorf("the workers share addresses: %v", addrs)
	}
	r.mustGet("w-2", "/say?out=to+stdout&err=to+stderr")
	until(t, "the output arrives", func() bool {
		all := r.out.all()
		return strings.Contains(all, "w-2 stdout to stdout") && strings.Contains(all, "w-2 stderr to stderr")
	})
	if got := r.reg.entries()[:3]; fmt.Sprint(got) != "[add w-1 add w-2 add w-3]" {
		t.Errorf("the registry was first told %q", got)
	}
	until(t, "all say that they are ready", func() bool {
		return !slices.ContainsFunc(r.Status(), func(st WorkerStatus) bool { return st.State != Ready })
	})
	for _, st := range r.Status() {
		if st.PID == 0 || st.Port == 0 || st.Epoch == 0 || st.Up.IsZero() || st.Restarts != 0 {
			t.Errorf("status %+v of a ready worker", st)
		}
	}
}

func TestShutdownFinishesWorkFirst(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	busy := make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = busy
	r.reg.mu.Unlock()
	r.cancel()
	r.reg.wait(t, "drain", 2)
	for _, st := range r.Status() {
		if st.State != Draining || !lives(st.PID) {
			t.Errorf("while work is in flight: %+v, alive %v", st, lives(st.PID))
		}
	}
	close(busy)
	r.stop()
	for _, w := range []string{"w-1", "w-2"} {
		var order []string
		for _, e := range r.reg.entries() {
			if strings.Contains(e, w) {
				order = append(order, strings.Replace(e, " "+w, "", 1))
			}
		}
		if got := strings.Join(order, ", "); got != "add, up, drain, idle, down planned" {
			t.Errorf("%s: %s", w, got)
		}
	}
	if end := r.reg.end(); end.Class != bezoar.Interrupted || end.Signal != "SIGTERM" {
		t.Errorf("end %+v, want interrupted by SIGTERM", end)
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	r := run(t, "stubborn", func(c *Config) { c.Drain, c.Grace = 50*time.Millisecond, 100*time.Millisecond })
	r.reg.wait(t, "up", 1)
	r.reg.mu.Lock()
	r.reg.busy = make(chan struct{}) // work that never ends
	r.reg.mu.Unlock()
	r.stop()
	if end := r.reg.end(); !end.Planned || end.Signal != "SIGKILL" || !strings.Contains(end.Detail, "ignored SIGTERM for 100ms") {
		t.Errorf("end %+v, want planned, by SIGKILL after the grace", end)
	}
}

// A shell in front of the server ends at once; the server has the grace all the same.
func TestGraceIsForTheWholeGroup(t *testing.T) {
	for name, script := range map[string]string{
		"a shell in front":     `"$0" "$@"; echo done`,
		"a session of its own": `setsid "$0" "$@" & wait`,
	} {
		t.Run(name, func(t *testing.T) {
			inShell := func(c *Config) { c.Command = append([]string{"sh", "-c", script}, c.Command...) }
			r := run(t, "thorough", func(c *Config) { inShell(c); c.Grace = time.Minute })
			r.reg.wait(t, "up", 1)
			r.stop()
			if _, err := os.Stat(r.flag()); err != nil {
				t.Errorf("the server could not finish: %v, end %+v", err, r.reg.end())
			}

			r = run(t, "stubborn", func(c *Config) { inShell(c); c.Grace = 100 * time.Millisecond })
			r.reg.wait(t, "up", 1)
			r.stop() // looks for what is left
			if end := r.reg.end(); !end.Planned || end.Signal != "SIGTERM" {
				t.Errorf("end %+v, want planned, the shell by SIGTERM", end)
			}
		})
	}
}

func TestShutdownWhileStarting(t *testing.T) {
	r := run(t, "mute", nil)
	until(t, "the process runs", func() bool { return r.Status()[0].PID != 0 })
	r.stop()
	if n := r.reg.count("up"); n != 0 {
		t.Errorf("a worker that never opened its port came up")
	}
}

func TestWorkerThatIsNeverReady(t *testing.T) {
	r := run(t, "mute", func(c *Config) { c.Health.StartTimeout = 50 * time.Millisecond })
	until(t, "it was tried three times", func() bool { return r.Status()[0].Restarts >= 2 })
	if n := r.reg.count("up"); n != 0 {
		t.Errorf("a worker that never opened its port came up")
	}
	if e := r.Status()[0].LastError; !strings.Contains(e, "not ready within 50ms") || !strings.Contains(e, "refused") {
		t.Errorf("LastError = %q", e)
	}
}

func TestWorkerThatExitsBeforeReady(t *testing.T) {
	r := run(t, "build", func(c *Config) {
		flag := ""
		for _, e := range c.Env {
			if f, ok := strings.CutPrefix(e, envFlag+"="); ok {
				flag = f
			}
		}
		if err := os.WriteFile(flag, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	until(t, "it was tried three times", func() bool { return r.Status()[0].Restarts >= 2 })
	if e := r.Status()[0].LastError; !strings.Contains(e, "exit code 7") || !strings.Contains(e, "bad build") {
		t.Errorf("LastError = %q, want the exit code and what it said", e)
	}
	if err := os.Remove(r.flag()); err != nil {
		t.Fatal(err)
	}
	r.reg.wait(t, "up", 1) // a good build heals by itself
	until(t, "the error is forgotten", func() bool { return r.Status()[0].LastError == "" })
}

func TestCommandThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(dir, "lost")
	if err := os.WriteFile(lost, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{
		{"no-such-program-anywhere", "executable file not found"},
		{filepath.Join(dir, "missing"), "no such file"},
		{plain, "permission denied"},
		{lost, "no such file"},
	} {
		s, err := New(Config{Name: "w", Command: []string{c.command}, Replicas: 4, Registry: newRecorder()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err = s.Run(ctx)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.command) {
			t.Errorf("Run of %s = %v, want %q at once", c.command, err, c.want)
		}
		cancel()
		if err := s.Run(t.Context()); err == nil {
			t.Error("Run can be called twice")
		}
	}
}

func TestRollingRestart(t *testing.T) {
	r := run(t, "build", func(c *Config) { c.Replicas = 3 })
	if err := (&Supervisor{running: make(chan struct{})}).Restart(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Restart before Run = %v", err)
	}
	r.reg.wait(t, "up", 3)
	before := r.Status()
	r.reg.mu.Lock()
	r.reg.least = 3
	r.reg.mu.Unlock()
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, st := range r.Status() {
		if st.PID == before[i].PID || st.State != Ready {
			t.Errorf("%s: process %d before, now %+v", st.Name, before[i].PID, st)
		}
		if lives(before[i].PID) {
			t.Errorf("%s: the old process lives", st.Name)
		}
	}
	if r.reg.count("down") != 3 || strings.Count(fmt.Sprint(r.reg.entries()), "planned") != 3 {
		t.Errorf("the registry was told %q, want three planned ends", r.reg.entries())
	}
	r.reg.mu.Lock()
	least := r.reg.least
	r.reg.mu.Unlock()
	if least < 2 {
		t.Errorf("%d of 3 workers were up at one moment, want at least 2", least)
	}

	// A bad build stops the restart at its first worker and costs none.
	if err := os.WriteFile(r.flag(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before = r.Status()
	err := r.Restart(t.Context())
	for _, want := range []string{"stopped at worker w-1", "0 of 3 replaced", "exit code 7", "bad build"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("Restart with a bad build = %v, want %q in it", err, want)
		}
	}
	for i, st := range r.Status() {
		if st.PID != before[i].PID || st.Epoch != before[i].Epoch || !lives(st.PID) {
			t.Errorf("a bad build cost %s: before %+v, now %+v", st.Name, before[i], st)
		}
	}
	r.stop()
	if err := r.Restart(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Restart after Run = %v", err)
	}
}

func TestOnlyOneRollingRestart(t *testing.T) {
	r := run(t, "server", nil)
	r.reg.wait(t, "up", 1)
	busy := make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = busy
	r.reg.mu.Unlock()
	first := make(chan error, 1)
	go func() { first <- r.Restart(context.Background()) }()
	r.reg.wait(t, "retire", 1)
	if err := r.Restart(t.Context()); !errors.Is(err, ErrRestarting) {
		t.Errorf("a second Restart = %v", err)
	}
	close(busy)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// One worker is replaced beside the others, which notice nothing, and a build
// that does not start costs none.
func TestReplace(t *testing.T) {
	r := run(t, "build", func(c *Config) { c.Replicas = 3 })
	if err := (&Supervisor{running: make(chan struct{})}).Replace(t.Context(), "w-1", ""); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Replace before Run = %v", err)
	}
	r.reg.wait(t, "up", 3)
	before := r.Status()
	r.reg.mu.Lock()
	r.reg.least = 3
	r.reg.mu.Unlock()
	if err := r.Replace(t.Context(), "w-2", "it grows"); err != nil {
		t.Fatal(err)
	}
	for i, st := range r.Status() {
		if replaced := st.PID != before[i].PID; replaced != (i == 1) || st.State != Ready || lives(before[i].PID) == replaced {
			t.Errorf("before %+v, now %+v", before[i], st)
		}
	}
	if end := r.reg.end(); !end.Planned || end.Detail != "replaced by a new process: it grows" {
		t.Errorf("the end of the old process is %+v", end)
	}
	r.reg.mu.Lock()
	least := r.reg.least
	r.reg.mu.Unlock()
	if least < 2 {
		t.Errorf("%d of 3 workers were up at one moment, want at least 2", least)
	}
	if err := r.Replace(t.Context(), "w-9", ""); !errors.Is(err, ErrNoWorker) {
		t.Errorf("Replace of nobody = %v", err)
	}

	if err := os.WriteFile(r.flag(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before = r.Status()
	err := r.Replace(t.Context(), "w-3", "")
	if text := fmt.Sprint(err); !strings.Contains(text, "replace worker w-3") || !strings.Contains(text, "bad build") {
		t.Errorf("Replace with a bad build = %v", err)
	}
	if st := r.Status()[2]; st.PID != before[2].PID || st.State != Ready {
		t.Errorf("before %+v, now %+v", before[2], st)
	}
	r.stop()
	if err := r.Replace(t.Context(), "w-1", ""); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Replace after Run = %v", err)
	}
}

// Whoever replaces workers does it alone: a rolling restart waits for one worker's
// replacement, and none begins beside either.
func TestReplacementsDoNotOverlap(t *testing.T) {
	r := run(t, "server", func(c *Config) { c.Replicas = 2 })
	r.reg.wait(t, "up", 2)
	busy := make(chan struct{})
	r.reg.mu.Lock()
	r.reg.busy = busy
	r.reg.mu.Unlock()
	one, all := make(chan error, 1), make(chan error, 1)
	go func() { one <- r.Replace(context.Background(), "w-1", "first") }()
	r.reg.wait(t, "retire w-1", 1)
	if err := r.Replace(t.Context(), "w-2", "second"); !errors.Is(err, ErrReplacing) {
		t.Errorf("a second Replace = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Restart(ctx); !errors.Is(err, ErrReplacing) || !errors.Is(err, context.Canceled) {
		t.Errorf("Restart that does not wait = %v", err)
	}
	go func() { all <- r.Restart(context.Background()) }()
	until(t, "the restart waits", r.rolling.Load)
	if err := r.Replace(t.Context(), "w-2", "third"); !errors.Is(err, ErrRestarting) {
		t.Errorf("Replace beside a restart = %v", err)
	}
	if n := r.reg.count("retire"); n != 1 {
		t.Errorf("%d workers drain", n)
	}
	close(busy)
	for _, done := range []chan error{one, all} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := r.reg.count("down"); n != 3 {
		t.Errorf("the registry was told %q", r.reg.entries())
	}
}

// Restart gives a worker that waits in its backoff a try at once.
func TestRestartWakesAWorkerThatIsDown(t *testing.T) {
	r := run(t, "build", func(c *Config) { c.Backoff.Base, c.Backoff.Cap = time.Hour, 2*time.Hour })
	r.reg.wait(t, "up", 1)
	if err := os.WriteFile(r.flag(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _ = r.get("w-1", "/exit?code=1")
	r.reg.wait(t, "down w-1 crash", 1)
	if err := r.Restart(t.Context()); err == nil {
		t.Error("Restart with a bad build succeeds")
	}
	if err := os.Remove(r.flag()); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Error(err)
	}
	r.reg.wait(t, "up", 2)
}

// The kernel ends the children of a Bezoar that is killed.
func TestChildrenDieWithTheirSupervisor(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=nest")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	var text strings.Builder
	for b := make([]byte, 1); !strings.HasSuffix(text.String(), "end\n"); {
		if _, err := out.Read(b); err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	for f := range strings.FieldsSeq(text.String()) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 || !lives(pids[0]) || !lives(pids[1]) {
		t.Fatalf("the nest's children are %v", pids)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "its children are dead", func() bool { return !lives(pids[0]) && !lives(pids[1]) })
}
