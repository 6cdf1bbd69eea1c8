//go:build unix

package child

import "syscall"

const sigXCPU = syscall.SIGXCPU
