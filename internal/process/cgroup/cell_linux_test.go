package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// testCell makes a cell and lives in it, or says plainly that this machine
// forbids it. do runs on the thread that lives there.
func testCell(t *testing.T, name string, need Need) (c *Cell, do func(func())) {
	t.Helper()
	c, err := NewCell(name, need)
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("this machine forbids groups, so there is no cell: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.Missing() != nil {
		t.Logf("not everything is limited: %v", c.Missing())
	}
	jobs, done, gone := make(chan func()), make(chan struct{}), make(chan struct{})
	var live func()
	live = func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if unix.Gettid() == os.Getpid() {
			go live() // gets another thread while this one is held
			<-gone
			runtime.UnlockOSThread()
			return
		}
		defer close(gone)
		for job := range jobs {
			job()
			done <- struct{}{}
		}
	}
	go live()
	do = func(f func()) { jobs <- f; <-done }
	do(func() {
		if err := c.Enter(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		do(c.Leave)
		close(jobs)
		<-gone
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})
	return c, do
}

// start starts a shell in the cell.
func (c *Cell) start(t *testing.T, do func(func()), out *os.File, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdout = out
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	c.Apply(cmd.SysProcAttr)
	do(func() {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	})
	return cmd
}

func (c *Cell) empty(t *testing.T, want bool) {
	t.Helper()
	if got, err := c.Empty(); got != want || err != nil {
		t.Errorf("Empty = %v, %v, want %v", got, err, want)
	}
}

// One job after the other, each in an empty cell.
func TestCellIsUsedAgain(t *testing.T) {
	c, do := testCell(t, "again", Need{Memory: 64 << 20, Pids: 20})
	for range 3 {
		c.empty(t, true)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := c.start(t, do, w, "setsid sleep 100 & setsid sleep 100 & echo; wait")
		_ = w.Close()
		if _, err := r.Read(make([]byte, 1)); err != nil { // it has forked
			t.Error(err)
		}
		_ = r.Close()
		c.empty(t, false)
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err == nil {
			t.Error("it ended well")
		}
		c.empty(t, false) // at once, not a second later
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		c.empty(t, true)
		if n, err := c.OOMKills(); n != 0 || err != nil {
			t.Errorf("OOMKills = %d, %v", n, err)
		}
	}
}

func TestCellTellsNewKillsOnly(t *testing.T) {
	c, do := testCell(t, "glutton", Need{Memory: 32 << 20})
	for range 2 {
		cmd := role("glutton")
		cmd.SysProcAttr = &unix.SysProcAttr{}
		c.Apply(cmd.SysProcAttr)
		do(func() {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
		})
		_ = cmd.Wait()
		for _, want := range []bool{true, false} {
			if n, err := c.OOMKills(); n > 0 != want || err != nil {
				t.Errorf("OOMKills = %d, %v", n, err)
			}
		}
		if held := c.Held(); held < 0 || held > 32<<20 {
			t.Errorf("%d bytes are held", held)
		}
	}
}

func TestBombInCell(t *testing.T) {
	c, do := testCell(t, "bomb", Need{Pids: 20})
	if !c.Pids() || c.Memory() {
		t.Fatalf("it limits memory: %v, processes: %v", c.Memory(), c.Pids())
	}
	for range 2 { // the limit is back after Kill
		cmd := c.start(t, do, nil, "b() { b | b & }; b; sleep 100")
		tick, timeout := time.NewTicker(time.Millisecond), time.After(time.Minute)
		for c.Counted() < 15 {
			select {
			case <-tick.C:
			case <-timeout:
				t.Fatalf("the bomb has %d processes", c.Counted())
			}
		}
		tick.Stop()
		if n := c.Counted(); n > 20 {
			t.Errorf("%d processes, want at most 20", n)
		}
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		c.empty(t, true)
		_ = cmd.Wait()
	}
}

func TestLeftovers(t *testing.T) {
	c, _ := testCell(t, "tag-1", Need{Pids: 5})
	for tag, want := range map[string]int{"tag-": 1, "tag-2": 0} {
		left := Leftovers(tag)
		if len(left) != want || want == 1 && (left[0].Owner != os.Getpid() || left[0].Name != "tag-1") {
			t.Errorf("Leftovers(%q) = %+v", tag, left)
		}
	}
	if _, err := os.Stat(c.groups[0].dir); err != nil {
		t.Error(err)
	}
	for _, bad := range []Need{{Memory: -1}, {Pids: -1}} {
		if _, err := NewCell("x", bad); err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("NewCell(%+v) = %v, want a fault of the caller", bad, err)
		}
	}
	if _, err := NewCell("x", Need{}); err == nil || !strings.Contains(err.Error(), "no group") {
		t.Errorf("a cell for nothing: %v", err)
	}
}

// Version 2 has no controllers on a hybrid machine, but a cell is a cell.
func TestCellOfVersion2(t *testing.T) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	defer mounts.Close()
	ms, err := parseMounts(mounts)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.Open("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	defer groups.Close()
	_, v2, err := parseGroups(groups, "")
	if err != nil {
		t.Fatal(err)
	}
	own, m, err := locate(ms, "", "", v2)
	if err != nil {
		t.Skipf("this machine has no version 2 hierarchy: %v", err)
	}
	g, err := create(&Group{dir: own, version: 2, top: m.dir}, own, "v2-cell")
	if errors.Is(err, ErrUnavailable) {
		t.Skipf("this machine forbids groups: %v", err)
	}
	c := &Cell{groups: []*Group{g}}
	if err := errors.Join(err, c.open(), c.Enter()); err != nil || c.fd == nil || c.resident != 0 {
		t.Fatalf("open and enter: %v, %+v", err, c)
	}
	c.empty(t, true)
	cmd := c.start(t, func(f func()) { f() }, nil, "setsid sleep 100 & wait")
	c.empty(t, false)
	if err := c.Kill(); err != nil {
		t.Error(err)
	}
	c.empty(t, true)
	_ = cmd.Wait()
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
}
