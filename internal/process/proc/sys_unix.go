//go:build unix

package proc

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns a signal's name, such as "SIGSEGV".
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}

// ends reports whether a signal ends a process that does not handle it, and is a likely one.
func ends(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGALRM, syscall.SIGPIPE,
		syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
		syscall.SIGXCPU, syscall.SIGXFSZ:
		return true
	}
	return false
}

// OwnGroup starts a child in its own process group.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// OwnSession starts a child in its own session, which is also a group and has no terminal.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Become starts a child as the user. Without root it changes nothing.
func (u *User) Become(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if u != nil && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid, Groups: u.groups}
	}
	return attr
}

// Give makes the user the owner of a child's end of a pipe. Otherwise the child could not open it as /dev/stdout or
// /dev/stderr. Without root it changes nothing.
func (u *User) Give(f *os.File) error {
	if u == nil || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(u.uid), int(u.gid))
}

// SignalGroup signals every process of a group. The caller must not have reaped the group's leader: until then the number
// cannot be reused.
func SignalGroup(leader int, sig syscall.Signal) error { return syscall.Kill(-leader, sig) }

// MaxRSS returns the most memory in bytes that a dead process had resident.
func MaxRSS(st *os.ProcessState) int64 {
	ru, ok := st.SysUsage().(*syscall.Rusage)
	switch {
	case !ok || ru == nil:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return int64(ru.Maxrss)
	}
	return int64(ru.Maxrss) << 10
}
