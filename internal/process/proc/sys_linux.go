package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// DieWithThread makes the kernel kill a child when the thread that starts it dies; see [Thread].
func DieWithThread(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	attr.Pdeathsig = syscall.SIGKILL
	return attr
}

// firstThread reports whether the caller runs on the process's first thread.
func firstThread() bool { return unix.Gettid() == os.Getpid() }

// BecomeSubreaper makes this process the parent of its descendants' orphans. It applies to the whole process and cannot be
// undone; the caller must reap the orphans with [EndAdopted].
func BecomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Reap waits for a child to end, calls dead, and then calls wait, which must reap the child. During dead no other process
// can have the child's id, which is also its group's.
func Reap(pid int, dead func(), wait func() error) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	dead()
	return wait()
}

// Each calls set for every limit that l contains, except the tag.
func (l Limits) Each(set func(what string, resource int, soft, hard uint64)) {
	set("core dumps", unix.RLIMIT_CORE, 0, 0)
	if l.Data > 0 {
		// Not the address space (RLIMIT_AS): Go and Node reserve gigabytes that they never use. Under such a limit they do
		// not start, or hang.
		set("memory", unix.RLIMIT_DATA, uint64(l.Data), uint64(l.Data))
	}
	if l.CPU > 0 {
		set("processor time", unix.RLIMIT_CPU, uint64(l.CPU), uint64(l.CPU)+1)
	}
	if l.Tasks > 0 {
		set("processes", unix.RLIMIT_NPROC, uint64(l.Tasks), uint64(l.Tasks))
	}
}

// EachOfChild is Each for a child that sets its limits itself before it runs. It includes the tag if this process has
// neither a tag nor a real limit in its place, which the child would inherit.
func (l Limits) EachOfChild(set func(what string, resource int, soft, hard uint64)) {
	l.Each(set)
	if l.Tag != 0 && untagged(0) {
		set("its tag", unix.RLIMIT_RTTIME, uint64(l.Tag), uint64(l.Tag))
	}
}

// Apply sets the limits of a running process and of the processes that it will start. A process that is gone is not an
// error.
func (l Limits) Apply(pid int) error {
	var errs []error
	l.Each(func(what string, resource int, soft, hard uint64) {
		lim := unix.Rlimit{Cur: soft, Max: hard}
		if err := unix.Prlimit(pid, resource, &lim, nil); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("limit %s of process %d: %w", what, pid, err))
		}
	})
	if l.Tag != 0 && len(errs) == 0 && untagged(pid) {
		_ = unix.Prlimit(pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: uint64(l.Tag), Max: uint64(l.Tag)}, nil)
	}
	return errors.Join(errs...)
}

// untagged reports whether a process has neither a tag nor a real limit in its place. 0 is this process.
func untagged(pid int) bool {
	var old unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &old)
	return err == nil && old.Max == unix.RLIM_INFINITY && old.Cur == unix.RLIM_INFINITY
}

// TagOf returns a process's tag, also of a zombie; 0 if it has none or belongs to another user.
func TagOf(pid int) Tag {
	var lim unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &lim) != nil || !Tag(lim.Max).Valid() {
		return 0
	}
	return Tag(lim.Max)
}

// Hold makes a child stop before its first instruction, until [Release]. It needs ptrace, which some machines forbid, and
// the thread that starts the child must be the one that releases it. A held program does not get privileges from its file's
// mode.
func Hold(attr *syscall.SysProcAttr) { attr.Ptrace = true }

// CanHold reports whether children can be held, and the limit of open files that [os.StartProcess] gives them: the library
// raises that of this process. It tests this with a child that never runs.
func CanHold() (files Files, ok bool) {
	t := NewThread()
	defer t.Close()
	t.Do(func() {
		attr := DieWithThread(OwnSession())
		Hold(attr)
		const any = "/proc/self/exe"
		p, err := os.StartProcess(any, []string{any}, &os.ProcAttr{Sys: attr})
		if err != nil {
			return
		}
		var lim unix.Rlimit
		err = unix.Prlimit(p.Pid, unix.RLIMIT_NOFILE, nil, &lim)
		files = Files{lim.Cur, lim.Max}
		_ = p.Kill()
		st, waitErr := p.Wait()
		ok = err == nil && waitErr == nil && Status(st).Signaled()
	})
	return files, ok
}

// Release lets a held child run.
func Release(pid int) error {
	for {
		// Stopped or dead; a dead one must be left for Reap.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err := unix.PtraceDetach(pid); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("let process %d run: %w", pid, err)
	}
	return nil
}
