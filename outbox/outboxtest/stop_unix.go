//go:build unix

package outboxtest

import (
	"os"
	"syscall"
)

// The signals that stop a process for a time.
var stop, resume os.Signal = syscall.SIGSTOP, syscall.SIGCONT //nolint:gochecknoglobals // constants
