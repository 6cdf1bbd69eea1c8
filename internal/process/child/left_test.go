package child

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bezoar-dev/bezoar"
	"github.com/bezoar-dev/bezoar/internal/process/cgroup"
	"github.com/bezoar-dev/bezoar/internal/process/proc"
)

// What leaves the session, the parent and the environment does not outlive the
// job, whichever way that ends, and nobody waits for the pipes that it holds.
func TestNothingOutlivesItsJob(t *testing.T) {
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, func(c *Config) { c.Grace = 100 * time.Millisecond }, way)
		for _, c := range []struct {
			role  string
			class bezoar.Class
			left  int
		}{
			{"escape", bezoar.Done, 1},
			{"scatter", bezoar.Interrupted, 8}, // once it has said all
			{"escape", bezoar.Done, 1},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			out := &counted{stop: cancel, lines: 8}
			job := role(c.role)
			job.Stdout = out
			began := time.Now()
			res := r.Do(ctx, job)
			took := time.Since(began)
			cancel()
			left := pids(t, res.Stdout)
			if res.Class != c.class || len(left) != c.left {
				t.Errorf("%s: %+v, stdout %q", c.role, res, res.Stdout)
			}
			for _, pid := range left {
				if lives(pid) {
					t.Errorf("%s: process %d lives", c.role, pid)
				}
			}
			if took > time.Minute { // those that are left sleep for an hour
				t.Errorf("%s took %v", c.role, took)
			}
			r.nothingLeft()
		}
	})
}

// counted calls stop when so many lines have been written.
type counted struct {
	stop  func()
	lines int
}

func (c *counted) Write(b []byte) (int, error) {
	if c.lines -= strings.Count(string(b), "\n"); c.lines <= 0 {
		c.stop()
	}
	return len(b), nil
}

func TestForkBomb(t *testing.T) {
	for _, c := range []struct {
		name    string
		command []string
		env     string
	}{
		{"shell", []string{"sh", "-c", `b() { b | b & }; [ "$BOMB" ] || exit 3; b; sleep 60`}, "BOMB=yes"},
		{"sessions", []string{os.Args[0]}, envRole + "=bomb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, func(cfg *Config) {
				cfg.Command, cfg.Pids, cfg.Grace = c.command, 64, 100*time.Millisecond
			})
			if r.means.pids == "" {
				t.Skipf("here nothing would hold it: %s", r.Limits())
			}
			for range 2 { // in the same place
				res := r.Do(t.Context(), Job{Name: "bomb", Env: []string{c.env}, Timeout: 500 * time.Millisecond})
				if res.Class != bezoar.Timeout && res.Class != bezoar.Bug {
					t.Errorf("result %+v", res)
				}
				r.nothingLeft()
			}
			if res := r.Do(t.Context(), Job{Name: "next", Env: []string{envRole + "=nil", quick}}); res.Class != bezoar.Bug {
				t.Errorf("the next job: %+v", res)
			}
			if strings.Contains(r.log.String(), "stays") {
				t.Errorf("log:\n%s", r.log)
			}
		})
	}
}

// Innocents with children in sessions of their own run beside jobs that are
// swept.
func TestJobsDoNotTouchEachOther(t *testing.T) {
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, func(c *Config) {
			c.Command = []string{"sh", "-c", `if [ "$KIND" = good ]; then setsid sh -c 'sleep 0.05; echo fine'; else setsid sleep 60 & setsid setsid sleep 60 & fi`}
		}, way)
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				for range 8 {
					kind := []string{"good", "bad"}[worker%2]
					res := r.Do(t.Context(), Job{Env: []string{"KIND=" + kind}})
					if res.Class != bezoar.Done || kind == "good" && string(res.Stdout) != "fine\n" {
						t.Errorf("%s: %+v", kind, res)
					}
				}
			})
		}
		wg.Wait()
		r.nothingLeft()
		if n := len(r.idle); n < 1 || n > 4 {
			t.Errorf("%d places for 4 jobs at once", n)
		}
	})
}

// A hundred jobs use no more files than one.
func TestManyJobsLeaveNothing(t *testing.T) {
	ways(t, func(t *testing.T, way func(*Runner)) {
		r := run(t, sh("echo out; echo err >&2; echo '{}' >&3"), way)
		files := func() int {
			names, err := os.ReadDir("/proc/self/fd")
			if err != nil {
				t.Fatal(err)
			}
			return len(names)
		}
		job := Job{Name: "many", Timeout: time.Minute}
		if res := r.Do(t.Context(), job); res.Class != bezoar.Done || string(res.Stdout) != "out\n" || res.Report == nil {
			t.Errorf("result %+v", res)
		}
		before := files()
		for range 100 {
			r.Do(t.Context(), job)
		}
		if after := files(); after > before {
			t.Errorf("%d files were open after one job, %d after a hundred", before, after)
		}
		if len(r.live) != 0 || len(r.idle) != 1 {
			t.Errorf("%d jobs live, %d places", len(r.live), len(r.idle))
		}
	})
}

