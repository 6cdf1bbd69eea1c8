//go:build unix

package proc

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// SignalName returns "SIGSEGV".
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}

// ends reports whether a signal ends a process that does not handle it, and is
// one that a program is likely to get.
func ends(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL, syscall.SIGALRM, syscall.SIGPIPE,
		syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGSYS,
		syscall.SIGXCPU, syscall.SIGXFSZ:
		return true
	}
	return false
}

// OwnGroup starts a child in a process group of its own.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// OwnSession starts a child in a session of its own, which is a group as well
// and has no terminal.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Become starts a child as the user. Who is not root stays who they are.
func (u *User) Become(attr *syscall.SysProcAttr) *syscall.SysProcAttr {
	if u != nil && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: u.uid, Gid: u.gid, Groups: u.groups}
	}
	return attr
}

// Give makes a child's end of a pipe the user's, who could not open it by /dev/stdout
// or /dev/stderr otherwise. Who is not root keeps it.
func (u *User) Give(f *os.File) error {
	if u == nil || os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(int(u.uid), int(u.gid))
}

// SignalGroup signals every process of a group. It is for a group whose leader
// we have not reaped: until then the number is its.
func SignalGroup(leader int, sig syscall.Signal) error { return syscall.Kill(-leader, sig) }

// MaxRSS returns how much memory a dead process held at most, in bytes.
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
