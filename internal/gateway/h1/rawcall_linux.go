//go:build !race

package h1

import (
	"syscall"
	"unsafe"
)

// These sockets never block, so a system call takes only as long as the kernel copies.
// recvfrom and sendto cost 0.1 µs less per answer than read and write. Unlike package
// syscall, these functions do not tell the scheduler about the call. The scheduler would
// hand the goroutine's processor to another thread if the call takes a moment.

func rawResult(n uintptr, e syscall.Errno) (int, syscall.Errno) {
	if e != 0 {
		return 0, e
	}
	return int(n), 0
}

func rawRead(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return rawResult(n, e)
}

func rawPeek(fd uintptr, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)),
		syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	return rawResult(n, e)
}

// rawWrite writes those of parts, at most three, that are not empty.
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
		wrote, _, e = syscall.RawSyscall6(syscall.SYS_SENDTO, fd, uintptr(unsafe.Pointer(vec[0].Base)), uintptr(vec[0].Len),
			syscall.MSG_NOSIGNAL, 0, 0)
	} else {
		wrote, _, e = syscall.RawSyscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&vec)), uintptr(n))
	}
	return rawResult(wrote, e)
}
