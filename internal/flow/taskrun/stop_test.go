package taskrun

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/flow"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// A hundredth of the worked example: stopped at 10 s, killed at 15 s.
func TestHangForever(t *testing.T) {
	r := runner(t, nil)
	s := shell(1, `trap 'echo asked to stop' TERM; echo begun; while :; do sleep 0.01; done`)
	s.Timeout, s.Grace = 100*time.Millisecond, 50*time.Millisecond
	e := run(t, r, s)
	if e.Class != bezoar.Timeout || !strings.Contains(e.Reason, "stopped after 100ms") || !strings.Contains(e.Reason, "ignored SIGTERM") {
		t.Errorf("ending %+v", e)
	}
	if e.Elapsed < s.Timeout+s.Grace {
		t.Errorf("it was killed after %v, before timeout and grace were over", e.Elapsed)
	}
	if log := logOf(t, r, 1); !strings.HasPrefix(log, "begun\n") || !strings.Contains(log, "asked to stop\n") {
		t.Errorf("log %q", log)
	}
}

// What leaves its session, its parent and its environment ends with its attempt;
// who holds the pipes does not hold up Wait.
func TestEscapees(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid")
	}
	r := runner(t, nil)
	for i, tc := range []struct{ name, script string }{
		{"setsid", `setsid sh -c 'echo $$ > pid; exec sleep 1000' &`},
		{"without environment", `(setsid env -i sh -c 'echo $$ > pid; exec /bin/sleep 1000' &);`},
		{"pipe holder", `sh -c 'trap "" HUP TERM; echo $$ > pid; sleep 1000' &`},
	} {
		s := shell(int64(i+1), tc.script+" while [ ! -s pid ]; do :; done; cat pid")
		s.Dir = t.TempDir()
		if e := run(t, r, s); e.Class != bezoar.Done {
			t.Errorf("%s: %+v", tc.name, e)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(logOf(t, r, s.Token)))
		if err != nil {
			t.Fatalf("%s: log %q", tc.name, logOf(t, r, s.Token))
		}
		if alive(pid) {
			t.Errorf("%s: process %d lives", tc.name, pid)
		}
	}
}

func alive(pid int) bool { _, ok := proc.Alive(pid); return ok }

