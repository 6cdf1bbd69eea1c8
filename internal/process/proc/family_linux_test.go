package proc

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// leave starts a shell that leaves a sleeper in a session of its own and ends.
// The shell is tagged before it begins. before stands before the sleeper.
func leave(t *testing.T, b Tag, before ...string) (sleeper int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read go; setsid sh -c 'echo $$; exec "+strings.Join(before, " ")+" sleep 100' & exit 0")
	cmd.Env = append(os.Environ(), "PROC_TEST=left")
	cmd.SysProcAttr = OwnSession()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := (Limits{Tag: b}).Apply(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	fmt.Fprintln(in, "go")
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if sleeper, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	until(t, "it sleeps", func() bool {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", sleeper))
		v, _ := Variable(sleeper, "PROC_TEST") // its environment comes after its name
		return string(b) == "sleep\n" && (v == "left" || len(before) > 0)
	})
	t.Cleanup(func() { _ = syscall.Kill(sleeper, syscall.SIGKILL) })
	return sleeper
}

// until polls what has no event to wait for: other processes.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
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

// Marks that are nearly the same have other tags: one owner must not take what
// another's job has left for its own.
func TestMarksThatAreAlike(t *testing.T) {
	seen := map[Tag]string{}
	for i := range 100 {
		mark := fmt.Sprintf("worker of http://127.0.0.1:9324/000000000000/jobs-%d", i)
		b := NewTag(mark, 1)
		if other, ok := seen[b]; ok {
			t.Errorf("%q and %q have one tag", mark, other)
		}
		seen[b] = mark
	}
}

// A tag goes with fork, exec, a session of one's own and a cleared
// environment, and can be read from the dead.
func TestTagSticks(t *testing.T) {
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	b, other := NewTag("mark", 7), NewTag("mark", 8)
	if !b.Valid() || b == other || !b.SameMark(other) || b.SameMark(NewTag("another", 7)) || b.Owner() != os.Getpid() {
		t.Errorf("tags %x and %x", b, other)
	}
	pid := leave(t, b, "env", "-i")
	if got := TagOf(pid); got != b {
		t.Errorf("TagOf = %x, want %x", got, b)
	}
	if TagOf(os.Getpid()) != 0 || TagOf(1<<30) != 0 {
		t.Error("we, or nobody, are tagged")
	}
	for _, k := range []Family{{}, {Tag: other}, {Session: os.Getpid()}, {Variable: "PROC_TEST=left"}} {
		if n, err := EndAdopted(k, time.Minute); n != 0 || err != nil {
			t.Errorf("EndAdopted(%+v) = %d, %v", k, n, err)
		}
	}
	if _, alive := Alive(pid); !alive {
		t.Fatal("a process of another job was ended")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	until(t, "it is a zombie", func() bool { _, alive := Alive(pid); return !alive })
	if got := TagOf(pid); got != b {
		t.Errorf("TagOf a zombie = %x, want %x", got, b)
	}
	if n, err := EndAdopted(Family{Tag: b}, time.Minute); n != 0 || err != nil {
		t.Errorf("EndAdopted of the dead = %d, %v", n, err)
	}
	if _, ok := Born(pid); ok {
		t.Error("the zombie is left")
	}
}

func TestEndAdopted(t *testing.T) {
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	for _, k := range []Family{{Tag: NewTag("mark", 9)}, {Variable: "PROC_TEST=left"}} {
		pid := leave(t, NewTag("mark", 9))
		if v, ok := Variable(pid, "PROC_TEST"); !ok || v != "left" {
			t.Errorf("Variable = %q, %v", v, ok)
		}
		if n, err := EndAdopted(k, time.Minute); n != 1 || err != nil {
			t.Errorf("EndAdopted(%+v) = %d, %v, want 1", k, n, err)
		}
		if _, ok := Born(pid); ok {
			t.Errorf("%+v: it is left", k)
		}
	}
}

func TestSweepKillsWhatMatchesTwice(t *testing.T) {
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	pid := leave(t, 0)
	asked := 0
	if n, err := Sweep(func(p int) bool {
		if p == pid {
			asked++
		}
		return p == pid && asked == 1 // it is another when it is held
	}); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v, want 0", n, err)
	}
	if n, err := Sweep(func(p int) bool { return p == pid }); n != 1 || err != nil {
		t.Errorf("Sweep = %d, %v, want 1", n, err)
	}
	if _, ok := Born(pid); ok {
		t.Error("it is left")
	}
}

// Whose the dead were nobody can tell any more; they are collected in the end.
func TestReaper(t *testing.T) {
	if err := BecomeSubreaper(); err != nil {
		t.Fatal(err)
	}
	pid := leave(t, 0)
	var u Reaper
	nobody := func(int) bool { return false }
	u.Round(nobody)
	_ = syscall.Kill(pid, syscall.SIGKILL)
	until(t, "it is a zombie", func() bool { _, alive := Alive(pid); return !alive })
	known := func(p int) bool { return p == pid }
	for _, c := range []struct {
		spare func(int) bool
		want  int
	}{{nobody, 0}, {known, 0}, {nobody, 0}, {nobody, 1}, {nobody, 0}} {
		if n := u.Round(c.spare); n != c.want {
			t.Errorf("Round = %d, want %d", n, c.want)
		}
	}
}

// A child that is held has run nothing before it is released.
func TestHold(t *testing.T) {
	if _, ok := CanHold(); !ok {
		t.Log("this machine forbids to hold children")
		return
	}
	th := NewThread()
	defer th.Close()
	name := t.TempDir() + "/ran"
	th.Do(func() {
		attr := DieWithThread(OwnSession())
		Hold(attr)
		p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "ulimit -t >" + name}, &os.ProcAttr{Env: os.Environ(), Sys: attr})
		if err != nil {
			t.Error(err)
			return
		}
		until(t, "it is held", func() bool { s, _ := statOf(p.Pid); return s.state == 't' })
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("it ran: %v", err)
		}
		if err := (Limits{CPU: 1234}).Apply(p.Pid); err != nil {
			t.Error(err)
		}
		if err := Release(p.Pid); err != nil {
			t.Error(err)
		}
		if st, err := p.Wait(); err != nil || !st.Success() {
			t.Errorf("it ended with %v, %v", st, err)
		}
		if b, err := os.ReadFile(name); string(b) != "1234\n" {
			t.Errorf("its limit was %q, %v", b, err)
		}
		if err := Release(p.Pid); err != nil {
			t.Errorf("Release of nobody: %v", err)
		}
	})
}

