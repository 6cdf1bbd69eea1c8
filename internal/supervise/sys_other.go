//go:build unix && !linux

package supervise

import (
	"errors"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func procAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func firstThread() bool { return false }

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}

func reap(cmd *exec.Cmd, dead func()) syscall.WaitStatus {
	_ = cmd.Wait() // its error repeats the state
	dead()
	ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ws
}

func adopt(int) {}

func limitMemory(int, int64) error {
	return errors.New("limiting a running process's memory needs Linux")
}

func resident(int) int64 { return 0 }

func bornAt(int) (uint64, bool) { return 0, false }

func sweepStrays(string, uint64) int { return 0 }
