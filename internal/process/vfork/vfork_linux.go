//go:build amd64 || arm64

package vfork

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cloneArgs is struct clone_args of the kernel, up to the first version with a cgroup.
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// call is everything that the child needs. It is complete before the fork: the child must not allocate.
type call struct {
	args       cloneArgs
	path, dir  *byte // dir may be nil
	argv, envv []*byte
	files      [4]uintptr
	limits     []unix.Rlimit
	resources  []uintptr
	user       *User // nil: stay
	groups     *uint32
	parent     uintptr
	mask       unix.Sigset_t // of signals
	pidfd      int32

	// What the child writes if it fails. Both processes share this memory.
	errno syscall.Errno
	step  uintptr
	index uintptr
}

// The steps of a child.
const (
	stepSession = iota
	stepUser
	stepDeath
	stepLimit
	stepDir
	stepFiles
	stepExec
)

// clone3 is the system call, for a child that returns on the stack of its parent.
func clone3(args, size uintptr) (pid, errno uintptr)

//go:linkname beforeFork syscall.runtime_BeforeFork
func beforeFork()

//go:linkname afterFork syscall.runtime_AfterFork
func afterFork()

// Able reports whether children can be started. It starts one that fails.
func Able() bool {
	none, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(none) }()
	c := Child{Path: os.DevNull + "/none", Args: []string{"none"}, Files: [4]int{none, none, none, none}, Cgroup: -1}
	_, _, err = c.Start()
	return errors.Is(err, syscall.ENOTDIR)
}

// Start starts the child and returns a descriptor that becomes readable when it has ended. The kernel kills the child when
// the calling thread ends, so the calling goroutine should be locked to its thread.
func (c *Child) Start() (pid, pidfd int, err error) {
	k, opened, err := c.prepare()
	defer func() {
		for _, fd := range opened {
			_ = unix.Close(fd)
		}
	}()
	if err != nil {
		return 0, -1, err
	}
	id, errno := k.fork()
	afterFork()
	runtime.KeepAlive(k)
	if errno != 0 {
		return 0, -1, fmt.Errorf("fork: %w", syscall.Errno(errno))
	}
	pid, pidfd = int(id), int(k.pidfd)
	if k.errno == 0 {
		return pid, pidfd, nil
	}
	_ = unix.Close(pidfd)
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return 0, -1, c.failure(k)
}

// failure describes why the child did not run.
func (c *Child) failure(k *call) error {
	switch k.step {
	case stepSession:
		return fmt.Errorf("start a session: %w", k.errno)
	case stepUser:
		return fmt.Errorf("become user %d: %w", c.User.UID, k.errno)
	case stepDeath:
		return fmt.Errorf("tie the child to its thread: %w", k.errno)
	case stepLimit:
		return fmt.Errorf("limit %s: %w", c.Limits[k.index].Name, k.errno)
	case stepDir:
		return &os.PathError{Op: "chdir", Path: c.Dir, Err: k.errno}
	case stepFiles:
		return fmt.Errorf("give it descriptor %d: %w", k.index, k.errno)
	}
	return k.errno
}

