//go:build unix

package child

import (
	"errors"
	"syscall"
)

const sigXCPU = syscall.SIGXCPU

const canReadNow = true

// readNow reads from a non-blocking descriptor.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