func TestLimitsOfTheDeadAreNoError(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := (Limits{Data: 1 << 30, CPU: 1, Tasks: 10, Tag: NewTag("x", 1)}).Apply(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
}

func TestEnding(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":        "exit code 3",
		"exit 139":      "exit code 139 (as shells report SIGSEGV)",
		"exit 200":      "exit code 200",
		"kill -TERM $$": "signal: terminated",
	} {
		cmd := exec.Command("sh", "-c", script)
		_ = cmd.Run()
		if got := Describe(Status(cmd.ProcessState)); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		if MaxRSS(cmd.ProcessState) < 100<<10 {
			t.Errorf("it held %d bytes", MaxRSS(cmd.ProcessState))
		}
	}
	if !Hopeless(fmt.Errorf("x: %w", fs.ErrNotExist)) || Hopeless(syscall.EAGAIN) {
		t.Error("Hopeless errs")
	}
	if n, err := Tasks(); n < 2 || err != nil {
		t.Errorf("Tasks = %d, %v", n, err)
	}
}

func TestWhenAProcessBegan(t *testing.T) {
	if mine, ok := Born(os.Getpid()); !ok || mine == 0 {
		t.Errorf("this one began at %d, %v", mine, ok)
	}
	if none, ok := Born(1 << 30); ok || none != 0 {
		t.Errorf("none began at %d", none)
	}
}