// victim is an owner that can be killed.
func victim(t *testing.T, mark string, groups bool) (cmd *exec.Cmd, left []int) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = []string{envRole + "=owner", "CHILD_TEST_MARK=" + mark, fmt.Sprint("CHILD_TEST_GROUPS=", groups)}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	sc := bufio.NewScanner(out)
	for len(left) < 8 && sc.Scan() {
		pid, err := strconv.Atoi(sc.Text())
		if err != nil {
			t.Fatalf("the owner said %q", sc.Text())
		}
		left = append(left, pid)
	}
	if len(left) != 8 {
		t.Fatalf("the owner ended early, with %v", left)
	}
	return cmd, left
}

func TestSweep(t *testing.T) {
	for _, groups := range []bool{true, false} {
		t.Run(fmt.Sprint("groups=", groups), func(t *testing.T) {
			r := run(t, nil)
			other, others := victim(t, mark(t)+"-other", groups)
			first, left := victim(t, mark(t), groups)
			all := func(pids []int, want bool) {
				t.Helper()
				for _, pid := range pids {
					if lives(pid) != want {
						t.Errorf("process %d lives: %v, want %v", pid, !want, want)
					}
				}
			}
			// Alive, it is a rival.
			if n, err := r.Sweep(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), strconv.Itoa(first.Process.Pid)) {
				t.Errorf("Sweep beside a rival = %d, %v", n, err)
			}
			all(left, true)
			_ = first.Process.Kill()
			_ = first.Wait()
			all(left, true) // Pdeathsig ends the leader alone
			mine, err := r.Start(t.Context(), role("sleeper"))
			if err != nil {
				t.Fatal(err)
			}
			n, err := r.Sweep(t.Context())
			if n < 8 || err != nil {
				t.Errorf("Sweep = %d, %v, want 8", n, err)
			}
			all(left, false)
			all(others, true)
			all([]int{mine.Pid, other.Process.Pid}, true)
			if n, err := r.Sweep(t.Context()); n != 0 || err != nil {
				t.Errorf("the second Sweep = %d, %v", n, err)
			}
			for _, l := range cgroup.Leftovers(r.id.tag()) {
				if l.Owner != os.Getpid() {
					t.Errorf("the group %+v is left", l)
				}
			}
			mine.Kill(bezoar.Interrupted, "the test is over")
			mine.Wait()
			_ = mine.Stdout.Close()
			// What is left of the other is for who has its mark.
			_ = other.Process.Kill()
			_ = other.Wait()
			successor := run(t, func(c *Config) { c.Mark = mark(t) + "-other" })
			if n, err := successor.Sweep(t.Context()); n < 8 || err != nil {
				t.Errorf("the successor's Sweep = %d, %v, want 8", n, err)
			}
			all(others, false)
		})
	}
}

// Without privilege there are no groups, but limits all the same.
func TestUnprivileged(t *testing.T) {
	dir, err := os.MkdirTemp("", "child") //nolint:usetesting // its folder is for our user alone
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(program, b, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Dir, cmd.Env = "/", []string{envRole + "=unprivileged"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	sweep := func() int {
		n, err := proc.Sweep(func(pid int) bool {
			exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			return strings.HasPrefix(exe, dir)
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	defer sweep() // a bomb that we let go must not outlive the test
	watchdog := time.AfterFunc(2*time.Minute, func() { sweep() })
	defer watchdog.Stop()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := sweep(); n != 0 {
		t.Errorf("%d processes are left", n)
	}
	for _, want := range []string{"limits: memory by ", "processes by ", "glutton: oom\n", "escape: done, left alive: 0\n", "bomb: timeout\n", "again: bug\n", "left: 0 <nil>\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

func unprivileged() {
	r, err := New(Config{
		Command: []string{os.Args[0]}, Mark: "unprivileged-" + strconv.Itoa(os.Getpid()), Environ: []string{},
		Memory: 512 << 20, Pids: 60, Grace: 100 * time.Millisecond, Timeout: time.Minute,
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	fmt.Println("limits:", r.Limits())
	fmt.Println("glutton:", r.Do(ctx, role("glutton")).Class)
	escape := r.Do(ctx, role("escape"))
	alive := 0
	for f := range strings.FieldsSeq(string(escape.Stdout)) {
		if pid, _ := strconv.Atoi(f); lives(pid) {
			alive++
		}
	}
	fmt.Printf("escape: %v, left alive: %d\n", escape.Class, alive)
	bomb := role("bomb")
	bomb.Timeout = time.Second
	fmt.Println("bomb:", r.Do(ctx, bomb).Class)
	fmt.Println("again:", r.Do(ctx, role("nil")).Class)
	cancel()
	if err := <-done; err != nil {
		panic(err)
	}
	left, err := r.Sweep(context.Background())
	fmt.Println("left:", left, err)
}
