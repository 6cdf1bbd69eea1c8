package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Need holds the limits that a cell should enforce. Zero means no limit.
type Need struct {
	Memory int64 // bytes
	Pids   int   // processes and threads
}

// Cell is a group for the processes of one job at a time. It limits memory and the number of processes, as far as this
// process has permission. The next job uses it again once it is proven empty, because creating and removing groups costs
// more than starting a process.
//
// In version 2 processes start in the group ([Cell.Apply]). In version 1 they start where the thread that forks them is, so
// one of our threads stays in the group ([Cell.Enter]): moving it in and out for each job would cost as much as the fork.
type Cell struct {
	memory, pids *Group   // nil when not limited; in version 2 the same
	groups       []*Group // the distinct ones of memory and pids
	limit        int      // value of pids.max
	resident     int      // id of our thread in the group; 0: none
	procs        string   // file that lists the processes of the first group
	events       *os.File // of the memory group; nil without
	usage        *os.File // of the memory group; nil without
	count        *os.File // of the group that limits processes; nil without
	fd           *os.File // of the version 2 group's directory; nil without
	missing      error
	kills        int64 // out-of-memory kills that OOMKills has returned
}

// NewCell creates a cell beneath this process's own group. Limits for which the permission is missing are left out
// ([Cell.Missing]). If none is left, the error is [ErrUnavailable].
func NewCell(name string, need Need) (*Cell, error) {
	if name == "" || strings.ContainsAny(name, "/\x00\n") || need.Memory < 0 || need.Pids < 0 {
		return nil, fmt.Errorf("create cell %q for %+v: want a plain name and no limit below 0", name, need)
	}
	c := &Cell{}
	var missing []error
	if need.Memory > 0 {
		missing = append(missing, c.limitMemory(name, need.Memory))
	}
	if need.Pids > 0 {
		missing = append(missing, c.limitPids(name, need.Pids))
	}
	c.missing = errors.Join(missing...)
	if len(c.groups) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errors.New("no group can be created"), c.missing))
	}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

func (c *Cell) limitMemory(name string, limit int64) error {
	own, above, err := home("memory")
	if err != nil {
		return err
	}
	g, err := create(own, above, name)
	if err != nil {
		return err
	}
	if err := g.setMemory(limit); err != nil {
		return errors.Join(err, os.Remove(g.dir))
	}
	c.memory, c.groups = g, append(c.groups, g)
	return nil
}

func (c *Cell) limitPids(name string, limit int) error {
	own, above, err := home("pids")
	if err != nil {
		return err
	}
	g := c.memory
	fresh := g == nil || own.version == 1
	if fresh {
		if g, err = create(own, above, name); err != nil {
			return err
		}
	}
	c.limit = limit
	if g.version == 1 {
		c.limit++ // our thread
	}
	if err := write(filepath.Join(g.dir, "pids.max"), strconv.Itoa(c.limit)); err != nil {
		if fresh {
			err = errors.Join(err, os.Remove(g.dir))
		}
		return fmt.Errorf("%w: limit processes: %w", ErrUnavailable, err)
	}
	c.pids = g
	if fresh {
		c.groups = append(c.groups, g)
	}
	return nil
}

// open opens the files that are read after every job.
func (c *Cell) open() (err error) {
	open := func(f **os.File, g *Group, v1, v2 string) {
		if err != nil {
			return
		}
		name := v1
		if g.version == 2 {
			name = v2
		}
		*f, err = os.Open(filepath.Join(g.dir, name))
	}
	c.procs = filepath.Join(c.groups[0].dir, "tasks")
	if c.groups[0].version == 2 {
		c.procs = filepath.Join(c.groups[0].dir, "cgroup.procs")
	}
	if c.memory != nil {
		open(&c.events, c.memory, "memory.oom_control", "memory.events")
		open(&c.usage, c.memory, "memory.usage_in_bytes", "memory.current")
	}
	if c.pids != nil {
		open(&c.count, c.pids, "pids.current", "pids.current")
	}
	for _, g := range c.groups {
		if g.version == 2 {
			open(&c.fd, g, "", ".")
		}
	}
	return err
}

// Missing returns why some limits are not enforced, or nil if all are.
func (c *Cell) Missing() error { return c.missing }

func (c *Cell) Memory() bool { return c.memory != nil }

// Pids reports whether the cell limits the number of processes.
func (c *Cell) Pids() bool { return c.pids != nil }

// Version returns the version of the cgroup hierarchy, 1 or 2; 1 if the cell is in both.
func (c *Cell) Version() int { return c.groups[0].version }

