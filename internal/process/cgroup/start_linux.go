package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Start starts cmd in the group: cmd is in it before its first instruction. The calling goroutine must be locked to its
// thread. In version 1 the thread enters the group for the time of the fork, because children start where their parent
// thread is. It must not be the process's first thread: that one counts as the whole process. The process's memory would be
// charged to the group, and the kernel could kill the process for the memory of other members.
func (g *Group) Start(cmd *exec.Cmd) error {
	if g.parent == "" {
		return fmt.Errorf("start in memory group %s: this process did not create it", g.dir)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if g.version == 2 {
		dir, err := os.OpenFile(g.dir, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		return cmd.Start()
	}
	if unix.Gettid() == os.Getpid() {
		return fmt.Errorf("%w: the process's first thread may not enter memory group %s", ErrUnavailable, g.dir)
	}
	tid := strconv.Itoa(unix.Gettid())
	if err := write(filepath.Join(g.dir, "tasks"), tid); err != nil {
		return fmt.Errorf("%w: enter memory group: %w", ErrUnavailable, err)
	}
	// If the way back fails, the thread stays in the group. The only harm is that the group cannot be removed.
	defer func() { _ = write(filepath.Join(g.parent, "tasks"), tid) }()
	return cmd.Start()
}

// Kill sends SIGKILL to every process in a group that Create created.
func (g *Group) Kill() {
	if g.parent == "" {
		return
	}
	if g.version == 2 && write(filepath.Join(g.dir, "cgroup.kill"), "1") == nil {
		return // Linux 5.14 or newer
	}
	g.killListed(false)
}

// killBatch is the most handles open at once.
const killBatch = 256

// killListed kills the processes that the group lists. After an id was read, another process may get it. So each process is
// held by a handle and then looked for again: a process that is listed twice was a member while it was held. With adopt,
// killListed reaps those that are or have become our children.
func (g *Group) killListed(adopt bool) {
	first, err := g.Procs()
	if err != nil {
		return
	}
	for batch := range slices.Chunk(first, killBatch) {
		handles := make(map[int]int, len(batch))
		for _, pid := range batch {
			if pid == os.Getpid() || pid == g.spare {
				continue
			}
			if fd, err := unix.PidfdOpen(pid, 0); err == nil {
				handles[pid] = fd
			}
		}
		var killed []int
		again, err := g.Procs()
		if err != nil {
			again = nil
		}
		for _, pid := range again {
			if fd, ok := handles[pid]; ok {
				_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
				killed = append(killed, fd)
			}
		}
		if adopt {
			collect(killed)
		}
		for _, fd := range handles {
			_ = unix.Close(fd)
		}
	}
}

// dyingFor bounds how long collect waits for one process to die.
const dyingFor = 100 * time.Millisecond

// collect waits for the deaths of the killed processes and reaps those that are our children.
func collect(handles []int) {
	late := time.Now().Add(dyingFor)
	for _, fd := range handles {
		left := max(0, time.Until(late))
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
	}
	for _, fd := range handles { // those whose parents were killed as well are ours by now
		// For a child of another process this returns an error.
		_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil)
	}
}

// peek reads the start of a kernel file.
func peek(name string, buf []byte) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	for {
		n, err := unix.Read(fd, buf)
		if !errors.Is(err, unix.EINTR) {
			return max(0, n), err
		}
	}
}

// readStart reads the start of an open kernel file in one call.
func readStart(f *os.File, buf []byte) int {
	n, err := unix.Pread(int(f.Fd()), buf, 0)
	if err != nil {
		return 0
	}
	return n
}

// Enter moves the calling thread into a version 1 cell; in version 2 it does nothing. The calling goroutine must be locked
// to its thread, which must not be the process's first; see [Group.Start].
func (c *Cell) Enter() error {
	tid := unix.Gettid()
	for _, g := range c.groups {
		if g.version == 2 {
			continue
		}
		if tid == os.Getpid() {
			return fmt.Errorf("%w: the process's first thread may not live in a cell", ErrUnavailable)
		}
		c.resident = tid
		if err := write(filepath.Join(g.dir, "tasks"), strconv.Itoa(tid)); err != nil {
			c.Leave()
			return fmt.Errorf("%w: enter cell: %w", ErrUnavailable, err)
		}
	}
	return nil
}

// Leave moves the thread back to the group it came from.
func (c *Cell) Leave() {
	if c.resident == 0 {
		return
	}
	for _, g := range c.groups {
		if g.version == 1 {
			// If this fails, the thread stays in the group. The only harm is that the group cannot be removed.
			_ = write(filepath.Join(g.parent, "tasks"), strconv.Itoa(c.resident))
		}
	}
	c.resident = 0
}

// Apply makes a child start in a version 2 cell. In version 1, the forking thread must be in the cell instead.
func (c *Cell) Apply(attr *syscall.SysProcAttr) {
	if c.fd != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(c.fd.Fd())
	}
}

// delegated reports whether the service manager has delegated the group to us.
func delegated(dir string) bool {
	var b [8]byte
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, attr, b[:]); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}
