//go:build unix

package child

import "syscall"

const sigXCPU = syscall.SIGXCPU

const canReadNow = true

// readNow reads from a descriptor that does not block.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		if err != syscall.EINTR { //nolint:errorlint // a bare number
			return n, err
		}
	}
}