// OOMKills returns how many processes the kernel has killed for memory in the
// cell since the last call.
func (c *Cell) OOMKills() (int64, error) {
	if c.events == nil {
		return 0, nil
	}
	var buf [1024]byte
	n, err := c.events.ReadAt(buf[:], 0)
	if n == 0 && err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	total, err := countIn(string(buf[:n]), c.events.Name())
	since := total - c.kills
	c.kills = max(c.kills, total)
	return max(0, since), err
}

// Held returns how much memory is charged to the cell, in bytes. In an empty cell, this is memory of files that its jobs
// left.
func (c *Cell) Held() int64 { return readNumber(c.usage) }

// Counted returns how many processes and threads count against the cell's limit, without our own thread. Dead processes
// count until they are reaped.
func (c *Cell) Counted() int {
	n := int(readNumber(c.count))
	if c.pids != nil && c.pids.version == 1 && c.resident != 0 {
		n--
	}
	return n
}

func readNumber(f *os.File) int64 {
	if f == nil {
		return 0
	}
	var buf [32]byte
	n := readStart(f, buf[:])
	number, _ := strconv.ParseInt(strings.TrimSpace(string(buf[:n])), 10, 64)
	return number
}

// Empty reports whether the cell has no live process, apart from our own thread.
func (c *Cell) Empty() (bool, error) {
	var buf [64]byte // more than one id
	// The file is opened each time: in version 1 the content of an open file may be a second old.
	n, err := peek(c.procs, buf[:])
	if err != nil {
		return false, fmt.Errorf("read the cell's processes: %w", err)
	}
	return n == 0 || c.resident != 0 && string(buf[:n]) == strconv.Itoa(c.resident)+"\n", nil
}

// Kill kills every process in the cell, reaps those that have become our children, and waits until the cell is empty.
// Nothing can start there meanwhile. It gives up after three seconds: a process may be stuck in the kernel.
func (c *Cell) Kill() error {
	if c.pids != nil && c.pids.version == 1 {
		// A fork bomb forks faster than its processes can be listed.
		_ = write(filepath.Join(c.pids.dir, "pids.max"), "0")
		defer func() { _ = write(filepath.Join(c.pids.dir, "pids.max"), strconv.Itoa(c.limit)) }()
	}
	deadline := time.Now().Add(removePatience)
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		for _, g := range c.groups {
			if g.version == 2 {
				_ = write(filepath.Join(g.dir, "cgroup.kill"), "1") // Linux 5.14 or newer
			}
			g.killListed(true)
		}
		empty, err := c.Empty()
		if empty || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cell %s is not empty %v after SIGKILL", c.groups[0].dir, removePatience)
		}
		time.Sleep(pause)
	}
}

// Remove kills everything in the cell and removes it. Our thread must have left it.
func (c *Cell) Remove() error {
	for _, f := range []*os.File{c.events, c.usage, c.count, c.fd} {
		if f != nil {
			_ = f.Close()
		}
	}
	var errs []error
	for _, g := range c.groups {
		errs = append(errs, g.Remove())
	}
	return errors.Join(errs...)
}

// Left is a group that another process created.
type Left struct {
	Owner int    // its process id
	Name  string // the name that its owner gave it
	group *Group
}

// Leftovers returns the groups beneath ours, of any owner, whose name begins with tag.
func Leftovers(tag string) []Left {
	var left []Left
	seen := map[string]bool{}
	for _, controller := range []string{"memory", "pids"} {
		own, above, err := home(controller)
		if err != nil || seen[above] {
			continue
		}
		seen[above] = true
		entries, err := os.ReadDir(above)
		if err != nil {
			continue
		}
		for _, e := range entries {
			rest, ours := strings.CutPrefix(e.Name(), prefix)
			pid, name, _ := strings.Cut(rest, "-")
			owner, err := strconv.Atoi(pid)
			if !ours || err != nil || !strings.HasPrefix(name, tag) {
				continue
			}
			left = append(left, Left{owner, name, &Group{
				dir: filepath.Join(above, e.Name()), version: own.version, top: own.top, parent: own.dir,
			}})
		}
	}
	return left
}

// Kill kills everything in the group except its owner, which has one thread in it, and returns the ids that it found there.
// The group remains.
func (l Left) Kill() []int {
	pids, _ := l.group.Procs() // it may be gone already
	pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == l.Owner })
	if len(pids) > 0 {
		g := *l.group
		g.spare = l.Owner
		g.killListed(false)
	}
	return pids
}

// Remove kills everything in the group and removes it. It returns how many
// processes it found there.
func (l Left) Remove() (int, error) {
	pids, _ := l.group.Procs() // it may be gone already
	return len(pids), l.group.Remove()
}
