package h1

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// Sockets never block, so that a call for one takes as long as the kernel copies.
// These do not tell the scheduler about it, as those of package syscall do: it would
// hand the goroutine's processor to another thread when the call takes a moment.

func rawResult(n uintptr, e syscall.Errno) (int, syscall.Errno) {
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

func rawRead(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	return rawResult(n, e)
}

func rawPeek(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	return rawResult(n, e)
}

// rawWrite writes the first of parts, at most three, that are not empty.
func rawWrite(fd uintptr, parts [][]byte) (int, syscall.Errno) {
	var vec [3]syscall.Iovec
	n := 0
	for _, p := range parts {
		if len(p) > 0 && n < len(vec) {
			vec[n].Base = unsafe.SliceData(p)
			vec[n].SetLen(len(p))
			n++
		}
	}
	var wrote uintptr
	var e syscall.Errno
	if n == 1 {
		wrote, _, e = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(vec[0].Base)), uintptr(vec[0].Len))
	} else {
		wrote, _, e = syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vec)), uintptr(n))
	}
	return rawResult(wrote, e)
}

// recv reads what is there, or waits for it until the deadline of nc.
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

// rawIO is one read, and what calls it.
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

// failed is the error of package net for a call that did not work.
func (s *sock) failed(op string, e syscall.Errno) error {
	local, remote := s.nc.LocalAddr(), s.nc.RemoteAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, e)}
}

// rawOut is what an answer's write needs.
type rawOut struct {
	writeFn func(fd uintptr) bool
	n       int64
	errno   syscall.Errno
}

// writeOnce writes vec, or what of it can be written until the deadline.
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
