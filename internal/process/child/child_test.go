package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
)

func TestJobGetsWhatItIsFor(t *testing.T) {
	t.Setenv("BEZOAR_SECRET", "ours")
	t.Setenv("NOTIFY_SOCKET", "ours")
	t.Setenv("PASSWORD", "ours")
	t.Setenv("KEPT", "inherited")
	r := run(t, func(c *Config) {
		c.Command = []string{"sh", "-c", "cat; env; echo pid=$$; ps -o pgid=,sid= -p $$ 2>/dev/null || true; echo oh no >&2"}
		c.Inherit.Secrets = []string{"PASSWORD"}
		c.Env = []string{"A=config", "B=config"}
		c.Dir = t.TempDir()
	})
	var seen bytes.Buffer
	res := r.Do(t.Context(), Job{Name: "m-1", Stdin: []byte("the body\n"), Env: []string{"B=job"}, Stdout: &seen})
	if res.Class != bezoar.Done || res.ExitCode != 0 || res.Err != nil {
		t.Fatalf("result %+v", res)
	}
	out := string(res.Stdout)
	if out != seen.String() {
		t.Errorf("Stdout got %q, the tail is %q", seen.String(), out)
	}
	for _, want := range []string{
		"the body\n", "KEPT=inherited\n", "A=config\n", "B=job\n", "BEZOAR_JOB=m-1\n",
		"BEZOAR_REPORT_FD=3\n", "BEZOAR_CHILD_MARK=" + mark(t) + "\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "ours") {
		t.Errorf("it has what is ours:\n%s", out)
	}
	if string(res.Stderr) != "oh no\n" || res.Elapsed <= 0 || res.MaxRSS <= 0 {
		t.Errorf("result %+v", res)
	}
}

// It is known of a job that it ended without reading anything.
func TestUnread(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is known on Linux alone")
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	for script, want := range map[string]bool{"exit 2": true, "exec 0<&-; exit 2": true, "read -r line; exit 2": false, "cat >/dev/null": false} {
		r := run(t, func(c *Config) { c.Command = []string{"sh", "-c", script} })
		for _, body := range [][]byte{[]byte("a body\n"), large} {
			if res := r.Do(t.Context(), Job{Name: "m", Stdin: body}); res.Unread != want {
				t.Errorf("%s with %d bytes: Unread is %v", script, len(body), res.Unread)
			}
		}
		if r.Do(t.Context(), Job{Name: "m"}).Unread {
			t.Errorf("%s has left nothing unread of nothing", script)
		}
	}
}

// Every way to end.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, script string
		class        bezoar.Class
		code         int
		signal       string
		detail       string
	}{
		{"done", "exit 0", bezoar.Done, 0, "", "exit code 0"},
		{"transient", "exit 75", bezoar.Transient, 75, "", "exit code 75"},
		{"invalid", "exit 65", bezoar.Invalid, 65, "", "exit code 65"},
		{"bug", "exit 3", bezoar.Bug, 3, "", "exit code 3"},
		{"segmentation fault", "kill -SEGV $$", bezoar.Crash, -1, "SIGSEGV", "segmentation fault"},
		{"abort", "kill -ABRT $$", bezoar.Crash, -1, "SIGABRT", "aborted"},
		{"under a shell", "sh -c 'kill -SEGV $$'; exit $?", bezoar.Crash, 139, "SIGSEGV", "as shells report SIGSEGV"},
		{"kill -9", "kill -KILL $$", bezoar.Crash, -1, "SIGKILL", "unexplained SIGKILL"},
		{"another's SIGTERM", "kill -TERM $$", bezoar.Crash, -1, "SIGTERM", "terminated"},
		{"does not read", "exec <&-; exit 0", bezoar.Done, 0, "", ""},
		{"says invalid", `echo '{"class":"invalid","reason":"no id"}' >&3; exit 1`, bezoar.Invalid, 1, "", ""},
		{"says throttled", `echo '{"class":"throttled","retry_after":30}' >&3; exit 75`, bezoar.Throttled, 75, "", ""},
		{"says done, fails", `echo '{"class":"done"}' >&3; exit 1`, bezoar.Bug, 1, "", ""},
		{"says bug, exit 0", `echo '{"class":"bug"}' >&3`, bezoar.Bug, 0, "", ""},
		{"says done, dies", `echo '{"class":"done"}' >&3; kill -SEGV $$`, bezoar.Crash, -1, "SIGSEGV", ""},
		{"says interrupted", `echo '{"class":"interrupted"}' >&3; exit 1`, bezoar.Bug, 1, "", ""},
		{"a command that is missing inside", "echo $0; no-such-command", bezoar.Bug, 127, "", "exit code 127"},
		{"an only command that is missing", "no-such-command", bezoar.SpawnFailed, 127, "", "no-such-command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ways(t, func(t *testing.T, way func(*Runner)) {
				r := run(t, sh(c.script), way)
				res := r.Do(t.Context(), Job{Name: c.name, Stdin: bytes.Repeat([]byte("x"), 300<<10)})
				if res.Class != c.class || res.ExitCode != c.code || res.Signal != c.signal || !strings.Contains(res.Detail, c.detail) {
					t.Errorf("result %+v", res)
				}
				if res.Unexplained != (c.name == "kill -9") {
					t.Errorf("unexplained: %v", res.Unexplained)
				}
				if (res.Err != nil) != (c.class == bezoar.SpawnFailed) {
					t.Errorf("Err is %v", res.Err)
				}
			})
		})
	}
}

