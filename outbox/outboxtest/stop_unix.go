//go:build unix

package outboxtest

import (
	"os"
	"syscall"
)

// stopping returns the signals that stop a process and let it go on; nil if the system has none.
func stopping() (stop, resume os.Signal) { return syscall.SIGSTOP, syscall.SIGCONT }
