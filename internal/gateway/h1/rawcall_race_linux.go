//go:build race

package h1

import (
	"slices"
	"syscall"
)

// What happens before a write to a socket happens before the read of the written bytes. The race detector knows that only
// for calls of package net, so tests need to tell it.

func rawResult(n int, err error) (int, syscall.Errno) {
	if e, ok := err.(syscall.Errno); ok { //nolint:errorlint // a system call's own error
		return 0, e
	}
	return n, 0
}

func rawRead(fd uintptr, p []byte) (int, syscall.Errno) { return rawResult(syscall.Read(int(fd), p)) }

func rawPeek(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, err := syscall.Recvfrom(int(fd), p, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return rawResult(n, err)
}

func rawWrite(fd uintptr, parts [][]byte) (int, syscall.Errno) {
	return rawResult(syscall.Write(int(fd), slices.Concat(parts...)))
}
