//go:build unix

package sqs

import (
	"errors"
	"net"
	"syscall"
)

// gone reports whether the peer has closed a connection. The request's context ends too, but only after another goroutine
// has run.
func gone(c net.Conn) bool {
	n, err := peek(c)
	if err == nil {
		return n == 0
	}
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
}

// asks reports whether there are unread bytes from the peer.
func asks(c net.Conn) bool {
	n, err := peek(c)
	return err == nil && n > 0
}

// await waits until there are bytes to read, and reports whether there are.
func await(c net.Conn) bool {
	with, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := with.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Read(func(fd uintptr) bool {
		for {
			var b [1]byte
			_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	}) == nil
}

// peek checks for a byte without waiting and without removing it.
func peek(c net.Conn) (n int, err error) {
	with, ok := c.(syscall.Conn)
	if !ok {
		return 0, syscall.EAGAIN
	}
	raw, err := with.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	if failed != nil {
		return 0, failed
	}
	return n, err
}