func TestStop(t *testing.T) {
	r := runner(t, nil)
	for i, class := range []bezoar.Class{bezoar.Timeout, bezoar.Interrupted} {
		s := shell(int64(i+1), "echo begun; exec sleep 1000")
		if err := r.Start(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		follow(t, r, s.Token, "begun\n")
		if err := r.Stop(t.Context(), s.Token, class, "the deadline is over"); err != nil {
			t.Fatal(err)
		}
		if e := wait(t, r, s.Token); e.Class != class || !strings.HasPrefix(e.Reason, "the deadline is over") {
			t.Errorf("ending %+v", e)
		}
	}
	s := shell(9, "sleep 1000")
	if err := r.Start(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := r.Absent(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, r, 9); e.Class != bezoar.Interrupted {
		t.Errorf("one that has to be absent: %+v", e)
	}
}

// follow reads a log until it has a text.
func follow(t *testing.T, r *Runner, token int64, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	in, err := r.Logs(ctx, token, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line == want {
			return
		}
		if err != nil {
			t.Fatalf("the log has %q, then %v; want %q", line, err, want)
		}
	}
}

// Start is asked twice and starts once; what must not start does not.
func TestATokenStartsOnce(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/times"
	s := shell(1, "echo x >> "+file)
	c := func(c *Config) { c.Dir = dir + "/state" }
	t.Run("first life", func(t *testing.T) {
		r := runner(t, c)
		for range 3 {
			if e := run(t, r, s); e.Class != bezoar.Done {
				t.Errorf("ending %+v", e)
			}
		}
		if err := r.Absent(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		void := s
		void.Token = 2
		if err := r.Start(t.Context(), void); !errors.Is(err, ErrVoid) {
			t.Errorf("it started what must not: %v", err)
		}
		if _, err := Open(t.Context(), Config{Dir: r.cfg.Dir}); err == nil {
			t.Error("two have one directory")
		}
	})
	t.Run("next life", func(t *testing.T) {
		r := runner(t, c)
		if e := run(t, r, s); e.Class != bezoar.Done || e.Elapsed <= 0 {
			t.Errorf("ending %+v", e)
		}
		void := s
		void.Token = 2
		if err := r.Start(t.Context(), void); !errors.Is(err, ErrVoid) {
			t.Errorf("it started what must not: %v", err)
		}
	})
	if b, _ := os.ReadFile(file); string(b) != "x\n" {
		t.Errorf("it ran %d times", len(b)/2)
	}
}

// After kill -9 of its owner nothing of an attempt runs once Absent says so.
func TestKilled(t *testing.T) {
	o := newOwner(t, "")
	s := shell(5, `echo done >> "$BEZOAR_OUTPUT"`)
	o.give(t, s)
	eventually(t, func() bool { // the owner has recorded its end
		b, _ := os.ReadFile(filepath.Join(o.dir, "journal"))
		return strings.Contains(string(b), base64.StdEncoding.EncodeToString([]byte("done\n")))
	})
	left := o.escapees(t, 6)
	if err := o.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = o.cmd.Wait()

	r := runner(t, func(c *Config) { c.Dir = o.dir })
	if err := r.Absent(t.Context(), 6); err != nil {
		t.Fatal(err)
	}
	for _, pid := range left {
		if alive(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if e := wait(t, r, 6); e.Class != bezoar.Interrupted {
		t.Errorf("what was killed: %+v", e)
	}
	if e := wait(t, r, 5); e.Class != bezoar.Done || string(e.Output) != "done\n" {
		t.Errorf("what had ended: %+v", e)
	}
	if log := logOf(t, r, 6); log != "before\n" {
		t.Errorf("the log that was cut off: %q", log)
	}
}

// An owner that is stopped beyond its lease has no jobs any more, wherever they have
// gone, and goes on when it is woken.
func TestStoppedBeyondItsLease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("guardians need Linux")
	}
	o := newOwner(t, "2s")
	left := o.escapees(t, 6)
	if err := o.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !slices.ContainsFunc(left, alive) })
	if !alive(o.cmd.Process.Pid) {
		t.Error("the owner was killed as well")
	}
	if err := o.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(o.dir, "again")
	token, given := int64(7), time.Time{}
	eventually(t, func() bool { // a job that starts before the owner has renewed its lease is killed with the others
		if time.Since(given) > time.Second {
			o.give(t, shell(token, "echo > "+file))
			token, given = token+1, time.Now()
		}
		_, err := os.Stat(file)
		return err == nil
	})
}

// process is an owner in a process of its own.
type process struct {
	dir  string
	cmd  *exec.Cmd
	in   io.Writer
	said *bufio.Reader
}

func newOwner(t *testing.T, lease string) *process {
	t.Helper()
	o := &process{dir: t.TempDir(), cmd: exec.Command(os.Args[0])}
	o.cmd.Env = append(os.Environ(), envRole+"="+o.dir, envLease+"="+lease)
	in, err := o.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = o.cmd.Process.Kill(), o.cmd.Wait() })
	o.in, o.said = in, bufio.NewReader(out)
	return o
}

// give has an owner start an attempt.
func (o *process) give(t *testing.T, s flow.Spec) {
	t.Helper()
	if _, err := o.in.Write(encode(t, s)); err != nil {
		t.Fatal(err)
	}
	if line, err := o.said.ReadString('\n'); err != nil || line != "started "+strconv.FormatInt(s.Token, 10)+"\n" {
		t.Fatalf("the owner said %q, %v", line, err)
	}
}

// escapees starts an attempt that does not heed SIGTERM, and whose two children have
// left its session, one of them without an environment.
func (o *process) escapees(t *testing.T, token int64) (left []int) {
	t.Helper()
	pids := o.dir + "/pids"
	o.give(t, shell(token, `trap '' TERM; echo before; (setsid env -i sh -c 'echo $$ >> `+pids+`; exec /bin/sleep 1000' &); setsid sleep 1000 & echo $! >> `+pids+`; sleep 1000`))
	eventually(t, func() bool {
		b, _ := os.ReadFile(pids)
		left = nil
		for f := range strings.FieldsSeq(string(b)) {
			pid, _ := strconv.Atoi(f)
			left = append(left, pid)
		}
		log, _ := os.ReadFile(o.dir + "/logs/" + logName(token))
		return len(left) == 2 && len(log) > 0
	})
	return left
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !ok() {
		select {
		case <-look.C:
		case <-late:
			t.Fatal("it does not happen within a minute")
		}
	}
}
