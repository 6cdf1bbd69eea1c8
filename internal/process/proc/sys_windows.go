package proc

import (
	"os"
	"strconv"
	"syscall"
)

// SignalName returns the signal's number: Windows has no signals.
func SignalName(sig syscall.Signal) string { return "signal " + strconv.Itoa(int(sig)) }

func ends(syscall.Signal) bool { return false }

// OwnGroup starts a child in its own process group.
func OwnGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// OwnSession is the same as OwnGroup.
func OwnSession() *syscall.SysProcAttr { return OwnGroup() }

// Become does nothing on Windows.
func (*User) Become(attr *syscall.SysProcAttr) *syscall.SysProcAttr { return attr }

// Give does nothing on Windows.
func (*User) Give(*os.File) error { return nil }

// SignalGroup ends the process, whatever the signal: Windows has no request to stop.
func SignalGroup(leader int, _ syscall.Signal) error {
	p, err := os.FindProcess(leader)
	if err != nil {
		return err
	}
	return p.Kill()
}

// MaxRSS returns 0.
func MaxRSS(*os.ProcessState) int64 { return 0 }
