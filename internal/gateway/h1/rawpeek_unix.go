//go:build unix && !linux

package h1

import "syscall"

func rawPeek(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	if e, ok := err.(syscall.Errno); ok { //nolint:errorlint // a system call's own error
		return n, e
	}
	return n, 0
}
