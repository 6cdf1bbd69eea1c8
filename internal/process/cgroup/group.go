package cgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Group is one memory group.
type Group struct {
	dir     string
	version int
	top     string // where its hierarchy is mounted
	parent  string // the group that our thread came from; set when we created this group
	limit   int64  // bytes; 0 if we set none
	spare   int    // a process that is not killed, besides our own
}

// Of returns the memory group of a process. It can be read, but not removed.
func Of(pid int) (*Group, error) { return groupOf(pid, "memory") }

// Unified returns the version 2 group of a process, even if version 1 controls its memory: only version 2 measures
// pressure. It can be read, but not removed.
func Unified(pid int) (*Group, error) { return groupOf(pid, "") }

// groupOf returns the group of a process in the hierarchy that has the controller; "": in version 2.
func groupOf(pid int, controller string) (*Group, error) {
	proc := "/proc/" + strconv.Itoa(pid)
	mf, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer mf.Close()
	mounts, err := parseMounts(mf)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrUnavailable, mf.Name(), err)
	}
	gf, err := os.Open(proc + "/cgroup")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer gf.Close()
	v1, v2, err := parseGroups(gf, controller)
	if err != nil {
		return nil, fmt.Errorf("%w: read %s: %w", ErrUnavailable, gf.Name(), err)
	}
	dir, m, err := locate(mounts, controller, v1, v2)
	if err != nil {
		return nil, err
	}
	return &Group{dir: dir, version: m.version, top: m.dir}, nil
}

// Path returns the group's directory.
func (g *Group) Path() string { return g.dir }

// Top returns the directory where the group's hierarchy is mounted.
func (g *Group) Top() string { return g.top }

// Version returns 1 or 2.
func (g *Group) Version() int { return g.version }

// Limit returns the limit that Create set, in bytes.
func (g *Group) Limit() int64 { return g.limit }

// OOMKills returns how many processes of the group the out-of-memory killer has killed so far. In version 2 this includes
// the groups beneath. If the group has no memory controller, the nearest group above that has one is read.
func (g *Group) OOMKills() (int64, error) {
	if g.version == 1 {
		return readCount(filepath.Join(g.dir, "memory.oom_control"))
	}
	for dir := g.dir; ; dir = filepath.Dir(dir) {
		n, err := readCount(filepath.Join(dir, "memory.events"))
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return n, err
		}
		if len(dir) <= len(g.top) {
			return 0, fmt.Errorf("%w: no group from %s up has memory.events", ErrUnavailable, g.dir)
		}
	}
}

// readCount reads the oom_kill line of memory.events or memory.oom_control.
func readCount(name string) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCounts))
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", name, err)
	}
	return countIn(string(b), name)
}

// maxCounts is the most bytes read of a counter file.
const maxCounts = 64 << 10

// countIn finds the oom_kill line.
func countIn(text, name string) (int64, error) {
	for line := range strings.Lines(text) {
		if text, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read %s: %w", name, err)
			}
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: %s has no oom_kill line (it needs Linux 4.13 or newer)", ErrUnavailable, name)
}

// Procs returns the ids of the group's processes.
func (g *Group) Procs() ([]int, error) {
	b, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for f := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(f); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// removePatience is how long Remove waits for the processes that it killed. They count until their parent has reaped them,
// and some init processes reap only once per second.
const removePatience = 3 * time.Second

// Remove kills everything in a group that Create created, and removes the group. It gives up after three seconds: a process
// may be stuck in the kernel.
func (g *Group) Remove() error {
	if g.parent == "" {
		return fmt.Errorf("remove memory group %s: this process did not create it", g.dir)
	}
	deadline := time.Now().Add(removePatience)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		g.Kill()
		// Only rmdir: a group's files cannot be removed and need not be.
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("remove memory group: %w", err)
		}
		time.Sleep(pause)
	}
}
