package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts cmd in the group: it is there before its first instruction. The
// calling goroutine must be locked to its thread, which in version 1 visits the
// group for the time of the fork, because children begin where their parent
// thread is. It must not be the process's first thread: that one stands for the
// whole process, whose memory would be charged to the group, and which would be
// killed for what the group's other members use.
func (g *Group) Start(cmd *exec.Cmd) error {
	if g.parent == "" {
		return fmt.Errorf("start in memory group %s: it is not ours", g.dir)
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
	// Should the way back fail, the thread stays where it costs nothing but a
	// group that cannot be removed.
	defer func() { _ = write(filepath.Join(g.parent, "tasks"), tid) }()
	return cmd.Start()
}

// Kill sends SIGKILL to every process in a group that Create made.
func (g *Group) Kill() {
	if g.parent == "" {
		return
	}
	if g.version == 2 && write(filepath.Join(g.dir, "cgroup.kill"), "1") == nil {
		return // Linux 5.14 or newer
	}
	pids, err := g.Procs()
	if err != nil {
		return
	}
	for _, pid := range pids {
		if pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// delegated reports whether the service manager has handed a group to us.
func delegated(dir string) bool {
	var b [8]byte
	for _, attr := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, attr, b[:]); err == nil && string(b[:n]) == "1" {
			return true
		}
	}
	return false
}
