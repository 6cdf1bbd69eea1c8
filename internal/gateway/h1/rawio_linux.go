package h1

import (
	"io"
	"net"
	"os"
	"syscall"
)

// recv reads available bytes, or waits for them until nc's deadline.
func (s *sock) recv(p []byte) (int, error) {
	if s.raw == nil {
		return s.nc.Read(p)
	}
	if s.io.readFn == nil {
		s.io.readFn = s.io.read
	}
	s.io.p, s.io.n, s.io.errno = p, 0, 0
	err := s.raw.Read(s.io.readFn)
	s.io.p = nil
	switch {
	case err != nil:
		return 0, err
	case s.io.errno != 0:
		return 0, s.failed("read", s.io.errno)
	case s.io.n == 0:
		return 0, io.EOF
	}
	return s.io.n, nil
}

// rawIO holds one read, and the function that calls it.
type rawIO struct {
	readFn func(fd uintptr) bool
	p      []byte
	n      int
	errno  syscall.Errno
}

func (r *rawIO) read(fd uintptr) bool {
	for {
		n, e := rawRead(fd, r.p)
		switch e {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		}
		r.n, r.errno = n, e
		return true
	}
}

// failed returns package net's error for a failed call.
func (s *sock) failed(op string, e syscall.Errno) error {
	local, remote := s.nc.LocalAddr(), s.nc.RemoteAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, e)}
}

// rawOut holds what the write of an answer needs.
type rawOut struct {
	writeFn func(fd uintptr) bool
	n       int64
	errno   syscall.Errno
}

// writeOnce writes vec, or as much of it as can be written until the deadline.
func (x *Exchange) writeOnce() (int64, error) {
	if x.raw == nil {
		return x.writeNet()
	}
	if x.send.writeFn == nil {
		x.send.writeFn = x.writeRaw
	}
	x.send.n, x.send.errno = 0, 0
	err := x.raw.Write(x.send.writeFn)
	if err == nil && x.send.errno != 0 {
		err = x.failed("write", x.send.errno)
	}
	return x.send.n, err
}

func (x *Exchange) writeRaw(fd uintptr) bool {
	for {
		for len(x.vec) > 0 && len(x.vec[0]) == 0 {
			x.vec = x.vec[1:]
		}
		if len(x.vec) == 0 {
			return true
		}
		n, e := rawWrite(fd, x.vec)
		switch e {
		case 0:
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		default:
			x.send.errno = e
			return true
		}
		x.send.n += int64(n)
		for i := 0; n > 0; i++ {
			taken := min(n, len(x.vec[i]))
			x.vec[i] = x.vec[i][taken:]
			n -= taken
		}
	}
}