// prepare converts everything for the child. It returns the descriptors that must be closed after the fork.
func (c *Child) prepare() (k *call, opened []int, err error) {
	k = &call{
		args:   cloneArgs{flags: unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD | unix.CLONE_CLEAR_SIGHAND, exitSignal: uint64(unix.SIGCHLD)},
		parent: uintptr(os.Getpid()), user: c.User,
	}
	k.args.pidfd = uint64(uintptr(unsafe.Pointer(&k.pidfd)))
	if c.Cgroup >= 0 {
		k.args.flags |= unix.CLONE_INTO_CGROUP
		k.args.cgroup = uint64(c.Cgroup)
	}
	if k.path, err = syscall.BytePtrFromString(c.Path); err != nil {
		return nil, nil, err
	}
	if c.Dir != "" {
		if k.dir, err = syscall.BytePtrFromString(c.Dir); err != nil {
			return nil, nil, err
		}
	}
	if k.argv, err = syscall.SlicePtrFromStrings(c.Args); err != nil {
		return nil, nil, err
	}
	if k.envv, err = syscall.SlicePtrFromStrings(c.Env); err != nil {
		return nil, nil, err
	}
	for _, l := range c.Limits {
		k.limits = append(k.limits, unix.Rlimit{Cur: l.Soft, Max: l.Max})
		k.resources = append(k.resources, uintptr(l.Resource))
	}
	if c.User != nil && len(c.User.Groups) > 0 {
		k.groups = &c.User.Groups[0]
	}
	for i, fd := range c.Files {
		if fd < len(c.Files) { // the child would overwrite it before it gives it away
			if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, len(c.Files)); err != nil {
				return nil, opened, fmt.Errorf("duplicate descriptor %d: %w", c.Files[i], err)
			}
			opened = append(opened, fd)
		}
		k.files[i] = uintptr(fd)
	}
	if err = unix.PthreadSigmask(unix.SIG_BLOCK, nil, &k.mask); err != nil {
		return nil, opened, fmt.Errorf("read the signal mask: %w", err)
	}
	return k, opened, nil
}

// fork forks and, in the child, execs. Only the parent returns. The child runs on the parent's stack: after clone3 the parent
// uses nothing of this frame but the results, and the child calls only functions that need no stack of their own and
// changes nothing but errno, step and index.
//
//go:noinline
//go:norace
//go:nocheckptr
func (k *call) fork() (pid, errno uintptr) {
	var (
		e    syscall.Errno
		i, p uintptr
	)
	beforeFork() // blocks all signals; from here on, no stack can grow
	pid, errno = clone3(uintptr(unsafe.Pointer(&k.args)), unsafe.Sizeof(k.args))
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	k.step = stepSession
	if _, _, e = syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); e != 0 {
		goto failed
	}
	if k.user != nil {
		k.step = stepUser
		if _, _, e = syscall.RawSyscall(syscall.SYS_SETGROUPS, uintptr(len(k.user.Groups)), uintptr(unsafe.Pointer(k.groups)), 0); e != 0 {
			goto failed
		}
		if _, _, e = syscall.RawSyscall(syscall.SYS_SETGID, uintptr(k.user.GID), 0, 0); e != 0 {
			goto failed
		}
		if _, _, e = syscall.RawSyscall(syscall.SYS_SETUID, uintptr(k.user.UID), 0, 0); e != 0 {
			goto failed
		}
	}
	// After setuid, which clears it.
	k.step = stepDeath
	if _, _, e = syscall.RawSyscall6(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0, 0); e != 0 {
		goto failed
	}
	if p, _, _ = syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0); p != k.parent { // it died before
		e = syscall.ESRCH
		goto failed
	}
	k.step = stepDir
	if k.dir != nil {
		if _, _, e = syscall.RawSyscall(syscall.SYS_CHDIR, uintptr(unsafe.Pointer(k.dir)), 0, 0); e != 0 {
			goto failed
		}
	}
	k.step = stepFiles
	for i = 0; i < uintptr(len(k.files)); i++ {
		k.index = i
		if _, _, e = syscall.RawSyscall(syscall.SYS_DUP3, k.files[i], i, 0); e != 0 {
			goto failed
		}
	}
	k.step = stepLimit
	for i = 0; i < uintptr(len(k.limits)); i++ {
		k.index = i
		if _, _, e = syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, k.resources[i], uintptr(unsafe.Pointer(&k.limits[i])), 0, 0, 0); e != 0 {
			goto failed
		}
	}
	k.step = stepExec
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&k.mask)), 0, 8, 0, 0)
	_, _, e = syscall.RawSyscall(syscall.SYS_EXECVE,
		uintptr(unsafe.Pointer(k.path)), uintptr(unsafe.Pointer(&k.argv[0])), uintptr(unsafe.Pointer(&k.envv[0])))

failed:
	k.errno = e
	for {
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