func TestWhatCannotStart(t *testing.T) {
	plain := t.TempDir() + "/plain"
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{{"no-such-command"}, {"/no/such/file"}, {plain}, {"/"}, {"env", "no-such-command"}} {
		r := run(t, func(c *Config) { c.Command = cmd })
		for range 2 {
			res := r.Do(t.Context(), Job{Name: "x"})
			if res.Class != bezoar.SpawnFailed || res.Err == nil || !strings.Contains(res.Detail, cmd[len(cmd)-1]) {
				t.Errorf("%v: result %+v", cmd, res)
			}
		}
		if _, err := r.Start(t.Context(), Job{}); (err == nil) != (cmd[0] == "env") {
			t.Errorf("%v: Start = %v", cmd, err)
		}
	}
}

// Programs that die of themselves.
func TestCrashes(t *testing.T) {
	r := run(t, nil)
	for role_, word := range map[string]string{"overflow": "stack overflow", "nil": "SIGSEGV"} {
		res := r.Do(t.Context(), role(role_))
		if res.Class != bezoar.Bug || res.ExitCode != 2 || !strings.Contains(string(res.Stderr), word) && role_ == "nil" {
			t.Errorf("%s: %+v", role_, res) // Go reports it and exits with 2
		}
	}
	py := run(t, func(c *Config) {
		c.Command = []string{"python3", "-c", "import sys; exec(sys.stdin.read())"}
	})
	for body, signal := range map[string]string{
		"import ctypes; ctypes.string_at(0)": "SIGSEGV",
		"import os; os.abort()":              "SIGABRT",
	} {
		res := py.Do(t.Context(), Job{Name: body, Stdin: []byte(body)})
		if res.Class != bezoar.Crash || res.Signal != signal || !strings.Contains(res.Detail, "signal: ") {
			t.Errorf("%s: %+v", body, res)
		}
	}
}

func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		role, env string
		class     bezoar.Class
		detail    string
	}{
		{"stubborn", "", bezoar.Timeout, "signal: killed, after it ignored SIGTERM"},
		{"sleeper", "", bezoar.Timeout, "signal: terminated"},
		{"polite", "", bezoar.Timeout, "exit code 0"},
		{"polite", `{"class":"done"}`, bezoar.Done, "done after all"},
	} {
		r := run(t, func(cfg *Config) {
			if c.role == "stubborn" {
				cfg.Grace = 100 * time.Millisecond
			}
		})
		for _, polls := range []bool{r.polls, false} {
			r.polls = polls
			res, limit := overdue(t, r, role(c.role, "CHILD_TEST_SAY="+c.env))
			if res.Class != c.class || !strings.Contains(res.Detail, fmt.Sprint("stopped after ", limit)) || !strings.Contains(res.Detail, c.detail) || res.Elapsed < limit {
				t.Errorf("%s: %+v", c.role, res)
			}
		}
	}
}

// overdue runs a job beyond its deadline, which is as long as it takes to be
// ready for that.
func overdue(t *testing.T, r *running, j Job) (Result, time.Duration) {
	t.Helper()
	for j.Timeout = 300 * time.Millisecond; ; j.Timeout *= 2 {
		res := r.Do(t.Context(), j)
		if j.Name == "sleeper" || string(res.Stdout) == "ready\n" {
			return res, j.Timeout
		}
		if j.Timeout > time.Minute {
			t.Fatalf("%s is not ready: %+v", j.Name, res)
		}
	}
}

