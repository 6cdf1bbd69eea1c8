//go:build unix

package sqs

import (
	"net"
	"syscall"
)

// gone reports whether the other end has closed a connection, without waiting
// and without taking bytes from whoever reads it. The request's context says
// the same, but only once a goroutine has got its turn.
func gone(c net.Conn) bool {
	with, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := with.SyscallConn()
	if err != nil {
		return false
	}
	closed := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = err == nil && n == 0 || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return err != nil || closed
}
