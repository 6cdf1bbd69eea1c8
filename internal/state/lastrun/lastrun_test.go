package lastrun_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/state/lastrun"
)

const (
	roleVar = "LASTRUN_TEST_ROLE"
	dirVar  = "LASTRUN_TEST_DIR"
)

// TestMain also is the process that dies, when told so.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := die(role, os.Getenv(dirVar)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func die(role, dir string) error {
	r, rep := lastrun.Open(lastrun.Config{Dir: dir})
	if role == "report" {
		fmt.Println(uint8(rep.How), rep.Kills)
		return r.Close()
	}
	fmt.Printf("ready %d %s\n", r.ID(), rep.Note)
	switch role {
	case "close":
		return r.Close()
	case "exit":
		os.Exit(3)
	case "panic":
		go deep(3)
	case "forged":
		panic(errors.New("no\n\ngoroutine 1 [running]:\ngithub.com/bezoar-dev/bezoar/internal/dispatch.(*call).attempt(0x1)\nCookie: session=hush"))
	case "nil":
		var p *int
		*p = 1
	case "again":
		defer func() { panic(recover()) }()
		panic("first")
	case "overflow":
		debug.SetMaxStack(1 << 16)
		go func() { fmt.Println(endless(0)) }()
	case "map":
		m := map[int]int{}
		for range 8 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
	case "unlock":
		var mu sync.Mutex
		mu.Unlock()
	case "memory":
		if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 4 << 30, Max: 4 << 30}); err != nil {
			return err
		}
		fmt.Println(len(strings.Repeat("x", 1<<40)))
	case "quit":
		_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
	case "abort":
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
	case "glutton":
		for hoard := [][]byte{}; ; { // until it is killed
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
		}
	case "look": // looks once for each line
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			r.Look()
			fmt.Println("looked")
		}
	}
	_, err := io.Copy(io.Discard, os.Stdin) // until killed
	return err
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		panic("boom")
	}
	return deep(n-1) + 1
}

//go:noinline
func endless(n int) int {
	if n < 0 {
		return 0 // never: the stack ends long before
	}
	return endless(n+1) + n
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// launch starts a process in a role and waits until it has opened its record.
func launch(t *testing.T, role, dir string, g *cgroup.Group) *child {
	t.Helper()
	c := &child{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	c.cmd.Env = append(os.Environ(), roleVar+"="+role, dirVar+"="+dir)
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if g == nil {
		err = c.cmd.Start()
	} else {
		err = startIn(g, c.cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if line, err := c.out.ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("the child says %q, %v", line, err)
	}
	return c
}

// startIn starts a process in g from a thread of its own.
func startIn(g *cgroup.Group, cmd *exec.Cmd) error {
	done, finished := make(chan error), make(chan struct{})
	defer close(finished)
	var try func()
	try = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if unix.Gettid() == os.Getpid() {
			go try() // gets another thread while this one is held
			<-finished
			runtime.UnlockOSThread()
			return
		}
		done <- g.Start(cmd)
	}
	go try()
	return <-done
}

func (c *child) wait(t *testing.T) {
	t.Helper()
	_, _ = io.Copy(io.Discard, c.out)
	var exit *exec.ExitError
	if err := c.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
}

// open opens the record of another run, and closes it.
func open(t *testing.T, cfg lastrun.Config) lastrun.Report {
	t.Helper()
	cfg.NoCrashOutput = true
	r, rep := lastrun.Open(cfg)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return rep
}

// Each process really ends that way.
func TestHowAProcessEnded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		role  string
		how   lastrun.How
		line  string
		calls []string // some of them
		note  string
	}{
		{role: "close", how: lastrun.Orderly},
		{role: "exit", how: lastrun.Unknown},
		{role: "panic", how: lastrun.Panicked, line: "panic: boom", calls: []string{"lastrun_test.deep", "lastrun_test.die"}},
		{role: "forged", how: lastrun.Panicked, line: "panic: no", calls: []string{"lastrun_test.die", "main.main"}},
		{role: "nil", how: lastrun.Panicked, line: "panic: runtime error: invalid memory address or nil pointer dereference", calls: []string{"lastrun_test.die"}},
		{role: "again", how: lastrun.Panicked, line: "panic: first [recovered, repanicked]", calls: []string{"lastrun_test.die.func"}},
		{role: "unlock", how: lastrun.Panicked, line: "fatal error: misuse of a lock in ", calls: []string{"lastrun_test.die"}},
		{role: "overflow", how: lastrun.Panicked, line: "fatal error: stack overflow in github.com/bezoar-dev/bezoar/internal/state/lastrun_test.endless (lastrun_test.go:", calls: []string{"lastrun_test.endless", "lastrun_test.die"}},
		{role: "map", how: lastrun.Panicked, line: "fatal error: concurrent use of a map in github.com/bezoar-dev/bezoar/internal/state/lastrun_test.die.func", calls: []string{"lastrun_test.die"}},
		{role: "memory", how: lastrun.OutOfMemory, line: "fatal error: out of memory in ", calls: []string{"strings.Repeat"}},
		{role: "quit", how: lastrun.Unknown, line: "SIGQUIT: quit", note: "ended by a signal"},
		{role: "abort", how: lastrun.Unknown, line: "SIGABRT: abort", note: "ended by a signal"},
	} {
		t.Run(tc.role, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := launch(t, tc.role, dir, nil)
			c.wait(t)
			rep := open(t, lastrun.Config{Dir: dir})
			if rep.How != tc.how || !strings.HasPrefix(rep.Line, tc.line) || !strings.Contains(rep.Note, tc.note) || rep.PID != c.cmd.Process.Pid || rep.ID == 0 {
				t.Errorf("report %+v", rep)
			}
			for _, want := range tc.calls {
				if !slices.ContainsFunc(rep.Calls, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("calls %q lack %s", rep.Calls, want)
				}
			}
			if slices.ContainsFunc(rep.Calls, func(s string) bool { return strings.Contains(s, "dispatch") }) || strings.Contains(strings.Join(rep.Trace, "\n"), "hush") {
				t.Errorf("a panic's value passes for a stack, or shows a secret: %+v", rep)
			}
			if _, err := os.Stat(filepath.Join(dir, "crash.last.txt")); (err == nil) != (tc.line != "") {
				t.Errorf("the text of the crash: %v", err)
			}
			if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.Orderly || rep.Line != "" {
				t.Errorf("the run after that: %+v", rep)
			}
		})
	}
}

