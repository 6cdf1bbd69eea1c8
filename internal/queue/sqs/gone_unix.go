//go:build unix

package sqs

import (
	"errors"
	"net"
	"syscall"
)

// gone reports whether the other end has closed a connection. The request's
// context says the same, but only once a goroutine has got its turn.
func gone(c net.Conn) bool {
	n, err := peek(c)
	if err == nil {
		return n == 0
	}
	return !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EINTR)
}

// asks reports whether the other end has sent what nobody has read.
func asks(c net.Conn) bool {
	n, err := peek(c)
	return err == nil && n > 0
}

// await waits until there is something to read, and reports whether there is.
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

// peek looks for a byte, without waiting and without taking it from whoever
// reads the connection.
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