// ready waits until a process says that it is.
func ready(t *testing.T, p *Process) {
	t.Helper()
	line := make([]byte, 6)
	if _, err := io.ReadFull(p.Stdout, line); string(line) != "ready\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
}

func TestDrain(t *testing.T) {
	r := run(t, nil)
	for _, c := range []struct {
		role, env string
		class     bezoar.Class
	}{
		{"sleeper", "", bezoar.Interrupted},
		{"polite", "", bezoar.Done}, // that is what exit code 0 means
		{"polite", `{"class":"transient"}`, bezoar.Transient},
	} {
		for _, byContext := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			p, err := r.Start(ctx, role(c.role, "CHILD_TEST_SAY="+c.env))
			if err != nil {
				t.Fatal(err)
			}
			if c.role != "sleeper" {
				ready(t, p)
			}
			if byContext {
				cancel()
			} else {
				p.Kill(bezoar.Interrupted, "no longer wanted")
			}
			if res := p.Wait(); res.Class != c.class {
				t.Errorf("%s: %+v", c.role, res)
			}
			cancel()
			_ = p.Stdout.Close()
		}
	}
	// The end of Run is a drain too, and the end of starting.
	p, err := r.Start(t.Context(), role("sleeper"))
	if err != nil {
		t.Fatal(err)
	}
	go r.stop()
	if res := p.Wait(); res.Class != bezoar.Interrupted {
		t.Errorf("result %+v", res)
	}
	_ = p.Stdout.Close()
	<-r.closed
	if res := r.Do(t.Context(), role("sleeper")); res.Class != bezoar.Interrupted || !errors.Is(res.Err, ErrStopped) {
		t.Errorf("after the end: %+v", res)
	}
}

// A service manager's SIGTERM reaches the job before we hear of it.
func TestStoppedTogether(t *testing.T) {
	r := run(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := r.Start(ctx, role("sleeper"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stdout.Close()
	if err := syscall.Kill(p.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lives(p.Pid) {
		runtime.Gosched()
	}
	cancel()
	if res := p.Wait(); res.Class != bezoar.Interrupted {
		t.Errorf("result %+v", res)
	}
}

func TestMemory(t *testing.T) {
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, func(c *Config) { c.Memory = 64 << 20 }, way)
		for range 2 {
			res := r.Do(t.Context(), role("glutton"))
			if res.Class != bezoar.OOM || !strings.Contains(res.Detail, "limit 64 MiB") {
				t.Errorf("result %+v\n%s", res, r.log)
			}
			// The next in the same place is not blamed for it.
			if res := r.Do(t.Context(), role("nil")); res.Class != bezoar.Bug {
				t.Errorf("the next job: %+v", res)
			}
		}
	})
}

func TestProcessorTime(t *testing.T) {
	r := run(t, func(c *Config) { c.CPU = time.Second; c.Timeout = 5 * time.Minute })
	res := r.Do(t.Context(), role("spin"))
	if res.Class != bezoar.Timeout || !strings.Contains(res.Detail, "1s of processor time") || res.CPU < time.Second/2 {
		t.Errorf("result %+v", res)
	}
}

// 50 MB cost 64 KiB.
func TestFloodOfOutput(t *testing.T) {
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, nil, way)
		r.Do(t.Context(), role("nil"))
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res := r.Do(t.Context(), role("flood"))
		runtime.ReadMemStats(&after)
		if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 2<<20 {
			t.Errorf("it allocated %d KiB", grown>>10)
		}
		if res.Class != bezoar.Done || len(res.Stderr) != DefaultTail || !bytes.HasSuffix(res.Stderr, []byte("x\nlast words")) {
			t.Errorf("class %v, %d bytes of stderr", res.Class, len(res.Stderr))
		}
		t.Logf("50 MB in %v", res.Elapsed)
	})
}

func TestReportIsBounded(t *testing.T) {
	r := run(t, sh(`head -c 200000 /dev/zero | tr '\0' x >&3; exit 1`))
	res := r.Do(t.Context(), Job{})
	if res.Class != bezoar.Bug || res.Report != nil || res.ReportErr == nil || !strings.Contains(res.ReportErr.Error(), "longer than") {
		t.Errorf("result %+v", res)
	}
}
