package child

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// envRole makes the test binary one of the programs below.
const envRole = "CHILD_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(envRole); role != "" {
		program(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// quick has a program that is built with the race detector end without a second
// of sleep.
const quick = "GORACE=atexit_sleep_ms=0"

// program is what jobs run, unless a shell will do.
//
//	stubborn    ignores SIGTERM and never ends
//	polite      exits 0 on SIGTERM
//	glutton     takes memory until it is killed
//	flood       writes 50 MB to stderr, then its last words
//	overflow    recurses without end
//	nil         follows a null pointer
//	spin        computes without end
//	escape      leaves a sleeper in a session of its own, without environment,
//	            whose parent is dead, and prints its id
//	scatter     the same, eight times, and sleeps itself
//	sleeper     sleeps
//	bomb        starts itself again and again, each in a session of its own
//	unprivileged  runs jobs as another user; see TestUnprivileged
//	owner       runs a job until it is killed; see TestSweep
func program(role string) {
	switch role {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "polite":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("ready")
		<-term
		if f := os.NewFile(3, "report"); os.Getenv("CHILD_TEST_SAY") != "" {
			fmt.Fprintln(f, os.Getenv("CHILD_TEST_SAY"))
		}
	case "glutton":
		for hoard := [][]byte{}; ; {
			hoard = append(hoard, bytes.Repeat([]byte{1}, 1<<20))
		}
	case "flood":
		line := strings.Repeat("x", 1023) + "\n"
		for range 50 << 10 {
			_, _ = io.WriteString(os.Stderr, line)
		}
		fmt.Fprint(os.Stderr, "last words")
	case "overflow":
		debug.SetMaxStack(8 << 20)
		fmt.Println(deep(1))
	case "nil":
		fmt.Println(*(*int)(nil))
	case "spin":
		for i := uint64(0); ; i++ {
			_ = i
		}
	case "escape", "scatter":
		n := 1
		if role == "scatter" {
			n = 8
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // by then we are limited
		for range n {
			c := exec.Command(os.Args[0])
			c.Env = []string{envRole + "=middle", quick}
			c.Stdout, c.Stderr = os.Stdout, os.Stderr
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := c.Run(); err != nil {
				panic(err)
			}
		}
		if role == "scatter" {
			forever()
		}
	case "middle":
		c := exec.Command(os.Args[0])
		c.Env = []string{envRole + "=sleeper"}
		c.Stdout, c.Stderr = os.Stdout, os.Stderr // holds the pipes open
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			panic(err)
		}
		fmt.Println(c.Process.Pid)
	case "sleeper":
		forever()
	case "bomb":
		haveThreads()
		for {
			c := exec.Command(os.Args[0])
			c.Env = []string{envRole + "=bomb"}
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = c.Start() // at the limit it fails, and tries again
		}
	case "unprivileged":
		unprivileged()
	case "owner":
		owner()
	default:
		panic("no role " + role)
	}
}

// haveThreads makes threads that stay for later: Go's runtime ends a process that
// is refused one at the limit.
func haveThreads() {
	const threads = 8
	var here, gone sync.WaitGroup
	here.Add(threads)
	for range threads {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait()
		})
	}
	gone.Wait()
}

func forever() { <-time.After(time.Hour) }

func deep(n int) int {
	if n < 0 {
		return 0
	}
	return n + deep(n+1)
}

// role is a job that runs the test binary.
func role(name string, env ...string) Job {
	return Job{Name: name, Env: append(env, envRole+"="+name, quick)}
}

// running is a Runner whose Run runs.
type running struct {
	*Runner
	t    *testing.T
	log  *logged
	stop func()
}

// mark is one that no other test has, nor this one in another run of the tests on
// this machine: a runner sweeps whatever has its mark.
func mark(t *testing.T) string { return fmt.Sprintf("%s-%d", t.Name(), os.Getpid()) }

// run starts a Runner of the test binary. When the test ends it looks for
// anything that was left.
func run(t *testing.T, edit func(*Config), tweaks ...func(*Runner)) *running {
	t.Helper()
	r := &running{t: t, log: &logged{}}
	cfg := Config{
		Command: []string{os.Args[0]},
		Mark:    mark(t),
		Grace:   2 * time.Second,
		Log:     slog.New(slog.NewTextHandler(r.log, nil)),
	}
	if edit != nil {
		edit(&cfg)
	}
	var err error
	if r.Runner, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	for _, tweak := range tweaks {
		tweak(r.Runner)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		t.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Run does not end")
		}
		r.nothingLeft()
	})
	t.Cleanup(r.stop)
	return r
}

// ways are the ways to isolate: with groups and without, by one thread and by
// goroutines, with limits set by the child and from outside, as where the
// system has no more.
func ways(t *testing.T, f func(t *testing.T, way func(*Runner))) {
	for _, groups := range []bool{true, false} {
		for _, w := range []struct{ polls, vfork bool }{{true, true}, {true, false}, {false, false}} {
			t.Run(fmt.Sprintf("groups=%v,polls=%v,vfork=%v", groups, w.polls, w.vfork), func(t *testing.T) {
				f(t, func(r *Runner) {
					r.means.cell, r.means.vfork, r.polls = r.means.cell && groups, r.means.vfork && w.vfork, r.polls && w.polls
				})
			})
		}
	}
}

// sh runs jobs of a shell.
func sh(script string) func(*Config) {
	return func(c *Config) { c.Command = []string{"sh", "-c", script} }
}

// nothingLeft looks at every process of the machine.
func (r *running) nothingLeft() {
	r.t.Helper()
	for _, p := range family(r.t, r.id) {
		r.t.Errorf("process %s is left", p)
	}
}

// family returns the processes that are marked as an owner's jobs, and every
// zombie of ours.
func family(t *testing.T, id identity) (out []string) {
	t.Helper()
	names, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		b, err := os.ReadFile("/proc/" + n.Name() + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		mark, _ := proc.Variable(pid, EnvMark)
		ours := f[1] == strconv.Itoa(os.Getpid())
		if proc.TagOf(pid).SameMark(id.procTag) || mark == id.mark || f[0] == "Z" && ours {
			out = append(out, string(b))
		}
	}
	return out
}

// lives reports whether a process is there and not a zombie.
func lives(pid int) bool {
	_, ok := proc.Alive(pid)
	return ok
}

// pids reads ids from a job's output.
func pids(t *testing.T, out []byte) (ids []int) {
	t.Helper()
	for f := range strings.FieldsSeq(string(out)) {
		id, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("the job printed %q", out)
		}
		ids = append(ids, id)
	}
	return ids
}

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

// owner is the program that TestSweep kills: it runs one job that leaves what
// only a sweep finds, and says when it has.
func owner() {
	r, err := New(Config{Command: []string{os.Args[0]}, Mark: os.Getenv("CHILD_TEST_MARK"), Environ: []string{}})
	if err != nil {
		panic(err)
	}
	r.means.cell = r.means.cell && os.Getenv("CHILD_TEST_GROUPS") != "false"
	go func() { _ = r.Run(context.Background()) }()
	r.Do(context.Background(), Job{Name: "left", Env: []string{envRole + "=scatter", quick}, Stdout: os.Stdout})
}
