package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// envRole makes the test binary one of the children below.
const envRole = "CGROUP_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "glutton":
		for hoard := [][]byte{}; ; { // until it is killed
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			hoard = append(hoard, b)
		}
	case "parent": // leaves a grandchild in a session of its own
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), envRole+"=sleeper")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Println(cmd.Process.Pid)
	case "sleeper":
		time.Sleep(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

// start starts the test binary in a role inside g, from a thread of its own.
func start(t *testing.T, g *Group, cmd *exec.Cmd) {
	t.Helper()
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
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func role(name string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"="+name)
	return cmd
}

// make a group, or say plainly that this machine forbids it.
func testGroup(t *testing.T, name string, limit int64) *Group {
	t.Helper()
	g, err := Create(name, limit)
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("this machine forbids memory groups, so nothing was killed for memory: %v", err)
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

func TestGluttonIsKilledAndCounted(t *testing.T) {
	g := testGroup(t, "glutton", 64<<20)
	if n, err := g.OOMKills(); n != 0 || err != nil {
		t.Fatalf("OOMKills of a new group = %d, %v", n, err)
	}
	cmd := role("glutton")
	start(t, g, cmd)
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want SIGKILL", err)
	}
	if n, err := g.OOMKills(); n != 1 || err != nil {
		t.Errorf("OOMKills = %d, %v, want 1", n, err)
	}
	if own, err := Of(os.Getpid()); err != nil || own.dir != g.parent {
		t.Errorf("our own group is %v, %v, want %s as before", own, err, g.parent)
	}
}

func TestRemoveLeavesNothingAlive(t *testing.T) {
	g := testGroup(t, "family", 64<<20)
	cmd := role("parent")
	var out strings.Builder
	cmd.Stdout = &out
	start(t, g, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	pids, err := g.Procs()
	if err != nil || len(pids) != 1 {
		t.Fatalf("in the group are %v, %v, want the grandchild", pids, err)
	}
	if got := strings.TrimSpace(out.String()); got != fmt.Sprint(pids[0]) {
		t.Errorf("the grandchild is %s, the group holds %v", got, pids)
	}
	if err := g.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.Path()); !os.IsNotExist(err) {
		t.Errorf("the group is still there: %v", err)
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pids[0])); err == nil && !strings.Contains(string(b), "State:\tZ") {
		t.Errorf("the grandchild lives:\n%s", b)
	}
}

// Version 2 has no memory controller on a hybrid machine, but groups are groups.
func TestStartAndKillInVersion2(t *testing.T) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := parseMounts(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, v2, err := parseGroups(f, "memory")
	if err != nil {
		t.Fatal(err)
	}
	own, m, err := locate(mounts, "memory", "", v2)
	if err != nil {
		t.Skipf("this machine has no version 2 hierarchy: %v", err)
	}
	g := &Group{dir: filepath.Join(own, fmt.Sprintf("%s%d-v2", prefix, os.Getpid())), version: 2, top: m.dir, parent: own}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("this machine forbids groups: %v", err)
	}
	defer func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	}()
	cmd := role("sleeper")
	start(t, g, cmd)
	if pids, err := g.Procs(); err != nil || len(pids) != 1 || pids[0] != cmd.Process.Pid {
		t.Errorf("in the group are %v, %v, want %d", pids, err, cmd.Process.Pid)
	}
	g.Kill()
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("after Kill the child ended with %v", err)
	}
}

func TestCreateRemovesWhatDeadOwnersLeft(t *testing.T) {
	own, err := Of(os.Getpid())
	if err != nil {
		t.Skipf("this machine has no memory groups: %v", err)
	}
	const nobody = 1 << 30 // above the largest process id
	stale := filepath.Join(own.Path(), fmt.Sprintf("%s%d-x", prefix, nobody))
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Skipf("this machine forbids memory groups: %v", err)
	}
	testGroup(t, "fresh", 64<<20)
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", stale, err)
	}
}

func TestOnlyOwnGroupsAreTouched(t *testing.T) {
	g, err := Of(os.Getpid())
	if err != nil {
		t.Skipf("this machine has no memory groups: %v", err)
	}
	g.Kill() // we would not be here
	if err := g.Remove(); err == nil {
		t.Error("Remove of the group that we are in succeeds")
	}
	if err := g.Start(role("sleeper")); err == nil {
		t.Error("Start in the group of another succeeds")
	}
	if _, err := g.OOMKills(); err != nil {
		t.Errorf("OOMKills of our own group: %v", err)
	}
	for _, bad := range []string{"", "a/b", "a\nb"} {
		if _, err := Create(bad, 1); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("Create(%q) = %v, want a fault of the caller", bad, err)
		}
	}
	if _, err := Of(1 << 30); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Of nobody = %v, want ErrUnavailable", err)
	}
}
