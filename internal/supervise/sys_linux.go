package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// procAttr puts a child in a process group of its own and ties its life to ours.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// firstThread reports whether the caller runs on the process's first thread.
func firstThread() bool { return unix.Gettid() == os.Getpid() }

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}

// reap waits for cmd to end and calls dead between its death and its burial,
// when its id, which is its group's as well, cannot belong to anybody else yet.
func reap(cmd *exec.Cmd, dead func()) syscall.WaitStatus {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	dead()
	_ = cmd.Wait() // its error repeats the state
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws
}

// adopt collects what a dead leader's group left to us: orphans become our
// children when we are the first process of a container.
func adopt(pgid int) {
	for {
		pid, err := unix.Wait4(-pgid, nil, unix.WNOHANG, nil)
		if pid <= 0 || err != nil {
			return
		}
	}
}

// limitMemory bounds what a process may write to. Not its address space
// (RLIMIT_AS): Go and Node reserve gigabytes that they never touch and do not
// start at all, or hang, under such a limit.
func limitMemory(pid int, limit int64) error {
	lim := unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}
	if err := unix.Prlimit(pid, unix.RLIMIT_DATA, &lim, nil); err != nil {
		return fmt.Errorf("limit memory of process %d: %w", pid, err)
	}
	return nil
}

// The bounds of one look at a process's memory.
const (
	maxDepth    = 4  // of its descendants: a shell in front, a few forks
	maxChildren = 64 // of one process
)

// resident returns how much memory a process and its children hold, in bytes.
// What they share counts for each.
func resident(pid int) int64 { return residentBelow(pid, maxDepth) }

func residentBelow(pid, depth int) int64 {
	proc := "/proc/" + strconv.Itoa(pid)
	b, err := os.ReadFile(proc + "/statm")
	if err != nil {
		return 0
	}
	f := bytes.Fields(b)
	if len(f) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	if err != nil {
		return 0
	}
	sum := pages * int64(os.Getpagesize())
	if depth == 0 {
		return sum
	}
	b, err = os.ReadFile(proc + "/task/" + strconv.Itoa(pid) + "/children")
	if err != nil {
		return sum // the kernel does not list them
	}
	for i, child := range bytes.Fields(b) {
		if n, err := strconv.Atoi(string(child)); err == nil && i < maxChildren {
			sum += residentBelow(n, depth-1)
		}
	}
	return sum
}

// bornAt returns when a process started, in the kernel's ticks.
func bornAt(pid int) (uint64, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	const startTime = 19                  // counted from the field after the name
	i := bytes.LastIndex(b, []byte(") ")) // the name before it may hold anything
	if i < 0 {
		return 0, false
	}
	f := bytes.Fields(b[i+2:])
	if len(f) <= startTime {
		return 0, false
	}
	ticks, err := strconv.ParseUint(string(f[startTime]), 10, 64)
	return ticks, err == nil
}

// sweepStrays kills the processes that carry a life's mark in their environment:
// those that left its group. since is when the life began; older processes are
// not looked at. It returns how many it killed.
func sweepStrays(life string, since uint64) int {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0
	}
	killed := 0
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if born, ok := bornAt(pid); !ok || born < since || !marked(pid, life) {
			continue
		}
		if killPinned(pid, life) {
			killed++
		}
	}
	return killed
}

// marked reports whether a process carries the mark. Only our own user's
// processes can be read, and only they can be a worker's.
func marked(pid int, life string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append(append([]byte{0}, b...), 0), []byte("\x00"+envLife+"="+life+"\x00"))
}

// killPinned kills a process by a handle, and looks again once it holds it: the
// id may have passed to another since.
func killPinned(pid int, life string) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return marked(pid, life) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}