func TestAKillLeavesNoEvidence(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.First || rep.Note != "" {
		t.Errorf("the first run says %+v", rep)
	}
	for range 3 {
		launch(t, "wait", dir, nil).kill(t)
		if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.Unknown || rep.Note != "" || rep.Line != "" {
			t.Errorf("after a kill: %+v", rep)
		}
	}
}

// A second process of the folder runs, and neither disturbs the first nor takes
// it for dead.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := launch(t, "wait", dir, nil)
	rep := open(t, lastrun.Config{Dir: dir})
	if rep.How != lastrun.Unknown || rep.ID != 0 || !strings.Contains(rep.Note, "in use by another process") {
		t.Errorf("beside the first: %+v", rep)
	}
	first.kill(t)
	if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.Unknown || rep.PID != first.cmd.Process.Pid {
		t.Errorf("after the first: %+v", rep)
	}
}

func group(t *testing.T) *cgroup.Group {
	t.Helper()
	g, err := cgroup.Create("lastrun-"+strings.ToLower(t.Name()), 64<<20)
	if errors.Is(err, cgroup.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// The kernel kills a process for memory; the next one in the group sees it. A
// kill of another member counts only until the next look.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	g := group(t)
	dir := t.TempDir()
	told := func(role string) lastrun.Report {
		t.Helper()
		c := launch(t, role, dir, g)
		if role == "glutton" {
			c.wait(t)
		} else {
			c.kill(t)
		}
		return reportIn(t, dir, g)
	}
	if rep := told("glutton"); rep.How != lastrun.OutOfMemory || rep.Kills != 1 {
		t.Fatalf("after an out-of-memory kill: %+v", rep)
	}
	if rep := told("wait"); rep.How != lastrun.Unknown {
		t.Errorf("after a plain kill in the same group: %+v", rep)
	}
	for _, looks := range []bool{false, true} {
		c := launch(t, "look", dir, g)
		other := launch(t, "glutton", t.TempDir(), g)
		other.wait(t)
		if looks {
			if _, err := io.WriteString(c.in, "\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := c.out.ReadString('\n'); err != nil || line != "looked\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		c.kill(t)
		if rep := reportIn(t, dir, g); (rep.How == lastrun.OutOfMemory) == looks {
			t.Errorf("another member was killed, looked since: %v: %+v", looks, rep)
		}
	}
	// From outside the group its count says nothing.
	launch(t, "glutton", dir, g).wait(t)
	if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.Unknown {
		t.Errorf("in another group: %+v", rep)
	}
}

// reportIn reads a report from within g.
func reportIn(t *testing.T, dir string, g *cgroup.Group) lastrun.Report {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleVar+"=report", dirVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := startIn(g, cmd); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(out)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	var rep lastrun.Report
	var how uint8
	if _, err := fmt.Sscan(string(text), &how, &rep.Kills); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	rep.How = lastrun.How(how)
	return rep
}

func TestLookAndCloseAreSafeTogether(t *testing.T) {
	t.Parallel()
	r, _ := lastrun.Open(lastrun.Config{Dir: t.TempDir(), NoCrashOutput: true})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			r.Look()
		}
	}()
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	<-done
	r.Look()
}

func TestAnyStartInTheFutureIsFine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	launch(t, "panic", dir, nil).wait(t)
	// The clock was set back by years: the file is younger than now.
	when := time.Now().AddDate(20, 0, 0)
	if err := os.Chtimes(filepath.Join(dir, "crash.txt"), when, when); err != nil {
		t.Fatal(err)
	}
	if rep := open(t, lastrun.Config{Dir: dir}); rep.How != lastrun.Panicked {
		t.Errorf("%+v", rep)
	}
}
