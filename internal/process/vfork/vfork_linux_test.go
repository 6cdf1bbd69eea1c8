//go:build amd64 || arm64

package vfork

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// outcome is what a child wrote and how it ended.
type outcome struct {
	out    string
	status unix.WaitStatus
}

// start runs a child to its end. Its descriptors 1 to 3 are one pipe.
func start(t *testing.T, edit func(*Child)) (outcome, error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := int(w.Fd())
	c := Child{Path: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"}, Files: [4]int{int(null.Fd()), out, out, out}, Cgroup: -1}
	edit(&c)
	pid, pidfd, err := c.Start()
	_ = w.Close()
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = unix.Close(pidfd) }()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, -1); n != 1 {
		t.Errorf("poll of its descriptor: %d, %v", n, err)
	}
	var o outcome
	if _, err := unix.Wait4(pid, &o.status, 0, nil); err != nil {
		t.Error(err)
	}
	o.out = string(text)
	return o, nil
}

func shell(script string) func(*Child) {
	return func(c *Child) { c.Args = []string{"sh", "-c", script} }
}

func TestStart(t *testing.T) {
	t.Parallel()
	if !Able() {
		t.Skip("the kernel or a filter forbids clone3")
	}
	dir := t.TempDir()
	const signals = `awk '/^Sig(Blk|Ign)/ {printf "%s ", $2}' /proc/self/status`
	library, err := exec.Command("sh", "-c", signals).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		edit       func(*Child)
	}{
		{"arguments and environment", "a b/3", func(c *Child) {
			c.Args, c.Env = []string{"sh", "-c", `echo "$1/$N"`, "sh", "a b"}, []string{"N=3"}
		}},
		{"directory", dir, func(c *Child) { shell("pwd")(c); c.Dir = dir }},
		{"descriptor 3", "said", shell("echo said >&3")},
		{"its own session", "yes", shell(`[ "$(ps -o sid= -p $$ | tr -d ' ')" = $$ ] && echo yes`)},
		{"limits before the first instruction", "0 7 9", func(c *Child) {
			shell("echo $(ulimit -c) $(ulimit -Sn) $(ulimit -Hn)")(c)
			c.Limits = []Limit{{"core dumps", unix.RLIMIT_CORE, 0, 0}, {"open files", unix.RLIMIT_NOFILE, 7, 9}}
		}},
		{"signals as the library sets them", strings.TrimSpace(string(library)), shell(signals)},
	} {
		got, err := start(t, c.edit)
		if err != nil || strings.TrimSpace(got.out) != c.want || got.status.ExitStatus() != 0 {
			t.Errorf("%s: %q, %v, %v, want %q", c.name, got.out, got.status, err, c.want)
		}
	}
	if got, err := start(t, shell("kill -9 $$")); err != nil || got.status.Signal() != syscall.SIGKILL {
		t.Errorf("a child that kills itself: %v, %v", got.status, err)
	}
}

func TestAnotherUser(t *testing.T) {
	t.Parallel()
	if !Able() || os.Geteuid() != 0 {
		t.Skip("needs root and clone3")
	}
	got, err := start(t, func(c *Child) {
		shell("id -u; id -g; id -G")(c)
		c.User = &User{UID: 47110, GID: 47111, Groups: []uint32{47111, 47112}}
		c.Limits = []Limit{{"processes", unix.RLIMIT_NPROC, 100, 100}}
	})
	if want := "47110\n47111\n47111 47112\n"; err != nil || got.out != want {
		t.Errorf("%q, %v, want %q", got.out, err, want)
	}
}

// A child that cannot run leaves no process, and the error says which step failed.
func TestFailures(t *testing.T) {
	t.Parallel()
	if !Able() {
		t.Skip("the kernel or a filter forbids clone3")
	}
	for _, c := range []struct {
		name, say string
		is        error
		edit      func(*Child)
	}{
		{"no such program", "", syscall.ENOENT, func(c *Child) { c.Path = "/no/such" }},
		{"no program", "", syscall.EACCES, func(c *Child) { c.Path = t.TempDir() }},
		{"no such directory", "chdir /no/such", syscall.ENOENT, func(c *Child) { c.Dir = "/no/such" }},
		{"no such limit", "limit luck", syscall.EINVAL, func(c *Child) { c.Limits = []Limit{{"luck", 1000, 0, 0}} }},
		{"no such descriptor", "descriptor 2", syscall.EBADF, func(c *Child) { c.Files[2] = 1 << 20 }},
		{"a zero byte", "", syscall.EINVAL, func(c *Child) { c.Args = []string{"a\x00b"} }},
		{"no cgroup", "fork", syscall.EBADF, func(c *Child) { c.Cgroup = 1 << 20 }},
	} {
		_, err := start(t, func(c2 *Child) { shell("true")(c2); c.edit(c2) })
		if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.say) {
			t.Errorf("%s: %v, want %v and %q", c.name, err, c.is, c.say)
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		t.Skip("the kernel does not list children:", err)
	}
	for pid := range strings.FieldsSeq(string(children)) {
		status, _ := os.ReadFile("/proc/" + pid + "/status")
		if strings.Contains(string(status), "State:\tZ") && strings.Contains(string(status), "Name:\tvfork.test") {
			t.Errorf("child %s was not reaped: %s", pid, status)
		}
	}
}

// The kernel kills a child when the thread that started it ends.
func TestItDiesWithItsThread(t *testing.T) {
	t.Parallel()
	if !Able() {
		t.Skip("the kernel or a filter forbids clone3")
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(null) }()
	var pid, pidfd int
	var all sync.WaitGroup
	all.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends
		if unix.Gettid() == os.Getpid() {
			return // the first thread does not end
		}
		c := Child{Path: "/bin/sleep", Args: []string{"sleep", "1000"}, Files: [4]int{null, null, null, null}, Cgroup: -1}
		pid, pidfd, err = c.Start()
	})
	all.Wait()
	if pid == 0 {
		t.Skip("the goroutine was on the first thread, which does not end:", err)
	}
	defer func() { _ = unix.Close(pidfd) }()
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || status.Signal() != syscall.SIGKILL {
		t.Errorf("it ended by %v, %v", status, err)
	}
}

// Many goroutines start children while others allocate: what a child does on its parent's stack must not harm the parent.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	if !Able() {
		t.Skip("the kernel or a filter forbids clone3")
	}
	stop := make(chan struct{})
	var noise, all sync.WaitGroup
	noise.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = strings.Repeat("x", 1<<16)
				runtime.GC()
			}
		}
	})
	for i := range 8 {
		all.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf("%d.%d", i, j)
				if got, err := start(t, shell("printf "+want)); err != nil || got.out != want {
					t.Errorf("%q, %v, want %q", got.out, err, want)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	noise.Wait()
}
