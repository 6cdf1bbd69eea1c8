package h1

import (
	"io"
	"net"
	"os"
	"syscall"
)

// rawIO is one read and its callback.
type rawIO struct {
	readFn func(fd uintptr) bool
	p      []byte
	n      int
	errno  syscall.Errno
}

// recv reads the available bytes, or waits for bytes until the deadline of nc. raw is nil
// if nc is not a file descriptor.
func (r *rawIO) recv(raw syscall.RawConn, nc net.Conn, p []byte) (int, error) {
	if raw == nil {
		return nc.Read(p)
	}
	if r.readFn == nil {
		r.readFn = r.read
	}
	r.p, r.n, r.errno = p, 0, 0
	err := raw.Read(r.readFn)
	r.p = nil
	switch {
	case err != nil:
		return 0, err
	case r.errno != 0:
		return 0, failed(nc, "read", r.errno)
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
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

// failed returns the error of package net for a system call that failed.
func failed(nc net.Conn, op string, e syscall.Errno) error {
	local, remote := nc.LocalAddr(), nc.RemoteAddr()
	return &net.OpError{Op: op, Net: local.Network(), Source: local, Addr: remote, Err: os.NewSyscallError(op, e)}
}

// rawOut is one write and its callback.
type rawOut struct {
	writeFn func(fd uintptr) bool
	vec     net.Buffers // not yet written
	n       int64
	errno   syscall.Errno
}

// write writes parts, or as much of them as can be written until the deadline. It removes
// the written bytes from parts. raw is nil if nc is not a file descriptor.
func (o *rawOut) write(raw syscall.RawConn, nc net.Conn, parts *net.Buffers) (int64, error) {
	if raw == nil {
		return writeNet(nc, parts)
	}
	if o.writeFn == nil {
		o.writeFn = o.writeRaw
	}
	o.vec, o.n, o.errno = *parts, 0, 0
	err := raw.Write(o.writeFn)
	*parts, o.vec = o.vec, nil
	if err == nil && o.errno != 0 {
		err = failed(nc, "write", o.errno)
	}
	return o.n, err
}

func (o *rawOut) writeRaw(fd uintptr) bool {
	for {
		for len(o.vec) > 0 && len(o.vec[0]) == 0 {
			o.vec = o.vec[1:]
		}
		if len(o.vec) == 0 {
			return true
		}
		n, e := rawWrite(fd, o.vec)
		switch e {
		case 0:
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		default:
			o.errno = e
			return true
		}
		o.n += int64(n)
		for i := 0; n > 0; i++ {
			taken := min(n, len(o.vec[i]))
			o.vec[i] = o.vec[i][taken:]
			n -= taken
		}
	}
}
